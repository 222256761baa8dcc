"""Training loop of a critic."""
