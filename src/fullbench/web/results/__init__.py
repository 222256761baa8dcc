"""Public pages of results: leaderboards, judges, verdicts, cases."""
