"""The verdicts that a benchmark brings: people's, and those of judges whose runs were released."""

from __future__ import annotations

from pathlib import Path

from fullbench import registry
from fullbench.nouns.reproduction import Brought


def recorded(name: str, data: Path | None = None) -> Brought:
    """What a benchmark brings: of its released data, or of the sample that ships with it."""
    return registry.benchmark(name).brought(data)
