"""The tables of the web app, step by step; `database.upgrade` runs them."""
