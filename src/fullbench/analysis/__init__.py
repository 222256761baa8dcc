"""Tables computed from verdicts. Every function is pure: it takes a record or columns and returns tables."""
