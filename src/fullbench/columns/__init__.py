"""The columnar table of verdicts that all analyses read, and its builders."""
