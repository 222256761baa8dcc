"""Toy generator that draws small pictures and trains in seconds, so that tests can tune one without a download."""
