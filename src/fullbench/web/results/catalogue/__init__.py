"""Search index of the ledger's verdicts."""
