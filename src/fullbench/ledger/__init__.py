"""Every response and verdict ever given, append-only."""
