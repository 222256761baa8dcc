"""What a peer review shows: who is best, and whose reviews count how much."""
