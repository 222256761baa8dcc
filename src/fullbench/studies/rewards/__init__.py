"""Rewards for training loops: a judge's verdicts on completions, kept in a ledger, in Python and over HTTP."""
