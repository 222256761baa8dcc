"""How far judges agree with people, group by group: by data set, by ability, by whatever items are tagged with."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, permutations, product
from typing import Any

from fullbench.analysis.people.joined_votes import Tally, joined_record
from fullbench.analysis.views.member_verdicts import BY_PEOPLE, WAITS
from fullbench.core.ballot import LETTERS
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, sentence
from fullbench.core.record import Pairing, Record
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.errors import Undefined
from fullbench.stats.agreement import ranking_agreement
from fullbench.stats.agreement import two_raters as agree
from fullbench.stats.agreement.vote_consensus import VoteRule
from fullbench.stats.intervals import weighted_statistics
from fullbench.stats.intervals.bootstrap import bootstrap
from fullbench.stats.intervals.cluster_intervals import Scale

ALL = "all"
UNTAGGED = Note("judging.untagged", "untagged")
Groups = Callable[[Verdict], Iterable[str]]
Figure = Callable[[Sequence[Pairing], int], Estimate]


SHAPES: Mapping[str, str] = {"score": "scores", "pair": "pairs", "ranking": "rankings"}
"""The family of a ballot, and what its rulings are called."""


def shape(verdict: Verdict) -> str:
    """What kind of ruling a verdict is: a score, a choice of two or more, or a ranking."""
    if len(verdict.contestants) == 1:
        return "scores"
    return "rankings" if verdict.ballot == "ranking" else "pairs"


def winner(marks: Sequence[float]) -> int | None:
    """Which of those shown was put first; None for a tie.

    >>> winner((0.0, 1.0)), winner((0.5, 0.5))
    (1, None)
    """
    best = max(marks)
    return list(marks).index(best) if list(marks).count(best) == 1 else None


def order(marks: Sequence[float]) -> str:
    """A ranking as letters of the places shown, best first.

    >>> order((2.0, 1.0, 3.0))
    'CAB'
    """
    return "".join(LETTERS[place] for place in sorted(range(len(marks)), key=lambda place: -marks[place]))


def class_of(marks: Sequence[float]) -> int:
    first = winner(marks)
    return len(LETTERS) if first is None else first


def _items(pairings: Sequence[Pairing]) -> list[str]:
    return [pairing.verdict.item for pairing in pairings]


def _scores(figure: Callable[..., Estimate]) -> Figure:
    def of(pairings: Sequence[Pairing], seed: int) -> Estimate:
        ours, theirs = [p.marks[0] for p in pairings], [p.other[0] for p in pairings]
        return figure(ours, theirs, cluster=_items(pairings), seed=seed)

    return of


def _choices(figure: Callable[..., Estimate], *, ties: bool = True, **options: Any) -> Figure:
    def of(pairings: Sequence[Pairing], seed: int) -> Estimate:
        counted = [p for p in pairings if ties or None not in {winner(p.marks), winner(p.other)}]
        if not counted:
            raise Undefined(Note("undefined.no-pair-is-left-once", "no pair is left once ties are left out"))
        ours, theirs = [class_of(p.marks) for p in counted], [class_of(p.other) for p in counted]
        return figure(ours, theirs, cluster=_items(counted), seed=seed, **options)

    return of


def _orders(
    figure: Callable[..., Estimate], single: Callable[[str, str], float], within: Scale = agree.SHARE
) -> Figure:
    """A figure of two orders, on its scale.

    Where responses share a mean rank the tie is broken in every way, and the mean taken.
    """

    def of(pairings: Sequence[Pairing], seed: int) -> Estimate:
        if not any(len(set(marks)) < len(marks) for p in pairings for marks in (p.marks, p.other)):
            ours, theirs = [order(p.marks) for p in pairings], [order(p.other) for p in pairings]
            return figure(ours, theirs, cluster=_items(pairings), seed=seed)
        values = [distance_of_orders(p.marks, p.other, single) for p in pairings]
        return bootstrap(weighted_statistics.mean, values, cluster=_items(pairings), seed=seed, within=within)

    return of


def distance_of_orders(
    marks: Sequence[float],
    other: Sequence[float],
    single: Callable[[str, str], float] = ranking_agreement.edit_distance,
) -> float:
    """A figure of two rankings, over every way to break their ties.

    >>> distance_of_orders((3.0, 2.0, 1.0), (2.5, 2.5, 1.0))
    0.3333333333333333
    """
    ways = list(product(_untied(marks), _untied(other)))
    return sum(single(one, two) for one, two in ways) / len(ways)


def _untied(marks: Sequence[float]) -> list[str]:
    """Every order that the marks allow, as letters of the places shown, best first."""
    levels = [[LETTERS[place] for place, mark in enumerate(marks) if mark == level] for level in set(marks)]
    levels.sort(key=lambda level: -marks[LETTERS.index(level[0])])
    return ["".join(chain.from_iterable(way)) for way in product(*(permutations(level) for level in levels))]


FIGURES: Mapping[str, Mapping[str, Figure]] = {
    "scores": {
        "Pearson": _scores(agree.pearson),
        "Spearman": _scores(agree.spearman),
        "Kendall": _scores(agree.kendall),
        "error": _scores(agree.absolute_error),
        "kappa, quadratic": _scores(agree.quadratic_kappa),
    },
    "pairs": {
        "accuracy, ties a class": _choices(agree.accuracy),
        "accuracy, ties left out": _choices(agree.accuracy, ties=False),
        "F1, macro": _choices(agree.f1),
        "F1, by size": _choices(agree.f1, by_size=True),
        "recall, macro": _choices(agree.recall),
        "kappa": _choices(agree.cohen_kappa),
    },
    "rankings": {
        "edit distance": _orders(ranking_agreement.mean_edit_distance, ranking_agreement.edit_distance),
        "Kendall": _orders(ranking_agreement.mean_rank_correlation, ranking_agreement.rank_correlation, agree.SIGNED),
        "same order": _orders(ranking_agreement.exact_match, lambda ours, theirs: float(ours == theirs)),
        "same first": _orders(ranking_agreement.top_match, lambda ours, theirs: float(ours[0] == theirs[0])),
    },
}


def scale_of(figure: str) -> Scale | None:
    """The scale on which a figure of agreement lies; none for errors, which have no upper end.

    >>> scale_of("Kendall"), scale_of("same first"), scale_of("error")
    ((-1.0, 1.0), (0.0, 1.0), None)
    """
    if figure == "error":
        return None
    return agree.SIGNED if figure.startswith(("Pearson", "Spearman", "Kendall", "kappa")) else agree.SHARE


@dataclass(frozen=True)
class Agreement:
    """What a judge's verdicts of one shape, in one group of items, have in common with people's."""

    judge: str
    shape: str
    group: str
    figures: Mapping[str, Estimate]
    undefined: Mapping[str, str]
    n: int
    faults: int

    @property
    def first(self) -> Estimate | None:
        """The figure that the paper prints: Pearson, accuracy with ties, edit distance."""
        return self.figures.get(next(iter(FIGURES[self.shape])))

    @property
    def of_one_item(self) -> bool:
        """Whether all of it is one item, so that it has no interval and stands in no mean over groups."""
        return self.first is not None and self.first.units == 1


def by_tag(record: Record, name: str) -> Groups:
    """Groups by a tag of the item; a value such as `recognition+inference` puts it in both groups."""
    return lambda verdict: record.tag(verdict, name).split("+")


@dataclass(frozen=True)
class Met:
    """Every judge's verdicts beside people's on the same responses, found once: by judge, then by shape."""

    record: Record
    people: str
    pairs: Mapping[str, Mapping[str, Sequence[Pairing]]]
    votes: Mapping[str, Tally] = field(default_factory=dict)
    visible: bool = False

    def counts(self, vote: Verdict) -> bool:
        """Whether a vote takes part: one that was cast with names in view does only where that was asked for."""
        return self.visible or vote.circumstances.blind is not False

    def notes(self, kind: str) -> list[str]:
        """How several votes on the same responses were joined, for one shape."""
        return self.votes[kind].notes() if kind in self.votes else []

    def rule(self, kind: str) -> str:
        """The rule that joins several votes of one shape, by its name."""
        return self.votes[kind].name if kind in self.votes else ""

    @property
    def judges(self) -> list[str]:
        """All judges but the one they are compared with."""
        return [judge for judge in self.record.judges if judge != self.people]

    def of(self, judge: str, kind: str) -> Sequence[Pairing]:
        """One judge's pairings of one shape."""
        return self.pairs.get(judge, {}).get(kind, ())


def meet(record: Record, people: str = PEOPLE, rule: VoteRule = "default", *, visible: bool = False) -> Met:
    """All verdicts of a record beside people's; several people's votes are joined by `rule`.

    Votes that were cast with names in view take no part unless `visible` asks for them; what people settled for a
    cascade takes none beside people.
    """
    if people == PEOPLE and any(verdict.reader >= BY_PEOPLE for verdict in record):
        record = record.where(lambda verdict: verdict.reader < BY_PEOPLE)
    pairs: dict[str, dict[str, list[Pairing]]] = defaultdict(lambda: defaultdict(list))
    votes: dict[str, Tally] = {}
    for kind, part in record.by(shape).items():
        if part.where(judge=people, fault=None).verdicts:
            together, votes[kind] = joined_record(part, people, rule, visible=visible)
            if together.where(judge=people, fault=None).verdicts:
                for pairing in together.against(people):
                    pairs[pairing.verdict.judge][kind].append(pairing)
    return Met(record, people, pairs, votes, visible)


def agreements(meetings: Met, judge: str, groups: Groups | None = None, *, seed: int = 0) -> list[Agreement]:
    """How far one judge agrees with people: on all items where no groups are given, else in each group."""
    entries = []
    lost = Counter(
        (shape(verdict), group)
        for verdict in meetings.record.where(judge=judge)
        if verdict.fault is not None and verdict.text != WAITS
        for group in (groups(verdict) if groups else (ALL,))
    )
    for kind in FIGURES:
        parts: dict[str, list[Pairing]] = defaultdict(list)
        for pairing in meetings.of(judge, kind):
            for group in groups(pairing.verdict) if groups else (ALL,):
                parts[group].append(pairing)
        for group, part in sorted(parts.items()):
            figures, undefined = _figures(kind, part, seed)
            entries.append(Agreement(judge, kind, group, figures, undefined, len(part), lost[kind, group]))
    return entries


def _figures(kind: str, part: Sequence[Pairing], seed: int) -> tuple[dict[str, Estimate], dict[str, str]]:
    figures: dict[str, Estimate] = {}
    undefined: dict[str, str] = {}
    for name, figure in FIGURES[kind].items():
        try:
            figures[name] = figure(part, seed)
        except Undefined as reason:
            undefined[name] = sentence(reason)
    return figures, undefined
