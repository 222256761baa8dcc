"""Accounts: users, invitations, sessions, API tokens and the audit log."""
