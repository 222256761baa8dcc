"""PostgreSQL backend of the ledger."""
