"""Rubrics: use them in studies, learn their weights, propose new ones."""
