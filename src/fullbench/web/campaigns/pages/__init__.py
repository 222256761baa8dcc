"""Pages for annotators and leads."""
