"""Peer review: its prompts, its cases, and the assignment of reviewers."""
