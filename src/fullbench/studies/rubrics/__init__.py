"""Use, learn and propose rubrics."""
