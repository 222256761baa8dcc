"""Synthetic benchmark with known truth: it tests the measuring instrument, not a model; see README.md."""
