"""Annotation tasks: kinds, content, rendering."""
