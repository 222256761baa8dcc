"""What people think of judges' rulings: the same machine run a second time.

A ruling's words are appealed (`Record.appeal`): they become a response of the judge, to the case it ruled on, and
people mark it under three criteria: is the ruling right, how good are the reasons, do they see what is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean

from fullbench.benchmarks.mllm_judge import review_changes_between_judges
from fullbench.benchmarks.mllm_judge.release.release_row import Review
from fullbench.core.case import Case
from fullbench.core.column_labels import headings
from fullbench.core.digests import digest
from fullbench.core.estimate import Estimate
from fullbench.core.item import Item
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.rubric import AGREES, HALLUCINATES, REASONS, REVIEW_BALLOTS, is_review
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.errors import Undefined
from fullbench.stats.intervals.bootstrap import bootstrap
from fullbench.stats.intervals.share_intervals import wilson
from fullbench.stats.intervals.weighted_statistics import mean

CRITERIA = {
    AGREES: "whether the ruling is the one that a careful person would give",
    REASONS: "how sound and how complete the reasons given for the ruling are",
    HALLUCINATES: "whether the reasons tell of something that the picture does not show",
}


def reviewed(verdict: Verdict, review: Review) -> Iterator[Verdict]:
    """People's verdicts on a verdict, one for each criterion that they judged."""
    answers = {AGREES: review.agrees, REASONS: review.grade, HALLUCINATES: review.hallucinates}
    for criterion, value in answers.items():
        if value is not None:
            mark = float(value) if criterion == REASONS else 1.0 + value
            form = REVIEW_BALLOTS[criterion].spec
            case = digest(["review", verdict.case, verdict.judge, verdict.trial, criterion])
            yield Verdict(case, PEOPLE, verdict.case, (verdict.judge,), form, criterion, verdict.trial, (mark,))


def appeals(record: Record) -> Iterator[Case]:
    """The cases in which people review a record's rulings: what the judge was asked, and what it wrote."""
    asked = {verdict.case: record.items[verdict.item] for verdict in record if verdict.item in record.items}
    for response in record.appeal():
        if response.item in asked:
            item = Item(response.item, asked[response.item].turns, tags=asked[response.item].tags)
            for criterion, form in REVIEW_BALLOTS.items():
                yield Case(item, (response,), form, criterion, response.sample)


def tables(record: Record) -> list[Table]:
    """How often people agree with each judge's rulings, how they grade its reasons, how often these see what is not.

    By ballot, and by ballot and data set, as the paper prints them.
    """
    reviews = record.where(is_review)
    heard = {verdict.case: verdict for verdict in record if not is_review(verdict)}
    if not len(reviews):
        return []
    plain = _table(record, reviews, heard, by_dataset=False)
    shown = [plain, _table(record, reviews, heard, by_dataset=True)]
    shown += review_changes_between_judges.tables(record)
    return [table for table in shown if table.rows or table is plain]


def _table(record: Record, reviews: Record, heard: Mapping[str, Verdict], *, by_dataset: bool) -> Table:
    def group(verdict: Verdict) -> str:
        ruling = heard.get(verdict.item)
        dataset = "" if ruling is None or not by_dataset else record.tag(ruling, "dataset")
        return f"{'' if ruling is None else ruling.ballot}\0{dataset}"

    rows: list[list[Cell]] = []
    split: dict[str, int] = {}
    for judge in sorted({verdict.contestants[0] for verdict in reviews}):
        for name, part in reviews.where(contestant=judge).by(group).items():
            ballot, dataset = name.split("\0")
            if by_dataset and not dataset:
                continue
            figures = [_figure(part, criterion, split) for criterion in REVIEW_BALLOTS]
            rows.append([judge, ballot, *([dataset] if by_dataset else []), *figures, _deviation(part, record)])
    notes = [
        Note(
            "mllm-judge.reviews.agreement-hallucination-the-share-of",
            "Agreement, hallucination: the share of reviews that say yes, by majority where several people reviewed.",
        ),
        Note(
            "mllm-judge.reviews.deviation-how-far-the-grades",
            "Deviation: how far the grades of one item's rulings lie from their mean, on average (items with two or "
            "more).",
        ),
    ]
    notes += [
        Note(
            "mllm-judge.reviews.undecided",
            "{criterion}: people were split on {n:,} rulings, which are undecided and in no share.",
            criterion=criterion, n=count,
        )
        for criterion, count in split.items() if count
    ]  # fmt: skip
    said = ("people agree", "grade of the reasons", "hallucinates", "deviation of grades")
    title = Note("mllm-judge.reviews.title.what-people-think-of-the", "What people think of the rulings")
    if by_dataset:
        title = Note("mllm-judge.reviews.title.by-dataset", "{title}, by data set", title=title)
    places = ("judge", "ballot", "data set") if by_dataset else ("judge", "ballot")
    name = "reviews by dataset" if by_dataset else "reviews"
    return Table(name, title, headings(*places, *said), rows, notes)


def _figure(record: Record, criterion: str, split: dict[str, int]) -> Estimate | None:
    """The figure of one criterion; how many rulings people were split on is added to `split`."""
    votes: dict[str, list[float]] = {}
    for verdict in record.where(criterion=criterion, fault=None):
        votes.setdefault(verdict.case, []).extend(verdict.marks or ())
    if not votes:
        return None
    if criterion == REASONS:
        return _tried(lambda: bootstrap(mean, [sum(v) / len(v) for v in votes.values()]))
    decided = [2 * sum(mark == 2.0 for mark in v) - len(v) for v in votes.values()]
    split[criterion] = split.get(criterion, 0) + decided.count(0)
    return wilson(sum(lead > 0 for lead in decided), sum(lead != 0 for lead in decided)) if any(decided) else None


def _deviation(reviews: Record, record: Record) -> Estimate | None:
    """The mean absolute deviation of the grades that one item's rulings got."""
    owner = {verdict.case: verdict.item for verdict in record if not is_review(verdict)}
    grades: dict[str, dict[str, list[float]]] = {}
    for verdict in reviews.where(criterion=REASONS, fault=None):
        rulings = grades.setdefault(owner.get(verdict.item, verdict.item), {})
        rulings.setdefault(verdict.case, []).extend(verdict.marks or ())
    # Several people's grades of one ruling are its mean: how they differ is no change of the judge.
    spread = [
        deviation([fmean(marks) for marks in rulings.values()]) for rulings in grades.values() if len(rulings) > 1
    ]
    return _tried(lambda: bootstrap(mean, spread)) if spread else None


def deviation(marks: Sequence[float]) -> float:
    """The mean distance of some marks from their mean.

    >>> deviation([2, 4, 5, 5])
    1.0
    """
    middle = sum(marks) / len(marks)
    return sum(abs(mark - middle) for mark in marks) / len(marks)


def _tried(compute: Callable[[], Estimate]) -> Estimate | None:
    try:
        return compute()
    except Undefined:
        return None
