"""Every figure of MJ-Bench that the released files allow, computed again."""

from __future__ import annotations

from collections.abc import Iterator

from fullbench.benchmarks.mj_bench import cells_bias, cells_pairs, cells_rulings
from fullbench.benchmarks.mj_bench.release import Release
from fullbench.core.reproduction import Reproduced


def cells(release: Release) -> Iterator[Reproduced]:
    """All of them, family by family."""
    yield from cells_bias.cells(release.bias)
    yield from cells_pairs.quality(release)
    yield from cells_pairs.safety(release)
    yield from cells_pairs.votes(release)
    yield from cells_pairs.categories(release)
    yield from cells_rulings.cells(release)
