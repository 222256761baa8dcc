"""Corrected leaderboards: judges' verdicts on everything, corrected by people's votes on a part of it.

Tables show judge alone, people alone and corrected side by side, and the size of the correction as a metric of its
own. See `stats.people.prediction_powered`. Every board says how its voted pairs were chosen, and warns if they differ
from the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
import numpy.typing as npt

from fullbench.analysis.boards.leaderboard import Key, rank_text
from fullbench.analysis.boards.unusable_verdicts_and_bounds_by_contestant import unusable_counts, unusable_notes
from fullbench.analysis.boards.votes_to_decide import (
    COLUMN,
    VotedRows,
    corrected_votes_to_decide,
    votes_to_decide_columns,
)
from fullbench.analysis.item_clustered_means_and_shares import SHARE, mean_as_shown, mean_estimate, scale_of
from fullbench.analysis.people import paired_verdicts_and_votes
from fullbench.analysis.people.joined_votes import RULE_DESCRIPTIONS
from fullbench.analysis.people.judge_accuracy_corrected_by_votes import corrected_accuracy_table
from fullbench.analysis.people.paired_verdicts_and_votes import (
    KeyedValues,
    Votes,
    family_verdicts,
)
from fullbench.analysis.people.rated_matches import LEAST_VOTES, select_rated_matches
from fullbench.analysis.people.voted_rows_check import (
    CaseFacts,
    VotedRowsCheck,
    check_marked_responses,
    check_voted_rows,
    selection_note,
)
from fullbench.analysis.scope_suffixes_of_table_titles import family_suffix, mean_label
from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.columns.verdict_columns import STUDY, Columns
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Column, Table
from fullbench.core.translatable_note import Note, error_sentence, word_note
from fullbench.core.verdict import PEOPLE
from fullbench.core.verdict_record import Record
from fullbench.errors import Undefined
from fullbench.stats.agreement.vote_rules_and_dawid_skene import VoteRule
from fullbench.stats.array_checks import Floats
from fullbench.stats.intervals.cluster_intervals import Scale
from fullbench.stats.people.prediction_powered import (
    METHOD,
    clip_estimate,
    corrected_mean,
    stack_predictions,
)
from fullbench.stats.ratings.corrected_ratings import CorrectedRatings, corrected_ratings
from fullbench.stats.ratings.judge_scale_and_bias_against_people import ScaleComparison
from fullbench.stats.ratings.match_counts import MatchCounts
from fullbench.stats.ratings.rank_ranges import (
    Rank,
    Ranks,
    rank_ranges,
    rank_ranges_of_covariance,
    rank_ranges_of_estimates,
)
from fullbench.stats.ratings.ratings_of_undefeated_and_unconnected_contestants import CompleteRatings, rate_everyone

RATING, MATCHES_WON = "rating", "matches won"
TOGETHER = Note("corrected.together")
_POINTS = 400 / np.log(10)
"""Points of one unit of log strength."""
_ROUNDING = 1e-6
"""Difference of two ratings, in points, that is rounding error."""


@dataclass(frozen=True, slots=True)
class Line:
    """One contestant's metric: corrected, by people alone, by each judge alone, and judges minus corrected.

    `reweighted` is the corrected metric after post-stratification, if voted pairs differ from the others.
    """

    contestant: str
    metric: str
    corrected_estimate: Estimate
    people: Estimate
    judges: tuple[Estimate, ...]
    judge_gaps: tuple[Estimate, ...]
    rank: Rank | None = None
    """Ranks that hold for all contestants together; of ratings only."""
    reweighted: Estimate | None = None
    votes_to_decide: int | None = None
    """Further votes that would separate the contestant from the next one; of ratings only."""


@dataclass(frozen=True)
class CorrectedBoard:
    """Corrected metrics of one or several judges under one criterion and ballot family.
    `key.judge` is the judge, or `TOGETHER` for several. `votes` are the rows behind the ratings. `few_votes` has the
    contestants without corrected rating, and their number of votes. `rule` joins several people's votes. `unusable`
    counts the judges' unusable verdicts by contestant, and is empty if there is none.
    """

    key: Key
    judges: tuple[str, ...]
    lines: tuple[Line, ...]
    votes: Votes
    notes: tuple[str, ...]
    few_votes: tuple[tuple[str, int], ...] = ()
    rule: VoteRule = "default"
    unusable: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """True if people voted on all pairs, so that the corrected numbers are people's own."""
        return self.votes.selection == "all"

    def lines_for(self, metric: str) -> list[Line]:
        """Return the lines of one metric, best first."""
        return sorted(
            (line for line in self.lines if line.metric == metric), key=lambda line: -line.corrected_estimate.value
        )

    def tables(self, *, family: bool = False) -> list[Table]:
        """Return a table of ratings, and a table of shares and means."""
        rule = "" if self.rule == "default" else Note("place.votes", rule=word_note(self.rule))
        title = Note(
            "corrected.title",
            judge=TOGETHER if self.key.judge == TOGETHER else self.key.judge, place=self.key.scope_suffix(),
            family=family_suffix(self.key.family) if family else "", rule=rule,
        )  # fmt: skip
        name = f"corrected {self.key.judge}{self.key.scope_suffix()}, {self.key.family}"
        source = {
            "judges": list(self.judges), "criterion": self.key.criterion, "family": self.key.family,
            "study": self.key.study, "method": "prediction-powered", "votes": self.rule,
            "selection": self.votes.selection,
        }  # fmt: skip
        shown_tables = []
        rating_lines = self.lines_for(RATING)
        if rating_lines or self.few_votes:
            has_reweighted = any(line.reweighted is not None for line in rating_lines)
            has_undecided = any(line.votes_to_decide for line in rating_lines)
            heads = self._heads(has_reweighted=has_reweighted)
            rows: list[list[Cell]] = [
                [
                    rank_text(line.rank),
                    line.contestant,
                    *self._cells(line, has_reweighted=has_reweighted),
                    line.people.n,
                    *([line.votes_to_decide] if has_undecided else []),
                    *self._unusable_cells(line.contestant),
                ]
                for line in rating_lines
            ]
            rows += [
                [
                    "-", name, *(None for _ in heads), votes, *([None] if has_undecided else []),
                    *self._unusable_cells(name),
                ]
                for name, votes in self.few_votes
            ]  # fmt: skip
            hint = {"kind": "intervals", "label": "contestant", "value": heads[0]} if rating_lines else None
            undecided = [COLUMN] if has_undecided else []
            unusable = ["unusable"] if self.unusable else []
            columns = table_columns("rank", "contestant", *heads, "votes", *undecided, *unusable)
            shown_tables.append(Table(name, title, columns, rows, self.notes, source, hint))
        other_lines = [
            line for metric in _metric_names(self.lines) if metric != RATING for line in self.lines_for(metric)
        ]
        if other_lines:
            rows = [
                [
                    line.metric, line.contestant, *self._cells(line), line.people.n,
                    *self._unusable_cells(line.contestant),
                ]
                for line in other_lines
            ]  # fmt: skip
            unusable = ["unusable"] if self.unusable else []
            columns = table_columns("metric", "contestant", *self._heads(), "votes", *unusable)
            notes = () if shown_tables else self.notes
            further = Note("corrected.title.shares", title=title)
            shown_tables.append(Table(f"{name}, shares and means", further, columns, rows, notes, source))
        return shown_tables

    def _unusable_cells(self, contestant: str) -> list[Cell]:
        return [self.unusable.get(contestant, 0)] if self.unusable else []

    def _heads(self, *, has_reweighted: bool = False) -> list[str | Column]:
        heads: list[str | Column] = [] if self.is_complete else ["corrected"]
        heads += [*(["reweighted"] if has_reweighted else []), "people alone"]
        if len(self.judges) == 1:
            return [*heads, "judge alone", "judge minus people"]
        return [*heads, *map(_judge_alone_column, self.judges)]

    def _cells(self, line: Line, *, has_reweighted: bool = False) -> list[Cell]:
        gaps = line.judge_gaps if len(self.judges) == 1 else ()
        corrected = [] if self.is_complete else [line.corrected_estimate]
        return [*corrected, *([line.reweighted] if has_reweighted else []), line.people, *line.judges, *gaps]


def corrected_boards(
    verdicts: Columns | Record,
    *,
    judges: Collection[str] | None = None,
    together: bool = True,
    people: str = PEOPLE,
    rule: VoteRule = "default",
    facts: CaseFacts | None = None,
) -> Iterator[CorrectedBoard]:
    """Yield a leaderboard per judge, criterion and family that people voted on; `together` adds one of all judges.

    Args:
        judges: Judges that get a leaderboard of their own; None for all.
        rule: Rule that joins several people's votes on the same responses.
        facts: Tags and lengths on which voted and unvoted pairs are compared too.
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
                board = _corrected_board(part, key, group, people, rule=rule, facts=facts)
                if board is not None:
                    yield board


def corrected_tables(
    verdicts: Columns | Record,
    *,
    judges: Collection[str] | None = None,
    together: bool = True,
    people: str = PEOPLE,
    rule: VoteRule = "default",
    facts: CaseFacts | None = None,
) -> list[Table]:
    """Return the corrected leaderboards as tables, followed by agreement metrics. See `corrected_boards`."""
    columns = columns_from_verdicts(verdicts) if isinstance(verdicts, Record) else verdicts
    all_boards = list(
        corrected_boards(columns, judges=judges, together=together, people=people, rule=rule, facts=facts)
    )
    families = {(board.key.study, board.key.criterion): set[str]() for board in all_boards}
    for board in all_boards:
        families[board.key.study, board.key.criterion].add(board.key.family)
    shown_tables: list[Table] = []
    for board in all_boards:
        shown_tables += board.tables(family=len(families[board.key.study, board.key.criterion]) > 1)
    accuracy_table = corrected_accuracy_table(columns, judges=judges, people=people, rule=rule)
    return [*shown_tables, *([accuracy_table] if accuracy_table.rows else [])]


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


def _corrected_board(
    part: Columns, key: Key, judges: Sequence[str], people: str, *, rule: VoteRule, facts: CaseFacts | None
) -> CorrectedBoard | None:
    votes = paired_verdicts_and_votes.paired_outcomes(part, judges, people, key.family, rule)
    names = part.names["contestant"]
    lines: list[Line] = []
    notes: list[str] = []
    few_votes, few_marks, one_sided = dict[str, int](), dict[str, int](), set[str]()
    ballots = paired_verdicts_and_votes.people_ballots(part, people) if key.family == "score" else []
    marks_by_ballot = {
        ballot: paired_verdicts_and_votes.paired_marks(part, judges, people, ballot, rule) for ballot in ballots
    }
    items = part.names["item"]
    check = (
        check_marked_responses(list(marks_by_ballot.values()), votes, names, items, facts) if ballots
        else check_voted_rows(votes, names, items, facts)
    )  # fmt: skip
    if votes.vote_count:
        lines += _rating_lines(votes, names, check, judges, notes=notes, few_votes=few_votes, one_sided=one_sided)
        lines += _win_rate_lines(votes, names)
    for ballot, mark_votes in marks_by_ballot.items():
        votes = votes if votes.vote_count else mark_votes
        lines += _mean_lines(mark_votes, names, ballot, few_marks)
    # A contestant with a rating from pairs of marks may have too few marks for a mean.
    rated = {line.contestant for line in lines if line.metric == RATING}
    few_votes = {name: n for name, n in few_marks.items() if name not in rated} | few_votes
    few_marks = {name: n for name, n in few_marks.items() if name in rated}
    if not lines and not few_votes:
        return None
    too_few = {name: n for name, n in few_votes.items() if name not in one_sided}
    short_lists = [", ".join(f"{name} ({n})" for name, n in few.items()) for few in (too_few, few_marks)]
    few_notes = [Note("corrected.few", names=short_lists[0], least=LEAST_VOTES)] if too_few else []
    few_notes += [Note("corrected.few-marks", names=short_lists[1], least=LEAST_VOTES)] if few_marks else []
    unusable: Counter[str] = Counter()
    trials = 1
    for judge in judges:
        verdicts = family_verdicts(part.where(judge=judge), key.family)
        trials = max(trials, len(np.unique(verdicts.trial)))
        unusable.update(unusable_counts(verdicts))
        if len(judges) == 1:
            won = {line.contestant: line.corrected_estimate for line in lines if line.metric == MATCHES_WON}
            notes += unusable_notes(verdicts, won, {})
    notes += [Note("corrected.trials", n=trials)] if trials > 1 else []
    check_notes = check.notes(is_reweighted=any(line.reweighted is not None for line in lines))
    all_notes = [
        *_summary_notes(votes, key, lines, rule), *few_notes, *check_notes, *notes, *_left_out_notes(votes),
    ]  # fmt: skip
    return CorrectedBoard(
        key, tuple(judges), tuple(lines), votes, tuple(all_notes), tuple(few_votes.items()), rule, unusable
    )


def _rating_lines(
    votes: Votes,
    names: Sequence[str],
    check: VotedRowsCheck,
    judges: Sequence[str],
    *,
    notes: list[str],
    few_votes: dict[str, int],
    one_sided: set[str],
) -> Iterator[Line]:
    is_rated, one_sided_codes = select_rated_matches(votes)
    rated_votes = votes.where(is_rated)
    rated_codes = set(np.unique(np.concatenate(rated_votes.sides)).tolist())
    few_votes |= {names[code]: n for code, n in votes.votes_by_contestant().items() if code not in rated_codes}
    one_sided |= {names[code] for code in one_sided_codes}
    if one_sided:
        notes.append(Note("corrected.one-sided", names=", ".join(sorted(one_sided))))
    if not rated_codes:
        return
    codes, where = np.unique(np.concatenate(rated_votes.sides), return_inverse=True)
    sides = where[: len(rated_votes)], where[len(rated_votes) :]

    def fit(chances: Floats | None) -> CorrectedRatings:
        return corrected_ratings(
            *sides, rated_votes.vote, stack_predictions(list(rated_votes.judge_values)), contestants=len(codes),
            probability=chances, cluster=rated_votes.item,
        )  # fmt: skip

    try:
        rating_fit = fit(rated_votes.chance)
        reweighted = None if check.chances is None else fit(check.chances[is_rated])
    except Undefined as reason:
        notes.append(Note("corrected.no-ratings", reason=error_sentence(reason)))
        return
    left = [names[code] for place, code in enumerate(codes.tolist()) if place not in rating_fit.rated_codes]
    if left:
        notes.append(Note("corrected.unlinked", names=", ".join(left)))
    rated_names = [names[codes[code]] for code in rating_fit.rated_codes]
    for judge, scale in zip(judges, rating_fit.scales, strict=True):
        notes += _judge_scale_notes(judge, rated_names, scale)
    places = {int(codes[code]): place for place, code in enumerate(rating_fit.rated_codes)}
    people_ratings = _ratings_alone(votes.people_rows, places) if rated_votes.has_equal_chances else None
    judge_ratings = [_ratings_alone(rows, places) for rows in votes.judge_rows]
    notes += [
        Note("corrected.held-judge", judge=judge)
        for judge, ratings in zip(judges, judge_ratings, strict=True) if ratings is None
    ]  # fmt: skip
    voted_rows = _rated_rows(votes.people_rows, places)[0]
    ranks, votes_to_decide = _ranks_and_votes_to_decide(
        rating_fit, people_ratings if votes.selection == "all" else None, rated_names, voted_rows, notes
    )
    for place, name in enumerate(rated_names):
        people, corrected = rating_fit.people[place], rating_fit.corrected_estimates[place]
        if people_ratings is not None:
            is_same = abs(corrected.value - people.value) < _ROUNDING
            people = _estimate_of(people_ratings, place, people)
            corrected = replace(people, method=METHOD, corrected=True) if is_same else corrected
        yield Line(
            name, RATING, corrected, people,
            tuple(
                fitted[place] if ratings is None else _estimate_of(ratings, place, fitted[place])
                for ratings, fitted in zip(judge_ratings, rating_fit.judges, strict=True)
            ),
            tuple(line[place] for line in rating_fit.corrections),
            ranks.together[place],
            None if reweighted is None else reweighted.corrected_estimates[place],
            votes_to_decide[place],
        )  # fmt: skip


def _rated_rows(rows: KeyedValues, places: Mapping[int, int]) -> tuple[VotedRows, npt.NDArray[np.int64]]:
    """Return the matches of rated contestants, as positions in the order of the ratings, and their items."""
    item, *sides = rows.keys
    place = np.full(max([0, *(int(side.max(initial=0)) for side in sides[:2]), *places]) + 1, -1)
    place[list(places)] = list(places.values())
    first, second = place[sides[0]], place[sides[1]]
    is_rated = (first >= 0) & (second >= 0)
    return (first[is_rated], second[is_rated], rows.value[is_rated]), item[is_rated]


def _ratings_alone(rows: KeyedValues, places: Mapping[int, int]) -> CompleteRatings | None:
    """Return the ratings of the board by these rows alone.

    None if somebody won or lost every match there: such ratings are on a scale of their own.
    """
    matches, items = _rated_rows(rows, places)
    if not len(items):
        return None
    counts = MatchCounts.from_rows(*matches, contestants=len(places), cluster=items, shares=True)
    ratings = rate_everyone(counts, interval="sandwich")
    return None if ratings.outside or len(ratings.groups) != 1 or None in ratings.estimates else ratings


def _estimate_of(ratings: CompleteRatings, place: int, default: Estimate) -> Estimate:
    return ratings.estimates[place] or default


def _ranks_and_votes_to_decide(
    rating_fit: CorrectedRatings,
    people_ratings: CompleteRatings | None,
    names: Sequence[str],
    voted_rows: VotedRows,
    notes: list[str],
) -> tuple[Ranks, Sequence[int | None]]:
    """Return the ranks and the votes to decide them, those of people's own board if there is nothing to correct."""
    if people_ratings is not None:
        ranks = rank_ranges(people_ratings)
        order = sorted(range(len(names)), key=lambda who: -rating_fit.people[who].value)
        columns = votes_to_decide_columns(people_ratings, ranks, order, names, voted_rows, notes=notes)
        return ranks, cast("Sequence[int | None]", columns[0][1]) if columns else [None] * len(names)
    ranks = _corrected_ranks(rating_fit)
    return ranks, corrected_votes_to_decide(rating_fit, names, ranks, voted_rows, notes=notes)


def _corrected_ranks(rating_fit: CorrectedRatings) -> Ranks:
    """Return the ranks by the covariance of the ratings; by their intervals if the covariance is unknown."""
    if np.isfinite(rating_fit.covariance).all() and not any(one.why for one in rating_fit.corrected_estimates):
        return rank_ranges_of_covariance(rating_fit.strengths, rating_fit.covariance, freedom=rating_fit.free)
    return rank_ranges_of_estimates(rating_fit.corrected_estimates)


def _win_rate_lines(votes: Votes, names: Sequence[str]) -> Iterator[Line]:
    first, second = votes.sides
    for code in np.unique(np.concatenate(votes.sides)).tolist():
        ahead, behind = first == code, second == code
        contestant_votes = votes.where(ahead | behind)
        if contestant_votes.vote_count >= LEAST_VOTES:
            is_second = behind[ahead | behind]
            vote = np.where(is_second, 1 - contestant_votes.vote, contestant_votes.vote)
            outcomes = np.where(is_second, 1 - contestant_votes.judge_values, contestant_votes.judge_values)
            oriented_votes = replace(contestant_votes, vote=vote, judge_values=outcomes)
            yield _corrected_line(
                code, names[code], oriented_votes, stack_predictions(list(outcomes)), (MATCHES_WON, SHARE)
            )


def _mean_lines(votes: Votes, names: Sequence[str], ballot: str, few_marks: dict[str, int]) -> Iterator[Line]:
    (who,) = votes.sides
    for code in np.unique(who).tolist():
        contestant_votes = votes.where(who == code)
        if contestant_votes.vote_count < LEAST_VOTES:
            few_marks.setdefault(names[code], contestant_votes.vote_count)
        else:
            # Missing marks of a judge are set to its mean, an uninformative prediction.
            has_mark = ~np.isnan(contestant_votes.judge_values)
            means = np.array(
                [
                    line[there].mean() if there.any() else 0.0
                    for line, there in zip(contestant_votes.judge_values, has_mark, strict=True)
                ]
            )
            predictions = np.where(has_mark, contestant_votes.judge_values, means[:, None])
            line = _corrected_line(
                code, names[code], contestant_votes, predictions, (mean_label(ballot), scale_of(ballot))
            )
            yield replace(
                line,
                corrected_estimate=mean_as_shown(ballot, line.corrected_estimate),
                people=mean_as_shown(ballot, line.people),
                judges=tuple(mean_as_shown(ballot, judge) for judge in line.judges),
            )


def _corrected_line(
    code: int, name: str, votes: Votes, predictions: Floats, metric_and_scale: tuple[str, Scale | None]
) -> Line:
    """Return one line. What people and judges say alone is what their own boards say of the same rows."""
    metric, scale = metric_and_scale
    correction = corrected_mean(votes.vote, predictions, probability=votes.chance, cluster=votes.item, within=scale)
    people, corrected = correction.people, correction.corrected_estimate
    if votes.has_equal_chances:
        people = _mean_alone(votes.people_rows, code, scale) or people
        corrected = corrected if any(correction.worth) else replace(people, method=METHOD, corrected=True)
    judges = [
        _mean_alone(rows, code, scale) or fitted
        for rows, fitted in zip(votes.judge_rows, correction.judges, strict=True)
    ]
    corrections = correction.corrections
    if scale is not None:
        corrected, people = (clip_estimate(one, *scale) for one in (corrected, people))
        width = scale[1] - scale[0]
        corrections = tuple(clip_estimate(one, -width, width) for one in corrections)
    return Line(name, metric, corrected, people, tuple(judges), corrections)


def _mean_alone(rows: KeyedValues, code: int, scale: Scale | None) -> Estimate | None:
    values, items = rows.values_of(code)
    return mean_estimate(values, items, scale) if len(values) else None


def _metric_names(lines: Sequence[Line]) -> list[str]:
    return list(dict.fromkeys(line.metric for line in lines))


def _judge_alone_column(judge: str) -> Column:
    label = Note("column.alone", judge=judge)
    return Column(str(label), label, "metric", "more")


def _summary_notes(votes: Votes, key: Key, lines: Sequence[Line], rule: VoteRule) -> Iterator[str]:
    what = Note("corrected.marks") if len(votes.sides) == 1 else Note("corrected.pairs")
    judge = TOGETHER if key.judge == TOGETHER else key.judge
    if votes.selection == "all":
        yield Note("corrected.made-all", all=len(votes), what=what, judge=judge, items=votes.items)
    else:
        yield Note("corrected.made", all=len(votes), what=what, judge=judge, n=votes.vote_count, items=votes.items)
    yield selection_note(votes)
    if rule == "each":
        yield Note("corrected.rule", rule=RULE_DESCRIPTIONS[rule])
    elif votes.vote_counts is not None:
        yield from votes.vote_counts.notes()
    first = [line for line in lines if line.metric == lines[0].metric]
    widths = [
        (line.corrected_estimate.high - line.corrected_estimate.low, line.people.high - line.people.low)
        for line in first
    ]
    if not widths or votes.selection == "all":
        return
    ours, theirs = (float(np.mean([pair[side] for pair in widths])) for side in (0, 1))
    if ours > 0 and theirs > 0:
        saved_votes = max(0, round(votes.vote_count * ((theirs / ours) ** 2 - 1)))
        yield Note("corrected.narrower", share=max(0.0, 1 - ours / theirs), n=saved_votes)


def _judge_scale_notes(judge: str, names: Sequence[str], scale: ScaleComparison | None) -> Iterator[str]:
    """Yield notes on a judge whose scale is narrower than people's, or on contestants that no scale explains."""
    if scale is None:
        return
    if scale.scale_range is not None and scale.scale_range[0] > 0 and scale.scale_range[1] < 1:
        low, high = scale.scale_range
        yield Note("corrected.scale", judge=judge, scale=scale.scale, low=low, high=high)
    clear = [place for place, is_biased in enumerate(scale.is_biased) if is_biased]
    for place in sorted(clear, key=lambda place: -abs(scale.residuals[place])):
        size, half = (_POINTS * float(abs(part[place])) for part in (scale.residuals, scale.half_widths))
        low_text, high_text, size_text = f"{size - half:.0f}", f"{size + half:.0f}", f"{size:.0f}"
        if scale.residuals[place] > 0:
            yield Note(
                "corrected.flatters", judge=judge, contestant=names[place], size=size_text, low=low_text, high=high_text
            )
        else:
            yield Note(
                "corrected.hard", judge=judge, contestant=names[place], size=size_text, low=low_text, high=high_text
            )


def _left_out_notes(votes: Votes) -> Iterator[str]:
    if votes.votes_without_chance:
        yield Note("corrected.guessed", n=votes.votes_without_chance)
    if votes.visible:
        yield Note("votes.visible.left-out", n=votes.visible)
    if votes.outside:
        yield Note("corrected.outside", n=votes.outside)
