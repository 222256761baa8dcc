"""View models of the public pages."""
