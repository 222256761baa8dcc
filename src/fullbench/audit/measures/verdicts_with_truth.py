"""A judge's verdicts on audit cases together with the known truth, and means over items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fullbench.analysis import item_clustered_means_and_shares
from fullbench.core.estimate import Estimate
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record


@dataclass(frozen=True)
class JudgedCase:
    """Verdict with its item and the responses in the order shown."""

    verdict: Verdict
    item: Item
    responses: tuple[Response, ...]

    @property
    def part(self) -> str:
        return self.item.tags.get("part", "")

    @property
    def change(self) -> str:
        return self.item.tags.get("what", "")

    @property
    def base(self) -> str:
        """Id of the original item of which this one is a variant; its own id if it is none."""
        return self.item.tags.get("base", self.item.id)

    @property
    def has_marks(self) -> bool:
        return self.verdict.marks is not None

    @property
    def qualities(self) -> tuple[float, ...]:
        return tuple(float(response.tags.get("quality", "nan")) for response in self.responses)

    def mark(self, contestant: str) -> float:
        """Return the mark of a contestant; for a choice between two it is 1, one half or 0."""
        return dict(zip(self.verdict.contestants, self.verdict.marks or (), strict=True))[contestant]

    @property
    def right_share(self) -> float:
        """Mark of the better answer of a pair: 1, 0, or one half for a tie."""
        marks = self.verdict.marks or ()
        better = int(np.argmax(self.qualities))
        return marks[better]


def load_judged_cases(record: Record, judge: str) -> list[JudgedCase]:
    """Return a judge's verdicts on audit cases, including unusable ones, in the order of the record."""
    rows = []
    for verdict in record.where(judge=judge):
        item = record.items.get(verdict.item)
        if item is None or "part" not in item.tags:
            continue
        responses = tuple(record.responses[(verdict.item, *response_key)] for response_key in verdict.shown_responses)
        rows.append(JudgedCase(verdict, item, responses))
    return rows


def marked_cases(
    rows: Iterable[JudgedCase], part: str, condition: Callable[[JudgedCase], bool] = lambda _: True
) -> list[JudgedCase]:
    """Return the verdicts of a part that have marks."""
    return [row for row in rows if row.part == part and row.has_marks and condition(row)]


def share_over_items(values: Sequence[float], items: Sequence[str]) -> Estimate | None:
    """Return the mean of shares (0 to 1) over items, or None without values."""
    if not values:
        return None
    _, places = np.unique(items, return_inverse=True)
    return item_clustered_means_and_shares.share_estimate(np.array(values, dtype=np.float64), places)


def signed_mean_over_items(values: Sequence[float], items: Sequence[str]) -> Estimate | None:
    """Return the mean of values from -1 to 1 over items, with the p-value of "it is 0"; None without values."""
    if not values:
        return None
    _, places = np.unique(items, return_inverse=True)
    return item_clustered_means_and_shares.difference_estimate(np.array(values, dtype=np.float64), places, (-1.0, 1.0))
