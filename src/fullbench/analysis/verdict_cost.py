"""Cost per verdict and time per call of each judge, with intervals over items, and tokens from a server's cache."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import exp, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from fullbench.analysis import item_clustered_means_and_shares
from fullbench.analysis.scope_suffixes_of_table_titles import OVERALL
from fullbench.columns.verdict_columns import Columns
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.model_call import Usage
from fullbench.core.table import Cell, Column, Table
from fullbench.core.translatable_note import Note
from fullbench.stats.array_checks import Floats, exact_sum
from fullbench.stats.intervals.cluster_intervals import mean_spread
from fullbench.stats.intervals.normal_and_t_quantiles import student_quantile

AMOUNTS = ("dollars per 1,000", "s a call")
_MOST_WIDENING = 1.35
"""Amounts near zero have large logarithms; their interval is at most this many times that of the items."""


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
        dollars = _skewed_rate(1000 * part.dollars, np.ones(len(part)), part.item) if has_price else None
        seconds = _skewed_rate(part.seconds, calls, part.item) if part.seconds.any() else None
        rows.append([judge, *([criterion] if several else []), dollars, seconds])
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


def _skewed_rate(amounts: Floats, sizes: Floats, item: npt.NDArray[Any]) -> Estimate:
    """Return the sum of amounts over the sum of sizes, with an interval that is symmetric on the log scale.

    Prices and times are positive and skewed: a few long replies cost much, and with few items often none of them is
    there. So the interval is at least as wide as Cox's for log-normal amounts of items (Zhou and Gao 1997,
    doi:10.1002/(SICI)1097-0258(19970415)16:7<783::AID-SIM488>3.0.CO;2-2), but not much wider than the items' own.
    """
    rate = item_clustered_means_and_shares.ratio_estimate(amounts, sizes, item)
    if rate.why or rate.one_sided or rate.value <= 0:
        return rate
    item_sizes, item_amounts = (np.bincount(item, each).astype(np.float64) for each in (sizes, amounts))
    there = item_sizes > 0
    _, spread = mean_spread(item_amounts[there], item_sizes[there])
    relative_error = sqrt(spread.variance) / rate.value
    half = relative_error * student_quantile(spread.freedom, 0.975)
    item_rates = item_amounts[there] / item_sizes[there]
    if (item_rates > 0).all():
        variance = float(np.log(item_rates).var(ddof=1))
        log_normal_error = sqrt(variance / spread.units + variance**2 / (2 * (spread.units - 1)))
        error = min(_MOST_WIDENING * relative_error, log_normal_error)
        half = max(half, error * student_quantile(spread.student, 0.975))
    factor = exp(half)
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
