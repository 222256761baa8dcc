"""Ground truth about contestants and pairs: from people, a judge that knows, or a list of scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fullbench.analysis.item_clustered_means_and_shares import mean_estimate, scale_of
from fullbench.analysis.peer_review.reviews_from_record import TRUTHS
from fullbench.analysis.people.joined_votes import RULE_DESCRIPTIONS, form_of, join_record_votes
from fullbench.analysis.scope_suffixes_of_table_titles import OVERALL
from fullbench.core.estimate import Estimate
from fullbench.core.rubric import CORRECTNESS, VISUAL, is_check, is_review
from fullbench.core.translatable_note import Note, join_sentences
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record
from fullbench.stats.agreement.vote_rules_and_dawid_skene import resolve_rule

if TYPE_CHECKING:
    from fullbench.stats.array_checks import Floats

Pair = tuple[str, str, str]
"""An item and two contestants in the order of their names."""


_CRITERIA = (OVERALL, CORRECTNESS)
"""Criteria in the order in which people's verdicts on them are preferred as truth."""
_DRAWS = 500


@dataclass(frozen=True)
class Truth:
    """True scores of contestants and a sentence on their source; both empty if unknown.

    `estimates` are the scores with intervals over pictures, if they come from verdicts. `draws` are scores of resampled
    pictures, a column per contestant in the order of `scores`; None if there are too few pictures.
    """

    scores: Mapping[str, float]
    source: str = ""
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    draws: Floats | None = None

    def __bool__(self) -> bool:
        return bool(self.scores)


def truth_from_scores(scores: Mapping[str, float], file: str) -> Truth:
    """Return the truth given by a list of scores, such as contestants' scores on a benchmark."""
    return Truth(scores, Note("peers.truth.given", file=file))


def truth_from_order(best_first: tuple[str, ...]) -> Truth:
    """Return an order as scores; the last contestant gets 1.

    >>> truth_from_order(("keen", "fair", "blind")).scores
    {'keen': 3.0, 'fair': 2.0, 'blind': 1.0}
    """
    scores = {name: float(len(best_first) - place) for place, name in enumerate(best_first)}
    return Truth(scores, Note("peers.truth.order"))


def truth_from_record(record: Record) -> Truth:
    """Return the truth in a record: people's verdicts if there are any, else those of a judge that knows the truth.

    Verdicts on one criterion and ballot count. Several votes on the same answers are joined as on every board.
    """
    for judge in TRUTHS:
        verdicts = _verdicts_on_answers(record, judge)
        if not verdicts:
            continue
        criterion, spec = _select_criterion_and_ballot(verdicts)
        selected = tuple(verdict for verdict in verdicts if (verdict.criterion, verdict.ballot) == (criterion, spec))
        joined, counts = join_record_votes(replace(record, verdicts=selected), judge, visible=True)
        scores, estimates, draws = _mean_marks(joined)
        if judge != PEOPLE:
            return Truth(scores, Note("peers.truth.known", n=len(joined)), estimates, draws)
        source: str = Note(
            "peers.truth.people",
            n=len(selected), voters=len({verdict.rater for verdict in selected}), sets=len(joined), ballot=spec,
            criterion=criterion, rule=counts.words or RULE_DESCRIPTIONS[resolve_rule("default", form_of(spec))],
        )  # fmt: skip
        if len(verdicts) > len(selected):
            source = join_sentences([source, Note("peers.truth.left-out", n=len(verdicts) - len(selected))])
        return Truth(scores, source, estimates, draws)
    return Truth({})


def true_scores(record: Record) -> dict[str, float]:
    """Return each contestant's mean mark by the judges in `TRUTHS`, or an empty dict if there are none."""
    return dict(truth_from_record(record).scores)


def _verdicts_on_answers(record: Record, judge: str) -> tuple[Verdict, ...]:
    """Return the usable verdicts of a judge on answers to the record's questions, not on pictures or on verdicts."""
    return tuple(
        verdict
        for verdict in record.where(judge=judge, fault=None)
        if verdict.item in record.items and verdict.criterion != VISUAL
        and not is_review(verdict) and not is_check(verdict)
    )  # fmt: skip


def _select_criterion_and_ballot(verdicts: Sequence[Verdict]) -> tuple[str, str]:
    """Prefer the overall criterion and pairs, as reviewers judge them; then what has the most verdicts."""
    counts = Counter((verdict.criterion, verdict.ballot, len(verdict.contestants) == 2) for verdict in verdicts)

    def preference(key: tuple[str, str, bool]) -> tuple[int, bool, int, str, str]:
        criterion, spec, is_pair = key
        rank = _CRITERIA.index(criterion) if criterion in _CRITERIA else len(_CRITERIA)
        return rank, not is_pair, -counts[key], criterion, spec

    return min(counts, key=preference)[:2]


def _mean_marks(record: Record) -> tuple[dict[str, float], dict[str, Estimate], Floats | None]:
    """Return mean marks by contestant, with intervals over pictures, and the means of resampled pictures."""
    import numpy as np

    rows = [
        (name, mark, record.tag(verdict, "image") or verdict.item)
        for verdict in record for name, mark in zip(verdict.contestants, verdict.marks or (), strict=True)
    ]  # fmt: skip
    names, who = np.unique([name for name, _, _ in rows], return_inverse=True)
    pictures, place = np.unique([picture for _, _, picture in rows], return_inverse=True)
    marks = np.array([mark for _, mark, _ in rows])
    (spec,) = {verdict.ballot for verdict in record}
    scale = (0.0, 1.0) if form_of(spec) == "choice" else scale_of(spec)
    estimates = {
        str(name): mean_estimate(marks[who == code], place[who == code], scale) for code, name in enumerate(names)
    }
    scores = {name: estimate.value for name, estimate in estimates.items()}
    if len(pictures) < 2:
        return scores, estimates, None
    cell = place * len(names) + who
    shape = (len(pictures), len(names))
    sums, counts = (
        np.bincount(cell, weights, shape[0] * shape[1]).reshape(shape) for weights in (marks, np.ones(len(marks)))
    )
    times = np.random.default_rng(0).multinomial(len(pictures), np.full(len(pictures), 1 / len(pictures)), _DRAWS)
    drawn_counts = times @ counts
    draws = np.divide(times @ sums, drawn_counts, out=np.full(drawn_counts.shape, np.nan), where=drawn_counts > 0)
    return scores, estimates, draws


def true_outcomes(record: Record, criterion: str) -> dict[Pair, float]:
    """Return for each pair the true outcome of the first by name: 1, 0, or 0.5 for a tie or a split vote.
    Verdicts on the criterion itself override overall ones. The judge `truth` overrides people.
    """
    truths = record.where(lambda verdict: verdict.judge in TRUTHS and len(verdict.contestants) == 2, fault=None)
    verdicts: dict[Pair, float] = {}
    for criterion_name in (OVERALL, criterion):
        for judge in TRUTHS:
            together, _ = join_record_votes(truths.where(criterion=criterion_name, judge=judge), judge)
            for verdict in together:
                verdicts[pair_of(verdict)] = outcome_for_first(verdict)
    return verdicts


def pair_of(verdict: Verdict) -> Pair:
    """Return the item and the two contestants of a verdict, sorted by name."""
    first, second = sorted(verdict.contestants)
    return verdict.item, first, second


def outcome_for_first(verdict: Verdict) -> float:
    """Return the outcome of a verdict on two for the first by name: 1, 0.5 or 0."""
    marks = dict(zip(verdict.contestants, verdict.marks or (), strict=True))
    first, second = sorted(marks)
    return 0.5 if marks[first] == marks[second] else float(marks[first] > marks[second])
