"""Why two judges disagree: beside a plain computation over all orders of taking causes away, and on planted values."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from fullbench.core.estimate import Estimate
from fullbench.stats.bias.causes_of_disagreement_between_two_judges import CAUSES, judge_disagreements
from fullbench.stats.ratings.joint_rating_model import JointRatings, JudgeFit, Votes, fit_joint_model

STRENGTHS = np.array([0.8, 0.1, -0.9])


def heard(seed: int, sharp, place, length, items: int = 400) -> Votes:
    """All judges on the same pairs, in orders of their own; some votes are ties."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(items):
        one, two = rng.choice(3, 2, replace=False)
        lead = rng.normal()
        for judge in range(len(sharp)):
            for order in rng.choice([-1.0, 1.0], rng.integers(1, 3), replace=False):
                odds = sharp[judge] * (STRENGTHS[one] - STRENGTHS[two]) + place[judge] * order + length[judge] * lead
                won = 0.5 if rng.random() < 0.1 else float(rng.random() < 1 / (1 + np.exp(-odds)))
                rows.append((one, two, won, judge, item, order, lead))
    columns = list(zip(*rows, strict=True))
    whole = [np.array(columns[place], dtype=np.int64) for place in (0, 1, 3, 4)]
    return Votes(whole[0], whole[1], np.array(columns[2]), whole[2], whole[3], np.array(columns[5]),
                 np.array(columns[6]))  # fmt: skip


def fits(sharp, place, length) -> JointRatings:
    judges = tuple(
        JudgeFit(*(Estimate.bare(float(value), 9, "planted") for value in (s, p, le)), 0.0, 9, 1.0)
        for s, p, le in zip(sharp, place, length, strict=True)
    )
    return JointRatings((), judges, STRENGTHS, np.zeros((3, 3)))


def plainly(votes: Votes, fitted: JointRatings, one: int, two: int):
    """The same by loops: every vote of one beside every vote of the other on the same pair of responses."""
    by_pair = {}
    for a, b, won, judge, item, order, lead in zip(
        *(getattr(votes, name).tolist() for name in ("first", "second", "outcome", "judge", "item", "order", "lead")),
        strict=True,
    ):
        by_pair.setdefault((item, a, b), {}).setdefault(judge, []).append((won, order, lead))

    def expected(causes):
        total = []
        for (_, a, b), by_judge in by_pair.items():
            means = []
            for judge, name in ((one, "one"), (two, "two")):
                fit = fitted.judges[judge]
                own = [fitted.judges[who].discrimination.value for who in (one, two)]
                sharp = fit.discrimination.value if "sharpness" in causes else sum(own) / 2
                chances = [
                    1 / (1 + np.exp(-(sharp * (STRENGTHS[a] - STRENGTHS[b])
                                      + (fit.place.value * order if f"place of {name}" in causes else 0)
                                      + (fit.length.value * lead if f"length of {name}" in causes else 0))))
                    for _, order, lead in by_judge[judge]
                ]  # fmt: skip
                means.append(sum(chances) / len(chances))
            total.append(means[0] * (1 - means[1]) + means[1] * (1 - means[0]))
        return float(np.mean(total))

    added = dict.fromkeys(CAUSES, 0.0)
    orders = list(permutations(CAUSES))
    value = {}
    for order in orders:
        for place, cause in enumerate(order):
            before, after = frozenset(order[:place]), frozenset(order[: place + 1])
            for causes in (before, after):
                if causes not in value:
                    value[causes] = expected(causes)
            added[cause] += (value[after] - value[before]) / len(orders)
    differ = [
        np.mean([abs(won - other) for won, *_ in by_judge[one] for other, *_ in by_judge[two]])
        for by_judge in by_pair.values()
    ]
    return added, float(np.mean(differ))


def test_causes_and_the_observed_share_are_those_of_a_plain_computation():
    settings = [1.0, 1.8, 0.4], [0.6, -0.2, 0.0], [0.0, 0.5, -0.9]
    votes, fitted = heard(2, *settings, items=40), fits(*settings)
    found = {(pair.first_judge, pair.second_judge): pair for pair in judge_disagreements(votes, fitted)}
    assert list(found) == [(0, 1), (0, 2), (1, 2)]
    for (one, two), pair in found.items():
        causes, differ = plainly(votes, fitted, one, two)
        assert pair.causes == pytest.approx(causes, abs=1e-12)
        assert pair.observed_rate.value == pytest.approx(differ)
        assert pair.observed_rate.units == 40
        assert pair.unexplained_rate == pytest.approx(differ - sum(causes.values()))


def test_the_cause_that_was_planted_is_named():
    """People without biases, a judge that loves the first place, and one that loves length."""
    votes = heard(5, [1.0, 1.0, 1.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0], items=1500)
    fitted = fit_joint_model(votes, 3, 3, anchor=0)
    by_place, by_length, both = judge_disagreements(votes, fitted)
    assert max(by_place.causes, key=by_place.causes.get) == "place of two"
    assert max(by_length.causes, key=by_length.causes.get) == "length of two"
    assert sorted(both.causes, key=both.causes.get)[-2:] in (
        ["place of one", "length of two"], ["length of two", "place of one"],
    )  # fmt: skip
    for pair in (by_place, by_length):
        others = [value for name, value in pair.causes.items() if name != max(pair.causes, key=pair.causes.get)]
        assert max(map(abs, others)) < 0.03
        assert pair.unexplained_rate > 0.2, "judges without any bias disagree by chance as well"
