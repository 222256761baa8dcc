"""Other people's files in and out. Each kind enters by the doors `importers` and `exporters`, as one of yours does."""
