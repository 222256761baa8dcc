"""Peer review: what reviewers are asked, and who reviews whom."""
