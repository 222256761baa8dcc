"""Task assignment, votes, vote export."""
