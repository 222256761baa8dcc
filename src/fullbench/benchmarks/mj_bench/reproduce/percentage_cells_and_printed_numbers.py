"""Helpers for reproduced cells: percentages with six decimals, Wilson intervals, printed numbers.

Numbers are those of MJ-Bench's paper and of the results table in GenAI-Bench's repository (August 2024), by cell name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources

from fullbench.core.benchmark import Reproduced
from fullbench.core.estimate import Estimate
from fullbench.stats.intervals.share_intervals import wilson_interval


@cache
def printed_numbers() -> Mapping[str, float]:
    """Return every printed number that has a counterpart in the released files.

    >>> printed_numbers()["bias/clipscore_v2/T3/GES"]
    86.9
    """
    text = (resources.files("fullbench.benchmarks.mj_bench") / "printed.tsv").read_text(encoding="utf-8")
    numbers = {}
    for line in text.splitlines():
        family, members = line.split("\t")
        for member in members.split(" "):
            name, _, number = member.partition("=")
            numbers[f"{family}/{name}"] = float(number)
    return numbers


def to_percent(share: float) -> float:
    """Return a share as a percentage with six decimals.

    >>> to_percent(1 / 3)
    33.333333
    """
    return round(100 * share, 6)


def share_cell(name: str, hits: int, n: int, source: str = "") -> Reproduced:
    """Return the cell for `hits` of `n`, with Wilson's interval."""
    share = wilson_interval(hits, n)
    estimate = Estimate(100 * share.value, 100 * share.low, 100 * share.high, n, share.level, share.method)
    return Reproduced(name, to_percent(hits / n), n, "", estimate, printed_numbers().get(name), source)


def metric_cell(name: str, share: float, n: int, source: str = "") -> Reproduced:
    """Return a cell without an interval."""
    return Reproduced(name, to_percent(share), n, "", None, printed_numbers().get(name), source)
