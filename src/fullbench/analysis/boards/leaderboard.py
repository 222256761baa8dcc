"""Leaderboards: contestants ranked by one judge under one criterion, by one family of ballots.

Terminal, report and site all show these leaderboards, from a ledger or from its export. This module also builds their
notes: which contestants are not linked to the others by wins in both directions, and what is left out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from fullbench.analysis.boards.matches_from_verdicts import (
    RULE_DESCRIPTIONS,
    RULE_NAMES,
    Matches,
    Rule,
    build_matches,
    strongest_preferences,
)
from fullbench.analysis.boards.unusable_verdicts_and_bounds_by_contestant import unusable_counts, unusable_notes
from fullbench.analysis.boards.votes_to_decide import votes_to_decide_columns
from fullbench.analysis.boards.win_shares_and_mean_marks import (
    compute_mean_marks,
    compute_mean_shares,
    compute_win_rates,
    compute_win_rates_against,
)
from fullbench.analysis.people.joined_votes import board_columns, join_column_votes
from fullbench.analysis.scope_suffixes_of_table_titles import family_suffix, mean_heading, scope_suffix
from fullbench.analysis.views.view_verdict_helpers import waiting_mask, waiting_note
from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.columns.verdict_columns import STUDY, Columns, Family, group_rows
from fullbench.core.ballot import is_graded
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.rubric import is_less_better
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, error_sentence, word_note
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError, Undefined
from fullbench.stats.agreement.vote_rules_and_dawid_skene import VoteRule
from fullbench.stats.ratings.elo import elo_ratings
from fullbench.stats.ratings.match_counts import MatchCounts
from fullbench.stats.ratings.rank_ranges import rank_ranges, rank_ranges_of_estimates
from fullbench.stats.ratings.rating_diagnostics import find_cycles, neighbour_separability
from fullbench.stats.ratings.ratings_of_undefeated_and_unconnected_contestants import CompleteRatings, rate_everyone
from fullbench.stats.ratings.tie_models import Ties


def unlinked_notes(ratings: CompleteRatings, names: Sequence[str]) -> Iterator[str]:
    """Yield notes on contestants that are not linked to the others by wins in both directions, or by any match."""
    stands: dict[str, list[str]] = {"above": [], "below": [], "beside": []}
    for who, side in ratings.outside.items():
        stands[side].append(names[who])
    if stands["above"]:
        yield Note("leaderboard.above", contestants=", ".join(stands["above"]))
    if stands["below"]:
        yield Note("leaderboard.below", contestants=", ".join(stands["below"]))
    if stands["beside"]:
        yield Note("leaderboard.beside", contestants=", ".join(stands["beside"]))
    if len(ratings.groups) > 1:
        yield Note(
            "leaderboard.groups",
            n=len(ratings.groups), groups="; ".join(", ".join(names[who] for who in part) for part in ratings.groups),
        )  # fmt: skip
    for who, reason in ratings.unrated_reasons.items():
        yield Note("leaderboard.is-not-rated", contestant=names[who], reason=reason)


def left_out_notes(
    matches: Matches,
    *,
    reference: str | None,
    waiting: bool,
    faults: int,
    pending: int,
    verdicts: int,
    due: int,
    older: int,
) -> Iterator[str]:
    """Yield notes on verdicts that are not counted, and on the meaning of columns."""
    if len(matches):
        yield Note("leaderboard.ranks")
    if reference is not None and reference in matches.names:
        yield Note("leaderboard.reference", reference=reference)
    if faults:
        yield Note("leaderboard.unusable", n=faults, all=verdicts)
    if pending:
        yield waiting_note(pending, verdicts)
    if due:
        yield Note("leaderboard.due", n=due)
    if matches.one_order_pairs:
        waits = Note("leaderboard.no-matches-yet")
        rests = Note("leaderboard.one-order")
        yield Note("leaderboard.half-heard", n=matches.one_order_pairs, rest=waits if waiting else rests)
    if matches.set_aside:
        yield Note("leaderboard.set-aside", n=matches.set_aside)
    if older:
        yield Note("leaderboard.older", n=older)


K = 4.0  # Elo step, as documented in docs/papers/visit_bench.md
DRAWS = 200


@dataclass(frozen=True)
class Settings:
    """Options of a leaderboard: rule for two orders, ties, reference, seed, votes.

    `elo` adds Elo ratings, which depend on the order of the matches. `votes` joins several people's votes on the same
    responses. `visible` includes votes that were cast with names visible. In ratings, the strongest preference of a
    graded choice ("much better") counts `strong` times.
    """

    rule: Rule = "mean"
    ties: Ties = "half"
    reference: str | None = None
    seed: int = 0
    elo: bool = False
    votes: VoteRule = "default"
    visible: bool = False
    strong: float = 1.0

    def __post_init__(self) -> None:
        check_strong(self.strong)


def check_strong(strong: float) -> None:
    """Raise `InputError` if a strong preference cannot count this often."""
    if not (math.isfinite(strong) and strong >= 1):
        raise InputError(
            f"strong is the weight of 'much better' in ratings, a number from 1; found {strong:g}. Give for example 3"
        )


@dataclass(frozen=True, slots=True)
class Key:
    """Identity of a leaderboard. Verdicts of different keys are never mixed."""

    study: str
    judge: str
    criterion: str
    family: Family
    orders: Rule = "mean"
    votes: str = ""
    """Rule that joins several people's votes; empty if the verdicts are not people's."""
    studies: int = 1
    """Number of studies shown together. Titles name the study if there are several."""

    def scope_suffix(self) -> str:
        """Study and criterion as text, if the title would be ambiguous without them."""
        return scope_suffix(self.study if self.studies > 1 else "", self.criterion)


@dataclass(frozen=True)
class Board:
    """A leaderboard and the data behind it. `due` counts cases whose call failed."""

    key: Key
    standings: Table
    """The leaderboard as a table, best contestant first. `table` gives it a name and a title.

    `rank` is simultaneous over all contestants, `rank alone` is for one contestant only. `Elo` is the median over
    orders of the matches; `Elo over orders` is the range of most orders, not a confidence interval.
    """
    matches: Matches
    faults: int
    due: int
    columns: Columns
    """The counted verdicts, with people's votes joined."""
    ratings: CompleteRatings | None = None
    settings: Settings = field(default_factory=Settings)

    @property
    def contestants(self) -> list[str]:
        """The contestants, best first."""
        return [str(name) for name in self.standings.column("contestant")]

    def rating_of(self, contestant: str) -> Estimate | None:
        """Return the rating of a contestant, or None if it has no match."""
        return None if self.ratings is None else self.ratings.estimates[self.matches.names.index(contestant)]

    def title(self, *, family: bool) -> str:
        """Return judge and criterion, plus the family on request and any rule that is not the default."""
        rule: str = Note("place.rule", rule=RULE_NAMES[self.key.orders])
        if self.key.orders == "mean":
            rule = ""
        if self.key.votes:
            votes = Note("place.votes", rule=word_note(self.key.votes))
            rule = "" if self.settings.votes == "default" else votes
        return Note(
            "leaderboard.title",
            judge=self.key.judge,
            place=self.key.scope_suffix(),
            family=family_suffix(self.key.family) if family else "",
            rule=rule,
        )

    def table(self, name: str = "leaderboard", *, family: bool = False) -> Table:
        """Return the leaderboard as a table."""
        return replace(self.standings, name=name, title=self.title(family=family))


def build_boards(verdicts: Columns | Record, settings: Settings | None = None) -> Iterator[Board]:
    """Yield a leaderboard for every study, judge, criterion and ballot family with a usable verdict."""
    active_settings = settings or Settings()
    columns = board_columns(
        columns_from_verdicts(verdicts) if isinstance(verdicts, Record) else verdicts, active_settings.votes
    )
    studies = len(columns.names["study"])
    for (study, judge, criterion, family), part in columns.by("study", "judge", "criterion", "family"):
        if (part.fault < 0).any():
            key = Key(study, judge, criterion, cast("Family", family), active_settings.rule, studies=studies)
            yield build_board(part, key, active_settings)


def leaderboard_tables(verdicts: Columns | Record, settings: Settings | None = None) -> list[Table]:
    """Return all leaderboards as tables with unique names."""
    active_settings = settings or Settings()
    columns = board_columns(
        columns_from_verdicts(verdicts) if isinstance(verdicts, Record) else verdicts, active_settings.votes
    )
    families = _judges_with_families(columns)
    shown_tables = []
    # One at a time, to save memory: a leaderboard holds its verdicts, its table does not.
    for board in build_boards(columns, active_settings):
        family = board.key.judge in families
        name = f"leaderboard {board.key.judge}{board.key.scope_suffix()}" + (f", {board.key.family}" if family else "")
        shown_tables.append(board.table(name, family=family))
        del board  # frees its matches before the next leaderboard is built
    return shown_tables


def _judges_with_families(columns: Columns) -> set[str]:
    """Return judges that used several ballot families for one study and criterion; their titles name the family."""
    is_usable = columns.fault < 0
    if not is_usable.any():
        return set()
    _, places = group_rows(
        *(column[is_usable] for column in (columns.study, columns.judge, columns.criterion, columns.family))
    )
    rows = np.flatnonzero(is_usable)[places]
    several = Counter(zip(*(column[rows].tolist() for column in (columns.study, columns.judge, columns.criterion)),
                          strict=True))  # fmt: skip
    return {columns.names["judge"][judge] for (_, judge, _), count in several.items() if count > 1}


def build_board(columns: Columns, key: Key, settings: Settings | None = None) -> Board:
    """Return the leaderboard of verdicts that all belong to one key."""
    active_settings = settings or Settings()
    joint = join_column_votes(columns, active_settings.votes, visible=active_settings.visible)
    counted_verdicts = joint.columns
    # Ranks assume that more is better, so such marks change sign.
    less = is_less_better(key.criterion, _ballot_names(counted_verdicts))
    oriented_verdicts = replace(counted_verdicts, mark=-counted_verdicts.mark) if less else counted_verdicts
    if joint.has_votes:
        # A person sees only one order, so votes are joined and orders are not.
        rule: Rule = "each" if active_settings.votes == "each" else "mean"
        key = replace(key, orders=rule, votes=joint.vote_counts.name)
        matches = build_matches(counted_verdicts, key.judge, rule, active_settings.strong)
        matches = replace(matches, one_order_pairs=0)
    else:
        self_match_count = int(columns.latest().self_matches().sum())
        matches = build_matches(counted_verdicts, key.judge, active_settings.rule, active_settings.strong)
        matches = replace(matches, set_aside=self_match_count)
    by = Note(
        "leaderboard.by-from",
        judge=key.judge, place=key.scope_suffix(), ballots=", ".join(_ballot_names(counted_verdicts)),
    )  # fmt: skip
    trials = [] if joint.has_votes else _trial_notes(counted_verdicts)
    notes: list[str] = [by, *joint.notes, *trials, *([Note("leaderboard.less")] if less else [])]
    size = len(matches.names)
    ratings = _rate_contestants(matches, active_settings, notes, has_votes=joint.has_votes)
    notes += _strong_notes(counted_verdicts, active_settings) if len(matches) else ()
    rating_estimates: Sequence[Estimate | None] = [None] * size if ratings is None else ratings.estimates
    win_rates = compute_win_rates(matches)
    means = compute_mean_marks(counted_verdicts, matches.names)
    ranking_estimates = (
        rating_estimates if ratings is not None else _first_means(compute_mean_marks(oriented_verdicts, matches.names))
    )
    ranks = rank_ranges_of_estimates(ranking_estimates) if ratings is None else rank_ranges(ratings)
    group = {who: number for number, members in enumerate(ratings.groups if ratings else ()) for who in members}
    orders = _elo_ratings(matches, active_settings) if active_settings.elo and len(matches) else [None] * size
    against, mean_shares = (
        compute_win_rates_against(matches, active_settings.reference),
        compute_mean_shares(counted_verdicts, matches.names),
    )
    order = sorted(range(size), key=lambda who: (group.get(who, size), _sort_key(ranking_estimates[who])))
    cast = columns.latest()
    cast = cast.rows(~cast.self_matches())
    pending = waiting_mask(cast)
    faults = int(((cast.fault >= 0) & ~pending).sum())
    due = sum(outstanding.cases for outstanding in columns.due
              if (outstanding.study, outstanding.judge, outstanding.criterion, outstanding.family)
              == (key.study, key.judge, key.criterion, key.family)
              )  # fmt: skip
    older = len(columns) - len(columns.latest())
    notes += [Note("leaderboard.shared")] if any(mean_shares) else []
    notes += [Note("leaderboard.two-ratings"), Note("leaderboard.elo", k=K, draws=DRAWS)] if active_settings.elo else []
    notes += left_out_notes(
        matches,
        reference=active_settings.reference,
        waiting=active_settings.rule in {"both-agree", "majority"},
        faults=faults,
        pending=int(pending.sum()),
        verdicts=len(cast),
        due=due,
        older=older,
    )
    cells_by_column: list[tuple[str, Sequence[Cell]]] = [
        ("rank", [rank_text(rank) for rank in ranks.together]),
        ("contestant", matches.names),
    ]
    cells_by_column += [("rating", rating_estimates), ("matches won", win_rates)] if len(matches) else []
    cells_by_column += [("weighted win rate", mean_shares)] if any(mean_shares) else []
    ballots = sorted({ballot for mean in means for ballot in mean})
    cells_by_column += [(mean_heading(ballot), [mean.get(ballot) for mean in means]) for ballot in ballots]
    if joint.has_votes:
        rows = matches.rows
        cells_by_column += votes_to_decide_columns(
            ratings, ranks, order, matches.names, (rows.first, rows.second, rows.outcome), notes=notes
        )
    if any(orders):
        medians, ranges = zip(*map(_elo_cells, orders), strict=True)
        cells_by_column += [("Elo", medians), ("Elo over orders", ranges), ("matches", matches.counts())]
    cells_by_column += [("wins against the reference", against)] if active_settings.reference else []
    cells_by_column.append(("rank alone", [rank_text(rank) for rank in ranks.alone]))
    counts = unusable_counts(columns)
    if any(counts.values()):
        cells_by_column.append(("unusable", [counts.get(name, 0) for name in matches.names]))
        notes += unusable_notes(
            columns, dict(zip(matches.names, win_rates, strict=True)), dict(zip(matches.names, means, strict=True))
        )
    heads = table_columns(*(name for name, _ in cells_by_column))
    best = "rating" if any(rating_estimates) else "matches won" if len(matches) else heads[2].key if ballots else None
    source = _table_source(key, active_settings)
    standings = Table(
        "leaderboard", "", heads, [[cells[who] for _, cells in cells_by_column] for who in order], tuple(notes), source,
        None if best is None else {"kind": "intervals", "label": "contestant", "value": best},
    )  # fmt: skip
    return Board(key, standings, matches, faults, due, counted_verdicts, ratings, active_settings)


def _table_source(key: Key, settings: Settings) -> dict[str, Any]:
    source: dict[str, Any] = {
        "judge": key.judge, "criterion": key.criterion, "family": key.family, "rule": key.orders,
        "ties": settings.ties, "seed": settings.seed,
    }  # fmt: skip
    source |= {"votes": key.votes} if key.votes else {}
    source |= {} if settings.strong == 1 else {"strong": settings.strong}
    source |= {} if key.study == STUDY else {"study": key.study}
    return source


def _sort_key(estimate: Estimate | None) -> float:
    # Ratings that are equal differ in their last digits, and by processor: they keep the order of their names.
    return math.inf if estimate is None else -round(estimate.value, 6)


def _ballot_names(columns: Columns) -> list[str]:
    return [columns.names["ballot"][code] for code in np.unique(columns.ballot)]


def count_matches(matches: Matches, ties: Ties = "half") -> MatchCounts:
    """Return the matches as counts, clustered by item. A model of ties needs wins, losses and ties, so under the rule
    "mean" it gets every verdict, not shares of wins.
    """
    rows = matches.rated or matches.rows
    if ties != "half" and matches.rule == "mean":
        rows = matches.plays
    return MatchCounts.from_rows(
        rows.first, rows.second, rows.outcome, contestants=len(matches.names), weight=rows.weight, cluster=rows.item,
        shares=ties == "half",
    )  # fmt: skip


def _trial_notes(counted_verdicts: Columns) -> Iterator[str]:
    """Yield how trials count, if there are several."""
    trials = len(np.unique(counted_verdicts.trial))
    if trials > 1:
        yield Note("leaderboard.trials", n=trials)


def _strong_notes(counted_verdicts: Columns, settings: Settings) -> Iterator[str]:
    """Yield how often ratings count the strongest preference, if a ballot has one."""
    specs = [spec for spec in _ballot_names(counted_verdicts) if is_graded(spec)]
    graded = counted_verdicts.rows(counted_verdicts.fault < 0).where(ballot=specs)
    if len(graded):
        strongest, ballots, times = int(strongest_preferences(graded).sum()), ", ".join(specs), f"{settings.strong:g}"
        if settings.strong == 1:
            yield Note("leaderboard.once", n=strongest, all=len(graded), ballots=ballots)
        else:
            yield Note("leaderboard.strong", n=strongest, all=len(graded), ballots=ballots, times=times)


def _rate_contestants(
    matches: Matches, settings: Settings, notes: list[str], *, has_votes: bool
) -> CompleteRatings | None:
    if not len(matches):
        return None
    tie_note = Note("leaderboard.tied", n=matches.ties)
    ties = tie_note if matches.ties else Note("leaderboard.no-ties")
    match_note = Note("leaderboard.matches", n=len(matches), ties=ties)
    if not has_votes:
        match_note = Note(
            "leaderboard.matches-two-orders", n=len(matches), ties=ties, rule=RULE_DESCRIPTIONS[matches.rule]
        )
    notes.append(match_note)
    way = settings.ties
    try:
        ratings = rate_everyone(count_matches(matches, way), interval="sandwich", ties=way)
    except Undefined as reason:
        notes.append(Note("leaderboard.ties-as-half", reason=error_sentence(reason)))
        way = "half"
        ratings = rate_everyone(count_matches(matches), interval="sandwich")
    notes.append(Note("leaderboard.ratings-bradley-terry-ties-items", ties=word_note(way)))
    notes += unlinked_notes(ratings, matches.names)
    return ratings


def _first_means(means: Sequence[Mapping[str, Estimate]]) -> Sequence[Estimate | None]:
    """Return mean marks on the first ballot, used to rank contestants without matches."""
    first = min((ballot for mean in means for ballot in mean), default="")
    return [mean.get(first) for mean in means]


def _elo_ratings(matches: Matches, settings: Settings) -> list[Estimate | None]:
    """Return Elo ratings over random orders of the matches that the table counts."""
    rows = matches.rows
    return elo_ratings(
        rows.first, rows.second, rows.outcome, contestants=len(matches.names), k=K, middle="median", draws=DRAWS,
        seed=settings.seed,
    )  # fmt: skip


def further_notes(matches: Matches, ratings: Sequence[Estimate | None]) -> Iterator[str]:
    """Yield notes on how well the ratings separate neighbours, and on cycles of wins."""
    if sum(rating is not None for rating in ratings) > 1:
        share = str(neighbour_separability(ratings))
        yield Note("leaderboard.neighbours", share=share)
    if len(matches):
        names = matches.names
        circles = find_cycles(count_matches(matches).matrix())
        if circles:
            cycle_text = "; ".join(" > ".join(names[who] for who in (*circle, circle[0])) for circle in circles[:3])
            yield Note("leaderboard.cycles", n=len(circles), shown=cycle_text)


def _elo_cells(rating: Estimate | None) -> list[Cell]:
    """Return the median and the range over orders as text, so that it is not mistaken for an interval."""
    return [None, None] if rating is None else [rating.value, f"{rating.low:.0f} to {rating.high:.0f}"]


def rank_text(rank: tuple[int, int] | None) -> str:
    """Return a rank, or the best and the worst of a range of ranks, as text.

    >>> rank_text((2, 2)), rank_text((1, 3)), rank_text(None)
    ('2', '1-3', '-')
    """
    if rank is None:
        return "-"
    return str(rank[0]) if rank[0] == rank[1] else f"{rank[0]}-{rank[1]}"
