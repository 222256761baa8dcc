"""The court: pictures with known truth."""
