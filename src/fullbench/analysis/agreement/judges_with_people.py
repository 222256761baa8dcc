"""Agreement of judges with people, overall or per group of items (any item tag, such as data set or ability)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, permutations, product
from typing import Any

from fullbench.analysis import item_clustered_means_and_shares
from fullbench.analysis.people.joined_votes import VoteCounts, join_record_votes
from fullbench.analysis.views.view_verdict_helpers import WAITS
from fullbench.core.ballot import LETTERS
from fullbench.core.estimate import Estimate
from fullbench.core.translatable_note import Note, error_sentence
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Pairing, Record
from fullbench.errors import Undefined
from fullbench.stats.agreement import per_item_ranking_agreement
from fullbench.stats.agreement import two_raters as agree
from fullbench.stats.agreement.vote_rules_and_dawid_skene import VoteRule
from fullbench.stats.intervals import statistics_for_bootstrap
from fullbench.stats.intervals.bootstrap_and_jackknife import bootstrap
from fullbench.stats.intervals.cluster_intervals import FROM_ZERO, Scale

ALL = "all"
UNTAGGED_GROUP = Note("judging.untagged")
TIED_RANKS = Note("judging.tied-ranks")
Groups = Callable[[Verdict], Iterable[str]]
AgreementMetric = Callable[[Sequence[Pairing], int], Estimate]


SHAPES: Mapping[str, str] = {"score": "scores", "pair": "pairs", "ranking": "rankings"}
"""Name of the verdicts of each ballot family."""


def verdict_shape(verdict: Verdict) -> str:
    """Return the kind of a verdict: `scores`, `pairs` (a choice of two or more) or `rankings`."""
    if len(verdict.contestants) == 1:
        return "scores"
    return "rankings" if verdict.ballot == "ranking" else "pairs"


def winner_index(marks: Sequence[float]) -> int | None:
    """Return the index of the best mark, or None for a tie.

    >>> winner_index((0.0, 1.0)), winner_index((0.5, 0.5))
    (1, None)
    """
    best = max(marks)
    return list(marks).index(best) if list(marks).count(best) == 1 else None


def ranking_letters(marks: Sequence[float]) -> str:
    """Return a ranking as letters of the positions shown, best first.

    >>> ranking_letters((2.0, 1.0, 3.0))
    'CAB'
    """
    return "".join(LETTERS[place] for place in sorted(range(len(marks)), key=lambda place: -marks[place]))


def class_of(marks: Sequence[float]) -> int:
    """Return the index of the winner, or `len(LETTERS)` for a tie."""
    first = winner_index(marks)
    # No position shown has this index, so ties form a class of their own.
    return len(LETTERS) if first is None else first


def _item_ids(pairings: Sequence[Pairing]) -> list[str]:
    return [pairing.verdict.item for pairing in pairings]


def _score_metric(metric: Callable[..., Estimate]) -> AgreementMetric:
    def compute_metric(pairings: Sequence[Pairing], seed: int) -> Estimate:
        ours, theirs = [p.marks[0] for p in pairings], [p.other_marks[0] for p in pairings]
        return metric(ours, theirs, cluster=_item_ids(pairings), seed=seed)

    return compute_metric


def _absolute_error(pairings: Sequence[Pairing], seed: int) -> Estimate:
    """Return the mean absolute error, bounded by the scale if all marks are on one."""
    scales = {item_clustered_means_and_shares.scale_of(p.verdict.ballot) for p in pairings}
    scale = scales.pop() if len(scales) == 1 else None
    return _score_metric(partial(agree.absolute_error, scale=scale))(pairings, seed)


def _choice_metric(metric: Callable[..., Estimate], *, ties: bool = True, **options: Any) -> AgreementMetric:
    def compute_metric(pairings: Sequence[Pairing], seed: int) -> Estimate:
        counted_pairings = [
            p for p in pairings if ties or None not in {winner_index(p.marks), winner_index(p.other_marks)}
        ]
        if not counted_pairings:
            raise Undefined(Note("undefined.no-pair-is-left-once"))
        ours, theirs = (
            [class_of(p.marks) for p in counted_pairings],
            [class_of(p.other_marks) for p in counted_pairings],
        )
        return metric(ours, theirs, cluster=_item_ids(counted_pairings), seed=seed, **options)

    return compute_metric


def _ranking_metric(
    metric: Callable[..., Estimate], single: Callable[[str, str], float], within: Scale = agree.SHARE_SCALE
) -> AgreementMetric:
    """Tied mean ranks are broken in every possible way and averaged."""

    def compute_metric(pairings: Sequence[Pairing], seed: int) -> Estimate:
        if not any(map(_has_ties, pairings)):
            ours, theirs = (
                [ranking_letters(p.marks) for p in pairings],
                [ranking_letters(p.other_marks) for p in pairings],
            )
            return metric(ours, theirs, cluster=_item_ids(pairings), seed=seed)
        values = [distance_of_orders(p.marks, p.other_marks, single) for p in pairings]
        return bootstrap(
            statistics_for_bootstrap.weighted_mean, values, cluster=_item_ids(pairings), seed=seed, within=within
        )

    return compute_metric


def has_tied_ranks(comparison: PeopleComparison, judge: str) -> bool:
    """Return True if a ranking of the judge or the mean ranks of people have ties."""
    return any(map(_has_ties, comparison.pairings(judge, "rankings")))


def _has_ties(pairing: Pairing) -> bool:
    return any(len(set(marks)) < len(marks) for marks in (pairing.marks, pairing.other_marks))


def distance_of_orders(
    marks: Sequence[float],
    other_marks: Sequence[float],
    single: Callable[[str, str], float] = per_item_ranking_agreement.edit_distance,
) -> float:
    """Return the mean of a metric of two rankings over every way to break their ties.

    >>> distance_of_orders((3.0, 2.0, 1.0), (2.5, 2.5, 1.0))
    0.3333333333333333
    """
    ways = list(product(_possible_orders(marks), _possible_orders(other_marks)))
    return sum(single(first_order, second_order) for first_order, second_order in ways) / len(ways)


def _possible_orders(marks: Sequence[float]) -> list[str]:
    """Return every order that the marks allow, as letters of the positions shown, best first."""
    levels = [[LETTERS[place] for place, mark in enumerate(marks) if mark == level] for level in set(marks)]
    levels.sort(key=lambda level: -marks[LETTERS.index(level[0])])
    return ["".join(chain.from_iterable(way)) for way in product(*(permutations(level) for level in levels))]


AGREEMENT_METRICS: Mapping[str, Mapping[str, AgreementMetric]] = {
    "scores": {
        "Pearson": _score_metric(agree.pearson_correlation),
        "Spearman": _score_metric(agree.spearman_correlation),
        "Kendall": _score_metric(agree.kendall_correlation),
        "error": _absolute_error,
        "kappa, quadratic": _score_metric(agree.quadratic_kappa),
    },
    "pairs": {
        "accuracy with ties": _choice_metric(agree.accuracy),
        "accuracy without ties": _choice_metric(agree.accuracy, ties=False),
        "F1, macro": _choice_metric(partial(agree.macro_score, "f1")),
        "F1, by size": _choice_metric(partial(agree.macro_score, "f1"), by_size=True),
        "recall, macro": _choice_metric(partial(agree.macro_score, "recall")),
        "kappa": _choice_metric(agree.cohen_kappa),
    },
    "rankings": {
        "edit distance": _ranking_metric(
            per_item_ranking_agreement.mean_edit_distance, per_item_ranking_agreement.edit_distance
        ),
        "Kendall": _ranking_metric(
            per_item_ranking_agreement.mean_rank_correlation,
            per_item_ranking_agreement.rank_correlation,
            agree.SIGNED_SCALE,
        ),
        "same order": _ranking_metric(
            per_item_ranking_agreement.exact_match, lambda ours, theirs: float(ours == theirs)
        ),
        "same first": _ranking_metric(
            per_item_ranking_agreement.top_match, lambda ours, theirs: float(ours[0] == theirs[0])
        ),
    },
}


def scale_of(metric: str) -> Scale:
    """Return the range of an agreement metric. Errors have no upper end.

    >>> scale_of("Kendall"), scale_of("same first"), scale_of("error")
    ((-1.0, 1.0), (0.0, 1.0), (0.0, inf))
    """
    if metric == "error":
        return FROM_ZERO
    return agree.SIGNED_SCALE if metric.startswith(("Pearson", "Spearman", "Kendall", "kappa")) else agree.SHARE_SCALE


@dataclass(frozen=True)
class Agreement:
    """Agreement metrics of one judge with people, for one verdict shape and one group of items."""

    judge: str
    shape: str
    group: str
    metrics: Mapping[str, Estimate]
    undefined_reasons: Mapping[str, str]
    n: int
    faults: int

    @property
    def first(self) -> Estimate | None:
        """The metric that the paper prints: Pearson, accuracy with ties, or edit distance."""
        return self.metrics.get(next(iter(AGREEMENT_METRICS[self.shape])))

    @property
    def of_one_item(self) -> bool:
        """True if the group is a single item, which has no interval and is left out of means over groups."""
        return self.first is not None and self.first.units == 1


def groups_by_tag(record: Record, name: str) -> Groups:
    """Return a function that groups verdicts by an item tag. `recognition+inference` belongs to both groups."""
    return lambda verdict: record.tag(verdict, name).split("+")


@dataclass(frozen=True)
class PeopleComparison:
    """Pairings of every judge's verdicts with people's on the same responses, by judge and shape."""

    record: Record
    people: str
    pairs: Mapping[str, Mapping[str, Sequence[Pairing]]]
    votes: Mapping[str, VoteCounts] = field(default_factory=dict)
    visible: bool = False

    def counts_vote(self, vote: Verdict) -> bool:
        """Return True if a vote is used. Votes cast with names visible are used only if `visible` is set."""
        return self.visible or vote.circumstances.blind is not False

    def notes(self, kind: str) -> list[str]:
        """Return notes on how several votes on the same responses were joined, for one shape."""
        return self.votes[kind].notes() if kind in self.votes else []

    def rule(self, kind: str) -> str:
        """Return the name of the rule that joins several votes of one shape."""
        return self.votes[kind].name if kind in self.votes else ""

    @property
    def judges(self) -> list[str]:
        """All judges except the one they are compared with."""
        return [judge for judge in self.record.judges if judge != self.people]

    def pairings(self, judge: str, kind: str) -> Sequence[Pairing]:
        """Return one judge's pairings of one shape."""
        return self.pairs.get(judge, {}).get(kind, ())


def compare_with_people(
    record: Record, people: str = PEOPLE, rule: VoteRule = "default", *, visible: bool = False
) -> PeopleComparison:
    """Pair all verdicts of a record with people's. Several votes are joined by `rule`.

    Votes cast with names visible are left out unless `visible` is set. Cascade verdicts that people decided are never
    compared with people.
    """
    if people == PEOPLE and any(verdict.reading.is_by_people for verdict in record):
        record = record.where(lambda verdict: not verdict.reading.is_by_people)
    pairs: dict[str, dict[str, list[Pairing]]] = defaultdict(lambda: defaultdict(list))
    votes: dict[str, VoteCounts] = {}
    for kind, part in record.by(verdict_shape).items():
        if part.where(judge=people, fault=None).verdicts:
            together, votes[kind] = join_record_votes(part, people, rule, visible=visible)
            if together.where(judge=people, fault=None).verdicts:
                for pairing in together.against(people):
                    pairs[pairing.verdict.judge][kind].append(pairing)
    return PeopleComparison(record, people, pairs, votes, visible)


def judge_agreements(
    comparison: PeopleComparison, judge: str, groups: Groups | None = None, *, seed: int = 0
) -> list[Agreement]:
    """Return one judge's agreement with people in each group, or on all items if no groups are given."""
    entries = []
    fault_counts = Counter(
        (verdict_shape(verdict), group)
        for verdict in comparison.record.where(judge=judge)
        if verdict.fault is not None and verdict.text != WAITS
        for group in (groups(verdict) if groups else (ALL,))
    )
    for kind in AGREEMENT_METRICS:
        parts: dict[str, list[Pairing]] = defaultdict(list)
        for pairing in comparison.pairings(judge, kind):
            for group in groups(pairing.verdict) if groups else (ALL,):
                parts[group].append(pairing)
        for group, part in sorted(parts.items()):
            metrics, undefined_reasons = _compute_metrics(kind, part, seed)
            entries.append(
                Agreement(judge, kind, group, metrics, undefined_reasons, len(part), fault_counts[kind, group])
            )
    return entries


def _compute_metrics(kind: str, part: Sequence[Pairing], seed: int) -> tuple[dict[str, Estimate], dict[str, str]]:
    metrics: dict[str, Estimate] = {}
    undefined_reasons: dict[str, str] = {}
    for name, metric in AGREEMENT_METRICS[kind].items():
        try:
            metrics[name] = metric(part, seed)
        except Undefined as reason:
            undefined_reasons[name] = error_sentence(reason)
    return metrics, undefined_reasons
