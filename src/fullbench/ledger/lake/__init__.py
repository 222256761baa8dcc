"""A ledger in sealed segments of Parquet under a chained manifest, in a folder or a bucket: for many verdicts."""
