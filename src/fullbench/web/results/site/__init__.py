"""Static export of the public site, and its URLs."""
