"""Two small pictures as bytes: what a library encodes today it may encode otherwise tomorrow."""

from __future__ import annotations

from base64 import b64decode

RED = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAIAAAAmkwkpAAAAEElEQVR42mM4IScHRwzEcQCxYxBB00rMDQAAAABJRU5ErkJggg==")
BLUE = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAIAAAAmkwkpAAAAEElEQVR42mOQkzsBRwzEcQCcIxBBibhqkQAAAABJRU5ErkJggg==")
