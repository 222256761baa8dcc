"""Printed tables of the paper, recomputed from the release."""
