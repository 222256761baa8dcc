"""How many votes do I need? From what a ledger holds already, or from stated assumptions where it holds nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fullbench.analysis.people import paired_verdicts_and_votes
from fullbench.columns.verdict_columns import Columns, Family
from fullbench.core.column_labels import headings
from fullbench.core.note import Note, word
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError, Undefined
from fullbench.stats.array_checks import Floats
from fullbench.stats.people.power_analysis import Votes, explained
from fullbench.stats.people.prediction_powered import several
from fullbench.stats.ratings.corrected_ratings import corrected_ratings

POINTS = 400 / math.log(10)
FEWEST = 40
"""From fewer votes than this the spread is not read off: assumptions are surer."""


@dataclass(frozen=True)
class Outlook:
    """What is known of a leaderboard before more votes are cast.

    `spread` is the covariance of the log strengths that a single vote leaves; `help` has for each two contestants the
    share of a difference's variance that the judges explain (on the diagonal: of each strength's own).
    """

    names: tuple[str, ...]
    strengths: Floats
    spread: Floats
    help: Floats
    pool: int
    cast: int
    basis: str

    def of(self, who: int, other: int | None = None) -> Votes:
        """What votes are worth for one rating, or for the difference of two, in points."""
        if other is None:
            variance, share = self.spread[who, who], self.help[who, who]
        else:
            variance = self.spread[who, who] + self.spread[other, other] - 2 * self.spread[who, other]
            share = self.help[who, other]
        return Votes(POINTS**2 * float(variance), self.pool, float(share))

    def place(self, name: str) -> int:
        """The place of a contestant."""
        if name not in self.names:
            raise InputError(f"there is no contestant {name!r}; known: {', '.join(self.names)}")
        return self.names.index(name)


def assumed(contestants: int, pool: int, rho: float) -> Outlook:
    """From nothing: equal contestants, every pair as often as every other, judges' residuals that correlate so."""
    strengths = np.zeros(contestants)
    met = (np.ones((contestants, contestants)) - np.eye(contestants)) / (contestants * (contestants - 1))
    names = tuple(f"model {number}" for number in range(1, contestants + 1))
    basis = Note(
        "power.assumed",
        "Assumed: {n} equal contestants, every pair equally often, a correlation of {rho:g} of judge and people.",
        n=contestants, rho=rho,
    )  # fmt: skip
    return Outlook(names, strengths, _spread(met, strengths), np.full((contestants,) * 2, rho**2), pool, 0, basis)


def outlook(
    columns: Columns, judges: Sequence[str], family: Family, *, rho: float = 0.5, people: str = PEOPLE
) -> Outlook:
    """From verdicts of one study and criterion: judges' rulings, and people's votes where there are enough of them."""
    votes = paired_verdicts_and_votes.pairs(columns, judges, people, family)
    if not len(votes):
        raise InputError(f"no two responses were compared by {', '.join(judges) or 'any judge'}")
    codes, where = np.unique(np.concatenate(votes.sides), return_inverse=True)
    one, two = where[: len(votes)], where[len(votes) :]
    size = len(codes)
    names = tuple(columns.names["contestant"][code] for code in codes.tolist())
    ruled = several(list(votes.ruled))
    if votes.voted >= FEWEST:
        try:
            fitted = corrected_ratings(
                one, two, votes.vote, ruled, contestants=size, probability=votes.chance, cluster=votes.item
            )
        except Undefined:
            fitted = None
        if fitted is not None and len(fitted.rated) == size:
            alone, both = fitted.people_covariance, fitted.covariance
            help_ = np.zeros((size, size))
            for who in range(size):
                help_[who, who] = explained(votes.voted, len(votes), float(alone[who, who]), float(both[who, who]))
            for who, other in combinations(range(size), 2):
                line = np.zeros(size)
                line[who], line[other] = 1.0, -1.0
                share = explained(votes.voted, len(votes), float(line @ alone @ line), float(line @ both @ line))
                help_[who, other] = help_[other, who] = share
            basis = Note(
                "power.from", "From {n:,} votes and {pairs:,} pairs that judges ruled on.", n=votes.voted,
                pairs=len(votes),
            )  # fmt: skip
            return Outlook(names, fitted.strengths, alone * votes.voted, help_, len(votes), votes.voted, basis)
    # No votes yet: the judges' own ratings say who is near whom, the correlation is an assumption.
    fitted = corrected_ratings(one, two, ruled[0], ruled[:1], contestants=size, cluster=votes.item)
    cell = np.bincount(one * size + two, minlength=size * size).reshape(size, size) / len(one)
    basis = Note(
        "power.few",
        "{n:,} votes are too few to read their spread off ({wanted} are wanted): {pairs:,} pairs and ratings are those "
        "of {judge}, a correlation of {rho:g} of judge and people is assumed.",
        n=votes.voted, wanted=FEWEST, pairs=len(votes), judge=judges[0], rho=rho,
    )  # fmt: skip
    spread = _spread((cell + cell.T) / 2, fitted.strengths)
    return Outlook(names, fitted.strengths, spread, np.full((size, size), rho**2), len(votes), votes.voted, basis)


def _spread(met: Floats, strengths: Floats) -> Floats:
    """The covariance of log strengths that a single vote leaves; `met` is how the votes part among the pairs."""
    chance = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
    bend = (met + met.T) * chance * (1 - chance)
    size = len(strengths)
    middle = np.eye(size) - 1 / size
    spread: Floats = middle @ np.linalg.inv(np.diag(bend.sum(axis=1)) - bend + 1 / size) @ middle
    return spread


def table(
    seen: Outlook, *, votes: Sequence[int] = (), width: float | None = None, between: Sequence[tuple[str, str]] = (),
    power: float = 0.8,
) -> Table:  # fmt: skip
    """The answers: without the judge, with it, and what is saved."""
    rows: list[list[Cell]] = []
    size = len(seen.names)
    pairs = list(combinations(range(size), 2))
    points, counted = word("points"), word("votes")
    for amount in votes or sorted({min(amount, seen.pool) for amount in (seen.cast or 100, 400, 1000)}):
        told = [max(part.detectable(amount, power) for part in lines) for lines in _both(seen, pairs)]
        asked = Note("power.smallest", "smallest difference told by {n:,} votes", n=amount)
        rows.append([asked, points, *told, None])
    if width is not None:
        every = _both(seen, [(who, None) for who in range(size)])
        asked = Note("power.width", "votes to ±{width:g} points for everybody", width=width)
        rows.append([asked, counted, *_most([[part.to_width(width) for part in lines] for lines in every])])
    for name, other in between:
        who, rival = seen.place(name), seen.place(other)
        gap = POINTS * float(seen.strengths[who] - seen.strengths[rival])
        need = [[part.to_tell(gap, power) for part in lines] for lines in _both(seen, [(who, rival)])]
        asked = Note(
            "power.between", "votes to separate {one} and {other} ({gap:.0f} points)", one=name, other=other,
            gap=abs(gap),
        )  # fmt: skip
        rows.append([asked, counted, *_most(need)])
    how = Note(
        "power.how",
        "Power {power:.0%} at 95%. Without: by votes alone. With: corrected by judges that ruled on all {pairs:,} "
        "pairs. A dash where all pairs would not be enough.",
        power=power, pairs=seen.pool,
    )  # fmt: skip
    notes = [seen.basis, how]
    if seen.cast:
        notes.append(Note("power.cast", "{n:,} votes are cast already and count among these.", n=seen.cast))
    heads = headings("question", "unit", "without the judge", "with the judge", "votes saved")
    title = Note("power.title", "How many votes are needed")
    return Table("power", title, heads, rows, notes, {"power": power})


def _both(seen: Outlook, figures: Sequence[tuple[int, int | None]]) -> list[list[Votes]]:
    helped = [seen.of(*figure) for figure in figures]
    return [[part.alone for part in helped], helped]


def _most(needs: Sequence[Sequence[int | None]]) -> list[Cell]:
    """The most that one of several figures needs, without and with the judge, and the share saved."""
    most = [None if None in need else max(n for n in need if n is not None) for need in needs]
    without, helped = most
    saved = None if without is None or helped is None else 1 - helped / without
    return [without, helped, saved]
