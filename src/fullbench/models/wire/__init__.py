"""Request and response payloads."""
