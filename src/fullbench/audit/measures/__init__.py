"""Audit measures, one module per question about a judge."""
