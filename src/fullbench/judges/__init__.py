"""Judges: prompted models, baselines, metrics, score models, peer review."""
