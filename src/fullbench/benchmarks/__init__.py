"""Benchmarks: one folder per paper, each written only in terms of the core."""
