"""`fullbench power`: the number of votes that it names gives the width, and finds the difference, that it promises."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest
from typer.testing import CliRunner

from fullbench.analysis.people.corrected_leaderboards import corrected_boards
from fullbench.cli.all_commands import app
from fullbench.stats.ratings.corrected_ratings import corrected_ratings
from tests.simulations.records import POINTS, at_least, at_most, logistic, pair_verdicts, record_of, show


def power(*words: object) -> dict[str, list]:
    done = CliRunner().invoke(app, ["power", *map(str, words), "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    (table,) = json.loads(done.stdout)
    return {row[0]: row[2:] for row in table["rows"]}


def draw(seed: int, strengths: list[float], pairs: int, rho: float):
    """Pairs of equal frequency, a person's choice on each, and a judge whose choice has the correlation `rho` with it.

    The judge copies the person with the chance (1 + rho) / 2 and says the opposite else, so that its correlation with
    what strengths leave open is `rho`, if strengths are equal.
    """
    rng = np.random.default_rng(seed)
    every = np.array(list(combinations(range(len(strengths)), 2)))
    first, second = every[np.arange(pairs) % len(every)].T
    gap = np.asarray(strengths)[first] - np.asarray(strengths)[second]
    vote = (rng.random(pairs) < logistic(gap)) * 1.0
    judge = np.where(rng.random(pairs) < (1 + rho) / 2, vote, 1 - vote)
    return np.arange(pairs), first, second, vote, judge, rng


def some_votes(vote, number: int, rng) -> np.ndarray:
    cast = np.full(len(vote), np.nan)
    chosen = rng.choice(len(vote), number, replace=False)
    cast[chosen] = vote[chosen]
    return cast


def half_widths(seed: int, pairs: int, rho: float, votes: int) -> list[float]:
    """Half of each interval of a corrected board."""
    item, first, second, vote, judge, rng = draw(seed, [0.0] * 4, pairs, rho)
    verdicts = pair_verdicts("judge", item, first, second, judge)
    verdicts += pair_verdicts("human", item, first, second, some_votes(vote, votes, rng), rater="r")
    (board,) = corrected_boards(record_of(verdicts))
    lines = board.lines_for("rating")
    assert len(lines) == 4
    return [(line.corrected_estimate.high - line.corrected_estimate.low) / 2 for line in lines]


def widths(runs: int, pairs: int, rho: float, width: float) -> tuple[float, float]:
    """Half width after the votes that `power` names: the mean, and the mean of the widest on each board."""
    table = power("--contestants", 4, "--pairs", pairs, "--rho", rho, "--width", width)
    votes = table[f"votes to ±{width:g} points on average over contestants"][1]
    halves = np.array([half_widths(seed, pairs, rho, votes) for seed in range(runs)])
    return float(halves.mean()), float(halves.max(axis=1).mean())


def test_the_votes_named_give_the_width_in_a_few_runs():
    assert widths(4, 1200, 0.6, 40)[0] == pytest.approx(40, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("pairs", "rho", "width"), [(3000, 0.6, 30), (3000, 0.0, 40), (1500, 0.8, 30)])
def test_the_votes_named_give_the_width(pairs, rho, width):
    reached, widest = widths(40, pairs, rho, width)
    show(f"power: {pairs} pairs, rho {rho}: ±{width} promised, ±{reached:.1f} on average, widest ±{widest:.1f}")
    assert reached == pytest.approx(width, rel=0.03)
    # Equal contestants have unequal errors by chance: the widest of four is a little wider than promised.
    assert widest <= 1.12 * width


def detected(runs: int, strengths: list[float], pairs: int, rho: float, votes: int) -> float:
    """Share of runs in which the first two contestants differ at 5 %, with the judge's help."""
    line = np.array([1.0, -1.0] + [0.0] * (len(strengths) - 2))
    found = []
    for seed in range(runs):
        item, first, second, vote, judge, rng = draw(seed + 50, strengths, pairs, rho)
        fit = corrected_ratings(first, second, some_votes(vote, votes, rng), judge[None], cluster=item)
        found.append(abs(line @ fit.strengths) > 1.959964 * (line @ fit.covariance @ line) ** 0.5)
    return float(np.mean(found))


def smallest_difference(runs: int, votes: int, pairs: int, rho: float) -> float:
    """Detection rate of a difference of the size that `power` calls the smallest told by this number of votes."""
    table = power("--contestants", 3, "--pairs", pairs, "--rho", rho, "--votes", votes)
    gap = table[f"smallest difference found with {votes:,} votes"][1] / POINTS
    return detected(runs, [gap / 2, -gap / 2, 0.0], pairs, rho, votes)


def test_the_smallest_difference_is_found_in_most_of_a_few_runs():
    assert 0.6 <= smallest_difference(40, 400, 1500, 0.6) <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize(("votes", "rho"), [(200, 0.6), (400, 0.6), (400, 0.0)])
def test_the_smallest_difference_is_found_as_often_as_promised(votes, rho):
    runs = 300
    share = smallest_difference(runs, votes, 3000, rho)
    show(f"power 80 % with {votes} votes, rho {rho}: found in {share:.3f} of {runs}")
    # 3 percentage points for the approximation by equal contestants, which `power` states.
    assert at_least(0.80, runs) - 0.03 <= share <= at_most(0.80, runs) + 0.03
