"""MJ-Bench: judges of generated pictures, on alignment, safety, quality and bias."""
