"""Rows, pictures and folders in and out of files."""
