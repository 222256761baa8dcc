"""The leaderboard, computed once: what one judge makes of contestants under one criterion, by one family of ballots.

Every door shows these boards: the terminal, the report, the site, over a ledger or its export.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
import numpy.typing as npt

from fullbench.analysis.boards.matches_from_verdicts import CALLED, SAID, Codes, Matches, Rule, settle
from fullbench.analysis.boards.win_shares_and_mean_marks import means_of, shared_by, won_against, won_by
from fullbench.analysis.people.joined_votes import beside_people, joined
from fullbench.analysis.scope_text import from_family, mean_heading, place
from fullbench.analysis.views.member_verdicts import waiting, waiting_note
from fullbench.columns.column_builder import columns_of
from fullbench.columns.verdict_columns import STUDY, Columns, Family, grouped
from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, sentence, word
from fullbench.core.record import Record
from fullbench.core.rubric import LESS_IS_BETTER
from fullbench.core.table import Cell, Table
from fullbench.errors import Undefined
from fullbench.stats.agreement.vote_consensus import VoteRule
from fullbench.stats.ratings.elo import elo
from fullbench.stats.ratings.match_counts import Battles
from fullbench.stats.ratings.penalised_ratings import Everyone, rate_everyone
from fullbench.stats.ratings.rank_ranges import ranks_of, ranks_of_estimates
from fullbench.stats.ratings.rating_diagnostics import cycles, separability
from fullbench.stats.ratings.tie_models import Ties

# What a reader of a leaderboard must know: who is not linked to the rest by wins both ways, and what is left out.


def outside(ratings: Everyone, names: Sequence[str]) -> Iterator[str]:
    """Who is not linked to the others by wins both ways, and who never met them."""
    stands: dict[str, list[str]] = {"above": [], "below": [], "beside": []}
    for who, side in ratings.outside.items():
        stands[side].append(names[who])
    if stands["above"]:
        yield Note(
            "leaderboard.above",
            "{contestants}: won every match that links to the rest, so the rating is that of a penalised likelihood "
            "and its interval has one end; the mean of the others is 1000.",
            contestants=", ".join(stands["above"]),
        )
    if stands["below"]:
        yield Note(
            "leaderboard.below",
            "{contestants}: lost every match that links to the rest, so the rating is that of a penalised likelihood "
            "and its interval has one end; the mean of the others is 1000.",
            contestants=", ".join(stands["below"]),
        )
    if stands["beside"]:
        yield Note(
            "leaderboard.beside",
            "{contestants}: every match links one way only, so the rating is that of a penalised likelihood.",
            contestants=", ".join(stands["beside"]),
        )
    if len(ratings.groups) > 1:
        yield Note(
            "leaderboard.groups",
            "{n} groups never met, not even through others: {groups}. Each has a scale of its own, with a mean of "
            "1000: ratings and ranks of different groups cannot be compared.",
            n=len(ratings.groups), groups="; ".join(", ".join(names[who] for who in part) for part in ratings.groups),
        )  # fmt: skip
    for who, reason in ratings.unrated.items():
        yield Note(
            "leaderboard.is-not-rated", "{contestant} is not rated: {reason}.", contestant=names[who], reason=reason
        )


def left_out(
    settled: Matches,
    *,
    reference: str | None,
    waiting: bool,
    faults: int,
    pending: int,
    verdicts: int,
    due: int,
    older: int,
) -> Iterator[str]:
    """What stands in no figure here, and what a reader of the columns must know."""
    if len(settled):
        yield Note(
            "leaderboard.ranks",
            "Rank: the ranks that hold for the whole board at once, with a chance of 5% that any is wrong; rank alone: "
            "those of one contestant looked at by itself.",
        )
    if reference is not None and reference in settled.names:
        yield Note(
            "leaderboard.reference",
            "Wins against {reference}: ties are left out of both wins and n.",
            reference=reference,
        )
    if faults:
        yield Note(
            "leaderboard.faults", "{n:,} of {all:,} verdicts of this judge are faults and count nowhere here.",
            n=faults, all=verdicts,
        )  # fmt: skip
    if pending:
        yield waiting_note(pending, verdicts)
    if due:
        yield Note("leaderboard.due", "{n:,} cases are due: their calls failed, so they are missing here.", n=due)
    if settled.half_heard:
        waits = Note("leaderboard.no-matches-yet", "are no matches yet")
        rests = Note("leaderboard.one-order", "rest on that order")
        yield Note(
            "leaderboard.half-heard", "{n:,} pairs were ruled on in one order only and {rest}.",
            n=settled.half_heard, rest=waits if waiting else rests,
        )  # fmt: skip
    if settled.set_aside:
        yield Note(
            "leaderboard.set-aside", "{n:,} verdicts that show a contestant beside itself are set aside.",
            n=settled.set_aside,
        )  # fmt: skip
    if older:
        yield Note("leaderboard.older", "{n:,} votes that their raters changed later are set aside.", n=older)


K = 4.0
DRAWS = 200
_BLOCK = 1 << 17


@dataclass(frozen=True)
class Settings:
    """How a leaderboard is made: what turns two orders into one result, how ties count, who is the reference.

    `elo` adds ratings by Elo, which depend on the order of the matches. `votes` joins several people's votes on the
    same responses, `visible` counts those that were cast with names in view.
    """

    rule: Rule = "mean"
    ties: Ties = "half"
    reference: str | None = None
    seed: int = 0
    elo: bool = False
    votes: VoteRule = "default"
    visible: bool = False


@dataclass(frozen=True, slots=True)
class Key:
    """What a figure belongs to; figures of different keys never mix."""

    study: str
    judge: str
    criterion: str
    family: Family
    orders: Rule = "mean"
    votes: str = ""
    """The rule that joins several people's votes; empty where a ruling is no person's."""
    studies: int = 1
    """How many studies are shown together; a title names its study where there are several."""

    def on(self) -> str:
        """Study and criterion in words, where a reader could take them for others."""
        return place(self.study if self.studies > 1 else "", self.criterion)


@dataclass(frozen=True, slots=True)
class Line:
    """One contestant: its rank or ranks, rating, share of matches won, mean marks by ballot, matches.

    `rank` holds for the whole board at once, `rank_alone` for this contestant looked at alone. `elo` is the median over
    orders of the matches, and the range of most orders: no interval. `against` is the share of matches won against the
    reference, ties left out. `shared` is the mean share, where a judge shares out a whole between two.
    """

    contestant: str
    rank: tuple[int, int] | None
    rank_alone: tuple[int, int] | None
    rating: Estimate | None
    won: Estimate | None
    means: Mapping[str, Estimate]
    matches: int
    elo: Estimate | None = None
    against: Estimate | None = None
    shared: Estimate | None = None


@dataclass(frozen=True)
class Board:
    """A leaderboard with what a reader must know to trust it; `due` counts cases whose call failed."""

    key: Key
    lines: tuple[Line, ...]
    matches: Matches
    notes: tuple[str, ...]
    faults: int
    due: int
    columns: Columns
    """The rulings that the figures are made of: people's votes joined, what does not count left out."""
    ratings: Everyone | None = None
    settings: Settings = field(default_factory=Settings)

    def title(self, *, family: bool) -> str:
        """The judge and the criterion; the family where the judge has several; the rule where it is not the mean."""
        rule: str = Note("place.rule", " (rule for two orders: {rule})", rule=CALLED[self.key.orders])
        if self.key.orders == "mean":
            rule = ""
        if self.key.votes:
            votes = Note("place.votes", " (rule for several votes: {rule})", rule=word(self.key.votes))
            rule = "" if self.settings.votes == "default" else votes
        return Note(
            "leaderboard.title", "Leaderboard by {judge}{place}{family}{rule}",
            judge=self.key.judge, place=self.key.on(), family=from_family(self.key.family) if family else "",
            rule=rule,
        )  # fmt: skip

    def table(self, name: str = "leaderboard", *, family: bool = False) -> Table:
        """The board as a table."""
        ballots = sorted({ballot for line in self.lines for ballot in line.means})
        played, shared = any(line.matches for line in self.lines), any(line.shared for line in self.lines)
        elo_, reference = any(line.elo for line in self.lines), self.settings.reference
        columns = [*headings("rank", "contestant")]
        columns += headings("rating", "duels won") if played else ()
        columns += headings("weighted win rate") if shared else ()
        columns += [mean_heading(ballot) for ballot in ballots]
        columns += headings("Elo", "Elo over orders", "matches") if elo_ else ()
        columns += headings("wins against the reference") if reference else ()
        columns += headings("rank alone")
        rows: list[list[Cell]] = []
        for line in self.lines:
            row: list[Cell] = [rank_text(line.rank), line.contestant]
            row += [line.rating, line.won] if played else []
            row += [line.shared] if shared else []
            row += [line.means.get(ballot) for ballot in ballots]
            row += [*_elo_cells(line.elo), line.matches] if elo_ else []
            row += [line.against] if reference else []
            row += [rank_text(line.rank_alone)]
            rows.append(row)
        rated = any(line.rating for line in self.lines)
        best = "rating" if rated else "duels won" if played else columns[2].key if ballots else None
        hint = None if best is None else {"kind": "intervals", "label": "contestant", "value": best}
        key = self.key
        source = {
            "judge": key.judge, "criterion": key.criterion, "family": key.family, "rule": key.orders,
            "ties": self.settings.ties, "seed": self.settings.seed,
        }  # fmt: skip
        source |= {"votes": key.votes} if key.votes else {}
        source |= {} if key.study == STUDY else {"study": key.study}
        return Table(name, self.title(family=family), tuple(columns), rows, self.notes, source, hint)


def boards(verdicts: Columns | Record, settings: Settings | None = None) -> Iterator[Board]:
    """A board for every study, judge, criterion and family of ballots that has a ruling."""
    chosen = settings or Settings()
    columns = beside_people(columns_of(verdicts) if isinstance(verdicts, Record) else verdicts, chosen.votes)
    studies = len(columns.names["study"])
    for (study, judge, criterion, family), part in columns.by("study", "judge", "criterion", "family"):
        if (part.fault < 0).any():
            key = Key(study, judge, criterion, cast("Family", family), chosen.rule, studies=studies)
            yield board(part, key, chosen)


def tables(verdicts: Columns | Record, settings: Settings | None = None) -> list[Table]:
    """The boards as tables, each under a name of its own."""
    chosen = settings or Settings()
    columns = beside_people(columns_of(verdicts) if isinstance(verdicts, Record) else verdicts, chosen.votes)
    families = _with_families(columns)
    shown = []
    # One after the other: a board holds the rulings behind it, and its table does not.
    for board in boards(columns, chosen):
        family = board.key.judge in families
        name = f"leaderboard {board.key.judge}{board.key.on()}" + (f", {board.key.family}" if family else "")
        shown.append(board.table(name, family=family))
        del board  # or its matches would still be there while the next one's are made
    return shown


def _with_families(columns: Columns) -> set[str]:
    """The judges that ruled by several families of ballots in one study on one criterion: their titles name it."""
    ruled = columns.fault < 0
    if not ruled.any():
        return set()
    _, places = grouped(
        *(column[ruled] for column in (columns.study, columns.judge, columns.criterion, columns.family))
    )
    rows = np.flatnonzero(ruled)[places]
    several = Counter(zip(*(column[rows].tolist() for column in (columns.study, columns.judge, columns.criterion)),
                          strict=True))  # fmt: skip
    return {columns.names["judge"][judge] for (_, judge, _), count in several.items() if count > 1}


def board(columns: Columns, key: Key, settings: Settings | None = None) -> Board:
    """The board of verdicts that belong to one key."""
    chosen = settings or Settings()
    joint = joined(columns, chosen.votes, visible=chosen.visible)
    counted = joint.columns
    less = key.criterion in LESS_IS_BETTER
    ruled = replace(counted, mark=-counted.mark) if less else counted
    if joint.voted:
        # A person sees one order: what is joined is votes, not orders.
        rule: Rule = "each" if chosen.votes == "each" else "mean"
        key = replace(key, orders=rule, votes=joint.tally.name)
        settled = replace(settle(ruled, key.judge, rule), half_heard=0)
    else:
        itself = int(columns.latest().meeting_themselves().sum())
        settled = replace(settle(ruled, key.judge, chosen.rule), set_aside=itself)
    by = Note(
        "leaderboard.by-from", "By {judge}{place}, from {ballots}.",
        judge=key.judge, place=key.on(), ballots=", ".join(_ballots(counted)),
    )  # fmt: skip
    notes: list[str] = [by, *joint.notes]
    notes += [Note("leaderboard.less", "Less is better here: the lower mark wins a match.")] if less else []
    size = len(settled.names)
    ratings = _rated(settled, chosen, notes, voted=joint.voted)
    rated: Sequence[Estimate | None] = [None] * size if ratings is None else ratings.estimates
    won = won_by(settled)
    means = means_of(counted, settled.names)
    ordered = rated if ratings is not None else _first_means(means_of(ruled, settled.names))
    ranks = ranks_of_estimates(ordered) if ratings is None else ranks_of(ratings)
    group = {who: number for number, members in enumerate(ratings.groups if ratings else ()) for who in members}
    orders = _elo(settled, chosen) if chosen.elo and len(settled) else [None] * size
    against, shared = won_against(settled, chosen.reference), shared_by(counted, settled.names)
    played = _counts(settled.rows.one, size) + _counts(settled.rows.two, size)
    lines = [
        Line(settled.names[who], ranks.together[who], ranks.alone[who], rated[who], won[who], means[who],
             int(played[who]), orders[who], against[who], shared[who])
        for who in sorted(range(size), key=lambda who: (group.get(who, size), _worth(ordered[who])))
    ]  # fmt: skip
    cast = columns.latest()
    cast = cast.rows(~cast.meeting_themselves())
    pending = waiting(cast)
    faults = int(((cast.fault >= 0) & ~pending).sum())
    due = sum(outstanding.cases for outstanding in columns.due
              if (outstanding.study, outstanding.judge, outstanding.criterion, outstanding.family)
              == (key.study, key.judge, key.criterion, key.family)
              )  # fmt: skip
    older = len(columns) - len(columns.latest())
    if any(shared):
        share_note = Note(
            "leaderboard.shared",
            "Duels won: the larger share wins. Weighted win rate: the mean share, as AlpacaEval's win rate.",
        )
        notes.append(share_note)
    if chosen.elo:
        elo_note = Note(
            "leaderboard.elo",
            "Elo: K = {k:g}, the median over {draws} random orders. The range over 95% of the orders says what the "
            "order does, not how sure the rating is: it is no interval.",
            k=K, draws=DRAWS,
        )  # fmt: skip
        notes.append(elo_note)
    notes += left_out(
        settled, reference=chosen.reference, waiting=chosen.rule in {"both-agree", "majority"}, faults=faults,
        pending=int(pending.sum()), verdicts=len(cast), due=due, older=older,
    )  # fmt: skip
    return Board(key, tuple(lines), settled, tuple(notes), faults, due, counted, ratings, chosen)


def _counts(codes: Codes, size: int) -> npt.NDArray[np.int64]:
    """How often each contestant occurs; by the block, for numpy counts in eight bytes what is stored in one."""
    counts = np.zeros(size, dtype=np.int64)
    for start in range(0, len(codes), _BLOCK):
        counts += np.bincount(codes[start : start + _BLOCK], minlength=size)
    return counts


def _worth(estimate: Estimate | None) -> float:
    return math.inf if estimate is None else -estimate.value


def _ballots(columns: Columns) -> list[str]:
    return [columns.names["ballot"][code] for code in np.unique(columns.ballot)]


def battles(settled: Matches, ties: Ties = "half") -> Battles:
    """The matches as counts, items kept together.

    A model of ties needs wins, losses and ties: under the rule "mean" it gets every verdict, not shares of wins.
    """
    rows = settled.rows if ties == "half" else settled.plays if settled.rule == "mean" else settled.rows
    return Battles.of(
        rows.one, rows.two, rows.outcome, contestants=len(settled.names), cluster=rows.item, shares=ties == "half"
    )


def _rated(settled: Matches, settings: Settings, notes: list[str], *, voted: bool) -> Everyone | None:
    if not len(settled):
        return None
    tied = Note("leaderboard.tied", "{n:,} of them ties", n=settled.ties)
    ties = tied if settled.ties else Note("leaderboard.no-ties", "no ties")
    matched = Note("leaderboard.matches", "{n:,} matches, {ties}.", n=len(settled), ties=ties)
    if not voted:
        matched = Note(
            "leaderboard.matches-two-orders", "{n:,} matches, {ties}; two orders: {rule}.",
            n=len(settled), ties=ties, rule=SAID[settled.rule],
        )  # fmt: skip
    notes.append(matched)
    way = settings.ties
    try:
        ratings = rate_everyone(battles(settled, way), interval="sandwich", ties=way)
    except Undefined as reason:
        notes.append(
            Note("leaderboard.ties-as-half", "Ties are counted as half wins here: {reason}.", reason=sentence(reason))
        )
        way = "half"
        ratings = rate_everyone(battles(settled), interval="sandwich")
    notes.append(
        Note(
            "leaderboard.ratings-bradley-terry-ties-items",
            "Ratings: Bradley-Terry, ties {ties}, items kept together, mean 1000.",
            ties=word(way),
        )
    )
    notes += outside(ratings, settled.names)
    return ratings


def _first_means(means: Sequence[Mapping[str, Estimate]]) -> Sequence[Estimate | None]:
    """What contestants that never met are ranked by: their mean on the first ballot."""
    first = min((ballot for mean in means for ballot in mean), default="")
    return [mean.get(first) for mean in means]


def _elo(settled: Matches, settings: Settings) -> list[Estimate | None]:
    """Elo over random orders; under the rule "mean" every verdict is a game."""
    rows = settled.plays if settled.rule == "mean" else settled.rows
    return elo(
        rows.one, rows.two, rows.outcome, contestants=len(settled.names), k=K, middle="median", draws=DRAWS,
        seed=settings.seed,
    )  # fmt: skip


def further_notes(settled: Matches, rated: Sequence[Estimate | None]) -> Iterator[str]:
    """How far the ratings tell neighbours apart, and who beats whom in a circle."""
    if sum(rating is not None for rating in rated) > 1:
        share = str(separability(rated))
        yield Note("leaderboard.neighbours", "Neighbours whose intervals do not overlap: {share}.", share=share)
    if len(settled):
        names = settled.names
        circles = cycles(battles(settled).matrix())
        if circles:
            shown = "; ".join(" > ".join(names[who] for who in (*circle, circle[0])) for circle in circles[:3])
            yield Note("leaderboard.cycles", "{n} cycles of three: {shown}.", n=len(circles), shown=shown)


def _elo_cells(rating: Estimate | None) -> list[Cell]:
    """The median, and the range over orders in words, so that nobody takes it for an interval."""
    return [None, None] if rating is None else [rating.value, f"{rating.low:.0f} to {rating.high:.0f}"]


def rank_text(rank: tuple[int, int] | None) -> str:
    """A rank, or the best and the worst of a set of ranks.

    >>> rank_text((2, 2)), rank_text((1, 3)), rank_text(None)
    ('2', '1-3', '-')
    """
    if rank is None:
        return "-"
    return str(rank[0]) if rank[0] == rank[1] else f"{rank[0]}-{rank[1]}"
