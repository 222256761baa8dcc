"""MJ-Bench: judges of generated pictures, for alignment, safety, quality and bias."""
