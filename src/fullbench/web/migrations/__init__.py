"""Schema migrations of the web database, run by `database.upgrade_schema`.

The first step creates all tables as they are today, so later steps are not run on a new database.
"""
