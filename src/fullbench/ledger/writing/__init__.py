"""Insertion of rows into a ledger."""
