"""Tuning of picture generators by a judge's feedback."""
