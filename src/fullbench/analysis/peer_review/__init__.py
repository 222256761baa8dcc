"""Peer review tables: rankings of contestants that review each other, and reviewer weights."""
