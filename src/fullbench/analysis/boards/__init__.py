"""Leaderboards and related tables."""
