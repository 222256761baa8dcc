"""Whatever answers conversations: servers, local models, offline ones."""
