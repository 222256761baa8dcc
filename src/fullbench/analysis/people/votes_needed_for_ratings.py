"""Number of votes needed, estimated from a ledger, or from stated assumptions if it has too few votes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fullbench.analysis.people import paired_verdicts_and_votes
from fullbench.analysis.scope_suffixes_of_table_titles import OVERALL, scope_suffix, title_with_scope
from fullbench.columns.verdict_columns import Columns, Family
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, word_note
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError, Undefined
from fullbench.stats.array_checks import Floats
from fullbench.stats.people.power_analysis import Votes, explained_share
from fullbench.stats.people.prediction_powered import stack_predictions
from fullbench.stats.ratings.corrected_ratings import corrected_ratings

# Factor from log strengths to rating points (Elo scale).
POINTS = 400 / math.log(10)
FEWEST = 40
"""With fewer votes than this the spread is assumed, because an estimate would be less reliable."""


@dataclass(frozen=True)
class Outlook:
    """Inputs for planning votes on a leaderboard.

    `spread` is the covariance of the log strengths after a single vote. `help` is the share of the variance of each
    difference of two contestants that judges explain; on the diagonal, of each single strength.
    """

    names: tuple[str, ...]
    strengths: Floats
    spread: Floats
    help: Floats
    pool: int
    cast: int
    basis: str

    def votes_for(self, who: int, rival: int | None = None) -> Votes:
        """Return the value of votes for one rating, or for the difference of two, in points."""
        if rival is None:
            variance, share = self.spread[who, who], self.help[who, who]
        else:
            variance = self.spread[who, who] + self.spread[rival, rival] - 2 * self.spread[who, rival]
            share = self.help[who, rival]
        return Votes(POINTS**2 * float(variance), self.pool, float(share))

    def place(self, name: str) -> int:
        """Return the index of a contestant."""
        if name not in self.names:
            raise InputError(f"there is no contestant {name!r}; known: {', '.join(self.names)}")
        return self.names.index(name)


def assumed_outlook(contestants: int, pool: int, rho: float) -> Outlook:
    """Return an outlook without data: equal contestants, all pairs equally frequent, judge correlation `rho`."""
    strengths = np.zeros(contestants)
    pair_shares = (np.ones((contestants, contestants)) - np.eye(contestants)) / (contestants * (contestants - 1))
    names = tuple(f"model {number}" for number in range(1, contestants + 1))
    basis = Note("power.assumed", n=contestants, rho=rho)
    return Outlook(
        names,
        strengths,
        _strength_covariance(pair_shares, strengths),
        np.full((contestants,) * 2, rho**2),
        pool,
        0,
        basis,
    )


def select_criterion(columns: Columns, criterion: str | None, family: Family) -> tuple[str, Columns]:
    """Return the criterion to plan votes for, and its verdicts.

    Without a name it is the default criterion if it has verdicts of this family, else the only one that has some.
    """
    families_by_criterion: dict[str, list[str]] = {}
    for (name, kind), _ in columns.rows(columns.fault < 0).by("criterion", "family"):
        families_by_criterion.setdefault(str(name), []).append(str(kind))
    compared = [name for name, kinds in families_by_criterion.items() if family in kinds]
    if criterion is None and len(compared) > 1 and OVERALL not in compared:
        raise InputError(
            f"The verdicts have {len(compared)} criteria: {', '.join(compared)}. Choose one with --criterion."
        )
    selected_criterion = criterion or (compared[0] if len(compared) == 1 else OVERALL)
    if families_by_criterion and selected_criterion not in compared:
        family_list = ", ".join(f"{name} ({', '.join(kinds)})" for name, kinds in families_by_criterion.items())
        raise InputError(
            f"There are no verdicts of kind {family!r} on criterion {selected_criterion!r}. There are verdicts on "
            f"{family_list}. Choose with --criterion and --family."
        )
    return selected_criterion, columns.where(criterion=selected_criterion)


def estimate_outlook(
    columns: Columns, judges: Sequence[str], family: Family, *, rho: float = 0.5, people: str = PEOPLE
) -> Outlook:
    """Estimate the outlook from verdicts of one study and criterion, and from people's votes if there are enough."""
    votes = paired_verdicts_and_votes.paired_outcomes(columns, judges, people, family)
    if not len(votes):
        raise InputError(f"No two responses were compared by {', '.join(judges) or 'any judge'}.")
    codes, where = np.unique(np.concatenate(votes.sides), return_inverse=True)
    first_codes, second_codes = where[: len(votes)], where[len(votes) :]
    size = len(codes)
    names = tuple(columns.names["contestant"][code] for code in codes.tolist())
    judge_values = stack_predictions(list(votes.judge_values))
    if votes.vote_count >= FEWEST:
        try:
            rating_fit = corrected_ratings(
                first_codes,
                second_codes,
                votes.vote,
                judge_values,
                contestants=size,
                probability=votes.chance,
                cluster=votes.item,
            )
        except Undefined:
            rating_fit = None
        if rating_fit is not None and len(rating_fit.rated_codes) == size:
            alone, both = rating_fit.people_covariance, rating_fit.covariance
            help_ = np.zeros((size, size))
            for who in range(size):
                help_[who, who] = explained_share(
                    votes.vote_count, len(votes), float(alone[who, who]), float(both[who, who])
                )
            for who, rival in combinations(range(size), 2):
                line = np.zeros(size)
                line[who], line[rival] = 1.0, -1.0
                share = explained_share(
                    votes.vote_count, len(votes), float(line @ alone @ line), float(line @ both @ line)
                )
                help_[who, rival] = help_[rival, who] = share
            basis = Note("power.from", n=votes.vote_count, pairs=len(votes))
            return Outlook(
                names, rating_fit.strengths, alone * votes.vote_count, help_, len(votes), votes.vote_count, basis
            )
    # Too few votes: use the first judge's ratings as strengths, and assume the correlation.
    rating_fit = corrected_ratings(
        first_codes, second_codes, judge_values[0], judge_values[:1], contestants=size, cluster=votes.item
    )
    cell = np.bincount(first_codes * size + second_codes, minlength=size * size).reshape(size, size) / len(first_codes)
    basis = Note("power.few", n=votes.vote_count, wanted=FEWEST, pairs=len(votes), judge=judges[0], rho=rho)
    spread = _strength_covariance((cell + cell.T) / 2, rating_fit.strengths)
    return Outlook(
        names, rating_fit.strengths, spread, np.full((size, size), rho**2), len(votes), votes.vote_count, basis
    )


def _strength_covariance(pair_shares: Floats, strengths: Floats) -> Floats:
    """Return the covariance of log strengths after one vote; `pair_shares` is the distribution of votes over pairs."""
    chance = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
    bend = (pair_shares + pair_shares.T) * chance * (1 - chance)
    size = len(strengths)
    middle = np.eye(size) - 1 / size
    # Strengths are defined up to a constant, so the information matrix is singular; 1 / size makes it invertible.
    spread: Floats = middle @ np.linalg.inv(np.diag(bend.sum(axis=1)) - bend + 1 / size) @ middle
    return spread


def votes_needed_table(
    vote_outlook: Outlook,
    *,
    votes: Sequence[int] = (),
    width: float | None = None,
    rival_pairs: Sequence[tuple[str, str]] = (),
    power: float = 0.8,
    criterion: str = OVERALL,
) -> Table:
    """Return the votes needed without the judge and with it, and the share saved; the title names the criterion."""
    rows: list[list[Cell]] = []
    size = len(vote_outlook.names)
    pairs = list(combinations(range(size), 2))
    points, votes_unit = word_note("points"), word_note("votes")
    for amount in votes or sorted({min(amount, vote_outlook.pool) for amount in (vote_outlook.cast or 100, 400, 1000)}):
        smallest_gaps = [
            max(part.detectable(amount, power) for part in lines)
            for lines in _votes_without_and_with_judge(vote_outlook, pairs)
        ]
        question = Note("power.smallest", n=amount)
        rows.append([question, points, *smallest_gaps, None])
    if width is not None:
        every = _votes_without_and_with_judge(vote_outlook, [(who, None) for who in range(size)])
        question = Note("power.width", width=width)
        rows.append(
            [
                question,
                votes_unit,
                *_most_votes_cells([[part.votes_for_width(width) for part in lines] for lines in every]),
            ]
        )
    for name, rival_name in rival_pairs:
        who, rival = vote_outlook.place(name), vote_outlook.place(rival_name)
        gap = POINTS * float(vote_outlook.strengths[who] - vote_outlook.strengths[rival])
        need = [
            [part.votes_to_detect(gap, power) for part in lines]
            for lines in _votes_without_and_with_judge(vote_outlook, [(who, rival)])
        ]
        question = Note("power.between", one=name, other=rival_name, gap=abs(gap))
        rows.append([question, votes_unit, *_most_votes_cells(need)])
    how = Note("power.how", power=power, pairs=vote_outlook.pool)
    notes = [vote_outlook.basis, how]
    if vote_outlook.cast:
        notes.append(Note("power.cast", n=vote_outlook.cast))
    heads = table_columns("question", "unit", "without the judge", "with the judge", "votes saved")
    title = title_with_scope(Note("power.title"), scope_suffix("", criterion))
    return Table("power", title, heads, rows, notes, {"power": power, "criterion": criterion})


def _votes_without_and_with_judge(
    vote_outlook: Outlook, metrics: Sequence[tuple[int, int | None]]
) -> list[list[Votes]]:
    corrected_votes = [vote_outlook.votes_for(*metric) for metric in metrics]
    return [[part.alone for part in corrected_votes], corrected_votes]


def _most_votes_cells(needs: Sequence[Sequence[int | None]]) -> list[Cell]:
    most = [None if None in need else max(n for n in need if n is not None) for need in needs]
    without, with_judge = most
    saved_share = None if without is None or with_judge is None else 1 - with_judge / without
    return [without, with_judge, saved_share]
