"""Ratings from matches: Bradley-Terry, Elo, tie models, ranks, match selection."""
