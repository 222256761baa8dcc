"""Build a benchmark: pictures, questions, references."""
