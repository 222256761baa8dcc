"""Tools to build a benchmark: pictures, questions, references."""
