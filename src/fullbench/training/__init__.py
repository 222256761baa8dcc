"""Training models of one's own."""
