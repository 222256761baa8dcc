"""Leaderboards that grow: newcomers, submissions, judge replacement, withheld test sets."""
