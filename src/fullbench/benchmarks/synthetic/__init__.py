"""The court as a benchmark: it measures the instrument, not any model; see README.md."""
