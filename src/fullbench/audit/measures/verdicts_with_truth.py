"""What was heard in an audit: a judge's verdicts beside all that is known of their cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fullbench.analysis import estimate_cells
from fullbench.core.estimate import Estimate
from fullbench.core.item import Item
from fullbench.core.record import Record
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict


@dataclass(frozen=True)
class Heard:
    """One verdict, its item and the responses in the order shown."""

    verdict: Verdict
    item: Item
    responses: tuple[Response, ...]

    @property
    def part(self) -> str:
        return self.item.tags.get("part", "")

    @property
    def what(self) -> str:
        return self.item.tags.get("what", "")

    @property
    def base(self) -> str:
        """The item of which this one is a variant; itself where it is none."""
        return self.item.tags.get("base", self.item.id)

    @property
    def ruled(self) -> bool:
        return self.verdict.marks is not None

    @property
    def qualities(self) -> tuple[float, ...]:
        return tuple(float(response.tags.get("quality", "nan")) for response in self.responses)

    def mark(self, contestant: str) -> float:
        """The mark that a contestant got; of a choice between two, 1, one half or 0."""
        return dict(zip(self.verdict.contestants, self.verdict.marks or (), strict=True))[contestant]

    @property
    def right(self) -> float:
        """Of a pair, how far the ruling went to the better answer: 1, 0, or one half for a tie."""
        marks = self.verdict.marks or ()
        better = int(np.argmax(self.qualities))
        return marks[better]


def heard(record: Record, judge: str) -> list[Heard]:
    """The verdicts of a judge on an audit's cases, faults among them, in the order of the record."""
    rows = []
    for verdict in record.where(judge=judge):
        item = record.items.get(verdict.item)
        if item is None or "part" not in item.tags:
            continue
        responses = tuple(record.responses[(verdict.item, *shown)] for shown in verdict.shown)
        rows.append(Heard(verdict, item, responses))
    return rows


def of(rows: Iterable[Heard], part: str, test: Callable[[Heard], bool] = lambda _: True) -> list[Heard]:
    """The rulings of a part."""
    return [row for row in rows if row.part == part and row.ruled and test(row)]


def share(values: Sequence[float], items: Sequence[str]) -> Estimate | None:
    """The mean of wins, losses and what lies between, over items; None of nothing."""
    if not values:
        return None
    _, places = np.unique(items, return_inverse=True)
    return estimate_cells.share(np.array(values, dtype=np.float64), places)


def difference(values: Sequence[float], items: Sequence[str]) -> Estimate | None:
    """The mean of what lies between -1 and 1, over items, with the p-value of "it is 0"; None of nothing."""
    if not values:
        return None
    _, places = np.unique(items, return_inverse=True)
    return estimate_cells.difference(np.array(values, dtype=np.float64), places, (-1.0, 1.0))
