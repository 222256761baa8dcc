"""Audit cases and their variants."""
