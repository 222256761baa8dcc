"""Judge bias tables."""
