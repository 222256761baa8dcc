"""WildVision-Arena: people's votes as win counts without ties, and the ratings of the released resamples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fullbench.benchmarks.pairwise_releases.published_numbers import columns
from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.reproduction import Reproduced, Reproduction
from fullbench.core.table import Cell, Table
from fullbench.errors import InputError
from fullbench.files.release_rows import released, released_rows
from fullbench.stats.agreement.two_raters import pearson
from fullbench.stats.ratings.bradley_terry import Ratings, bradley_terry_of_wins

NAME = "wildvision_arena"
PARTS = ("anony", "full")
SOURCE = "Elo result file of the WildVision-Arena repository"


@dataclass(frozen=True)
class Part:
    """The votes of one part: blind ones only, or all."""

    names: Sequence[str]
    wins: Sequence[Sequence[float]]
    resampled: Mapping[str, Sequence[float]]
    published: Mapping[str, float]
    itself: int
    """How many battles of a model with itself the counts hold; they are left out."""

    @classmethod
    def read(cls, folder: Path, part: str) -> Part:
        """One part from its three files."""
        table = list(released_rows(folder, f"{part}_wins_no_ties.csv"))
        names = [row.text("model") for row in table]
        wins = [[row.number(name) for name in names] for row in table]
        if len(set(names)) < len(names):
            raise InputError("a model has two rows", path=released(folder, f"{part}_wins_no_ties.csv"))
        itself = int(sum(wins[who][who] for who in range(len(names))))
        for who, row in enumerate(wins):
            row[who] = 0.0
        resampled = columns(folder, f"{part}_bootstrap_ratings.csv", but="round")
        published = {row.text("model"): row.number("rating") for row in released_rows(folder, f"{part}_published.csv")}
        return cls(names, wins, resampled, published, itself)


def reproduce(data: Path) -> Reproduction:
    """Every cell of both parts, and what the counts do not rate."""
    reproduced: list[Reproduced] = []
    odd: list[list[Cell]] = []
    for name in PARTS:
        part = Part.read(data, name)
        ratings = bradley_terry_of_wins(part.wins, interval="sandwich")
        reproduced += cells(name, part, ratings)
        odd += [[name, part.names[who], f"not rated: {reason}"] for who, reason in ratings.unrated.items()]
        odd += [[name, "", f"{part.itself} battle(s) of a model with itself: left out"]] if part.itself else []
    return Reproduction(
        reproduced,
        [
            Table(
                "left out",
                Note("reproduce.wildvision-arena.title.left-out-of-the-ratings", "Left out of the ratings"),
                headings("part", "model", "why"),
                odd,
            )
        ],
    )


def cells(name: str, part: Part, ratings: Ratings) -> Iterator[Reproduced]:
    """Quantiles and variance of the released resamples, and ratings from the counts beside the published ones."""
    import numpy as np

    for who, figures in part.resampled.items():
        low, high = (float(end) for end in np.quantile(figures, (0.025, 0.975)))
        spread = float(np.var(figures, ddof=1))
        for figure, value in (("q025", low), ("q975", high), ("variance", spread)):
            yield Reproduced(f"{name}/{who}/{figure}", value, len(figures), source=SOURCE)
    pairs = []
    for who, rating in zip(part.names, ratings.estimates, strict=True):
        if rating is not None:
            pairs.append((rating.value, part.published[who]))
            yield Reproduced(f"{name}/{who}/bt_no_ties_centered", rating.value - 1000, rating.n)
    r = pearson([ours for ours, _ in pairs], [theirs for _, theirs in pairs])
    yield Reproduced(f"{name}/bt_vs_published_pearson", r.value, r.n, estimate=r)
