"""Weights of a rubric learned from people's marks on some items, and tested on items that took no part in it.

The weights are those of a least-squares fit of people's marks by the criteria's shares of their scales, none below 0
(Lawson and Hanson 1974, chapter 23), with a free level. What is gained is the difference of two correlations with
people on the items held out: that of the learned total, and that of the same judge's one overall mark.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import numpy as np
import numpy.typing as npt

from fullbench.analysis.estimate_cells import scale_of
from fullbench.core.column_labels import headings
from fullbench.core.digests import digest
from fullbench.core.estimate import Estimate
from fullbench.core.item import Item
from fullbench.core.note import Note, sentence
from fullbench.core.record import Record
from fullbench.core.response import Response
from fullbench.core.rubric import Criterion
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.errors import InputError, Undefined
from fullbench.files.item_files import read_items, read_responses, read_verdicts
from fullbench.stats.intervals import weighted_statistics
from fullbench.stats.intervals.bootstrap import bootstrap

Floats = npt.NDArray[np.float64]
LEAST = 8
"""So many items at least on either side: with fewer, an interval over items says nothing."""
_NOTHING = 1e-3
"""A weight below this share of the largest counts for nothing."""


def examples_of(items: Path, responses: Path, labels: Path | None) -> list[tuple[Item, Response, float | None]]:
    """Every response with its item and people's mean overall mark, where they gave one."""
    asked = {item.id: item for item in read_items(items)}
    marks: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for label in read_verdicts(labels) if labels is not None else ():
        if label.criterion == "overall":
            _enter(marks, label)
    return [
        (asked[answer.item], answer, fmean(given) if given else None)
        for answer in read_responses(responses, items=set(asked))
        for given in [marks.get((answer.item, answer.contestant, answer.sample), [])]
    ]


def is_held_out(item: str, share: float, seed: int) -> bool:
    """Whether an item is for the test alone: drawn from its name and the seed, whatever else is there."""
    return int(digest(["held out", seed, item])[:8], 16) / 16**8 < share


@dataclass(frozen=True)
class Marked:
    """Each marked response's shares by criterion, the judge's one overall mark, people's mean mark, and its item."""

    shares: Floats
    overall: Floats
    people: Floats
    items: list[str]
    left_out: int
    """Responses that people marked and that lack a mark by a criterion or overall."""

    def of(self, rows: npt.NDArray[np.bool_]) -> Marked:
        items = [item for item, taken in zip(self.items, rows, strict=True) if taken]
        return Marked(self.shares[rows], self.overall[rows], self.people[rows], items, self.left_out)


def marked(record: Record, criteria: Sequence[Criterion], filler: str, plain: str, ballot: str) -> Marked:
    """What people, the judge overall and the judge by each criterion marked the same responses."""
    people = _means(record, PEOPLE, "overall", ballot)
    overall = _means(record, plain, "overall", ballot)
    by_criterion = [_means(record, filler, line.name, line.ballot) for line in criteria]
    places = [place for place in people if place in overall and all(place in marks for marks in by_criterion)]
    shares = [[_share(marks[place], line.ballot) for line, marks in zip(criteria, by_criterion, strict=True)]
              for place in places]  # fmt: skip
    return Marked(
        np.array(shares, dtype=np.float64).reshape(len(places), len(criteria)),
        np.array([overall[place] for place in places]), np.array([people[place] for place in places]),
        [place[0] for place in places], len(people) - len(places),
    )  # fmt: skip


def _means(record: Record, judge: str, criterion: str, ballot: str) -> Mapping[tuple[str, str, int], float]:
    """The mean mark of each response, over trials and raters."""
    marks: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for verdict in record:
        if (verdict.judge, verdict.criterion, verdict.ballot) == (judge, criterion, ballot):
            _enter(marks, verdict)
    return {place: fmean(each) for place, each in marks.items()}


def _enter(marks: dict[tuple[str, str, int], list[float]], verdict: Verdict) -> None:
    if verdict.marks is not None and len(verdict.marks) == 1:
        ((contestant, sample),) = verdict.shown
        marks[verdict.item, contestant, sample].append(verdict.marks[0])


def _share(mark: float, spec: str) -> float:
    low, high = scale_of(spec) or (0.0, 1.0)
    return (mark - low) / (high - low)


@dataclass(frozen=True)
class Learned:
    """The rubric with its learned weights, what counts for nothing, and how it fares on items held out."""

    criteria: list[Criterion]
    dropped: list[str]
    gain: Estimate | None
    tables: list[Table]


def learn(data: Marked, criteria: Sequence[Criterion], *, share: float = 0.5, seed: int = 0) -> Learned:
    """Weights from the items that are not held out, and a test on those that are."""
    held = np.array([is_held_out(item, share, seed) for item in data.items], dtype=bool)
    train, test = data.of(~held), data.of(held)
    sizes = len(set(train.items)), len(set(test.items))
    if min(sizes) < LEAST:
        raise InputError(
            f"people marked responses to {sizes[0]} items to learn from and {sizes[1]} held out; {LEAST} of each are "
            "needed: mark more, or change --held-out"
        )
    weights = _fitted(train)
    if not weights.any():
        raise InputError(
            "no criterion goes with what people marked higher, so nothing can be learned; propose others, or look at "
            "how the judge marks them"
        )
    weights = np.where(weights < _NOTHING * weights.max(), 0.0, weights)
    weights = weights / weights.sum()
    learned = [
        replace(line, weight=float(weight)) for line, weight in zip(criteria, weights, strict=True) if weight > 0
    ]
    dropped = [line.name for line, weight in zip(criteria, weights, strict=True) if not weight]
    before = np.array([line.weight for line in criteria])
    totals: dict[str, Floats] = {
        Note("rubric.overall", "the same judge, one overall mark"): test.overall,
        Note("rubric.as-it-was", "the rubric, weights as they were"): test.shares @ (before / before.sum()),
        Note("rubric.by-learning", "the rubric, weights learned"): test.shares @ weights,
    }
    tested, gain = _tested(totals, test, seed)
    note = Note(
        "rubric.learned",
        "Learned on {train:,} items ({rows:,} responses), tested on {test:,} others ({held:,} responses); {left:,} "
        "marked responses lack a mark by the judge and are left out. Gains are over the one overall mark.",
        train=sizes[0], rows=len(train.items), test=sizes[1], held=len(test.items), left=data.left_out,
    )  # fmt: skip
    by_weight = _weights(criteria, before / before.sum(), weights, train)
    title = Note("rubric.title.tested", "Correlation with people on items held out")
    columns = headings("judged by", "Pearson", "gain")
    return Learned(learned, dropped, gain, [by_weight, Table("rubric test", title, columns, tested, [note])])


def _fitted(train: Marked) -> Floats:
    from scipy.optimize import nnls

    shares = train.shares - train.shares.mean(axis=0)
    weights, _ = nnls(shares, train.people - train.people.mean())
    return np.asarray(weights, dtype=np.float64)


def _tested(totals: Mapping[str, Floats], test: Marked, seed: int) -> tuple[list[list[Cell]], Estimate | None]:
    rows: list[list[Cell]] = []
    gain: Estimate | None = None
    for name, total in totals.items():
        cells: list[Cell] = [name]
        try:
            cells.append(
                bootstrap(
                    weighted_statistics.pearson, total, test.people, cluster=test.items, seed=seed, within=(-1, 1)
                )
            )
        except Undefined as reason:
            cells.append(sentence(reason))
        gain = None
        if total is not test.overall:
            try:
                gain = bootstrap(_difference, total, test.overall, test.people, cluster=test.items, seed=seed)
            except Undefined:
                gain = None
        rows.append([*cells, gain])
    return rows, gain


def _difference(weights: Floats, total: Floats, overall: Floats, people: Floats) -> Floats:
    """How much better one total goes with people than another, resample by resample."""
    return weighted_statistics.pearson(weights, total, people) - weighted_statistics.pearson(weights, overall, people)


def _weights(criteria: Sequence[Criterion], before: Floats, after: Floats, train: Marked) -> Table:
    rows: list[list[Cell]] = [
        [line.name, float(old), float(new), float(train.shares[:, place].mean())]
        for place, (line, old, new) in enumerate(zip(criteria, before, after, strict=True))
    ]
    title = Note("rubric.title.weights", "What each criterion counts for")
    return Table("rubric weights", title, headings("criterion", "weight before", "weight learned", "mean share"), rows)
