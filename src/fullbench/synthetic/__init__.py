"""Synthetic scenes with known truth, contestants that read pixels, judges with planted biases."""
