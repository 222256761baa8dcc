"""What changes in people's reviews from one judge to another, say the same model with more steps: Table 7 and more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, permutations
from statistics import fmean

import numpy as np

from fullbench.analysis import estimate_cells
from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.rubric import HALLUCINATES, REVIEW_BALLOTS, is_review
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.errors import Undefined
from fullbench.stats.intervals.bootstrap import bootstrap
from fullbench.stats.intervals.weighted_statistics import mean

Ruling = tuple[str, int]
"""The case that a judge ruled on, and the trial."""


def tables(record: Record) -> list[Table]:
    """Every two judges whose rulings on the same cases people reviewed: what changes, and hallucinations gone."""
    return [changes(record), hallucinations(record)]


def _names(record: Record) -> list[str]:
    return sorted({verdict.contestants[0] for verdict in record.where(judge=PEOPLE) if is_review(verdict)})


def _rulings(record: Record) -> Mapping[str, Verdict]:
    """One ruling on each case, for the case's item and ballot."""
    return {verdict.case: verdict for verdict in record if not is_review(verdict)}


def _by_ballot(cases: Iterable[str], rulings: Mapping[str, Verdict]) -> dict[str, list[str]]:
    """The cases of each ballot, in order; of those whose ruling is not at hand the ballot is empty."""
    ballots: dict[str, list[str]] = {}
    for case in sorted(cases):
        ballots.setdefault(rulings[case].ballot if case in rulings else "", []).append(case)
    return dict(sorted(ballots.items()))


def changes(record: Record) -> Table:
    """By how much each two judges differ under each criterion and ballot, on cases where people reviewed both."""
    rulings = _rulings(record)
    rows: list[list[Cell]] = []
    for before, after in combinations(_names(record), 2):
        for criterion in REVIEW_BALLOTS:
            marks = _marks(record, (before, after), criterion)
            for ballot, cases in _by_ballot(set(marks[before]) & set(marks[after]), rulings).items():
                rows.append([after, before, criterion, ballot, _difference(marks, (before, after), cases, rulings)])
    note = Note(
        "mllm-judge.reviews.changes",
        "On the same cases, what the first has more than the other: rates for agreement and hallucination, grades for "
        "reasons.",
    )
    title = Note("mllm-judge.reviews.title.changes", "What changes in people's reviews from judge to judge")
    columns = headings("judge", "other judge", "criterion", "ballot", "change")
    return Table("review changes", title, columns, rows, [note])


def change(record: Record, before: str, after: str, criterion: str = HALLUCINATES) -> Estimate:
    """How much a review's mark changes from one judge to another (say, the same model in another mode), case by case.

    For hallucination and agreement, where yes is one more than no, this is the change of the rate.
    """
    marks = _marks(record, (before, after), criterion)
    shared = sorted(set(marks[before]) & set(marks[after]))
    if not shared:
        raise Undefined(
            Note(
                "undefined.people-reviewed-no-case-of",
                "people reviewed no case of both {before!r} and {after!r} under {criterion!r}",
                before=before,
                after=after,
                criterion=criterion,
            )
        )
    return _difference(marks, (before, after), shared, _rulings(record))


def _marks(record: Record, judges: Sequence[str], criterion: str) -> dict[str, dict[str, list[float]]]:
    """People's marks under a criterion, by judge and case; several people's and those of several trials together."""
    marks: dict[str, dict[str, list[float]]] = {judge: {} for judge in judges}
    for verdict in record.where(judge=PEOPLE, criterion=criterion, fault=None):
        if verdict.contestants[0] in marks:
            marks[verdict.contestants[0]].setdefault(verdict.item, []).extend(verdict.marks or ())
    return marks


def _difference(
    marks: Mapping[str, Mapping[str, Sequence[float]]],
    judges: tuple[str, str],
    cases: Sequence[str],
    rulings: Mapping[str, Verdict],
) -> Estimate:
    """The mean change from the first judge to the second; cases of one item are kept together."""
    before, after = (marks[judge] for judge in judges)
    owners = [rulings[case].item if case in rulings else case for case in cases]
    return bootstrap(mean, [fmean(after[case]) - fmean(before[case]) for case in cases], cluster=owners)


def hallucinations(record: Record) -> Table:
    """Of the rulings in which one judge hallucinates, the share in which another does not, and the other way round.

    This is Table 7, where the other judge is the same model in its usual mode and the judge takes more steps.
    """
    rulings = _rulings(record)
    seen, split = _hallucinating(record)
    rows: list[list[Cell]] = []
    for judge, other in permutations(_names(record), 2):
        shared = set(seen.get(judge, {})) & set(seen.get(other, {}))
        for ballot, cases in _by_ballot({case for case, _ in shared}, rulings).items():
            among = [ruling for ruling in sorted(shared) if ruling[0] in set(cases)]
            gone = [(ruling, not seen[judge][ruling]) for ruling in among if seen[other][ruling]]
            new = [(ruling, seen[judge][ruling]) for ruling in among if not seen[other][ruling]]
            rows.append([judge, other, ballot, _share(gone, rulings), _share(new, rulings), len(among)])
    notes: list[str] = [
        Note(
            "mllm-judge.reviews.gone",
            "Gone: of the rulings in which the other judge hallucinates, by the majority of people, the share in which "
            "this one does not, on the same case. New: the other way round.",
        )
    ]
    if split:
        notes.append(
            Note("mllm-judge.reviews.gone.split", "People were split on {n:,} rulings, which are in no share.", n=split)
        )
    title = Note("mllm-judge.reviews.title.gone", "Hallucinations that are gone, from judge to judge")
    columns = headings("judge", "other judge", "ballot", "hallucinations gone", "new hallucinations", "rulings")
    return Table("hallucinations gone", title, columns, rows, notes)


def _hallucinating(record: Record) -> tuple[dict[str, dict[Ruling, bool]], int]:
    """Whether each judge's ruling hallucinates, by the majority of people; and on how many they were split."""
    votes: dict[tuple[str, Ruling], list[float]] = {}
    for verdict in record.where(judge=PEOPLE, criterion=HALLUCINATES, fault=None):
        # A ruling of a later trial is a later sample of the judge's words, or in a release's labels a later trial.
        place = (verdict.contestants[0], (verdict.item, verdict.shown[0][1] or verdict.trial))
        votes.setdefault(place, []).extend(verdict.marks or ())
    leads = {place: 2 * sum(mark == 2.0 for mark in marks) - len(marks) for place, marks in votes.items()}
    seen: dict[str, dict[Ruling, bool]] = {}
    for (judge, ruling), lead in leads.items():
        if lead:
            seen.setdefault(judge, {})[ruling] = lead > 0
    return seen, sum(lead == 0 for lead in leads.values())


def _share(hits: Sequence[tuple[Ruling, bool]], rulings: Mapping[str, Verdict]) -> Estimate | None:
    """The share of rulings that hit, those on one item kept together; None of nothing."""
    if not hits:
        return None
    owners = [rulings[case].item if case in rulings else case for (case, _), _ in hits]
    _, items = np.unique(owners, return_inverse=True)
    return estimate_cells.share(np.array([float(hit) for _, hit in hits]), items)
