"""Catalogue of the ledger's verdicts in the web database, for filters and search."""
