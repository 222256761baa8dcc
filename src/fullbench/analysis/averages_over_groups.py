"""Figures averaged over groups of items, each group counting once, as papers print them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fullbench.analysis.agreement.judges_with_people import (
    FIGURES,
    Groups,
    Met,
    class_of,
    distance_of_orders,
    scale_of,
    winner,
)
from fullbench.core.estimate import Estimate
from fullbench.core.record import Pairing
from fullbench.errors import Undefined
from fullbench.stats.agreement import ranking_agreement
from fullbench.stats.intervals import weighted_statistics
from fullbench.stats.intervals.bootstrap import Statistic
from fullbench.stats.intervals.means_over_strata import mean_of_groups

_SCORES: Mapping[str, Statistic] = {
    "Pearson": weighted_statistics.pearson,
    "Spearman": weighted_statistics.spearman,
    "Kendall": weighted_statistics.kendall,
    "error": weighted_statistics.absolute_error,
    "kappa, quadratic": weighted_statistics.quadratic,
}
_CHOICES: Mapping[str, Statistic] = {
    "accuracy, ties a class": weighted_statistics.share_equal,
    "accuracy, ties left out": weighted_statistics.share_equal,
    "F1, macro": weighted_statistics.f1(False),
    "F1, by size": weighted_statistics.f1(True),
    "recall, macro": weighted_statistics.recall(False),
    "kappa": weighted_statistics.cohen,
}
_ORDERS: Mapping[str, Callable[[str, str], float]] = {
    "edit distance": ranking_agreement.edit_distance,
    "Kendall": ranking_agreement.rank_correlation,
    "same order": lambda ours, theirs: float(ours == theirs),
    "same first": lambda ours, theirs: float(ours[0] == theirs[0]),
}


def averages(
    meetings: Met, judge: str, groups: Groups, *, first: bool = False, seed: int = 0
) -> dict[str, dict[str, Estimate]]:
    """For each shape, its figures (or the `first` alone) averaged over groups; none where groups share items."""
    means: dict[str, dict[str, Estimate]] = {}
    for kind, names in FIGURES.items():
        pairs = meetings.of(judge, kind)
        rows = [(group, pairing) for pairing in pairs for group in groups(pairing.verdict)]
        if not rows or len(rows) > len(pairs):
            continue
        for name in [*names][: 1 if first else None]:
            counted = [row for row in rows if name != "accuracy, ties left out" or _decided(row[1])]
            if not counted:
                continue
            statistic, columns = _columns(kind, name, [pairing for _, pairing in counted])
            items = [pairing.verdict.item for _, pairing in counted]
            try:
                means.setdefault(kind, {})[name] = mean_of_groups(
                    statistic, [group for group, _ in counted], *columns, cluster=items, seed=seed,
                    within=scale_of(name),
                )  # fmt: skip
            except Undefined:
                continue
    return means


def _decided(pairing: Pairing) -> bool:
    return None not in {winner(pairing.marks), winner(pairing.other)}


def _columns(kind: str, name: str, pairs: Sequence[Pairing]) -> tuple[Statistic, list[list[float]]]:
    if kind == "scores":
        return _SCORES[name], [[p.marks[0] for p in pairs], [p.other[0] for p in pairs]]
    if kind == "pairs":
        return _CHOICES[name], [[class_of(p.marks) for p in pairs], [class_of(p.other) for p in pairs]]
    return weighted_statistics.mean, [[distance_of_orders(p.marks, p.other, _ORDERS[name]) for p in pairs]]
