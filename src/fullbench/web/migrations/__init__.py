"""What changed in the tables of the web app since people first worked with them, step by step, for databases that are
older than the code; a new one is made as the tables say. `database.upgrade` does either."""
