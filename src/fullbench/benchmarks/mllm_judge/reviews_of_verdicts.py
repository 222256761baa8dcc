"""People's reviews of judges' verdicts, stored as verdicts on verdicts.

`Record.verdicts_as_responses` turns the text of a verdict into a response of the judge to its case. People mark it
under three criteria: is the verdict right, how good are the reasons, do they mention things that are not there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, permutations
from statistics import fmean

import numpy as np
import numpy.typing as npt

from fullbench.analysis import item_clustered_means_and_shares
from fullbench.benchmarks.mllm_judge.release.release_row import Review
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.case import Case
from fullbench.core.estimate import Estimate
from fullbench.core.item import Item
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.rubric import AGREES, HALLUCINATES, REASONS, REVIEW_BALLOTS, is_review
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import Undefined
from fullbench.stats.intervals.bootstrap_and_jackknife import bootstrap
from fullbench.stats.intervals.statistics_for_bootstrap import weighted_mean


def review_verdicts(verdict: Verdict, review: Review) -> Iterator[Verdict]:
    """Yield people's verdicts on a verdict, one for each criterion that they judged."""
    answers = {AGREES: review.agrees, REASONS: review.grade, HALLUCINATES: review.hallucinates}
    for criterion, value in answers.items():
        if value is not None:
            mark = float(value) if criterion == REASONS else 1.0 + value
            form = REVIEW_BALLOTS[criterion].spec
            case = digest(["review", verdict.case, verdict.judge, verdict.trial, criterion])
            yield Verdict(case, PEOPLE, verdict.case, (verdict.judge,), form, criterion, verdict.trial, (mark,))


def review_cases(record: Record) -> Iterator[Case]:
    """Yield the cases in which people review a record's verdicts: the judge's question and its text."""
    items_by_case = {verdict.case: record.items[verdict.item] for verdict in record if verdict.item in record.items}
    for response in record.verdicts_as_responses():
        if response.item in items_by_case:
            item = Item(response.item, items_by_case[response.item].turns, tags=items_by_case[response.item].tags)
            for criterion, form in REVIEW_BALLOTS.items():
                yield Case(item, (response,), form, criterion, response.sample)


def review_tables(record: Record) -> list[Table]:
    """Return agreement, grades of reasons and hallucination rates by ballot, and by ballot and data set."""
    reviews = record.where(is_review)
    verdicts_by_case = {verdict.case: verdict for verdict in record if not is_review(verdict)}
    if not len(reviews):
        return []
    overall_table = _review_table(record, reviews, verdicts_by_case, by_dataset=False)
    all_tables = [overall_table, _review_table(record, reviews, verdicts_by_case, by_dataset=True)]
    all_tables += [change_table(record), hallucination_table(record)]
    return [table for table in all_tables if table.rows or table is overall_table]


def _review_table(
    record: Record, reviews: Record, verdicts_by_case: Mapping[str, Verdict], *, by_dataset: bool
) -> Table:
    def group(verdict: Verdict) -> str:
        judge_verdict = verdicts_by_case.get(verdict.item)
        dataset = "" if judge_verdict is None or not by_dataset else record.tag(judge_verdict, "dataset")
        return f"{'' if judge_verdict is None else judge_verdict.ballot}\0{dataset}"

    rows: list[list[Cell]] = []
    split: dict[str, int] = {}
    for judge in sorted({verdict.contestants[0] for verdict in reviews}):
        for name, part in reviews.where(contestant=judge).by(group).items():
            ballot, dataset = name.split("\0")
            if by_dataset and not dataset:
                continue
            estimates = [_criterion_estimate(part, criterion, verdicts_by_case, split) for criterion in REVIEW_BALLOTS]
            rows.append([judge, ballot, *([dataset] if by_dataset else []), *estimates, _grade_deviation(part, record)])
    notes = [
        Note("mllm-judge.reviews.agreement-hallucination-the-share-of"),
        Note("mllm-judge.reviews.deviation-how-far-the-grades"),
    ]
    notes += [
        Note("mllm-judge.reviews.undecided", criterion=criterion, n=count)
        for criterion, count in split.items()
        if count
    ]
    metric_columns = ("people agree", "grade of the reasons", "hallucinates", "deviation of grades")
    title = Note("mllm-judge.reviews.title.what-people-think-of-the")
    if by_dataset:
        title = Note("mllm-judge.reviews.title.by-dataset", title=title)
    places = ("judge", "ballot", "data set") if by_dataset else ("judge", "ballot")
    name = "reviews by dataset" if by_dataset else "reviews"
    return Table(name, title, table_columns(*places, *metric_columns), rows, notes)


def _criterion_estimate(
    record: Record, criterion: str, verdicts_by_case: Mapping[str, Verdict], split: dict[str, int]
) -> Estimate | None:
    """Return the mean grade, or the share of verdicts with a majority of yes. Verdicts on one item stay together."""
    votes: dict[str, list[float]] = {}
    owner: dict[str, str] = {}
    for verdict in record.where(criterion=criterion, fault=None):
        votes.setdefault(verdict.case, []).extend(verdict.marks or ())
        reviewed = verdicts_by_case.get(verdict.item)
        owner[verdict.case] = verdict.item if reviewed is None else reviewed.item
    if criterion == REASONS:
        grades = {case: fmean(marks) for case, marks in votes.items()}
        scale = item_clustered_means_and_shares.scale_of(REVIEW_BALLOTS[REASONS].spec)
        items = _item_codes(owner[case] for case in grades)
        return (
            item_clustered_means_and_shares.mean_estimate(np.array([*grades.values()]), items, scale)
            if grades
            else None
        )
    margins = {case: 2 * sum(mark == 2.0 for mark in marks) - len(marks) for case, marks in votes.items()}
    decided = {case: margin for case, margin in margins.items() if margin}
    split[criterion] = split.get(criterion, 0) + len(margins) - len(decided)
    is_yes = np.array([margin > 0 for margin in decided.values()], dtype=np.float64)
    items = _item_codes(owner[case] for case in decided)
    return item_clustered_means_and_shares.share_estimate(is_yes, items) if decided else None


def _item_codes(items: Iterable[str]) -> npt.NDArray[np.int64]:
    return np.unique([*items], return_inverse=True)[1].astype(np.int64)


def _grade_deviation(reviews: Record, record: Record) -> Estimate | None:
    owner = {verdict.case: verdict.item for verdict in record if not is_review(verdict)}
    grades: dict[str, dict[str, list[float]]] = {}
    for verdict in reviews.where(criterion=REASONS, fault=None):
        grades_by_case = grades.setdefault(owner.get(verdict.item, verdict.item), {})
        grades_by_case.setdefault(verdict.case, []).extend(verdict.marks or ())
    # Average several people's grades of one verdict: their disagreement is not a change of the judge.
    spread = [
        mean_deviation([fmean(marks) for marks in grades_by_case.values()])
        for grades_by_case in grades.values()
        if len(grades_by_case) > 1
    ]
    scale = item_clustered_means_and_shares.scale_of(REVIEW_BALLOTS[REASONS].spec)
    most = None if scale is None else (0.0, (scale[1] - scale[0]) / 2)
    return _estimate_or_none(lambda: bootstrap(weighted_mean, spread, within=most)) if spread else None


def mean_deviation(marks: Sequence[float]) -> float:
    """Return the mean distance of marks from their mean.

    >>> mean_deviation([2, 4, 5, 5])
    1.0
    """
    middle = sum(marks) / len(marks)
    return sum(abs(mark - middle) for mark in marks) / len(marks)


def _estimate_or_none(compute: Callable[[], Estimate]) -> Estimate | None:
    try:
        return compute()
    except Undefined:
        return None


VerdictKey = tuple[str, int]
"""Case and trial."""


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
                        _mean_difference(marks, (before, after), cases, verdicts_by_case, criterion),
                    ]
                )
    note = Note("mllm-judge.reviews.changes")
    title = Note("mllm-judge.reviews.title.changes")
    columns = table_columns("judge", "other judge", "criterion", "ballot", "change")
    return Table("review changes", title, columns, rows, [note])


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
    criterion: str,
) -> Estimate:
    before, after = (marks[judge] for judge in judges)
    item_clusters = [verdicts_by_case[case].item if case in verdicts_by_case else case for case in cases]
    scale = item_clustered_means_and_shares.scale_of(REVIEW_BALLOTS[criterion].spec)
    return bootstrap(
        weighted_mean, [fmean(after[case]) - fmean(before[case]) for case in cases], cluster=item_clusters,
        within=item_clustered_means_and_shares.difference_scale(scale),
    )  # fmt: skip


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
    return item_clustered_means_and_shares.share_estimate(np.array([float(hit) for _, hit in hits]), items)
