"""Agreement tables: judges with people, judges with judges, repeats."""
