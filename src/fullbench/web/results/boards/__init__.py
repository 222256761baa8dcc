"""Precomputed leaderboards and judge cards, and the links from numbers to verdicts."""
