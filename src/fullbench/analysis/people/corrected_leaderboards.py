"""Corrected leaderboards: judges' verdicts on everything, corrected by people's votes on a part of it.

Tables show judge alone, people alone and corrected side by side, and the size of the correction as a metric of its
own. See `stats.people.prediction_powered`. Every board says how its voted pairs were chosen, and warns if they differ
from the others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fullbench.analysis.boards.leaderboard import Key, rank_text
from fullbench.analysis.boards.votes_to_decide import votes_to_decide_notes
from fullbench.analysis.people import paired_verdicts_and_votes
from fullbench.analysis.people.joined_votes import RULE_DESCRIPTIONS
from fullbench.analysis.people.paired_verdicts_and_votes import (
    Votes,
    ballot_families,
    has_verdicts,
    paired_outcomes,
    scope_columns,
)
from fullbench.analysis.people.voted_rows_check import (
    CaseFacts,
    VotedRowsCheck,
    check_voted_rows,
    selection_note,
)
from fullbench.analysis.scope_suffixes_of_table_titles import FROM, family_suffix, mean_label
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
from fullbench.stats.people.prediction_powered import CorrectedMean, clip_estimate, corrected_mean, stack_predictions
from fullbench.stats.ratings.corrected_ratings import CorrectedRatings, corrected_ratings
from fullbench.stats.ratings.judge_scale_against_people import ScaleComparison
from fullbench.stats.ratings.rank_ranges import Rank, Ranks, rank_ranges_of_covariance, rank_ranges_of_estimates

RATING, MATCHES_WON = "rating", "matches won"
_BOUNDS = {MATCHES_WON: (0.0, 1.0)}
TOGETHER = Note("corrected.together")
LEAST_VOTES = 10
"""Votes that a contestant needs for corrected numbers: with fewer, intervals are too narrow."""
_POINTS = 400 / np.log(10)
"""Points of one unit of log strength."""


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


@dataclass(frozen=True)
class CorrectedBoard:
    """Corrected metrics of one or several judges under one criterion and ballot family.
    `key.judge` is the judge, or `TOGETHER` for several. `votes` are the rows behind the ratings. `few_votes` has the
    contestants without corrected rating, and their number of votes. `rule` joins several people's votes.
    """

    key: Key
    judges: tuple[str, ...]
    lines: tuple[Line, ...]
    votes: Votes
    notes: tuple[str, ...]
    few_votes: tuple[tuple[str, int], ...] = ()
    rule: VoteRule = "default"

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
            heads = self._heads(has_reweighted=has_reweighted)
            rows: list[list[Cell]] = [
                [
                    rank_text(line.rank),
                    line.contestant,
                    *self._cells(line, has_reweighted=has_reweighted),
                    line.people.n,
                ]
                for line in rating_lines
            ]
            rows += [["-", name, *(None for _ in heads), votes] for name, votes in self.few_votes]
            hint = {"kind": "intervals", "label": "contestant", "value": heads[0]} if rating_lines else None
            columns = table_columns("rank", "contestant", *heads, "votes")
            shown_tables.append(Table(name, title, columns, rows, self.notes, source, hint))
        other_lines = [
            line for metric in _metric_names(self.lines) if metric != RATING for line in self.lines_for(metric)
        ]
        if other_lines:
            rows = [[line.metric, line.contestant, *self._cells(line), line.people.n] for line in other_lines]
            columns = table_columns("metric", "contestant", *self._heads(), "votes")
            notes = () if shown_tables else self.notes
            further = Note("corrected.title.shares", title=title)
            shown_tables.append(Table(f"{name}, shares and means", further, columns, rows, notes, source))
        return shown_tables

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
    agreement_table = corrected_agreement_table(columns, judges=judges, people=people, rule=rule)
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


def _corrected_board(
    part: Columns, key: Key, judges: Sequence[str], people: str, *, rule: VoteRule, facts: CaseFacts | None
) -> CorrectedBoard | None:
    votes = paired_verdicts_and_votes.paired_outcomes(part, judges, people, key.family, rule)
    names = part.names["contestant"]
    lines: list[Line] = []
    notes: list[str] = []
    few_votes: dict[str, int] = {}
    check = VotedRowsCheck()
    if votes.vote_count:
        check = check_voted_rows(votes, names, part.names["item"], facts)
        lines += _rating_lines(votes, names, check, judges, notes=notes, few_votes=few_votes)
        lines += _win_rate_lines(votes, names)
    if key.family == "score":
        for ballot in paired_verdicts_and_votes.people_ballots(part, people):
            mark_votes = paired_verdicts_and_votes.paired_marks(part, judges, people, ballot, rule)
            votes = votes if votes.vote_count else mark_votes
            lines += _mean_lines(mark_votes, names, mean_label(ballot), few_votes)
    if not lines and not few_votes:
        return None
    few_note = (
        [Note("corrected.few", names=", ".join(f"{name} ({n})" for name, n in few_votes.items()), least=LEAST_VOTES)]
        if few_votes else []
    )  # fmt: skip
    all_notes = [
        *_summary_notes(votes, key, lines, rule), *few_note, *check.notes(), *notes, *_left_out_notes(votes),
    ]  # fmt: skip
    return CorrectedBoard(key, tuple(judges), tuple(lines), votes, tuple(all_notes), tuple(few_votes.items()), rule)


def _rating_lines(
    votes: Votes,
    names: Sequence[str],
    check: VotedRowsCheck,
    judges: Sequence[str],
    *,
    notes: list[str],
    few_votes: dict[str, int],
) -> Iterator[Line]:
    is_rated = rows_with_enough_votes(votes)
    rated_votes = votes.where(is_rated)
    rated_codes = set(np.unique(np.concatenate(rated_votes.sides)).tolist())
    few_votes |= {names[code]: n for code, n in votes.votes_by_contestant().items() if code not in rated_codes}
    if not rated_codes:
        return
    codes, where = np.unique(np.concatenate(rated_votes.sides), return_inverse=True)
    sides = where[: len(rated_votes)], where[len(rated_votes) :]

    def fit(chances: paired_verdicts_and_votes.Floats | None) -> CorrectedRatings:
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
    if rating_fit.has_prior:
        notes.append(Note("corrected.held"))
    rated_names = [names[codes[code]] for code in rating_fit.rated_codes]
    for judge, scale in zip(judges, rating_fit.scales, strict=True):
        notes += _judge_scale_notes(judge, rated_names, scale)
    ranks = _corrected_ranks(rating_fit)
    notes += votes_to_decide_notes(rating_fit, rated_names, ranks, sides, rated_votes.vote)
    for place, name in enumerate(rated_names):
        yield Line(
            name, RATING, rating_fit.corrected_estimates[place], rating_fit.people[place],
            tuple(line[place] for line in rating_fit.judges), tuple(line[place] for line in rating_fit.corrections),
            ranks.together[place],
            None if reweighted is None else reweighted.corrected_estimates[place],
        )  # fmt: skip


def rows_with_enough_votes(votes: Votes) -> npt.NDArray[np.bool_]:
    """Return a mask of the pairs of contestants with enough votes among each other."""
    is_rated = np.ones(len(votes), dtype=np.bool_)
    # Leaving out one contestant takes votes from the others, hence the loop.
    while is_rated.any():
        counts = votes.where(is_rated).votes_by_contestant()
        few = [code for code, n in counts.items() if n < LEAST_VOTES]
        if not few:
            break
        is_rated &= ~np.isin(votes.sides[0], few) & ~np.isin(votes.sides[1], few)
    return is_rated


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
            judge_outcomes = np.where(is_second, 1 - contestant_votes.judge_values, contestant_votes.judge_values)
            yield _corrected_line(
                names[code], MATCHES_WON, contestant_votes, vote, stack_predictions(list(judge_outcomes))
            )


def _mean_lines(votes: Votes, names: Sequence[str], metric: str, few_votes: dict[str, int]) -> Iterator[Line]:
    (who,) = votes.sides
    for code in np.unique(who).tolist():
        contestant_votes = votes.where(who == code)
        if contestant_votes.vote_count < LEAST_VOTES:
            few_votes.setdefault(names[code], contestant_votes.vote_count)
        else:
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


def corrected_agreement_table(
    columns: Columns,
    *,
    judges: Collection[str] | None = None,
    people: str = PEOPLE,
    rule: VoteRule = "default",
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
                    part, [judge, *(other_judge for other_judge in every if other_judge != judge)], people, family,
                    rule,
                )  # fmt: skip
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
