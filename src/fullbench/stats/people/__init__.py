"""Corrections of judge results by human votes, and vote planning."""
