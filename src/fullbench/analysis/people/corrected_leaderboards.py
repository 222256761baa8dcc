"""Leaderboards that people would sign: what judges say of everything, corrected by people's votes on a part of it.

Judge alone, people alone and corrected stand side by side, and the size of the correction is a figure of its own. See
`stats.people.prediction_powered`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from math import erfc, sqrt

import numpy as np

from fullbench.analysis.boards.leaderboard import Key, rank_text
from fullbench.analysis.people import paired_verdicts_and_votes
from fullbench.analysis.people.corrected_agreement import agreement
from fullbench.analysis.people.paired_verdicts_and_votes import Votes
from fullbench.analysis.scope_text import from_family, mean_of
from fullbench.columns.column_builder import columns_of
from fullbench.columns.verdict_columns import STUDY, Columns
from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, sentence
from fullbench.core.record import Record
from fullbench.core.table import Cell, Column, Table
from fullbench.core.verdict import PEOPLE
from fullbench.errors import Undefined
from fullbench.stats.paired_comparison_of_judges import benjamini_hochberg
from fullbench.stats.people.prediction_powered import Corrected, corrected_mean, several, within
from fullbench.stats.ratings.corrected_ratings import corrected_ratings
from fullbench.stats.ratings.rank_ranges import ranks_of_estimates

RATING, WON = "rating", "duels won"
_BOUNDS = {WON: (0.0, 1.0)}
TOGETHER = Note("corrected.together", "all judges together")
_FEW = 10
"""Fewer votes than this for each contestant are said to be few."""


@dataclass(frozen=True, slots=True)
class Line:
    """One contestant's figure: corrected, by people alone, by each judge alone, and how much each judge flatters it."""

    contestant: str
    figure: str
    corrected: Estimate
    people: Estimate
    judges: tuple[Estimate, ...]
    flattered: tuple[Estimate, ...]


@dataclass(frozen=True)
class CorrectedBoard:
    """The corrected figures of one or several judges under one criterion and family of ballots.

    `key.judge` names the judge, or says that there are several. `votes` are the rows behind the ratings.
    """

    key: Key
    judges: tuple[str, ...]
    lines: tuple[Line, ...]
    votes: Votes
    notes: tuple[str, ...]

    def of(self, figure: str) -> list[Line]:
        """The lines of one figure, best first."""
        return sorted((line for line in self.lines if line.figure == figure), key=lambda line: -line.corrected.value)

    def tables(self, *, family: bool = False) -> list[Table]:
        """Ratings in one table, shares and means in another."""
        title = Note(
            "corrected.title", "Leaderboard by {judge}{place}{family}, corrected by people's votes",
            judge=TOGETHER if self.key.judge == TOGETHER else self.key.judge, place=self.key.on(),
            family=from_family(self.key.family) if family else "",
        )  # fmt: skip
        name = f"corrected {self.key.judge}{self.key.on()}, {self.key.family}"
        source = {
            "judges": list(self.judges), "criterion": self.key.criterion, "family": self.key.family,
            "study": self.key.study, "method": "prediction-powered",
        }  # fmt: skip
        shown = []
        rated = self.of(RATING)
        if rated:
            ranks = ranks_of_estimates([line.corrected for line in rated]).together
            rows: list[list[Cell]] = [
                [rank_text(rank), line.contestant, *self._cells(line), line.people.n]
                for rank, line in zip(ranks, rated, strict=True)
            ]
            hint = {"kind": "intervals", "label": "contestant", "value": "corrected"}
            columns = headings("rank", "contestant", *self._heads(), "votes")
            shown.append(Table(name, title, columns, rows, self.notes, source, hint))
        rest = [line for figure in _figures(self.lines) if figure != RATING for line in self.of(figure)]
        if rest:
            rows = [[line.figure, line.contestant, *self._cells(line), line.people.n] for line in rest]
            columns = headings("figure", "contestant", *self._heads(), "votes")
            notes = () if rated else self.notes
            further = Note("corrected.title.shares", "{title}: shares and means", title=title)
            shown.append(Table(f"{name}, shares and means", further, columns, rows, notes, source))
        return shown

    def _heads(self) -> Sequence[str]:
        if len(self.judges) == 1:
            return ["corrected", "people alone", "judge alone", "judge flatters by"]
        return ["corrected", "people alone", *map(_alone, self.judges)]

    def _cells(self, line: Line) -> list[Cell]:
        flattered = line.flattered if len(self.judges) == 1 else ()
        return [line.corrected, line.people, *line.judges, *flattered]


def boards(
    verdicts: Columns | Record, *, judges: Collection[str] | None = None, together: bool = True, people: str = PEOPLE
) -> Iterator[CorrectedBoard]:
    """A board for every judge under every criterion and family that people voted on; with `together`, one of them all.

    `judges` are those that get a board of their own (None: all of them).
    """
    columns = columns_of(verdicts) if isinstance(verdicts, Record) else verdicts
    studies = len(columns.names["study"])
    for (study, criterion), part in columns.by("study", "criterion"):
        if people not in part.judges():
            continue
        for family in paired_verdicts_and_votes.families(part):
            every = [
                judge
                for judge in part.judges()
                if judge != people and paired_verdicts_and_votes.rules(part, judge, family)
            ]
            groups = [(judge,) for judge in every if judges is None or judge in judges]
            for group in [*groups, *([tuple(every)] if together and len(every) > 1 else [])]:
                name = group[0] if len(group) == 1 else str(TOGETHER)
                key = Key(study, name, criterion, family, studies=studies)
                board = _board(part, key, group, people)
                if board is not None:
                    yield board


def tables(
    verdicts: Columns | Record, *, judges: Collection[str] | None = None, together: bool = True, people: str = PEOPLE
) -> list[Table]:
    """The boards as tables, the figures of agreement below."""
    columns = columns_of(verdicts) if isinstance(verdicts, Record) else verdicts
    made = list(boards(columns, judges=judges, together=together, people=people))
    families = {(board.key.study, board.key.criterion): set[str]() for board in made}
    for board in made:
        families[board.key.study, board.key.criterion].add(board.key.family)
    shown: list[Table] = []
    for board in made:
        shown += board.tables(family=len(families[board.key.study, board.key.criterion]) > 1)
    agreed = agreement(columns, judges=judges, people=people)
    return [*shown, *([agreed] if agreed.rows else [])]


def opinions(columns: Columns, shown: Sequence[Table], *, people: str = PEOPLE) -> list[Table]:
    """The tables; a leaderboard by a judge alone says in one line what it is not, where no person voted."""
    known: dict[tuple[str, str], bool] = {}

    def voted_on(study: str, criterion: str) -> bool:
        if (study, criterion) not in known:
            cast_votes = columns.of(study=study, criterion=criterion, judge=people)
            known[study, criterion] = bool((cast_votes.fault < 0).any())
        return known[study, criterion]

    return [
        replace(table, notes=(*table.notes, _opinion(str(table.source["judge"]))))
        if {"judge", "criterion", "family"} <= set(table.source) and table.source["judge"] != people
        and not voted_on(str(table.source.get("study", STUDY)), str(table.source["criterion"]))
        else table
        for table in shown
    ]  # fmt: skip


def _board(part: Columns, key: Key, judges: Sequence[str], people: str) -> CorrectedBoard | None:
    votes = paired_verdicts_and_votes.pairs(part, judges, people, key.family)
    names = part.names["contestant"]
    lines: list[Line] = []
    notes: list[str] = []
    if votes.voted:
        lines += _ratings(votes, names, notes)
        lines += _won(votes, names)
    if key.family == "score":
        for ballot in paired_verdicts_and_votes.ballots(part, people):
            marked = paired_verdicts_and_votes.marks(part, judges, people, ballot)
            votes = votes if votes.voted else marked
            lines += _means(marked, names, mean_of(ballot))
    if not lines:
        return None
    said = [*_made(votes, key, lines), *_flattered(lines, judges), *notes, *_left(votes)]
    return CorrectedBoard(key, tuple(judges), tuple(lines), votes, tuple(said))


def _ratings(votes: Votes, names: Sequence[str], notes: list[str]) -> Iterator[Line]:
    codes, where = np.unique(np.concatenate(votes.sides), return_inverse=True)
    one, two = where[: len(votes)], where[len(votes) :]
    try:
        fitted = corrected_ratings(
            one, two, votes.vote, several(list(votes.ruled)), contestants=len(codes), probability=votes.chance,
            cluster=votes.item,
        )  # fmt: skip
    except Undefined as reason:
        notes.append(Note("corrected.no-ratings", "No corrected ratings: {reason}.", reason=sentence(reason)))
        return
    left = [names[code] for place, code in enumerate(codes.tolist()) if place not in fitted.rated]
    if left:
        notes.append(
            Note(
                "corrected.unlinked", "Not corrected, for people did not vote on them beside the others: {names}.",
                names=", ".join(left),
            )
        )  # fmt: skip
    if fitted.held:
        notes.append(
            Note("corrected.held", "People's votes leave somebody undefeated: a weak prior holds the ratings finite.")
        )
    if votes.voted < _FEW * len(fitted.rated):
        notes.append(
            Note(
                "corrected.few", "Few votes: {n:,} for {contestants} contestants; intervals may be too narrow.",
                n=votes.voted, contestants=len(fitted.rated),
            )
        )  # fmt: skip
    for place, code in enumerate(fitted.rated):
        yield Line(
            names[codes[code]], RATING, fitted.corrected[place], fitted.people[place],
            tuple(line[place] for line in fitted.judges), tuple(line[place] for line in fitted.corrections),
        )  # fmt: skip


def _won(votes: Votes, names: Sequence[str]) -> Iterator[Line]:
    first, second = votes.sides
    for code in np.unique(np.concatenate(votes.sides)).tolist():
        ahead, behind = first == code, second == code
        own = votes.where(ahead | behind)
        if own.voted:
            turned = behind[ahead | behind]
            vote = np.where(turned, 1 - own.vote, own.vote)
            ruled = np.where(turned, 1 - own.ruled, own.ruled)
            yield _line(names[code], WON, own, vote, several(list(ruled)))


def _means(votes: Votes, names: Sequence[str], figure: str) -> Iterator[Line]:
    (who,) = votes.sides
    for code in np.unique(who).tolist():
        own = votes.where(who == code)
        if own.voted:
            # What a judge did not mark is taken for its mean: a prediction that tells nothing.
            known = ~np.isnan(own.ruled)
            means = np.array([line[there].mean() if there.any() else 0.0
                              for line, there in zip(own.ruled, known, strict=True)])  # fmt: skip
            yield _line(names[code], figure, own, own.vote, np.where(known, own.ruled, means[:, None]))


def _line(
    name: str,
    figure: str,
    votes: Votes,
    vote: paired_verdicts_and_votes.Floats,
    ruled: paired_verdicts_and_votes.Floats,
) -> Line:
    found = corrected_mean(vote, ruled, probability=votes.chance, cluster=votes.item)
    kept = _bounded(found, _BOUNDS.get(figure))
    return Line(name, figure, *kept, found.corrections)


def _bounded(found: Corrected, bounds: tuple[float, float] | None) -> tuple[Estimate, Estimate, tuple[Estimate, ...]]:
    if bounds is None:
        return found.corrected, found.people, found.judges
    return (
        within(found.corrected, *bounds), within(found.people, *bounds),
        tuple(within(judge, *bounds) for judge in found.judges),
    )  # fmt: skip


def _figures(lines: Sequence[Line]) -> list[str]:
    return list(dict.fromkeys(line.figure for line in lines))


def _alone(judge: str) -> Column:
    label = Note("column.alone", "{judge} alone", judge=judge)
    return Column(str(label), label, "figure", "more")


def _opinion(judge: str) -> str:
    return Note(
        "corrected.opinion",
        "This is the opinion of {judge}: no person voted here, so it does not say what people would say.",
        judge=judge,
    )


def _made(votes: Votes, key: Key, lines: Sequence[Line]) -> Iterator[str]:
    what = Note("corrected.marks", "marks") if len(votes.sides) == 1 else Note("corrected.pairs", "pairs")
    yield Note(
        "corrected.made",
        "Corrected: what people would say of all {all:,} {what} ruled on by {judge}, from votes on {n:,} of them on "
        "{items:,} items; several votes count by their mean.",
        all=len(votes), what=what, judge=TOGETHER if key.judge == TOGETHER else key.judge, n=votes.voted,
        items=votes.items,
    )  # fmt: skip
    first = [line for line in lines if line.figure == lines[0].figure]
    widths = [(line.corrected.high - line.corrected.low, line.people.high - line.people.low) for line in first]
    ours, theirs = (float(np.mean([pair[side] for pair in widths])) for side in (0, 1))
    if ours > 0 and theirs > 0:
        saved = max(0, round(votes.voted * ((theirs / ours) ** 2 - 1)))
        yield Note(
            "corrected.narrower",
            "The intervals are {share:.0%} narrower than by votes alone, as if {n:,} more were cast.",
            share=max(0.0, 1 - ours / theirs), n=saved,
        )  # fmt: skip


def _flattered(lines: Sequence[Line], judges: Sequence[str]) -> Iterator[str]:
    """Whom a judge flatters and whom it is too hard on, after Benjamini-Hochberg over the contestants."""
    first = [line for line in lines if line.figure == lines[0].figure]
    points = lines[0].figure == RATING
    for place, judge in enumerate(judges):
        gaps = [line.flattered[place] for line in first]
        passed = benjamini_hochberg([_p(gap) for gap in gaps]).passed
        sure = sorted(
            (pair for pair, sound in zip(zip(gaps, first, strict=True), passed, strict=True) if sound),
            key=lambda pair: -abs(pair[0].value),
        )
        for gap, line in sure[:3]:
            low, high = sorted((abs(gap.low), abs(gap.high)))
            digits = 0 if points else 2
            size, least, most = (f"{value:.{digits}f}" for value in (abs(gap.value), low, high))
            said = {"judge": judge, "contestant": line.contestant, "size": size, "low": least, "high": most}
            yield _too_good(**said) if gap.value > 0 else _too_hard(**said)


def _too_good(judge: str, contestant: str, size: str, low: str, high: str) -> str:
    return Note(
        "corrected.flatters", "{judge} flatters {contestant} by {size} points [{low}, {high}].",
        judge=judge, contestant=contestant, size=size, low=low, high=high,
    )  # fmt: skip


def _too_hard(judge: str, contestant: str, size: str, low: str, high: str) -> str:
    return Note(
        "corrected.hard", "{judge} is too hard on {contestant} by {size} points [{low}, {high}].",
        judge=judge, contestant=contestant, size=size, low=low, high=high,
    )  # fmt: skip


def _left(votes: Votes) -> Iterator[str]:
    if votes.chance is not None:
        yield Note(
            "corrected.designed",
            "The sample was designed: each vote counts by the chance that its pair had of being chosen.",
        )
    if votes.guessed:
        yield Note(
            "corrected.guessed", "{n:,} votes have no chance of their own and count as drawn evenly.", n=votes.guessed
        )
    if votes.visible:
        yield Note(
            "votes.visible.left-out", "{n:,} votes that were cast with names in view are left out.", n=votes.visible
        )
    if votes.outside:
        yield Note("corrected.outside", "{n:,} voted pairs that no judge here ruled on are left out.", n=votes.outside)


def _p(gap: Estimate) -> float:
    if gap.why or gap.high <= gap.low:
        return 1.0
    return erfc(abs(gap.value) / ((gap.high - gap.low) / (2 * 1.959964)) / sqrt(2))
