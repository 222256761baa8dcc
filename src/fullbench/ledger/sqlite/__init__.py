"""SQLite backend of the ledger."""
