"""Web app: annotation pages for people and public pages of results."""
