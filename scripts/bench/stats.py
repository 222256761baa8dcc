"""Statistics: a million verdicts in 300 groups, and a million duels; beside the usual loop and evalica, in one run.

Peers are measured on a part of the work and scaled where the whole would take minutes; the name says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import evalica
import numpy as np
from sklearn.metrics import cohen_kappa_score, f1_score

from fullbench.stats.array_checks import Floats, Ints
from fullbench.stats.intervals import statistics_for_bootstrap
from fullbench.stats.intervals.bootstrap_and_jackknife import Statistic, bootstrap
from fullbench.stats.ratings.bradley_terry import bradley_terry
from scripts.bench import Row, cpu

ROWS, GROUPS, ITEMS, RESAMPLES = 1_000_000, 300, 500, 1000
CONTESTANTS = 100


@dataclass(frozen=True)
class Verdicts:
    """Marks of judges beside people's, by judge and data set, several for each item."""

    group: Ints
    item: Ints
    judge: Ints
    human: Ints


def _verdicts(seed: int = 0) -> Verdicts:
    rng = np.random.default_rng(seed)
    human = rng.integers(1, 6, ROWS)
    judge = np.clip(human + rng.integers(-1, 2, ROWS), 1, 5)
    return Verdicts(rng.integers(0, GROUPS, ROWS), rng.integers(0, ITEMS, ROWS), judge, human)


def _loop(data: Verdicts, figure: Callable[[Ints, Ints], float], groups: int, resamples: int) -> float:
    """CPU seconds of the usual way, scaled: for each group, for each resample, take rows and ask the library."""
    rng = np.random.default_rng(1)
    parts = [(data.judge[data.group == name], data.human[data.group == name]) for name in range(groups)]

    def work() -> None:
        for judge, human in parts:
            for _ in range(resamples):
                drawn = rng.integers(0, len(judge), len(judge))
                figure(judge[drawn], human[drawn])

    return cpu(work) * GROUPS / groups * RESAMPLES / resamples


def _groups(data: Verdicts, figure: Statistic, cluster: Ints | None = None) -> None:
    for name in range(GROUPS):
        rows = data.group == name
        label = None if cluster is None else cluster[rows]
        bootstrap(figure, data.judge[rows], data.human[rows], cluster=label, resamples=RESAMPLES)


def agreement() -> list[Row]:
    """CPU seconds for one figure with its interval in all 300 groups."""
    data = _verdicts()
    figures: list[tuple[str, Statistic, Callable[[Ints, Ints], float]]] = [
        ("Pearson", statistics_for_bootstrap.weighted_pearson, lambda a, b: float(np.corrcoef(a, b)[0, 1])),
        (
            "quadratic kappa",
            statistics_for_bootstrap.weighted_quadratic_kappa,
            lambda a, b: cohen_kappa_score(a, b, weights="quadratic"),
        ),
        ("macro F1", statistics_for_bootstrap.class_statistic("f1"), lambda a, b: f1_score(b, a, average="macro")),
    ]
    rows = []
    for name, ours, theirs in figures:
        mine = cpu(lambda ours=ours: _groups(data, ours))
        other = _loop(data, theirs, groups=3, resamples=20)
        what = f"{name}, 1M verdicts, {GROUPS} groups, {RESAMPLES} resamples"
        rows.append(Row.of(what, mine, other, "numpy/scikit-learn loop, scaled", "CPU s"))
    mine = cpu(lambda: _groups(data, statistics_for_bootstrap.weighted_pearson, data.item))
    rows.append(Row.of("the same, Pearson, clustered by item", mine, rows[0].other, "loop without clusters", "CPU s"))
    return rows


def _duels(seed: int = 0) -> tuple[Ints, Ints, Floats]:
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 1, CONTESTANTS)
    first = rng.integers(0, CONTESTANTS, ROWS)
    second = (first + rng.integers(1, CONTESTANTS, ROWS)) % CONTESTANTS
    outcome = (rng.random(ROWS) < 1 / (1 + np.exp(truth[second] - truth[first]))).astype(np.float64)
    outcome[rng.random(ROWS) < 0.15] = 0.5
    return first, second, outcome


def ratings() -> list[Row]:
    """CPU seconds for Bradley-Terry ratings of 100 contestants."""
    first, second, outcome = _duels()
    winners = {1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}
    xs, ys, won = first.tolist(), second.tolist(), [winners[one] for one in outcome.tolist()]
    bradley_terry(first[:1000], second[:1000], outcome[:1000], interval="sandwich")
    once = cpu(lambda: bradley_terry(first, second, outcome, interval="sandwich"), times=3)
    other = cpu(lambda: evalica.bradley_terry(xs, ys, won), times=3)
    drawn = cpu(lambda: bradley_terry(first, second, outcome, resamples=RESAMPLES))
    return [
        Row.of("Bradley-Terry, 1M duels, sandwich intervals", once, other, "evalica, no interval", "CPU s"),
        Row.of(f"Bradley-Terry, 1M duels, {RESAMPLES} resamples", drawn, other * RESAMPLES, "evalica, scaled", "CPU s"),
    ]


def main() -> list[Row]:
    """All rows; ours divided by theirs, smaller is better."""
    return [*agreement(), *ratings()]
