"""What all tests of files share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are as wide as they need: these tests look for whole sentences, however wide somebody's terminal is."""
    monkeypatch.setenv("COLUMNS", "250")
