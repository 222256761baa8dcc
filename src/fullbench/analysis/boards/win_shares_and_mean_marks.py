"""Win rates and mean marks of contestants, as shown on a leaderboard."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fullbench.analysis import item_clustered_means_and_shares
from fullbench.analysis.boards.matches_from_verdicts import Matches
from fullbench.columns.verdict_columns import Columns
from fullbench.core.ballot import is_graded
from fullbench.core.estimate import Estimate


def compute_win_rates(matches: Matches) -> list[Estimate | None]:
    """Return each contestant's share of matches won; ties count half."""
    rows = matches.rows
    shares: list[Estimate | None] = []
    for who in range(len(matches.names)):
        first, second = rows.first == who, rows.second == who
        values = np.concatenate([rows.outcome[first], 1 - rows.outcome[second]])
        items = np.concatenate([rows.item[first], rows.item[second]])
        shares.append(item_clustered_means_and_shares.share_estimate(values, items) if len(values) else None)
    return shares


def compute_mean_marks(columns: Columns, names: Sequence[str]) -> list[dict[str, Estimate]]:
    """Return each contestant's mean mark on each ballot that marks one response at a time.

    A ballot with two words, such as no and yes, has the share of the second word.
    """
    single = np.flatnonzero((columns.response_counts == 1) & (columns.fault < 0))
    at = columns.start.astype(np.int64)[single]
    who, ballot, item, mark = columns.contestant[at], columns.ballot[single], columns.item[single], columns.mark[at]
    by_contestant: list[dict[str, Estimate]] = []
    codes = {name: code for code, name in enumerate(columns.names["contestant"])}
    for name in names:
        is_contestant = who == codes[name]
        by_contestant.append({
            (spec := columns.names["ballot"][code]): item_clustered_means_and_shares.mean_as_shown(
                spec,
                item_clustered_means_and_shares.mean_estimate(
                    mark[selection], item[selection], item_clustered_means_and_shares.scale_of(spec)
                ),
            )
            for code in np.unique(ballot[is_contestant]) if (selection := is_contestant & (ballot == code)).any()
        })  # fmt: skip
    return by_contestant


def divided_shares(columns: Columns) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]] | None:
    """Return the verdicts that divide one whole between two responses, and the share of the first response.

    The marks of a graded choice are such shares. The result is None if some marks are not such shares. It is also None
    if every share is 0, 0.5 or 1, which only says who won.
    """
    real = [code for code, spec in enumerate(columns.names["ballot"]) if spec.startswith("real:") or is_graded(spec)]
    both = np.flatnonzero((columns.response_counts == 2) & (columns.fault < 0) & np.isin(columns.ballot, real))
    at = columns.start.astype(np.int64)[both]
    first, second = columns.mark[at], columns.mark[at + 1]
    sums_to_one = len(both) > 0 and np.allclose(first + second, 1) and bool((np.minimum(first, second) >= 0).all())
    return (both, first) if sums_to_one and not np.isin(first, (0.0, 0.5, 1.0)).all() else None


def compute_mean_shares(columns: Columns, names: Sequence[str]) -> list[Estimate | None]:
    """Return each contestant's mean share, AlpacaEval's weighted win rate, or None for all without `divided_shares`."""
    shares = divided_shares(columns)
    if shares is None:
        return [None] * len(names)
    both, first = shares
    at = columns.start.astype(np.int64)[both]
    who = np.concatenate([columns.contestant[at], columns.contestant[at + 1]])
    marks, items = np.concatenate([first, columns.mark[at + 1]]), np.concatenate([columns.item[both]] * 2)
    codes = {name: code for code, name in enumerate(columns.names["contestant"])}
    masks = [who == codes[name] for name in names]
    return [
        item_clustered_means_and_shares.share_estimate(marks[mask], items[mask]) if mask.any() else None
        for mask in masks
    ]


def compute_win_rates_against(matches: Matches, reference: str | None) -> list[Estimate | None]:
    """Return the share of matches that each contestant won against the reference, without ties."""
    if reference not in matches.names:
        return [None] * len(matches.names)
    reference_code, rows = matches.names.index(reference), matches.rows
    shares: list[Estimate | None] = []
    for who in range(len(matches.names)):
        is_decided = rows.outcome != 0.5
        first, second = (
            (rows.first == who) & (rows.second == reference_code) & is_decided,
            (rows.second == who) & (rows.first == reference_code) & is_decided,
        )
        values = np.concatenate([rows.outcome[first], 1 - rows.outcome[second]])
        items = np.concatenate([rows.item[first], rows.item[second]])
        shares.append(item_clustered_means_and_shares.share_estimate(values, items) if len(values) else None)
    return shares
