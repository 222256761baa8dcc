"""Numbers in, numbers out: estimates with intervals. Knows nothing of the other packages."""
