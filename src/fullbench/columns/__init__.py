"""The one columnar table that every figure reads, and what fills it."""
