"""Core types: items, responses, cases, ballots, judges, verdicts, records, tables. Standard library only."""
