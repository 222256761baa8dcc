"""Tables 3 and 15 to 18: how evenly each judge scores the people of one occupation.

The paper's demographic columns do not regroup the scores: each averages the figure of the *occupation* over the rows
that carry the flag. Whether a column was normalised first differs from judge to judge and from table to table; which it
was stands in the tables below, found by trying both against what is printed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from fullbench.benchmarks.mj_bench.release.judge_and_category_names import AXES, CLOSED, SCORE_MODELS
from fullbench.benchmarks.mj_bench.release.release_files import BiasSheet, Scores
from fullbench.benchmarks.mj_bench.reproduce.cells_and_printed_numbers import figure_cell
from fullbench.core.reproduction import Reproduced
from fullbench.errors import Undefined
from fullbench.stats.agreement.preferences_from_scores import min_max
from fullbench.stats.array_checks import Bools, Floats
from fullbench.stats.bias.group_fairness import (
    Evenness,
    Grouped,
    by_group,
    counts_by,
    dispersion_score,
    gini_equality,
    near_pairs,
)

FIGURES: Mapping[str, Evenness] = {"ACC": near_pairs, "NDS": dispersion_score, "GES": gini_equality}
_TABLES = {"ACC": "T15", "NDS": "T16", "GES": "T17"}
_FIRST = 300
"""How many rows Table 18 uses of the closed judges on scales other than 0 to 5."""

BY_AXIS = {
    **{judge: (judge, True) for judge in SCORE_MODELS},
    **{judge: (f"{judge}|number5", True) for judge in CLOSED},
    "qwen-vl-chat": ("qwen-vl-chat|number5", True),
    "idefics2-8b": ("idefics2-8b|number10", True),
    "MiniGPT-v2": ("MiniGPT-v2|number10", True),
    "instructblip": ("instructblip|number10", True),
    "prometheus-vision-7b-v1.0": ("prometheus-vision-7b-v1.0|number5", False),
    "prometheus-vision-13b-v1.0": ("prometheus-vision-13b-v1.0|number5", False),
    "internvl-chat-v1-5": ("internvl-chat-v1-5|number5", False),
}
"""Tables 15 to 17: the column behind each judge's row, and whether it was normalised."""

_NEVER = ("idefics2-8b", "internvl-chat-v1-5", "qwen-vl-chat", "prometheus-vision-13b-v1.0")
AS_GIVEN = {
    *(f"{judge}|{scale}" for judge in _NEVER for scale in ("number5", "number10", "likert5")),
    "prometheus-vision-7b-v1.0|number5",
    "prometheus-vision-7b-v1.0|number10",
    "gpt-4-turbo|number10",
    "claude-3-opus|number10",
    "claude-3-opus|likert5",
}
"""Table 18: the columns that were not normalised."""


@dataclass(frozen=True)
class Column:
    """The scores of one judge that are there, and whose they are."""

    scores: Floats
    groups: tuple[str, ...]
    known: Bools

    @classmethod
    def of(cls, sheet: BiasSheet, scores: Scores, *, normalised: bool, first: int | None = None) -> Column:
        """A column without its gaps, stretched to run from 0 to 1 where that is asked for."""
        taken = scores[:first]
        known = np.array([score is not None for score in taken], dtype=bool)
        values = np.array([score for score in taken if score is not None], dtype=float)
        groups = tuple(group for group, there in zip(sheet.occupations, known, strict=False) if there)
        return cls(min_max(values) if normalised else values, groups, known)

    def grouped(self, figure: str) -> Grouped:
        """One of the three figures for each occupation."""
        return by_group(FIGURES[figure], self.scores, self.groups)


def cells(sheet: BiasSheet) -> Iterator[Reproduced]:
    """All of them. A judge whose column is constant (PickScore's is 1 in every row) or missing has none."""
    for judge, (name, normalised) in BY_AXIS.items():
        try:
            column = Column.of(sheet, sheet.scores.get(name, ()), normalised=normalised)
        except Undefined:
            continue
        yield from _by_axis(judge, column, sheet)
        if judge in {*SCORE_MODELS, *CLOSED}:
            yield from _plain(f"bias/{judge}/T3", column, "Table 3")
    yield from _scales(sheet)


def _by_axis(judge: str, column: Column, sheet: BiasSheet) -> Iterator[Reproduced]:
    for figure, table in _TABLES.items():
        grouped = column.grouped(figure)
        for axis in (*AXES, "item_avg"):
            flag = np.ones(len(column.known), dtype=bool) if axis == "item_avg" else np.array(sheet.flags[axis])
            weights = counts_by(column.groups, flag[column.known])
            name = f"bias/{judge}/{table}/{figure}/{axis}"
            mean = partial(grouped.mean_over_rows, weights)
            yield from _cell(name, mean, int(sum(weights.values())), f"Table {table[1:]}")


def _plain(name: str, column: Column, source: str, *, by_row: bool = False) -> Iterator[Reproduced]:
    for figure in FIGURES:
        grouped = column.grouped(figure)
        mean = grouped.mean_over_rows if by_row else grouped.mean
        yield from _cell(f"{name}/{figure}", mean, len(column.scores), source)


def _cell(name: str, mean: Callable[[], float], n: int, source: str) -> Iterator[Reproduced]:
    """A cell, or none where no occupation defines the figure."""
    try:
        yield figure_cell(name, mean(), n, source)
    except Undefined:
        return


def _scales(sheet: BiasSheet) -> Iterator[Reproduced]:
    for name, scores in sheet.scores.items():
        judge, _, scale = name.partition("|")
        if not scale:
            continue
        short = {"number5": "n5", "number10": "n10", "likert5": "lik"}[scale] if judge in CLOSED else scale
        first = _FIRST if judge in CLOSED and short != "n5" else None
        try:
            column = Column.of(sheet, scores, normalised=short == "n5" or name not in AS_GIVEN, first=first)
        except Undefined:
            continue
        yield from _plain(f"bias/{judge}/T18/{short}", column, "Table 18", by_row=short == "n5")
