"""The summary that comes first in every output: who leads, which judges to trust, what limits it."""
