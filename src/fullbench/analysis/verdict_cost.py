"""What a verdict of a judge costs and how long a call of it takes, with intervals: other items would have cost other
amounts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from fullbench.analysis import estimate_cells
from fullbench.analysis.scope_text import OVERALL
from fullbench.columns.verdict_columns import Columns
from fullbench.core.call import Usage
from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
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
        dollars = estimate_cells.ratio(1000 * part.dollars, np.ones(len(part)), part.item) if priced else None
        seconds = estimate_cells.ratio(part.seconds, calls, part.item) if part.seconds.any() else None
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


# How many of the tokens in came from a server's cache, as columns of a table of costs.


@dataclass(frozen=True)
class FromCache:
    """The columns, cells and notes; none where no server said what came from its cache."""

    said: bool
    partly: bool
    """Whether some of those that said it did so of some calls alone, as where a server leaves out what is zero."""

    @classmethod
    def of(cls, usages: Iterable[Usage]) -> FromCache:
        saying = [usage for usage in usages if usage.cached is not None]
        return cls(bool(saying), any(usage.counted < usage.tokens_in for usage in saying))

    @property
    def columns(self) -> tuple[str, ...]:
        return ("from cache", "from cache %") if self.said else ()

    def cells(self, usage: Usage) -> list[Cell]:
        if not self.said:
            return []
        share = usage.share_cached
        return [usage.cached, None if share is None else 100 * share]

    @property
    def notes(self) -> list[Note]:
        said = Note(
            "cost.from-cache", "From cache: tokens in that the server had in its cache; '-' where it did not say."
        )
        partly = Note(
            "cost.from-cache-of-some",
            "Of some calls it is not known what came from a cache: it is at least what is shown.",
        )
        return [said] * self.said + [partly] * self.partly
