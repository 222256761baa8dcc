"""Precomputed leaderboards and judge cards."""
