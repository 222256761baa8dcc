"""Contents of the public pages: values for templates, tables, charts, texts."""
