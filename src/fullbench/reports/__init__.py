"""Tables as text, Markdown, CSV, JSON and HTML; charts; HTML pages."""
