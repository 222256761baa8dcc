"""The public side: leaderboards, judges, verdicts."""
