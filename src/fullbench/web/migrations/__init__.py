"""Steps that bring an existing database to the tables of the code. `database.upgrade` runs them.

The first step creates a new database as the tables are today, so the later steps are not run on a new one.
"""
