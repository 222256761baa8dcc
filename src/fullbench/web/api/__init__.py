"""REST API for scripts: authentication, accounts, pictures and its description."""
