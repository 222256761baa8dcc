"""Cost per verdict and time per call of each judge, with intervals over items, and tokens from a server's cache."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import exp

import numpy as np

from fullbench.analysis import item_clustered_means_and_shares
from fullbench.analysis.scope_suffixes_of_table_titles import OVERALL
from fullbench.columns.verdict_columns import Columns
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.model_call import Usage
from fullbench.core.table import Cell, Column, Table
from fullbench.core.translatable_note import Note
from fullbench.stats.array_checks import exact_sum

AMOUNTS = ("dollars per 1,000", "s a call")


def rate_table(verdicts: Columns) -> Table:
    """Return dollars per 1,000 verdicts and seconds per call, by judge and criterion, clustered by item.

    A judge without calls has no row. The price is empty if that of any verdict is unknown.
    """
    several = any(criterion != OVERALL for (criterion,), _ in verdicts.by("criterion"))
    rows: list[list[Cell]] = []
    for (judge, criterion), part in verdicts.by("judge", "criterion"):
        calls = part.calls.astype(np.float64)
        if not calls.sum():
            continue
        has_price = not np.isnan(part.dollars).any() and bool(part.dollars.any())
        dollars = (
            item_clustered_means_and_shares.ratio_estimate(1000 * part.dollars, np.ones(len(part)), part.item)
            if has_price
            else None
        )
        seconds = (
            item_clustered_means_and_shares.ratio_estimate(part.seconds, calls, part.item)
            if part.seconds.any()
            else None
        )
        rows.append(
            [judge, *([criterion] if several else []), _with_log_interval(dollars), _with_log_interval(seconds)]
        )
    notes = []
    if failures := sum(loss.failures for loss in verdicts.failed_calls):
        notes.append(Note("rates.failed", n=failures))
    return Table(
        "rates",
        Note("rates.title"),
        [
            *table_columns("judge", *(["criterion"] if several else [])),
            *(Column(key, kind="metric", better="less") for key in AMOUNTS),
        ],
        rows,
        notes,
    )


def _with_log_interval(rate: Estimate | None) -> Estimate | None:
    """Make the interval symmetric on the log scale.

    Prices and times are positive and skewed: a few long replies cost much. Intervals symmetric around such a mean are
    too low, and can end below zero (`tests/simulations/test_prices.py`).
    """
    if rate is None or rate.why or rate.one_sided or rate.value <= 0:
        return rate
    factor = exp((rate.high - rate.value) / rate.value)
    return replace(rate, low=rate.value / factor, high=rate.value * factor)


def total_usage(part: Columns) -> Usage:
    """Return the total usage of some verdicts."""
    calls, retries, tokens_in, tokens_out = (
        int(column.sum(dtype=np.int64)) for column in (part.calls, part.retries, part.tokens_in, part.tokens_out)
    )
    dollars = None if np.isnan(part.dollars).any() else exact_sum(part.dollars)
    has_cached = ~np.isnan(part.cached)
    cached_tokens = int(part.cached[has_cached].sum()) if has_cached.any() else None
    counted_tokens = int(part.tokens_in[has_cached].sum(dtype=np.int64))
    return Usage(
        calls,
        retries,
        tokens_in,
        tokens_out,
        dollars,
        exact_sum(part.seconds),
        cached=cached_tokens,
        counted=counted_tokens,
    )


# Input tokens from a server's cache, as columns of the cost table.


@dataclass(frozen=True)
class FromCache:
    """Cost table columns, cells and notes on cached tokens; empty if no server reported them."""

    is_reported: bool
    partly: bool
    """True if cached tokens are reported for some calls only, as by servers that leave out zeros."""

    @classmethod
    def from_usages(cls, usages: Iterable[Usage]) -> FromCache:
        saying = [usage for usage in usages if usage.cached is not None]
        return cls(bool(saying), any(usage.counted < usage.tokens_in for usage in saying))

    @property
    def columns(self) -> tuple[str, ...]:
        return ("from cache", "from cache %") if self.is_reported else ()

    def cells(self, usage: Usage) -> list[Cell]:
        if not self.is_reported:
            return []
        share = usage.share_cached
        return [usage.cached, None if share is None else 100 * share]

    @property
    def notes(self) -> list[Note]:
        cache_note = Note("cost.from-cache")
        partly = Note("cost.from-cache-of-some")
        return [cache_note] * self.is_reported + [partly] * self.partly
