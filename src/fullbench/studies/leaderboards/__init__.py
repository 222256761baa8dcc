"""Growing leaderboards."""
