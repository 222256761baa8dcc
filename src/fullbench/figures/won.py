"""What each contestant won, and the marks that it got: the shares and means that a leaderboard shows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fullbench.columns.table import Columns
from fullbench.figures import clustered
from fullbench.figures.matches import Matches
from fullbench.nouns.estimate import Estimate


def won_by(settled: Matches) -> list[Estimate | None]:
    """Each contestant's share of matches, ties half."""
    rows = settled.rows
    shares: list[Estimate | None] = []
    for who in range(len(settled.names)):
        first, second = rows.one == who, rows.two == who
        values = np.concatenate([rows.outcome[first], 1 - rows.outcome[second]])
        items = np.concatenate([rows.item[first], rows.item[second]])
        shares.append(clustered.share(values, items) if len(values) else None)
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
            (spec := columns.names["ballot"][code]): clustered.mean(
                mark[chosen], item[chosen], clustered.scale_of(spec)
            )
            for code in np.unique(ballot[own]) if (chosen := own & (ballot == code)).any()
        })  # fmt: skip
    return by_contestant


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
        shares.append(clustered.share(values, items) if len(values) else None)
    return shares
