"""Read-only copy of a ledger as Parquet segments with a chained manifest, in a folder or bucket: for many verdicts."""
