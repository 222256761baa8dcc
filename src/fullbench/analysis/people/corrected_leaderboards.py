"""Corrected leaderboards: judges' verdicts on everything, corrected by people's votes on a part of it.

Tables show judge alone, people alone and corrected side by side, and the size of the correction as a metric of its
own. See `stats.people.prediction_powered`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from math import erfc, sqrt

import numpy as np

from fullbench.analysis.boards.leaderboard import Key, rank_text
from fullbench.analysis.people import paired_verdicts_and_votes
from fullbench.analysis.people.paired_verdicts_and_votes import (
    Votes,
    ballot_families,
    has_verdicts,
    paired_outcomes,
    scope_columns,
)
from fullbench.analysis.scope_text import FROM, family_suffix, mean_label
from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.columns.verdict_columns import STUDY, Columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Column, Table
from fullbench.core.table_columns import table_columns
from fullbench.core.translatable_note import Note, error_sentence
from fullbench.core.verdict import PEOPLE
from fullbench.core.verdict_record import Record
from fullbench.errors import Undefined
from fullbench.stats.paired_comparison_of_judges import benjamini_hochberg
from fullbench.stats.people.prediction_powered import CorrectedMean, clip_estimate, corrected_mean, stack_predictions
from fullbench.stats.ratings.corrected_ratings import corrected_ratings
from fullbench.stats.ratings.rank_ranges import rank_ranges_of_estimates

RATING, MATCHES_WON = "rating", "matches won"
_BOUNDS = {MATCHES_WON: (0.0, 1.0)}
TOGETHER = Note("corrected.together")
_FEW = 10
"""With fewer votes per contestant than this, a note says that votes are few."""


@dataclass(frozen=True, slots=True)
class Line:
    """One contestant's metric: corrected, by people alone, by each judge alone, and the bias of each judge."""

    contestant: str
    metric: str
    corrected_estimate: Estimate
    people: Estimate
    judges: tuple[Estimate, ...]
    judge_biases: tuple[Estimate, ...]


@dataclass(frozen=True)
class CorrectedBoard:
    """Corrected metrics of one or several judges under one criterion and ballot family.
    `key.judge` is the judge, or `TOGETHER` for several. `votes` are the rows behind the ratings.
    """

    key: Key
    judges: tuple[str, ...]
    lines: tuple[Line, ...]
    votes: Votes
    notes: tuple[str, ...]

    def lines_for(self, metric: str) -> list[Line]:
        """Return the lines of one metric, best first."""
        return sorted(
            (line for line in self.lines if line.metric == metric), key=lambda line: -line.corrected_estimate.value
        )

    def tables(self, *, family: bool = False) -> list[Table]:
        """Return a table of ratings, and a table of shares and means."""
        title = Note(
            "corrected.title",
            judge=TOGETHER if self.key.judge == TOGETHER else self.key.judge, place=self.key.scope_suffix(),
            family=family_suffix(self.key.family) if family else "",
        )  # fmt: skip
        name = f"corrected {self.key.judge}{self.key.scope_suffix()}, {self.key.family}"
        source = {
            "judges": list(self.judges), "criterion": self.key.criterion, "family": self.key.family,
            "study": self.key.study, "method": "prediction-powered",
        }  # fmt: skip
        shown_tables = []
        rating_lines = self.lines_for(RATING)
        if rating_lines:
            ranks = rank_ranges_of_estimates([line.corrected_estimate for line in rating_lines]).together
            rows: list[list[Cell]] = [
                [rank_text(rank), line.contestant, *self._cells(line), line.people.n]
                for rank, line in zip(ranks, rating_lines, strict=True)
            ]
            hint = {"kind": "intervals", "label": "contestant", "value": "corrected"}
            columns = table_columns("rank", "contestant", *self._heads(), "votes")
            shown_tables.append(Table(name, title, columns, rows, self.notes, source, hint))
        other_lines = [
            line for metric in _metric_names(self.lines) if metric != RATING for line in self.lines_for(metric)
        ]
        if other_lines:
            rows = [[line.metric, line.contestant, *self._cells(line), line.people.n] for line in other_lines]
            columns = table_columns("metric", "contestant", *self._heads(), "votes")
            notes = () if rating_lines else self.notes
            further = Note("corrected.title.shares", title=title)
            shown_tables.append(Table(f"{name}, shares and means", further, columns, rows, notes, source))
        return shown_tables

    def _heads(self) -> Sequence[str]:
        if len(self.judges) == 1:
            return ["corrected", "people alone", "judge alone", "judge flatters by"]
        return ["corrected", "people alone", *map(_judge_alone_column, self.judges)]

    def _cells(self, line: Line) -> list[Cell]:
        judge_biases = line.judge_biases if len(self.judges) == 1 else ()
        return [line.corrected_estimate, line.people, *line.judges, *judge_biases]


def corrected_boards(
    verdicts: Columns | Record, *, judges: Collection[str] | None = None, together: bool = True, people: str = PEOPLE
) -> Iterator[CorrectedBoard]:
    """Yield a leaderboard per judge, criterion and family that people voted on; `together` adds one of all judges.
    `judges` get a leaderboard of their own (None: all).
    """
    columns = columns_from_verdicts(verdicts) if isinstance(verdicts, Record) else verdicts
    studies = len(columns.names["study"])
    for (study, criterion), part in columns.by("study", "criterion"):
        if people not in part.judges():
            continue
        for family in paired_verdicts_and_votes.ballot_families(part):
            every = [
                judge
                for judge in part.judges()
                if judge != people and paired_verdicts_and_votes.has_verdicts(part, judge, family)
            ]
            groups = [(judge,) for judge in every if judges is None or judge in judges]
            for group in [*groups, *([tuple(every)] if together and len(every) > 1 else [])]:
                name = group[0] if len(group) == 1 else str(TOGETHER)
                key = Key(study, name, criterion, family, studies=studies)
                board = _corrected_board(part, key, group, people)
                if board is not None:
                    yield board


def corrected_tables(
    verdicts: Columns | Record, *, judges: Collection[str] | None = None, together: bool = True, people: str = PEOPLE
) -> list[Table]:
    """Return the corrected leaderboards as tables, followed by agreement metrics."""
    columns = columns_from_verdicts(verdicts) if isinstance(verdicts, Record) else verdicts
    all_boards = list(corrected_boards(columns, judges=judges, together=together, people=people))
    families = {(board.key.study, board.key.criterion): set[str]() for board in all_boards}
    for board in all_boards:
        families[board.key.study, board.key.criterion].add(board.key.family)
    shown_tables: list[Table] = []
    for board in all_boards:
        shown_tables += board.tables(family=len(families[board.key.study, board.key.criterion]) > 1)
    agreement_table = corrected_agreement_table(columns, judges=judges, people=people)
    return [*shown_tables, *([agreement_table] if agreement_table.rows else [])]


def add_opinion_notes(columns: Columns, leaderboard_tables: Sequence[Table], *, people: str = PEOPLE) -> list[Table]:
    """Add a note to each leaderboard that is based on a judge alone, without any human vote."""
    has_votes_by_scope: dict[tuple[str, str], bool] = {}

    def voted_on(study: str, criterion: str) -> bool:
        if (study, criterion) not in has_votes_by_scope:
            cast_votes = columns.where(study=study, criterion=criterion, judge=people)
            has_votes_by_scope[study, criterion] = bool((cast_votes.fault < 0).any())
        return has_votes_by_scope[study, criterion]

    return [
        replace(table, notes=(*table.notes, Note("corrected.opinion", judge=str(table.source["judge"]))))
        if {"judge", "criterion", "family"} <= set(table.source) and table.source["judge"] != people
        and not voted_on(str(table.source.get("study", STUDY)), str(table.source["criterion"]))
        else table
        for table in leaderboard_tables
    ]  # fmt: skip


def _corrected_board(part: Columns, key: Key, judges: Sequence[str], people: str) -> CorrectedBoard | None:
    votes = paired_verdicts_and_votes.paired_outcomes(part, judges, people, key.family)
    names = part.names["contestant"]
    lines: list[Line] = []
    notes: list[str] = []
    if votes.vote_count:
        lines += _rating_lines(votes, names, notes)
        lines += _win_rate_lines(votes, names)
    if key.family == "score":
        for ballot in paired_verdicts_and_votes.people_ballots(part, people):
            mark_votes = paired_verdicts_and_votes.paired_marks(part, judges, people, ballot)
            votes = votes if votes.vote_count else mark_votes
            lines += _mean_lines(mark_votes, names, mean_label(ballot))
    if not lines:
        return None
    all_notes = [*_summary_notes(votes, key, lines), *_judge_bias_notes(lines, judges), *notes, *_left_out_notes(votes)]
    return CorrectedBoard(key, tuple(judges), tuple(lines), votes, tuple(all_notes))


def _rating_lines(votes: Votes, names: Sequence[str], notes: list[str]) -> Iterator[Line]:
    codes, where = np.unique(np.concatenate(votes.sides), return_inverse=True)
    first_codes, second_codes = where[: len(votes)], where[len(votes) :]
    try:
        rating_fit = corrected_ratings(
            first_codes,
            second_codes,
            votes.vote,
            stack_predictions(list(votes.judge_values)),
            contestants=len(codes),
            probability=votes.chance,
            cluster=votes.item,
        )
    except Undefined as reason:
        notes.append(Note("corrected.no-ratings", reason=error_sentence(reason)))
        return
    left = [names[code] for place, code in enumerate(codes.tolist()) if place not in rating_fit.rated_codes]
    if left:
        notes.append(Note("corrected.unlinked", names=", ".join(left)))
    if rating_fit.has_prior:
        notes.append(Note("corrected.held"))
    if votes.vote_count < _FEW * len(rating_fit.rated_codes):
        notes.append(Note("corrected.few", n=votes.vote_count, contestants=len(rating_fit.rated_codes)))
    for place, code in enumerate(rating_fit.rated_codes):
        yield Line(
            names[codes[code]], RATING, rating_fit.corrected_estimates[place], rating_fit.people[place],
            tuple(line[place] for line in rating_fit.judges), tuple(line[place] for line in rating_fit.corrections),
        )  # fmt: skip


def _win_rate_lines(votes: Votes, names: Sequence[str]) -> Iterator[Line]:
    first, second = votes.sides
    for code in np.unique(np.concatenate(votes.sides)).tolist():
        ahead, behind = first == code, second == code
        contestant_votes = votes.where(ahead | behind)
        if contestant_votes.vote_count:
            is_second = behind[ahead | behind]
            vote = np.where(is_second, 1 - contestant_votes.vote, contestant_votes.vote)
            judge_outcomes = np.where(is_second, 1 - contestant_votes.judge_values, contestant_votes.judge_values)
            yield _corrected_line(
                names[code], MATCHES_WON, contestant_votes, vote, stack_predictions(list(judge_outcomes))
            )


def _mean_lines(votes: Votes, names: Sequence[str], metric: str) -> Iterator[Line]:
    (who,) = votes.sides
    for code in np.unique(who).tolist():
        contestant_votes = votes.where(who == code)
        if contestant_votes.vote_count:
            # Missing marks of a judge are set to its mean, an uninformative prediction.
            has_mark = ~np.isnan(contestant_votes.judge_values)
            means = np.array(
                [
                    line[there].mean() if there.any() else 0.0
                    for line, there in zip(contestant_votes.judge_values, has_mark, strict=True)
                ]
            )
            yield _corrected_line(
                names[code],
                metric,
                contestant_votes,
                contestant_votes.vote,
                np.where(has_mark, contestant_votes.judge_values, means[:, None]),
            )


def _corrected_line(
    name: str,
    metric: str,
    votes: Votes,
    vote: paired_verdicts_and_votes.Floats,
    judge_values: paired_verdicts_and_votes.Floats,
) -> Line:
    correction = corrected_mean(vote, judge_values, probability=votes.chance, cluster=votes.item)
    estimates = _bound_estimates(correction, _BOUNDS.get(metric))
    return Line(name, metric, *estimates, correction.corrections)


def _bound_estimates(
    correction: CorrectedMean, bounds: tuple[float, float] | None
) -> tuple[Estimate, Estimate, tuple[Estimate, ...]]:
    if bounds is None:
        return correction.corrected_estimate, correction.people, correction.judges
    return (
        clip_estimate(correction.corrected_estimate, *bounds), clip_estimate(correction.people, *bounds),
        tuple(clip_estimate(judge, *bounds) for judge in correction.judges),
    )  # fmt: skip


def _metric_names(lines: Sequence[Line]) -> list[str]:
    return list(dict.fromkeys(line.metric for line in lines))


def _judge_alone_column(judge: str) -> Column:
    label = Note("column.alone", judge=judge)
    return Column(str(label), label, "metric", "more")


def _summary_notes(votes: Votes, key: Key, lines: Sequence[Line]) -> Iterator[str]:
    what = Note("corrected.marks") if len(votes.sides) == 1 else Note("corrected.pairs")
    yield Note(
        "corrected.made",
        all=len(votes), what=what, judge=TOGETHER if key.judge == TOGETHER else key.judge, n=votes.vote_count,
        items=votes.items,
    )  # fmt: skip
    first = [line for line in lines if line.metric == lines[0].metric]
    widths = [
        (line.corrected_estimate.high - line.corrected_estimate.low, line.people.high - line.people.low)
        for line in first
    ]
    ours, theirs = (float(np.mean([pair[side] for pair in widths])) for side in (0, 1))
    if ours > 0 and theirs > 0:
        saved_votes = max(0, round(votes.vote_count * ((theirs / ours) ** 2 - 1)))
        yield Note("corrected.narrower", share=max(0.0, 1 - ours / theirs), n=saved_votes)


def _judge_bias_notes(lines: Sequence[Line], judges: Sequence[str]) -> Iterator[str]:
    """Yield notes on contestants that a judge overrates or underrates, after Benjamini-Hochberg over contestants."""
    first = [line for line in lines if line.metric == lines[0].metric]
    points = lines[0].metric == RATING
    for place, judge in enumerate(judges):
        gaps = [line.judge_biases[place] for line in first]
        significance_flags = benjamini_hochberg([_p_value(gap) for gap in gaps]).is_significant
        sure = sorted(
            (pair for pair, sound in zip(zip(gaps, first, strict=True), significance_flags, strict=True) if sound),
            key=lambda pair: -abs(pair[0].value),
        )
        for gap, line in sure[:3]:
            low, high = sorted((abs(gap.low), abs(gap.high)))
            digits = 0 if points else 2
            size, least, most = (f"{value:.{digits}f}" for value in (abs(gap.value), low, high))
            note_values = {"judge": judge, "contestant": line.contestant, "size": size, "low": least, "high": most}
            yield _too_good(**note_values) if gap.value > 0 else _too_hard(**note_values)


def _too_good(judge: str, contestant: str, size: str, low: str, high: str) -> str:
    return Note("corrected.flatters", judge=judge, contestant=contestant, size=size, low=low, high=high)


def _too_hard(judge: str, contestant: str, size: str, low: str, high: str) -> str:
    return Note("corrected.hard", judge=judge, contestant=contestant, size=size, low=low, high=high)


def _left_out_notes(votes: Votes) -> Iterator[str]:
    if votes.chance is not None:
        yield Note("corrected.designed")
    if votes.votes_without_chance:
        yield Note("corrected.guessed", n=votes.votes_without_chance)
    if votes.visible:
        yield Note("votes.visible.left-out", n=votes.visible)
    if votes.outside:
        yield Note("corrected.outside", n=votes.outside)


def _p_value(gap: Estimate) -> float:
    if gap.why or gap.high <= gap.low:
        return 1.0
    # Two-sided normal p-value; the standard error is recovered from the 95 % interval.
    return erfc(abs(gap.value) / ((gap.high - gap.low) / (2 * 1.959964)) / sqrt(2))


def corrected_agreement_table(
    columns: Columns, *, judges: Collection[str] | None = None, people: str = PEOPLE
) -> Table:
    """Return each judge's agreement with people on all pairs that it judged, from votes on a part of them.
    The predictors are other judges' verdicts on the same pairs and how decided the judge is.
    """
    rows: list[list[Cell]] = []
    split = scope_columns(columns)
    for (study, criterion), part in columns.by("study", "criterion"):
        if people not in part.judges():
            continue
        for family in ballot_families(part):
            every = [judge for judge in part.judges() if judge != people and has_verdicts(part, judge, family)]
            for judge in every if judges is None else [judge for judge in every if judge in judges]:
                votes = paired_outcomes(
                    part, [judge, *(other_judge for other_judge in every if other_judge != judge)], people, family
                )
                votes = votes.where(~np.isnan(votes.judge_values[0]))
                if not votes.vote_count:
                    continue
                judge_outcomes, other_outcomes = votes.judge_values[0], votes.judge_values[1:]
                pair_agreement = np.where(np.isnan(other_outcomes), 0.5, 1 - np.abs(other_outcomes - judge_outcomes))
                correction = corrected_mean(
                    1 - np.abs(judge_outcomes - votes.vote),
                    np.array([np.abs(2 * judge_outcomes - 1), *pair_agreement]),
                    probability=votes.chance,
                    cluster=votes.item,
                )
                scope_values = {"study": study, "criterion": criterion}
                rows.append(
                    [
                        judge,
                        *(scope_values[part] for part in split),
                        FROM[family],
                        clip_estimate(correction.corrected_estimate, 0, 1),
                        clip_estimate(correction.people, 0, 1),
                        votes.vote_count,
                        len(votes),
                    ]
                )
    notes = [Note("corrected.agreement")]
    heads = table_columns(
        "judge", *split, "verdict", "agreement on all pairs", "agreement on voted pairs", "voted", "pairs"
    )
    hint = {"kind": "intervals", "label": "judge", "within": [*split, "verdict"], "value": "agreement on all pairs"}
    title = Note("corrected.title.agreement")
    return Table("corrected agreement", title, heads, rows, notes, {}, hint)
