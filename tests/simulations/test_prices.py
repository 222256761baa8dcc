"""Prices and times: intervals contain the true mean of skewed costs, and a forecast from some calls fits the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from fullbench import Verdict
from fullbench.analysis.verdict_cost import rate_table
from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.core.item import Turn
from fullbench.core.model import Prompt
from fullbench.core.model_call import Usage
from fullbench.studies.run.call_cost_and_time_forecast import Load, estimate_load
from tests.simulations.records import at_least, at_most, record_of, show

PRICE = (2.5, 10.0)


def draw(seed: int, items: int, *, responses: int = 3) -> list[Usage]:
    """Usage of a verdict on each response: long items are expensive for all of them, and some replies are very long."""
    rng = np.random.default_rng(seed)
    tokens_in = np.repeat(rng.lognormal(6.0, 0.5, items), responses)
    tokens_out = rng.lognormal(5.0, 0.9, items * responses) * np.repeat(rng.lognormal(0, 0.3, items), responses)
    seconds = 0.5 + tokens_out / 60 * rng.lognormal(0, 0.4, items * responses)
    return [
        Usage(1, 0, round(one), round(two), (one * PRICE[0] + two * PRICE[1]) / 1e6, float(time))
        for one, two, time in zip(tokens_in, tokens_out, seconds, strict=True)
    ]


def rates(usages: list[Usage], responses: int = 3):
    verdicts = [
        Verdict(f"c{number}", "j", f"i{number // responses}", (f"m{number % responses}",), "score:1-5", marks=(3.0,),
                usage=usage)
        for number, usage in enumerate(usages)
    ]  # fmt: skip
    (row,) = rate_table(columns_from_verdicts(record_of(verdicts))).rows
    return row[1], row[2]


def covered(runs: int, items: int) -> tuple[float, float]:
    # Means of lognormal amounts are exp(mu + sigma^2 / 2).
    tokens_in, tokens_out = np.exp(6 + 0.5**2 / 2), np.exp(5 + 0.9**2 / 2 + 0.3**2 / 2)
    # The time of a call is in proportion to its tokens, with an error of its own.
    right = (tokens_in * PRICE[0] + tokens_out * PRICE[1]) / 1e3, 0.5 + tokens_out / 60 * np.exp(0.4**2 / 2)
    hits = []
    for seed in range(runs):
        usages = draw(seed, items)
        dollars, seconds = rates(usages)
        assert dollars.value == pytest.approx(1000 * np.mean([one.dollars for one in usages]))
        hits.append((dollars.low <= right[0] <= dollars.high, seconds.low <= right[1] <= seconds.high))
    shares = np.mean(hits, axis=0)
    return float(shares[0]), float(shares[1])


def test_prices_and_times_are_covered_in_a_few_runs():
    assert min(covered(30, 40)) >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize("items", [5, 8, 12, 20, 100])
def test_prices_and_times_are_covered(items):
    runs = 2000
    dollars, seconds = covered(runs, items)
    show(f"prices, {items} items: dollars {dollars:.3f}, seconds {seconds:.3f} of {runs}")
    assert min(dollars, seconds) >= at_least(0.92 if items < 12 else 0.93, runs)
    assert max(dollars, seconds) <= (1 if items < 12 else at_most(0.97, runs))


@dataclass(frozen=True)
class PricedModel:
    """A model with a price; nothing calls it."""

    name: str = "priced"
    model: str = "priced"
    price: tuple[float, float] = PRICE

    @property
    def settings(self) -> dict[str, Any]:
        return {}


def forecast_errors(runs: int, seen: int, rest: int) -> np.ndarray:
    """Relative errors of the forecast price and time of `rest` calls, from the usage of `seen` calls."""
    errors = []
    for seed in range(runs):
        usages = draw(seed, (seen + rest) // 3 + 1)[: seen + rest]
        before, after = usages[:seen], usages[seen:]
        total = sum(before[1:], before[0])
        prompt = Prompt((Turn("user", ("word " * 380,)),))
        load = estimate_load(
            Load("verdicts", "j", seen, rest), PricedModel(), {"j": total}, task_count=rest,
            prompt_sequences=[[prompt]], mode="analyze",
        )  # fmt: skip
        assert load.is_observed
        # Prompts are known before the calls, so the length of replies and the time are what a forecast can miss.
        replies = load.tokens_out / sum(one.tokens_out for one in after)
        assert load.dollars == pytest.approx((load.tokens_in * PRICE[0] + load.tokens_out * PRICE[1]) / 1e6)
        errors.append((replies - 1, load.seconds / sum(one.seconds for one in after) - 1))
    return np.array(errors)


def test_a_forecast_fits_the_rest_in_a_few_runs():
    assert np.abs(forecast_errors(30, 150, 1500).mean(axis=0)).max() < 0.15


@pytest.mark.slow
def test_a_forecast_is_unbiased_and_near():
    runs = 300
    errors = forecast_errors(runs, 300, 3000)
    near = (np.abs(errors) < 0.25).mean(axis=0)
    show(f"forecast from 300 calls of 3,000: mean error {errors.mean(axis=0)}, within 25 % {near}")
    assert np.abs(errors.mean(axis=0)).max() < 0.02
    assert near.min() >= 0.9
