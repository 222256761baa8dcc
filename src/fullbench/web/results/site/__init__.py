"""Static export of the public site, page URLs, downloads, ledger edition."""
