"""The version, where every room can have it without the package's front door."""

from __future__ import annotations

__version__ = "0.1.0"
