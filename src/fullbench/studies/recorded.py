"""The verdicts that a benchmark brings: people's, and those of judges whose runs were released."""

from __future__ import annotations

from pathlib import Path

from fullbench import registry
from fullbench.errors import InputError
from fullbench.nouns.reproduction import Brought, Recorded


def recorded(name: str, data: Path | None = None) -> Brought:
    """What a benchmark brings: of its released data, or of the sample that ships with it."""
    found = registry.load("benchmarks", name)
    if not isinstance(found, Recorded):
        raise InputError(f"the benchmark {name!r} brings no verdicts of its own: it has no 'bring'")
    return found.bring(data)
