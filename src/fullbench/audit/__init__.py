"""The audit of a judge: cases with known truth, what they show of it, and the card that says so."""
