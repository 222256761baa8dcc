"""Accounts: people, invitations, sessions, tokens, and what they did."""
