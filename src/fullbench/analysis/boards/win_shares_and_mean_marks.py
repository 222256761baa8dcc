"""What each contestant won, and the marks that it got: the shares and means that a leaderboard shows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fullbench.analysis import estimate_cells
from fullbench.analysis.boards.matches_from_verdicts import Matches
from fullbench.columns.verdict_columns import Columns
from fullbench.core.estimate import Estimate


def won_by(settled: Matches) -> list[Estimate | None]:
    """Each contestant's share of matches, ties half."""
    rows = settled.rows
    shares: list[Estimate | None] = []
    for who in range(len(settled.names)):
        first, second = rows.one == who, rows.two == who
        values = np.concatenate([rows.outcome[first], 1 - rows.outcome[second]])
        items = np.concatenate([rows.item[first], rows.item[second]])
        shares.append(estimate_cells.share(values, items) if len(values) else None)
    return shares


def means_of(columns: Columns, names: Sequence[str]) -> list[dict[str, Estimate]]:
    """Each contestant's mean mark on each ballot that marks one response at a time."""
    single = np.flatnonzero((columns.shown == 1) & (columns.fault < 0))
    at = columns.start.astype(np.int64)[single]
    who, ballot, item, mark = columns.contestant[at], columns.ballot[single], columns.item[single], columns.mark[at]
    by_contestant: list[dict[str, Estimate]] = []
    codes = {name: code for code, name in enumerate(columns.names["contestant"])}
    for name in names:
        own = who == codes[name]
        by_contestant.append({
            (spec := columns.names["ballot"][code]): estimate_cells.mean(
                mark[chosen], item[chosen], estimate_cells.scale_of(spec)
            )
            for code in np.unique(ballot[own]) if (chosen := own & (ballot == code)).any()
        })  # fmt: skip
    return by_contestant


def shared_by(columns: Columns, names: Sequence[str]) -> list[Estimate | None]:
    """Each contestant's mean share, where a judge shares out one whole between the two responses that it compares.

    AlpacaEval calls it the weighted win rate. There is none where some marks given together are no such shares, or
    where every whole went to one side or in halves: then it is the share of matches won.
    """
    real = [code for code, spec in enumerate(columns.names["ballot"]) if spec.startswith("real:")]
    both = np.flatnonzero((columns.shown == 2) & (columns.fault < 0) & np.isin(columns.ballot, real))
    at = columns.start.astype(np.int64)[both]
    first, second = columns.mark[at], columns.mark[at + 1]
    whole = len(both) > 0 and np.allclose(first + second, 1) and bool((np.minimum(first, second) >= 0).all())
    if not whole or np.isin(first, (0.0, 0.5, 1.0)).all():
        return [None] * len(names)
    who = np.concatenate([columns.contestant[at], columns.contestant[at + 1]])
    marks, items = np.concatenate([first, second]), np.concatenate([columns.item[both]] * 2)
    codes = {name: code for code, name in enumerate(columns.names["contestant"])}
    chosen = [who == codes[name] for name in names]
    return [estimate_cells.share(marks[own], items[own]) if own.any() else None for own in chosen]


def won_against(settled: Matches, reference: str | None) -> list[Estimate | None]:
    """The share of matches that each won against the reference, ties left out."""
    if reference not in settled.names:
        return [None] * len(settled.names)
    other, rows = settled.names.index(reference), settled.rows
    shares: list[Estimate | None] = []
    for who in range(len(settled.names)):
        decided = rows.outcome != 0.5
        first, second = (
            (rows.one == who) & (rows.two == other) & decided,
            (rows.two == who) & (rows.one == other) & decided,
        )
        values = np.concatenate([rows.outcome[first], 1 - rows.outcome[second]])
        items = np.concatenate([rows.item[first], rows.item[second]])
        shares.append(estimate_cells.share(values, items) if len(values) else None)
    return shares
