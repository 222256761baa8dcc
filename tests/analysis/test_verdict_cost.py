"""Price and time have intervals over items, and say nothing where nothing is known."""

from __future__ import annotations

import numpy as np
import pytest

from fullbench import Choice, Item, Record, Response, Usage, Verdict
from fullbench.analysis.verdict_cost import rate_table
from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.core.case import Case


def heard(items: int = 40) -> tuple[Record, dict[tuple[str, str], list[tuple[int, Usage]]]]:
    """Three judges under two criteria: one with prices, one whose price is unknown now and then, one that calls
    nobody; some verdicts take two calls. And what each used."""
    rng = np.random.default_rng(5)
    verdicts, asked, used = [], {}, {}
    for number in range(items):
        item = asked[f"i{number}"] = Item.ask(f"i{number}", "?")
        dear = rng.uniform(0.5, 2.0)
        shown = [Response.say(item.id, name, name) for name in ("a", "b")]
        for criterion in ("overall", "style"):
            for order in (shown, shown[::-1]):
                case = Case(item, tuple(order), Choice(), criterion)
                for judge in ("priced", "partly", "free"):
                    calls = 0 if judge == "free" else int(rng.integers(1, 3))
                    dollars = None if judge == "partly" and number % 9 == 0 else 0.01 * dear * calls
                    usage = Usage(calls, 0, 100, 10, dollars if calls else 0.0, calls * dear * rng.uniform(1, 3))
                    if judge == "free":
                        usage = Usage()
                    verdicts.append(Verdict.from_case(case, judge, (1.0, 0.0), usage=usage))
                    used.setdefault((judge, criterion), []).append((number, usage))
    return Record(tuple(verdicts), asked), used


def jackknifed(amounts: np.ndarray, sizes: np.ndarray, item: np.ndarray) -> tuple[float, float]:
    """A ratio of sums and its standard error, leaving one item out after another."""
    without = np.array([amounts[item != one].sum() / sizes[item != one].sum() for one in np.unique(item)])
    error = np.sqrt((len(without) - 1) / len(without) * ((without - without.mean()) ** 2).sum())
    return amounts.sum() / sizes.sum(), float(error)


def as_wide_as_the_items(rate, error: float) -> bool:
    """Whether the interval is symmetric on the log scale, and as wide as Student's or up to half more."""
    below, above = np.log(rate.value / rate.low), np.log(rate.high / rate.value)
    return bool(np.isclose(below, above)) and 0.99 < below / (2.02 * error / rate.value) < 1.5


def test_price_and_time_are_ratios_with_intervals_over_items():
    record, used = heard()
    table = rate_table(columns_from_verdicts(record))
    assert [str(column) for column in table.columns] == ["judge", "criterion", "dollars per 1,000", "s a call"]
    rows = {(str(row[0]), str(row[1])): row[2:] for row in table.rows}
    assert set(rows) == {(judge, criterion) for judge in ("priced", "partly") for criterion in ("overall", "style")}
    for (judge, criterion), (price, seconds) in rows.items():
        some = used[judge, criterion]
        item = np.array([number for number, _ in some])
        calls = np.array([usage.calls for _, usage in some], dtype=float)
        value, error = jackknifed(np.array([usage.seconds for _, usage in some]), calls, item)
        assert seconds.value == pytest.approx(value)
        assert as_wide_as_the_items(seconds, error)
        if judge == "partly":
            assert price is None
        else:
            dollars = np.array([1000 * usage.dollars for _, usage in some])
            value, error = jackknifed(dollars, np.ones(len(some)), item)
            assert (price.value, price.n) == (pytest.approx(value), len(some))
            assert as_wide_as_the_items(price, error)


def test_a_price_is_never_below_zero():
    record, _ = heard(items=3)
    (price,) = {
        row[2].low for row in rate_table(columns_from_verdicts(record)).rows if row[2] is not None and row[2].low <= 0
    } or {0.0}
    assert price == 0.0
