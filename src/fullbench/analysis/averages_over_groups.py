"""Agreement metrics averaged over groups of items with equal weight, as papers print them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fullbench.analysis.agreement.judges_with_people import (
    AGREEMENT_METRICS,
    Groups,
    PeopleComparison,
    class_of,
    distance_of_orders,
    scale_of,
    winner_index,
)
from fullbench.core.estimate import Estimate
from fullbench.core.record import Pairing
from fullbench.errors import Undefined
from fullbench.stats.agreement import ranking_agreement
from fullbench.stats.intervals import weighted_statistics
from fullbench.stats.intervals.bootstrap import Statistic
from fullbench.stats.intervals.means_over_strata import mean_of_groups

_SCORES: Mapping[str, Statistic] = {
    "Pearson": weighted_statistics.weighted_pearson,
    "Spearman": weighted_statistics.weighted_spearman,
    "Kendall": weighted_statistics.weighted_kendall,
    "error": weighted_statistics.absolute_error,
    "kappa, quadratic": weighted_statistics.weighted_quadratic_kappa,
}
_CHOICES: Mapping[str, Statistic] = {
    "accuracy, ties a class": weighted_statistics.share_equal,
    "accuracy, ties left out": weighted_statistics.share_equal,
    "F1, macro": weighted_statistics.class_statistic("f1"),
    "F1, by size": weighted_statistics.class_statistic("f1", by_size=True),
    "recall, macro": weighted_statistics.class_statistic("recall"),
    "kappa": weighted_statistics.weighted_cohen_kappa,
}
_ORDERS: Mapping[str, Callable[[str, str], float]] = {
    "edit distance": ranking_agreement.edit_distance,
    "Kendall": ranking_agreement.rank_correlation,
    "same order": lambda ours, theirs: float(ours == theirs),
    "same first": lambda ours, theirs: float(ours[0] == theirs[0]),
}


def group_averages(
    comparison: PeopleComparison, judge: str, groups: Groups, *, first: bool = False, seed: int = 0
) -> dict[str, dict[str, Estimate]]:
    """Return the averages of the metrics (or only the `first`) per shape; none if groups share items."""
    means: dict[str, dict[str, Estimate]] = {}
    for kind, names in AGREEMENT_METRICS.items():
        pairs = comparison.pairings(judge, kind)
        rows = [(group, pairing) for pairing in pairs for group in groups(pairing.verdict)]
        if not rows or len(rows) > len(pairs):
            continue
        for name in [*names][: 1 if first else None]:
            counted_rows = [row for row in rows if name != "accuracy, ties left out" or _is_decided(row[1])]
            if not counted_rows:
                continue
            statistic, columns = _metric_columns(kind, name, [pairing for _, pairing in counted_rows])
            items = [pairing.verdict.item for _, pairing in counted_rows]
            try:
                means.setdefault(kind, {})[name] = mean_of_groups(
                    statistic, [group for group, _ in counted_rows], *columns, cluster=items, seed=seed,
                    within=scale_of(name),
                )  # fmt: skip
            except Undefined:
                continue
    return means


def _is_decided(pairing: Pairing) -> bool:
    return None not in {winner_index(pairing.marks), winner_index(pairing.other_marks)}


def _metric_columns(kind: str, name: str, pairs: Sequence[Pairing]) -> tuple[Statistic, list[list[float]]]:
    if kind == "scores":
        return _SCORES[name], [[p.marks[0] for p in pairs], [p.other_marks[0] for p in pairs]]
    if kind == "pairs":
        return _CHOICES[name], [[class_of(p.marks) for p in pairs], [class_of(p.other_marks) for p in pairs]]
    return weighted_statistics.weighted_mean, [
        [distance_of_orders(p.marks, p.other_marks, _ORDERS[name]) for p in pairs]
    ]
