"""One folder a paper, each written only in terms of the core."""
