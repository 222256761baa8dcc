"""Peer-review rankings (UPME, PRD, PiCO) and their diagnostics."""
