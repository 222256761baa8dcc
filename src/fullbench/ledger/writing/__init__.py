"""Insert rows into a ledger."""
