"""Rubric weights learned from people's marks on some items, and tested on the other items.

The weights are a non-negative least-squares fit (Lawson and Hanson 1974, chapter 23) with a free intercept. It fits
people's marks by the criteria's marks, each scaled to 0-1. The gain is the difference of two correlations with people
on the held-out items: that of the learned total, and that of the same judge's single overall mark.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import numpy as np
import numpy.typing as npt

from fullbench.analysis.item_clustered_means_and_shares import scale_of
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.item import Item
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.response import Response
from fullbench.core.rubric import Criterion
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, error_sentence
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError, Undefined
from fullbench.files.item_response_verdict_files import read_items, read_responses, read_verdicts
from fullbench.stats.intervals import statistics_for_bootstrap
from fullbench.stats.intervals.bootstrap_and_jackknife import bootstrap

Floats = npt.NDArray[np.float64]
LEAST = 8
"""Minimum number of items for training and for testing; with fewer, an interval over items is meaningless."""
_NOTHING = 1e-3
"""A weight below this share of the largest is set to 0."""


def examples_of(items: Path, responses: Path, labels: Path | None) -> list[tuple[Item, Response, float | None]]:
    """Return every response with its item and people's mean overall mark, or None if there is none."""
    items_by_id = {item.id: item for item in read_items(items)}
    marks: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for label in read_verdicts(labels) if labels is not None else ():
        if label.criterion == "overall":
            _add_mark(marks, label)
    return [
        (items_by_id[answer.item], answer, fmean(people_marks) if people_marks else None)
        for answer in read_responses(responses, items=set(items_by_id))
        for people_marks in [marks.get((answer.item, answer.contestant, answer.sample), [])]
    ]


def is_held_out(item: str, share: float, seed: int) -> bool:
    """Return True if an item is for the test only. Depends only on its name and the seed, not on other items."""
    return int(digest(["held out", seed, item])[:8], 16) / 16**8 < share


@dataclass(frozen=True)
class MarkedResponses:
    """Marked responses: scaled mark per criterion (at most 0 for a flaw), the judge's overall mark, people's mean."""

    shares: Floats
    overall: Floats
    people: Floats
    items: list[str]
    left_out: int
    """Number of responses marked by people that lack a mark by a criterion or overall."""

    def select_rows(self, rows: npt.NDArray[np.bool_]) -> MarkedResponses:
        items = [item for item, is_selected in zip(self.items, rows, strict=True) if is_selected]
        return MarkedResponses(self.shares[rows], self.overall[rows], self.people[rows], items, self.left_out)


def collect_marked_responses(
    record: Record, criteria: Sequence[Criterion], filler: str, plain: str, ballot: str
) -> MarkedResponses:
    """Collect responses marked by people, by the judge overall, and by the judge on each criterion."""
    people = _mean_marks(record, PEOPLE, "overall", ballot)
    overall = _mean_marks(record, plain, "overall", ballot)
    by_criterion = [_mean_marks(record, filler, line.name, line.ballot) for line in criteria]
    places = [place for place in people if place in overall and all(place in marks for marks in by_criterion)]
    shares = [[_credit_share(marks[place], line) for line, marks in zip(criteria, by_criterion, strict=True)]
              for place in places]  # fmt: skip
    return MarkedResponses(
        np.array(shares, dtype=np.float64).reshape(len(places), len(criteria)),
        np.array([overall[place] for place in places]), np.array([people[place] for place in places]),
        [place[0] for place in places], len(people) - len(places),
    )  # fmt: skip


def _mean_marks(record: Record, judge: str, criterion: str, ballot: str) -> Mapping[tuple[str, str, int], float]:
    marks: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for verdict in record:
        if (verdict.judge, verdict.criterion, verdict.ballot) == (judge, criterion, ballot):
            _add_mark(marks, verdict)
    return {place: fmean(each) for place, each in marks.items()}


def _add_mark(marks: dict[tuple[str, str, int], list[float]], verdict: Verdict) -> None:
    if verdict.marks is not None and len(verdict.marks) == 1:
        ((contestant, sample),) = verdict.shown_responses
        marks[verdict.item, contestant, sample].append(verdict.marks[0])


def _credit_share(mark: float, line: Criterion) -> float:
    """Return the share of the scale; that of a flaw is negative, so that every weight is at least 0."""
    low, high = scale_of(line.ballot) or (0.0, 1.0)
    return (mark - low) / (high - low) * (-1 if line.weight < 0 else 1)


@dataclass(frozen=True)
class LearnedRubric:
    """A rubric with learned weights, the dropped criteria, and the test on held-out items."""

    criteria: list[Criterion]
    dropped_criteria: list[str]
    gain: Estimate | None
    tables: list[Table]


def learn_weights(
    data: MarkedResponses, criteria: Sequence[Criterion], *, share: float = 0.5, seed: int = 0
) -> LearnedRubric:
    """Learn weights on the training items and test them on the held-out items."""
    held_out_mask = np.array([is_held_out(item, share, seed) for item in data.items], dtype=bool)
    train, test = data.select_rows(~held_out_mask), data.select_rows(held_out_mask)
    sizes = len(set(train.items)), len(set(test.items))
    if min(sizes) < LEAST:
        raise InputError(
            f"people marked responses to {sizes[0]} items to learn from and {sizes[1]} held out; {LEAST} of each are "
            "needed: mark more, or change --held-out"
        )
    weights = _fit_weights(train)
    if not weights.any():
        raise InputError(
            "no criterion agrees with people's marks, so nothing can be learned; propose other criteria, or check how "
            "the judge marks them"
        )
    weights = np.where(weights < _NOTHING * weights.max(), 0.0, weights)
    weights = weights / weights.sum()
    learned_criteria = [
        replace(line, weight=float(weight) * (-1 if line.weight < 0 else 1))
        for line, weight in zip(criteria, weights, strict=True)
        if weight > 0
    ]
    dropped_names = [line.name for line, weight in zip(criteria, weights, strict=True) if not weight]
    before = np.abs([line.weight for line in criteria])
    totals: dict[str, Floats] = {
        Note("rubric.overall"): test.overall,
        Note("rubric.as-it-was"): test.shares @ (before / before.sum()),
        Note("rubric.by-learning"): test.shares @ weights,
    }
    test_rows, gain = _test_totals(totals, test, seed)
    note = Note(
        "rubric.learned", train=sizes[0], rows=len(train.items), test=sizes[1], held=len(test.items), left=data.left_out
    )
    signs = np.sign([line.weight for line in criteria])
    by_weight = _weights_table(criteria, signs * before / before.sum(), signs * weights, train)
    title = Note("rubric.title.tested")
    columns = table_columns("judged by", "Pearson", "gain")
    return LearnedRubric(
        learned_criteria, dropped_names, gain, [by_weight, Table("rubric test", title, columns, test_rows, [note])]
    )


def _fit_weights(train: MarkedResponses) -> Floats:
    from scipy.optimize import nnls

    shares = train.shares - train.shares.mean(axis=0)
    weights, _ = nnls(shares, train.people - train.people.mean())
    return np.asarray(weights, dtype=np.float64)


def _test_totals(
    totals: Mapping[str, Floats], test: MarkedResponses, seed: int
) -> tuple[list[list[Cell]], Estimate | None]:
    rows: list[list[Cell]] = []
    gain: Estimate | None = None
    for name, total in totals.items():
        cells: list[Cell] = [name]
        try:
            cells.append(
                bootstrap(
                    statistics_for_bootstrap.weighted_pearson,
                    total,
                    test.people,
                    cluster=test.items,
                    seed=seed,
                    within=(-1, 1),
                )
            )
        except Undefined as reason:
            cells.append(error_sentence(reason))
        gain = None
        if total is not test.overall:
            try:
                gain = bootstrap(_correlation_gain, total, test.overall, test.people, cluster=test.items, seed=seed)
            except Undefined:
                gain = None
        rows.append([*cells, gain])
    return rows, gain


def _correlation_gain(weights: Floats, total: Floats, overall: Floats, people: Floats) -> Floats:
    return statistics_for_bootstrap.weighted_pearson(
        weights, total, people
    ) - statistics_for_bootstrap.weighted_pearson(weights, overall, people)


def _weights_table(criteria: Sequence[Criterion], before: Floats, after: Floats, train: MarkedResponses) -> Table:
    rows: list[list[Cell]] = [
        [line.name, float(old), float(new), abs(float(train.shares[:, place].mean()))]
        for place, (line, old, new) in enumerate(zip(criteria, before, after, strict=True))
    ]
    title = Note("rubric.title.weights")
    return Table(
        "rubric weights", title, table_columns("criterion", "weight before", "weight learned", "mean share"), rows
    )
