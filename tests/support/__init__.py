"""Servers, data builders, fixtures and the parallel runner that tests share."""
