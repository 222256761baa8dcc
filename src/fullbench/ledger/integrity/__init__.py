"""Hash chains, digests and signatures that prove a ledger is complete."""
