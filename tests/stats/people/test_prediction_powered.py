"""Corrected means and ratings beside computations of their own: other estimators of ours, plain loops, a jackknife."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from scipy import optimize

from fullbench.errors import Undefined
from fullbench.stats.people.prediction_powered import corrected_mean
from fullbench.stats.ratings.bradley_terry import bradley_terry
from fullbench.stats.ratings.corrected_ratings import corrected_ratings
from tests.stats.worlds import POINTS, World, sampled

NAN = float("nan")


def plain_correction(vote, ruled, chance):
    """The corrected mean as a sum over rows, its weight by ordinary least squares, no clusters."""
    rows = range(len(vote))
    seen = [row for row in rows if not math.isnan(vote[row])]
    whole = sum(1 / chance[row] for row in seen)
    weight = {row: 1 / chance[row] / whole for row in seen}
    people = sum(weight[row] * vote[row] for row in seen)
    every, there = sum(ruled) / len(ruled), sum(weight[row] * ruled[row] for row in seen)
    gap = [
        (weight[row] * (ruled[row] - there) if row in weight else 0.0) - (ruled[row] - every) / len(ruled)
        for row in rows
    ]
    own = [weight[row] * (vote[row] - people) if row in weight else 0.0 for row in rows]
    worth = sum(map(math.prod, zip(gap, own, strict=True))) / sum(part**2 for part in gap)
    value = people - worth * (there - every)
    left = [one - worth * two for one, two in zip(own, gap, strict=True)]
    return people, every, value, sum(part**2 for part in left)


@pytest.mark.parametrize("designed", [False, True])
def test_a_mean_is_that_of_a_plain_computation(designed):
    rng = np.random.default_rng(3)
    truth = rng.normal(3, 1, 300)
    ruled = truth + rng.normal(0.4, 0.6, 300)
    chance = np.clip(0.1 + 0.05 * ruled, 0.05, 0.9) if designed else np.full(300, 0.2)
    vote = np.where(rng.random(300) < chance, truth, NAN)
    found = corrected_mean(vote, ruled, probability=chance)
    people, every, value, variance = plain_correction(vote.tolist(), ruled.tolist(), chance.tolist())
    assert found.people.value == pytest.approx(people)
    assert found.judges[0].value == pytest.approx(every)
    assert found.corrected_estimate.value == pytest.approx(value)
    assert found.corrections[0].value == pytest.approx(every - value)
    half = (found.corrected_estimate.high - found.corrected_estimate.low) / 2
    # Student's t and the few degrees of freedom make it a little wider than the normal interval.
    assert half == pytest.approx(1.96 * variance**0.5, rel=0.06)
    assert half > 1.96 * variance**0.5


def test_a_judge_that_knows_everything_leaves_its_own_spread_and_one_that_knows_nothing_leaves_peoples():
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 2000).astype(float)
    vote = np.where(np.arange(2000) < 200, truth, NAN)
    knowing = corrected_mean(vote, truth)
    assert knowing.corrected_estimate.value == pytest.approx(truth.mean(), abs=1e-3)
    assert knowing.corrected_estimate.high - knowing.corrected_estimate.low == pytest.approx(
        knowing.judges[0].high - knowing.judges[0].low, rel=0.02
    )
    contrary = corrected_mean(vote, 1 - truth)
    assert contrary.corrected_estimate.value == pytest.approx(truth.mean(), abs=1e-3)
    blind = corrected_mean(vote, rng.random(2000))
    assert blind.corrected_estimate.high - blind.corrected_estimate.low <= 1.001 * (
        blind.people.high - blind.people.low
    )


def test_two_judges_together_are_worth_more_than_either():
    rng = np.random.default_rng(5)
    parts = rng.normal(0, 1, (2, 4000))
    truth = parts.sum(axis=0) + rng.normal(0, 0.3, 4000)
    vote = np.where(np.arange(4000) < 300, truth, NAN)
    width = {
        name: found.corrected_estimate.high - found.corrected_estimate.low
        for name, found in {
            "one": corrected_mean(vote, parts[0]), "two": corrected_mean(vote, parts[1]),
            "both": corrected_mean(vote, parts),
        }.items()
    }  # fmt: skip
    assert width["both"] < 0.7 * min(width["one"], width["two"])


def test_where_people_voted_on_everything_their_votes_stand():
    rng = np.random.default_rng(5)
    for rows in range(12, 60, 3):
        votes, ruled = rng.integers(0, 2, rows).astype(float), rng.random((2, rows))
        found = corrected_mean(votes, ruled, cluster=np.arange(rows) // 3)
        assert found.corrected_estimate.value == pytest.approx(votes.mean(), abs=1e-9)
        assert found.worth == (0.0, 0.0)
        whole = corrected_ratings(
            rng.integers(0, 2, rows), rng.integers(2, 4, rows), votes, ruled[:1], cluster=np.arange(rows) // 3
        )
        for corrected, people in zip(whole.corrected_estimates, whole.people, strict=True):
            assert corrected.value == pytest.approx(people.value, abs=1e-6)


def test_what_cannot_be_is_refused():
    with pytest.raises(Undefined, match="no human votes"):
        corrected_mean([NAN, NAN], [0, 1])
    with pytest.raises(ValueError, match="above 0 and at most at 1"):
        corrected_mean([1, 0], [0, 1], probability=[0.0, 0.5])
    with pytest.raises(Undefined, match="no human votes"):
        corrected_ratings([0, 1], [2, 2], [NAN, NAN], [1, 0])
    alone = corrected_mean([1.0, 1.0, NAN], [1, 0, 1], cluster=["a", "a", "b"])
    assert alone.corrected_estimate.why == "one item"


def test_people_alone_are_the_ratings_of_the_votes():
    world = World(np.random.default_rng(6), items=60, contestants=4, per=10)
    vote = sampled(world, 200)
    found = corrected_ratings(world.one, world.two, vote, world.ruled, cluster=world.item)
    there = ~np.isnan(vote)
    known = bradley_terry(
        world.one[there], world.two[there], vote[there], cluster=world.item[there], interval="sandwich"
    )
    for ours, theirs in zip(found.people, known.estimates, strict=True):
        assert ours.value == pytest.approx(theirs.value, abs=1e-6)
        assert ours.high - ours.low == pytest.approx(theirs.high - theirs.low, rel=0.05)
    whole = (world.ruled > 0.5) * 1.0
    judged = corrected_ratings(world.one, world.two, vote, whole, cluster=world.item)
    known = bradley_terry(world.one, world.two, whole, cluster=world.item, interval="sandwich")
    for ours, theirs in zip(judged.judges[0], known.estimates, strict=True):
        assert ours.value == pytest.approx(theirs.value, abs=1e-6)


def strengths(one, two, outcome, weight, size):
    """Bradley-Terry by a general optimiser."""

    def unlikely(here):
        z = here[one] - here[two]
        return float((weight * (np.logaddexp(0, z) - outcome * z)).sum() + 1e-9 * (here**2).sum())

    best = optimize.minimize(unlikely, np.zeros(size), method="BFGS", options={"gtol": 1e-10})
    return best.x - best.x.mean()


def plainly_corrected(world, vote, size, keep):
    """The plain correction (one weight of 1): votes' strengths less what the judge's fit on the votes differs.

    A different way to the same figure: full fits of the judge on the sample and on all, no linearisation.
    """
    there = ~np.isnan(vote) & keep
    one, two = world.one, world.two
    ones = np.ones(len(one))
    people = strengths(one[there], two[there], vote[there], ones[there], size)
    seen = strengths(one[there], two[there], world.ruled[there], ones[there], size)
    every = strengths(one[keep], two[keep], world.ruled[keep], ones[keep], size)
    return people, every, people - (seen - every)


def test_ratings_lie_where_full_fits_on_sample_and_all_put_them():
    """With a judge that is nearly right the tuned correction is near the plain one, which full fits give exactly."""
    world = World(np.random.default_rng(7), items=1000, contestants=4, per=4, love=0.3, follows=0.95)
    vote = sampled(world, 800)
    found = corrected_ratings(world.one, world.two, vote, world.ruled, cluster=world.item)
    people, every, plain = plainly_corrected(world, vote, 4, np.ones(len(vote), dtype=bool))
    assert [e.value for e in found.people] == pytest.approx((1000 + POINTS * people).tolist(), abs=0.01)
    assert [e.value for e in found.judges[0]] == pytest.approx((1000 + POINTS * every).tolist(), abs=0.01)
    for place, estimate in enumerate(found.corrected_estimates):
        assert abs(estimate.value - (1000 + POINTS * plain[place])) < (estimate.high - estimate.low) / 4
        gap = found.corrections[0][place]
        assert gap.value == pytest.approx(found.judges[0][place].value - estimate.value)
        assert gap.low < gap.value < gap.high


def test_the_covariance_is_that_of_a_jackknife_over_items():
    world = World(np.random.default_rng(8), items=120, contestants=3, per=6)
    vote = sampled(world, 240)
    whole = corrected_ratings(world.one, world.two, vote, world.ruled, cluster=world.item)
    left = []
    for item in range(120):
        keep = world.item != item
        part = corrected_ratings(
            world.one[keep], world.two[keep], vote[keep], world.ruled[keep], cluster=world.item[keep]
        )
        left.append([[e.value for e in line] for line in (part.corrected_estimates, part.people, part.corrections[0])])
    spread = np.array(left)
    jack = np.sqrt(119 / 120 * ((spread - spread.mean(axis=0)) ** 2).sum(axis=0))
    for line, error in zip((whole.corrected_estimates, whole.people, whole.corrections[0]), jack, strict=True):
        for estimate, own in zip(line, error, strict=True):
            assert (estimate.high - estimate.low) / (2 * 1.98) == pytest.approx(own, rel=0.12)


def test_rows_that_are_items_of_their_own_are_counted_like_all_others():
    world = World(np.random.default_rng(9), items=900, contestants=4, per=1)
    vote = sampled(world, 150)
    alone = corrected_ratings(world.one, world.two, vote, world.ruled)
    # The same rows, each beside one of no weight for any rating: a second cluster member that says nothing new.
    named = corrected_ratings(world.one, world.two, vote, world.ruled, cluster=[f"i{n}" for n in world.item])
    for ours, theirs in zip(alone.corrected_estimates, named.corrected_estimates, strict=True):
        assert (ours.value, ours.low, ours.high) == pytest.approx((theirs.value, theirs.low, theirs.high))


def test_somebody_nobody_voted_on_is_left_out_and_the_undefeated_stays_in():
    one, two = [0, 0, 1, 0, 0, 1, 2, 2], [1, 2, 2, 1, 2, 2, 3, 3]
    vote = [1, 1, 1, 1, 1, 0, NAN, NAN]
    found = corrected_ratings(one, two, vote, [1, 1, 0, 0, 1, 1, 0, 1], cluster=range(8))
    assert found.rated_codes == (0, 1, 2)
    assert found.has_prior
    assert found.people[0].value == max(estimate.value for estimate in found.people)


def test_a_designed_sample_is_unbiased_by_its_weights():
    """People are asked mostly about matches of contestant 0 that the judge calls lost; the weights undo it."""
    values: dict[str, list[float]] = {"weighted": [], "plain": []}
    truth = World(np.random.default_rng(1), items=40_000, contestants=3, per=3).strengths_of_people()
    for run in range(40):
        rng = np.random.default_rng(run)
        world = World(rng, items=500, contestants=3, per=4)
        chance = np.where((world.one == 0) & (world.ruled < 0.5), 0.6, 0.1)
        vote = np.where(rng.random(len(chance)) < chance, world.vote, NAN)
        for name, told in (("weighted", chance), ("plain", None)):
            found = corrected_ratings(
                world.one, world.two, vote, np.full(len(vote), 0.5), cluster=world.item, probability=told
            )
            values[name].append(found.corrected_estimates[0].value)
    right = 1000 + POINTS * truth[0]
    error = np.std(values["weighted"]) / 40**0.5
    assert abs(np.mean(values["weighted"]) - right) < 3 * error + 1
    assert abs(np.mean(values["plain"]) - right) > 30


def trials(runs: int, *, items: int, per: int, votes: int, contestants: int = 6, **how: float) -> dict[str, float]:
    """Coverage and widths over many worlds: 4,000 pairs of which some are voted on."""
    truth = 1000 + POINTS * World(
        np.random.default_rng(10_001), items=40_000, contestants=contestants, per=10, **how
    ).strengths_of_people()  # fmt: skip
    held: dict[str, list[float]] = {"corrected": [], "people": [], "judge": []}
    widths: list[tuple[float, float, float]] = []
    worst = 0.0
    for run in range(runs):
        rng = np.random.default_rng(run)
        world = World(rng, items=items, contestants=contestants, per=per, **how)
        found = corrected_ratings(
            world.one, world.two, sampled(world, votes, rng), world.ruled, contestants=contestants, cluster=world.item
        )
        for name, line in (
            ("corrected", found.corrected_estimates),
            ("people", found.people),
            ("judge", found.judges[0]),
        ):
            held[name].append(np.mean([e.low <= right <= e.high for e, right in zip(line, truth, strict=True)]))
        ours, theirs = ([e.high - e.low for e in line] for line in (found.corrected_estimates, found.people))
        worst = max(worst, *(a / b for a, b in zip(ours, theirs, strict=True)))
        widths.append((float(np.mean(ours)), float(np.mean(theirs)), foretold(world, votes)))
    corrected, people, formula = np.mean(widths, axis=0)
    return {name: float(np.mean(values)) for name, values in held.items()} | {
        "worst": worst, "narrower": corrected / people, "formula": formula,
    }  # fmt: skip


def foretold(world: World, votes: int) -> float:
    """sqrt(1 - rho^2 (1 - n/N)), rho the correlation of people's and the judge's residuals at people's strengths."""
    strength = world.strengths_of_people()
    rows = len(world.vote)
    chance = 1 / (1 + np.exp(strength[world.two] - strength[world.one]))
    own, judged = world.vote - chance, world.ruled - chance
    rho = float(np.corrcoef(own, judged)[0, 1])
    return (1 - rho**2 * (1 - votes / rows)) ** 0.5


def test_corrected_ratings_hold_where_the_judges_do_not():
    found = trials(25, items=400, per=10, votes=400)
    assert found["corrected"] > 0.9
    assert found["judge"] < 0.6
    assert found["worst"] <= 1.02
    assert found["narrower"] < 0.97


@pytest.mark.slow
@pytest.mark.parametrize(("items", "per"), [(400, 10), (4000, 1)])
def test_coverage_of_peoples_rating_with_a_judge_that_loves_length(items, per):
    found = trials(400, items=items, per=per, votes=400)
    assert 0.93 <= found["corrected"] <= 0.97, found
    assert found["worst"] <= 1.02, found
    assert found["judge"] < 0.5, found


@pytest.mark.slow
@pytest.mark.parametrize("follows", [0.0, 0.3, 0.6, 0.9])
def test_the_width_is_what_the_correlation_of_residuals_allows(follows):
    found = trials(60, items=4000, per=1, votes=400, follows=follows, love=0.5)
    assert 0.93 <= found["corrected"] <= 0.975, found
    assert found["narrower"] <= 1.05 * found["formula"], found
    assert found["worst"] <= 1.02, found


@pytest.mark.slow
def test_a_million_judged_and_ten_thousand_voted_pairs_take_a_second():
    for items, per in ((50_000, 20), (1_000_000, 1)):
        world = World(np.random.default_rng(1), items=items, contestants=20, per=per)
        vote = sampled(world, 10_000)
        spent = []
        for _ in range(3):
            began = time.process_time()
            corrected_ratings(world.one, world.two, vote, world.ruled, contestants=20, cluster=world.item)
            spent.append(time.process_time() - began)
        assert min(spent) < 1.0
