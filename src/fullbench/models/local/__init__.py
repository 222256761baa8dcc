"""Models that run in this process or on this machine."""
