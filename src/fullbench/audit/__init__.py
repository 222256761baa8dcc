"""Audit of a judge: cases with known truth, measures computed from them, and the resulting card."""
