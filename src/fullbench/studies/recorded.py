"""The verdicts that a benchmark brings: people's, and those of judges whose runs were released."""

from __future__ import annotations

from pathlib import Path

from fullbench.core.reproduction import Brought
from fullbench.registry import benchmark as benchmark_named


def recorded(name: str, data: Path | None = None) -> Brought:
    """What a benchmark brings: of its released data, or of the sample that ships with it."""
    return benchmark_named(name).brought(data)
