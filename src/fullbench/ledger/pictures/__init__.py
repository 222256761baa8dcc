"""Picture storage: folder or bucket."""
