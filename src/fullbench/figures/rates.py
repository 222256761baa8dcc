"""What a verdict of a judge costs and how long a call of it takes, with intervals: other items would have cost other
amounts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fullbench.columns.verdict_columns import Columns
from fullbench.figures import clustered
from fullbench.figures.places import OVERALL
from fullbench.core.call import Usage
from fullbench.core.estimate import Estimate
from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.table import Cell, Column, Table
from fullbench.stats.array_checks import exact_sum

AMOUNTS = ("dollars per 1,000", "s a call")


def rates(verdicts: Columns) -> Table:
    """Dollars for 1,000 verdicts and seconds for a call, by judge and criterion; verdicts on one item are kept
    together. A judge that calls nobody has no row, and no price where that of one verdict is not known."""
    several = any(criterion != OVERALL for (criterion,), _ in verdicts.by("criterion"))
    rows: list[list[Cell]] = []
    for (judge, criterion), part in verdicts.by("judge", "criterion"):
        calls = part.calls.astype(np.float64)
        if not calls.sum():
            continue
        priced = not np.isnan(part.dollars).any() and bool(part.dollars.any())
        dollars = clustered.ratio(1000 * part.dollars, np.ones(len(part)), part.item) if priced else None
        seconds = clustered.ratio(part.seconds, calls, part.item) if part.seconds.any() else None
        rows.append([judge, *([criterion] if several else []), _not_below_zero(dollars), _not_below_zero(seconds)])
    notes = []
    if failures := sum(loss.failures for loss in verdicts.failed):
        notes.append(
            Note(
                "rates.failed", "{n:,} calls that brought no verdict are counted in what it cost, not here.", n=failures
            )
        )
    return Table(
        "rates",
        Note("rates.title", "Price and time, and how far they vary from item to item"),
        [
            *headings("judge", *(["criterion"] if several else [])),
            *(Column(key, kind="figure", better="less") for key in AMOUNTS),
        ],
        rows,
        notes,
    )


def _not_below_zero(rate: Estimate | None) -> Estimate | None:
    """Nothing costs less than nothing, whatever the spread of a few dear items says."""
    return None if rate is None else replace(rate, low=max(0.0, rate.low))


def used_by(part: Columns) -> Usage:
    """The sum of what verdicts used."""
    calls, retries, tokens_in, tokens_out = (
        int(column.sum(dtype=np.int64)) for column in (part.calls, part.retries, part.tokens_in, part.tokens_out)
    )
    dollars = None if np.isnan(part.dollars).any() else exact_sum(part.dollars)
    said = ~np.isnan(part.cached)
    cached = int(part.cached[said].sum()) if said.any() else None
    counted = int(part.tokens_in[said].sum(dtype=np.int64))
    return Usage(
        calls, retries, tokens_in, tokens_out, dollars, exact_sum(part.seconds), cached=cached, counted=counted
    )
