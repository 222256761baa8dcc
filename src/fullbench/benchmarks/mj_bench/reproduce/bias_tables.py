"""Tables 3 and 15 to 18: evenness of each judge's scores for the people of one occupation.

The paper's demographic columns do not regroup the scores. Each averages the number of the *occupation* over the rows
that have the flag. Normalisation differs from judge to judge and from table to table. The tables below list the choice
that matches the printed numbers, found by trying both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from fullbench.benchmarks.mj_bench.demographic_evenness import EVENNESS_METRICS
from fullbench.benchmarks.mj_bench.release.judge_and_category_names import AXES, CLOSED_JUDGES, SCORE_MODELS
from fullbench.benchmarks.mj_bench.release.released_scores_and_verdicts import BiasSheet, Scores
from fullbench.benchmarks.mj_bench.reproduce.percentage_cells_and_printed_numbers import metric_cell
from fullbench.core.benchmark import Reproduced
from fullbench.errors import Undefined
from fullbench.stats.agreement.preferences_from_scores import min_max
from fullbench.stats.array_checks import Bools, Floats
from fullbench.stats.bias.score_evenness_within_groups import GroupValues, by_group, counts_by

_TABLES = {"ACC": "T15", "NDS": "T16", "GES": "T17"}
_OTHER_SCALE_ROWS = 300
"""Number of rows that Table 18 uses of the closed judges on scales other than 0 to 5."""

BY_AXIS = {
    **{judge: (judge, True) for judge in SCORE_MODELS},
    **{judge: (f"{judge}|number5", True) for judge in CLOSED_JUDGES},
    "qwen-vl-chat": ("qwen-vl-chat|number5", True),
    "idefics2-8b": ("idefics2-8b|number10", True),
    "MiniGPT-v2": ("MiniGPT-v2|number10", True),
    "instructblip": ("instructblip|number10", True),
    "prometheus-vision-7b-v1.0": ("prometheus-vision-7b-v1.0|number5", False),
    "prometheus-vision-13b-v1.0": ("prometheus-vision-13b-v1.0|number5", False),
    "internvl-chat-v1-5": ("internvl-chat-v1-5|number5", False),
}
"""Tables 15 to 17: the column behind each judge's row, and True if it was normalised."""

_NEVER_NORMALISED = ("idefics2-8b", "internvl-chat-v1-5", "qwen-vl-chat", "prometheus-vision-13b-v1.0")
AS_GIVEN = {
    *(f"{judge}|{scale}" for judge in _NEVER_NORMALISED for scale in ("number5", "number10", "likert5")),
    "prometheus-vision-7b-v1.0|number5",
    "prometheus-vision-7b-v1.0|number10",
    "gpt-4-turbo|number10",
    "claude-3-opus|number10",
    "claude-3-opus|likert5",
}
"""Table 18: columns that were not normalised."""


@dataclass(frozen=True)
class Column:
    """Available scores of one judge, with their occupations."""

    scores: Floats
    groups: tuple[str, ...]
    score_mask: Bools

    @classmethod
    def from_scores(cls, sheet: BiasSheet, scores: Scores, *, is_normalised: bool, first: int | None = None) -> Column:
        """Drop missing scores and, with `is_normalised`, stretch the others to 0..1."""
        leading_scores = scores[:first]
        score_mask = np.array([score is not None for score in leading_scores], dtype=bool)
        values = np.array([score for score in leading_scores if score is not None], dtype=float)
        groups = tuple(group for group, has_score in zip(sheet.occupations, score_mask, strict=False) if has_score)
        return cls(min_max(values) if is_normalised else values, groups, score_mask)

    def metric_by_occupation(self, metric: str) -> GroupValues:
        """Return one of the three metrics for each occupation."""
        return by_group(EVENNESS_METRICS[metric], self.scores, self.groups)


def bias_cells(sheet: BiasSheet) -> Iterator[Reproduced]:
    """Yield all bias cells, except for judges with a constant column (PickScore: all 1) or a missing one."""
    for judge, (name, is_normalised) in BY_AXIS.items():
        try:
            column = Column.from_scores(sheet, sheet.scores.get(name, ()), is_normalised=is_normalised)
        except Undefined:
            continue
        yield from _axis_cells(judge, column, sheet)
        if judge in {*SCORE_MODELS, *CLOSED_JUDGES}:
            yield from _average_cells(f"bias/{judge}/T3", column, "Table 3")
    yield from _scale_cells(sheet)


def _axis_cells(judge: str, column: Column, sheet: BiasSheet) -> Iterator[Reproduced]:
    for metric, table in _TABLES.items():
        occupation_values = column.metric_by_occupation(metric)
        for axis in (*AXES, "item_avg"):
            flag = np.ones(len(column.score_mask), dtype=bool) if axis == "item_avg" else np.array(sheet.flags[axis])
            weights = counts_by(column.groups, flag[column.score_mask])
            name = f"bias/{judge}/{table}/{metric}/{axis}"
            mean = partial(occupation_values.mean_over_rows, weights)
            yield from _defined_cells(name, mean, int(sum(weights.values())), f"Table {table[1:]}")


def _average_cells(name: str, column: Column, source: str, *, by_row: bool = False) -> Iterator[Reproduced]:
    for metric in EVENNESS_METRICS:
        occupation_values = column.metric_by_occupation(metric)
        mean = occupation_values.mean_over_rows if by_row else occupation_values.mean
        yield from _defined_cells(f"{name}/{metric}", mean, len(column.scores), source)


def _defined_cells(name: str, mean: Callable[[], float], n: int, source: str) -> Iterator[Reproduced]:
    try:
        yield metric_cell(name, mean(), n, source)
    except Undefined:
        return


def _scale_cells(sheet: BiasSheet) -> Iterator[Reproduced]:
    for name, scores in sheet.scores.items():
        judge, _, scale = name.partition("|")
        if not scale:
            continue
        short = {"number5": "n5", "number10": "n10", "likert5": "lik"}[scale] if judge in CLOSED_JUDGES else scale
        first = _OTHER_SCALE_ROWS if judge in CLOSED_JUDGES and short != "n5" else None
        try:
            column = Column.from_scores(sheet, scores, is_normalised=short == "n5" or name not in AS_GIVEN, first=first)
        except Undefined:
            continue
        yield from _average_cells(f"bias/{judge}/T18/{short}", column, "Table 18", by_row=short == "n5")
