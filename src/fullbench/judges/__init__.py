"""Whoever can mark a response: prompted models, rules, judges made of judges."""
