"""Peer-review studies and their simulation."""
