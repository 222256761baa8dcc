"""Tuning of picture generators by the feedback of a judge."""
