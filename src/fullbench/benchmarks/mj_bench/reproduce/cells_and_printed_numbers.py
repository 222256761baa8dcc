"""What all families of cells share: percentages to six digits, with an interval and the printed figure beside them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources

from fullbench.core.estimate import Estimate
from fullbench.core.reproduction import Reproduced
from fullbench.stats.intervals.share_intervals import wilson

# What MJ-Bench's paper and the results table of GenAI-Bench's repository (August 2024) print, by our cells' names.


@cache
def printed() -> Mapping[str, float]:
    """Every printed figure that has a counterpart in the released files.

    >>> printed()["bias/clipscore_v2/T3/GES"]
    86.9
    """
    text = (resources.files("fullbench.benchmarks.mj_bench") / "printed.tsv").read_text(encoding="utf-8")
    figures = {}
    for line in text.splitlines():
        family, members = line.split("\t")
        for member in members.split(" "):
            name, _, figure = member.partition("=")
            figures[f"{family}/{name}"] = float(figure)
    return figures


def percent(share: float) -> float:
    """A share as a percentage, to six decimals.

    >>> percent(1 / 3)
    33.333333
    """
    return round(100 * share, 6)


def share_cell(name: str, hits: int, n: int, source: str = "") -> Reproduced:
    """So many of so many, with Wilson's interval."""
    share = wilson(hits, n)
    estimate = Estimate(100 * share.value, 100 * share.low, 100 * share.high, n, share.level, share.method)
    return Reproduced(name, percent(hits / n), n, "", estimate, printed().get(name), source)


def figure_cell(name: str, share: float, n: int, source: str = "") -> Reproduced:
    """A figure without an interval."""
    return Reproduced(name, percent(share), n, "", None, printed().get(name), source)
