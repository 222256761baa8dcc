"""Append-only database of all items, responses and verdicts."""
