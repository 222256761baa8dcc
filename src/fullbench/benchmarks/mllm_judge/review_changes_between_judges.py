"""Changes of people's reviews between two judges, for example one model in two modes (Table 7 and more)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, permutations
from statistics import fmean

import numpy as np

from fullbench.analysis import estimate_cells
from fullbench.core.column_labels import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.rubric import HALLUCINATES, REVIEW_BALLOTS, is_review
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.errors import Undefined
from fullbench.stats.intervals.bootstrap import bootstrap
from fullbench.stats.intervals.weighted_statistics import weighted_mean

VerdictKey = tuple[str, int]
"""Case and trial."""


def review_change_tables(record: Record) -> list[Table]:
    """Return changes of reviews and removed hallucinations for every two judges reviewed on the same cases."""
    return [change_table(record), hallucination_table(record)]


def _reviewed_judges(record: Record) -> list[str]:
    return sorted({verdict.contestants[0] for verdict in record.where(judge=PEOPLE) if is_review(verdict)})


def _verdicts_by_case(record: Record) -> Mapping[str, Verdict]:
    return {verdict.case: verdict for verdict in record if not is_review(verdict)}


def _cases_by_ballot(cases: Iterable[str], verdicts_by_case: Mapping[str, Verdict]) -> dict[str, list[str]]:
    ballots: dict[str, list[str]] = {}
    for case in sorted(cases):
        ballots.setdefault(verdicts_by_case[case].ballot if case in verdicts_by_case else "", []).append(case)
    return dict(sorted(ballots.items()))


def change_table(record: Record) -> Table:
    """Return the difference of each two judges per criterion and ballot, on cases where people reviewed both."""
    verdicts_by_case = _verdicts_by_case(record)
    rows: list[list[Cell]] = []
    for before, after in combinations(_reviewed_judges(record), 2):
        for criterion in REVIEW_BALLOTS:
            marks = _review_marks(record, (before, after), criterion)
            for ballot, cases in _cases_by_ballot(set(marks[before]) & set(marks[after]), verdicts_by_case).items():
                rows.append(
                    [
                        after,
                        before,
                        criterion,
                        ballot,
                        _mean_difference(marks, (before, after), cases, verdicts_by_case),
                    ]
                )
    note = Note("mllm-judge.reviews.changes")
    title = Note("mllm-judge.reviews.title.changes")
    columns = table_columns("judge", "other judge", "criterion", "ballot", "change")
    return Table("review changes", title, columns, rows, [note])


def review_change(record: Record, before: str, after: str, criterion: str = HALLUCINATES) -> Estimate:
    """Estimate the change of review marks case by case; for yes/no criteria it is the change of the rate of yes."""
    marks = _review_marks(record, (before, after), criterion)
    shared_cases = sorted(set(marks[before]) & set(marks[after]))
    if not shared_cases:
        raise Undefined(Note("undefined.people-reviewed-no-case-of", before=before, after=after, criterion=criterion))
    return _mean_difference(marks, (before, after), shared_cases, _verdicts_by_case(record))


def _review_marks(record: Record, judges: Sequence[str], criterion: str) -> dict[str, dict[str, list[float]]]:
    marks: dict[str, dict[str, list[float]]] = {judge: {} for judge in judges}
    for verdict in record.where(judge=PEOPLE, criterion=criterion, fault=None):
        if verdict.contestants[0] in marks:
            marks[verdict.contestants[0]].setdefault(verdict.item, []).extend(verdict.marks or ())
    return marks


def _mean_difference(
    marks: Mapping[str, Mapping[str, Sequence[float]]],
    judges: tuple[str, str],
    cases: Sequence[str],
    verdicts_by_case: Mapping[str, Verdict],
) -> Estimate:
    before, after = (marks[judge] for judge in judges)
    item_clusters = [verdicts_by_case[case].item if case in verdicts_by_case else case for case in cases]
    return bootstrap(weighted_mean, [fmean(after[case]) - fmean(before[case]) for case in cases], cluster=item_clusters)


def hallucination_table(record: Record) -> Table:
    """Return the share of one judge's hallucinations that another judge does not have, and the reverse.

    This is Table 7 if the other judge is the same model in its usual mode and the judge takes more steps.
    """
    verdicts_by_case = _verdicts_by_case(record)
    hallucinates_by_judge, split_count = _hallucinations_by_judge(record)
    rows: list[list[Cell]] = []
    for judge, other_judge in permutations(_reviewed_judges(record), 2):
        shared_verdicts = set(hallucinates_by_judge.get(judge, {})) & set(hallucinates_by_judge.get(other_judge, {}))
        for ballot, cases in _cases_by_ballot({case for case, _ in shared_verdicts}, verdicts_by_case).items():
            ballot_verdicts = [verdict_key for verdict_key in sorted(shared_verdicts) if verdict_key[0] in set(cases)]
            gone_hallucinations = [
                (verdict_key, not hallucinates_by_judge[judge][verdict_key])
                for verdict_key in ballot_verdicts
                if hallucinates_by_judge[other_judge][verdict_key]
            ]
            new_hallucinations = [
                (verdict_key, hallucinates_by_judge[judge][verdict_key])
                for verdict_key in ballot_verdicts
                if not hallucinates_by_judge[other_judge][verdict_key]
            ]
            rows.append(
                [
                    judge,
                    other_judge,
                    ballot,
                    _hit_share(gone_hallucinations, verdicts_by_case),
                    _hit_share(new_hallucinations, verdicts_by_case),
                    len(ballot_verdicts),
                ]
            )
    notes: list[str] = [Note("mllm-judge.reviews.gone")]
    if split_count:
        notes.append(Note("mllm-judge.reviews.gone.split", n=split_count))
    title = Note("mllm-judge.reviews.title.gone")
    columns = table_columns("judge", "other judge", "ballot", "hallucinations gone", "new hallucinations", "verdicts")
    return Table("hallucinations gone", title, columns, rows, notes)


def _hallucinations_by_judge(record: Record) -> tuple[dict[str, dict[VerdictKey, bool]], int]:
    votes: dict[tuple[str, VerdictKey], list[float]] = {}
    for verdict in record.where(judge=PEOPLE, criterion=HALLUCINATES, fault=None):
        # A later trial appears as a later sample of the judge's text or, in labels of a release, as a trial number.
        place = (verdict.contestants[0], (verdict.item, verdict.shown_responses[0][1] or verdict.trial))
        votes.setdefault(place, []).extend(verdict.marks or ())
    leads = {place: 2 * sum(mark == 2.0 for mark in marks) - len(marks) for place, marks in votes.items()}
    hallucinates_by_judge: dict[str, dict[VerdictKey, bool]] = {}
    for (judge, verdict_key), lead in leads.items():
        if lead:
            hallucinates_by_judge.setdefault(judge, {})[verdict_key] = lead > 0
    return hallucinates_by_judge, sum(lead == 0 for lead in leads.values())


def _hit_share(hits: Sequence[tuple[VerdictKey, bool]], verdicts_by_case: Mapping[str, Verdict]) -> Estimate | None:
    if not hits:
        return None
    item_clusters = [verdicts_by_case[case].item if case in verdicts_by_case else case for (case, _), _ in hits]
    _, items = np.unique(item_clusters, return_inverse=True)
    return estimate_cells.share_estimate(np.array([float(hit) for _, hit in hits]), items)
