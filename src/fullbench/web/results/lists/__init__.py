"""Filtered lists of verdicts and cases."""
