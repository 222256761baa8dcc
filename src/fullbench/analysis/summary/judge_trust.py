"""Trust in a judge, in one word with its reason: reliable, use with care, not usable, unknown or baseline.

The word is about one study and criterion. It rests on agreement with people's votes, on the biases that the judge card
claims, and on unusable verdicts. A baseline has the same numbers, but is never recommended.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from fullbench.analysis import item_clustered_means_and_shares
from fullbench.analysis.agreement.judges_with_people import (
    AGREEMENT_METRICS,
    PeopleComparison,
    class_of,
    compare_with_people,
)
from fullbench.analysis.agreement.with_single_votes import single_vote_table
from fullbench.analysis.bias import judge_biases_compared_with_people
from fullbench.analysis.bias.finding_type_and_multiple_test_correction import (
    SHORT_NOTES,
    Finding,
    correct_for_multiple_tests,
)
from fullbench.analysis.record_from_verdict_columns import comparable_record
from fullbench.analysis.views.view_verdict_helpers import waiting_mask
from fullbench.columns.verdict_columns import Columns
from fullbench.core.estimate import Estimate
from fullbench.core.translatable_note import Note, join_notes, word_note
from fullbench.core.verdict import ADJUDICATION, PEOPLE
from fullbench.core.verdict_record import Pairing, Record
from fullbench.errors import Undefined
from fullbench.stats.agreement.vote_rules_and_dawid_skene import VoteRule

TrustWord = Literal["reliable", "use with care", "unknown", "not usable", "baseline"]
TRUST_WORDS: tuple[TrustWord, ...] = ("reliable", "use with care", "unknown", "not usable", "baseline")
"""From the best to the worst, then baselines, which are only compared with."""
LEAST_ITEMS = 30
"""Fewest items with people's votes on which trust is decided."""
MOST_BELOW_PEOPLE = 0.05
"""How far a reliable judge may agree less with a person than people agree with each other."""
MOST_UNUSABLE = 0.02
"""Share of unusable verdicts of a reliable judge."""
NOT_USABLE = 0.2
"""Share of unusable verdicts from which a judge is not usable."""
_BASELINES = frozenset(
    {"length", "chance", "reference", "truth", "bleu", "meteor", "rouge", "cider", "bertscore", "clipscore",
     "refclipscore", "spelling"}
)  # fmt: skip
"""Judges that look at a text's surface, at nothing, or at a planted truth. They come after the others."""
_SHAPE_ORDER = ("pairs", "rankings", "scores")
"""Verdicts on which agreement is measured, if there are several kinds."""


def is_baseline(judge: str) -> bool:
    """Return True for `length`, `chance`, `reference`, the planted `truth` and text metrics.

    >>> is_baseline("chance?seed=7"), is_baseline("length"), is_baseline("gpt-4o")
    (True, True, False)
    """
    return _bare_name(judge) in _BASELINES


def is_rule(judge: str) -> bool:
    """Return True for a baseline that applies a simple rule: all but the planted `truth`.

    >>> is_rule("length"), is_rule("truth")
    (True, False)
    """
    return _bare_name(judge) in _BASELINES - {"truth"}


def _bare_name(judge: str) -> str:
    for mark in "?@+#":
        judge = judge.partition(mark)[0]
    return judge


def baselines_last(judges: Sequence[str]) -> list[str]:
    """Return the judges in their order, baselines after the others."""
    return sorted(judges, key=is_baseline)


def real_judges(columns: Columns) -> list[str]:
    """Return all judges but people, baselines last."""
    return baselines_last([name for name in columns.judges() if name not in {PEOPLE, ADJUDICATION}])


@dataclass(frozen=True)
class Trust:
    """Trust in one judge under one criterion, and the numbers behind the word.

    `agreement` is the metric named `metric`, `people` the agreement of two people and `gap` how far the judge agrees
    more with a person than people do with each other; None if unknown. `biases` are the claims of the judge card.
    """

    judge: str
    study: str
    criterion: str
    word: TrustWord
    reasons: tuple[str, ...]
    items: int = 0
    unusable: Estimate | None = None
    metric: str = ""
    agreement: Estimate | None = None
    people: Estimate | None = None
    gap: Estimate | None = None
    biases: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """The reasons in one text."""
        return join_notes(self.reasons) if self.reasons else ""

    @property
    def order(self) -> tuple[int, float]:
        """Sorting key: the most trusted first; of these the one that agrees most with people."""
        if self.agreement is None:
            return TRUST_WORDS.index(self.word), math.inf
        return TRUST_WORDS.index(self.word), self.agreement.value * (1 if self.metric == "edit distance" else -1)


def judge_trusts(
    columns: Columns, texts: Record | None = None, *, rule: VoteRule = "default", visible: bool = False, seed: int = 0
) -> list[Trust]:
    """Return the trust in every judge for every study and criterion, in the order of `real_judges`.

    Args:
        columns: All verdicts.
        texts: Items and responses, whose lengths the tests of length bias need.
        rule: Rule that joins several people's votes.
        visible: Also count votes that were cast with names visible.
        seed: Seed of resampled intervals.
    """
    trusts: list[Trust] = []
    for (study,), of_study in columns.by("study"):
        parts = {criterion: part for (criterion,), part in of_study.by("criterion")}
        comparisons = {criterion: _compare(part, texts, rule, visible=visible) for criterion, part in parts.items()}
        for judge in real_judges(of_study):
            judged = {criterion: part.where(judge=judge) for criterion, part in parts.items()}
            judged = {criterion: part for criterion, part in judged.items() if len(part)}
            biases = _claimed_biases(comparisons, judged, judge)
            trusts += [
                assess_judge(
                    Trust(judge, study, criterion, "unknown", (), biases=biases.get(criterion, ())),
                    part,
                    comparisons.get(criterion),
                    seed,
                )
                for criterion, part in judged.items()
            ]
    return trusts


def _compare(part: Columns, texts: Record | None, rule: VoteRule, *, visible: bool) -> PeopleComparison | None:
    if PEOPLE not in part.judges():
        return None
    record = comparable_record(part, PEOPLE)
    if texts is not None:
        record = replace(record, items=texts.items, responses=texts.responses)
    return compare_with_people(record, PEOPLE, rule, visible=visible)


def _claimed_biases(
    comparisons: Mapping[str, PeopleComparison | None], judged: Mapping[str, Columns], judge: str
) -> dict[str, tuple[str, ...]]:
    """Return the biases that are claimed, by criterion; all tests of a judge are corrected together, as on its card."""
    findings: dict[str, list[Finding]] = {}
    for criterion, verdicts in judged.items():
        comparison = comparisons.get(criterion)
        if not verdicts.self_matches().all():
            votes = comparison or PeopleComparison(Record(()), PEOPLE, {})
            findings[criterion] = judge_biases_compared_with_people.bias_findings(votes, judge, judge_verdicts=verdicts)
    corrected = iter(correct_for_multiple_tests([finding for part in findings.values() for finding in part]))
    flagged = {criterion: [next(corrected) for _ in part] for criterion, part in findings.items()}
    return {
        criterion: tuple(dict.fromkeys(short_claim(finding.claim) for finding in part if finding.is_flagged))
        for criterion, part in flagged.items()
    }


def short_claim(claim: str) -> str:
    """Return a claimed bias in two or three words."""
    return SHORT_NOTES.get(claim.id, claim) if isinstance(claim, Note) else claim


def assess_judge(trust: Trust, verdicts: Columns, comparison: PeopleComparison | None, seed: int) -> Trust:
    """Fill in the word, its reasons and the numbers of one judge and criterion."""
    is_waiting = waiting_mask(verdicts)
    unusable = item_clustered_means_and_shares.share_estimate(
        ((verdicts.fault >= 0) & ~is_waiting).astype(np.float64), verdicts.item
    )
    shape = next(
        (kind for kind in _SHAPE_ORDER if comparison is not None and comparison.pairings(trust.judge, kind)), None
    )
    pairings: Sequence[Pairing] = () if comparison is None or shape is None else comparison.pairings(trust.judge, shape)
    items = len({pairing.verdict.item for pairing in pairings})
    trust = replace(trust, items=items, unusable=unusable)
    if comparison is not None and shape is not None:
        trust = _with_agreement(trust, comparison, shape, seed)
    too_many = (
        (Note("trust.unusable", share=unusable.value),) if unusable is not None and unusable.value > NOT_USABLE else ()
    )
    if is_baseline(trust.judge):
        return replace(trust, word="baseline", reasons=(Note("trust.baseline"), *too_many))
    if too_many:
        return replace(trust, word="not usable", reasons=too_many)
    if comparison is None or shape is None or items < LEAST_ITEMS:
        few = {0: Note("trust.no-votes"), 1: Note("trust.one-item")}.get(items) or Note("trust.few-items", n=items)
        return replace(trust, reasons=(few, *trust.biases))
    if not _is_better_than_constant(pairings, shape, seed):
        return replace(trust, word="not usable", reasons=(Note("trust.constant"),))
    reasons = tuple(_doubts(trust))
    return replace(trust, word="use with care" if reasons else "reliable", reasons=reasons)


def _with_agreement(trust: Trust, comparison: PeopleComparison, shape: str, seed: int) -> Trust:
    """Add the first metric of agreement, and the agreement of two people on the same responses."""
    metric = next(iter(AGREEMENT_METRICS[shape]))
    try:
        agreement = AGREEMENT_METRICS[shape][metric](comparison.pairings(trust.judge, shape), seed)
    except Undefined:
        agreement = None
    people, gap = None, None
    for row in single_vote_table(comparison, [trust.judge]).rows:
        if row[1] == shape:
            people, gap = (cell if isinstance(cell, Estimate) else None for cell in row[3:5])
    return replace(trust, metric=metric, agreement=agreement, people=people, gap=gap)


def _is_better_than_constant(pairings: Sequence[Pairing], shape: str, seed: int) -> bool:
    """Return True if the judge surely agrees with people more than a judge that always gives the same verdict.

    A constant judge has no correlation with people. In pairs it agrees as often as people's most common choice occurs.
    """
    try:
        if shape == "pairs":
            theirs = np.array([class_of(pairing.other_marks) for pairing in pairings])
            ours = np.array([class_of(pairing.marks) for pairing in pairings])
            classes, counts = np.unique(theirs, return_counts=True)
            most_common = classes[counts.argmax()]
            _, item = np.unique([pairing.verdict.item for pairing in pairings], return_inverse=True)
            lead = item_clustered_means_and_shares.difference_estimate(
                (ours == theirs).astype(np.float64) - (theirs == most_common), item, (-1.0, 1.0)
            )
        else:
            lead = AGREEMENT_METRICS[shape]["Pearson" if shape == "scores" else "Kendall"](pairings, seed)
    except Undefined:  # all marks of the judge are equal
        return False
    return not lead.why and lead.low > 0


def _doubts(trust: Trust) -> list[str]:
    """Return why a judge that is better than a constant one is used with care; empty if it is reliable."""
    reasons: list[str] = []
    if trust.gap is not None and (trust.gap.why or trust.gap.low < -MOST_BELOW_PEOPLE):
        agreement = trust.gap.value + (trust.people.value if trust.people else 0.0)
        reasons.append(
            Note("trust.below-people", ours=agreement, theirs=trust.people.value if trust.people else None)
            if trust.gap.high < 0
            else Note("trust.may-be-below")
        )
    if trust.gap is None:
        reasons.append(Note("trust.single-votes"))
    if trust.biases:
        reasons.append(join_notes(trust.biases))
    if trust.unusable is not None and trust.unusable.value > MOST_UNUSABLE:
        reasons.append(Note("trust.unusable", share=trust.unusable.value))
    return reasons


def trust_note(word: TrustWord) -> Note:
    """Return the word as a translatable note."""
    return word_note(word)
