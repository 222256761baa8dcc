"""Import and export of ledger contents."""
