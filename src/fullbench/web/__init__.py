"""The web app: where people judge, and where everybody sees the results."""
