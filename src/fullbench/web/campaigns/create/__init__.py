"""Create a campaign from files or a ledger."""
