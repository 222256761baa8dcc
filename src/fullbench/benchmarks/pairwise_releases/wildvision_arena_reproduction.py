"""WildVision-Arena: people's votes as win counts without ties, and ratings from the released resamples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fullbench.benchmarks.pairwise_releases.released_and_printed_number_readers import read_columns
from fullbench.core.benchmark import Reproduced, Reproduction
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError
from fullbench.files.release_rows import release_file, released_rows
from fullbench.stats.agreement.two_raters import pearson_correlation
from fullbench.stats.ratings.bradley_terry import Ratings, bradley_terry_from_wins

PARTS = ("anony", "full")
SOURCE = "Elo result file of the WildVision-Arena repository"


@dataclass(frozen=True)
class Part:
    """Votes of one part: blind ones only, or all."""

    names: Sequence[str]
    wins: Sequence[Sequence[float]]
    resampled_ratings: Mapping[str, Sequence[float]]
    published_ratings: Mapping[str, float]
    self_match_count: int
    """Matches of a model with itself; they are left out."""

    @classmethod
    def read(cls, folder: Path, part: str) -> Part:
        """Read one part from its three files."""
        table = list(released_rows(folder, f"{part}_wins_no_ties.csv"))
        names = [row.text("model") for row in table]
        wins = [[row.number(name) for name in names] for row in table]
        if len(set(names)) < len(names):
            raise InputError("a model has two rows", path=release_file(folder, f"{part}_wins_no_ties.csv"))
        self_match_count = int(sum(wins[index][index] for index in range(len(names))))
        for index, row in enumerate(wins):
            row[index] = 0.0
        resampled_ratings = read_columns(folder, f"{part}_bootstrap_ratings.csv", excluded_column="round")
        published_ratings = {
            row.text("model"): row.number("rating") for row in released_rows(folder, f"{part}_published.csv")
        }
        return cls(names, wins, resampled_ratings, published_ratings, self_match_count)


def reproduce(data: Path) -> Reproduction:
    """Recompute every cell of both parts, and list models that cannot be rated."""
    all_cells: list[Reproduced] = []
    odd_rows: list[list[Cell]] = []
    for name in PARTS:
        part = Part.read(data, name)
        ratings = bradley_terry_from_wins(part.wins, interval="sandwich")
        all_cells += part_cells(name, part, ratings)
        odd_rows += [
            [name, part.names[index], f"not rated: {reason}"] for index, reason in ratings.unrated_reasons.items()
        ]
        odd_rows += (
            [[name, "", f"{part.self_match_count} matches of a model with itself: left out"]]
            if part.self_match_count
            else []
        )
    return Reproduction(
        all_cells,
        [
            Table(
                "left out",
                Note("reproduce.wildvision-arena.title.left-out-of-the-ratings"),
                table_columns("part", "model", "why"),
                odd_rows,
            )
        ],
    )


def part_cells(name: str, part: Part, ratings: Ratings) -> Iterator[Reproduced]:
    """Yield quantiles and variance of the released resamples, and ratings from the counts against published ones."""
    import numpy as np

    for model, resamples in part.resampled_ratings.items():
        low, high = (float(end) for end in np.quantile(resamples, (0.025, 0.975)))
        spread = float(np.var(resamples, ddof=1))
        for metric, value in (("q025", low), ("q975", high), ("variance", spread)):
            yield Reproduced(f"{name}/{model}/{metric}", value, len(resamples), source=SOURCE)
    pairs = []
    for model, rating in zip(part.names, ratings.estimates, strict=True):
        if rating is not None:
            pairs.append((rating.value, part.published_ratings[model]))
            yield Reproduced(f"{name}/{model}/bt_no_ties_centered", rating.value - 1000, rating.n)
    r = pearson_correlation(
        [computed_rating for computed_rating, _ in pairs], [published_rating for _, published_rating in pairs]
    )
    yield Reproduced(f"{name}/bt_vs_published_pearson", r.value, r.n, estimate=r)
