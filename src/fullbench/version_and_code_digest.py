"""Version number, and a digest of the code that can change verdicts. Imports nothing from the package."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

__version__ = "0.2.0"

PACKAGES_WITHOUT_JUDGING = frozenset({"analysis", "cli", "columns", "ledger", "reports", "stats", "testing", "web"})
"""Packages that only store, analyse or show verdicts."""
IGNORED_FOLDERS = frozenset({"sample", "__pycache__"})
"""Sample data, which workers get as cases, and Python's bytecode cache."""


@cache
def code_digest() -> str:
    """Return a digest of the installed code, prompts and word lists that can change a verdict.
    Two commits may have the same version number, but not the same digest.
    """
    root = Path(__file__).parent
    hasher = hashlib.sha256()
    for folder, inner, names in os.walk(root):
        place = Path(folder).relative_to(root)
        inner[:] = sorted(
            name
            for name in inner
            if name not in (IGNORED_FOLDERS if place.parts else IGNORED_FOLDERS | PACKAGES_WITHOUT_JUDGING)
        )
        for name in sorted(names):
            if not name.startswith("."):
                data = (Path(folder) / name).read_bytes()
                hasher.update(f"{(place / name).as_posix()} {len(data)}\n".encode())
                hasher.update(data)
    return hasher.hexdigest()


@cache
def package_digest(*packages: str) -> str:
    """Return a digest of the modules, templates and word lists of some packages.

    Stored results and pages that earlier code made are recognised by it.
    """
    root, hasher = Path(__file__).parent, hashlib.sha256()
    for package in packages:
        for path in sorted((root / package).rglob("*")):
            if path.suffix in {".py", ".html", ".json"}:
                hasher.update(f"{path.relative_to(root).as_posix()}\n".encode() + path.read_bytes())
    return hasher.hexdigest()


def build_label() -> str:
    """Return the version with the first 12 characters of `code_digest`."""
    return f"{__version__} ({code_digest()[:12]})"
