"""Readers of the authors' released files."""
