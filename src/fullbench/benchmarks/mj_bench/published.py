"""What MJ-Bench's paper and the results table of GenAI-Bench's repository (August 2024) print, by our cells' names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources


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
