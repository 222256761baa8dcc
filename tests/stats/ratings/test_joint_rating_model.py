"""One model of contestants and judges: beside a general optimiser, on planted values, by the command line."""

from __future__ import annotations

import json
import random
import time
from itertools import combinations

import numpy as np
import pytest
from scipy import optimize
from typer.testing import CliRunner

from fullbench import Case, Choice, Item, Ledger, Response, Verdict
from fullbench.cli.all_commands import app
from fullbench.stats.ratings.joint_rating_model import POINTS, Votes, fit_joint_model

SHARP = np.array([1.0, 1.6, 0.5, 0.0])
PLACE = np.array([0.0, 0.5, -0.3, 0.2])
LENGTH = np.array([0.0, 0.0, 0.8, -0.4])
STRENGTHS = np.linspace(1, -1, 5)


def planted(seed: int, rows: int, items: int, ties: float = 0.0) -> Votes:
    """Votes of people and three judges with known discrimination and biases; items move strengths."""
    rng = np.random.default_rng(seed)
    item = rng.integers(0, items, rows)
    one = rng.integers(0, 5, rows)
    two = (one + rng.integers(1, 5, rows)) % 5
    judge = rng.integers(0, 4, rows)
    order = rng.choice([-1.0, 1.0], rows)
    lead = rng.normal(0, 1, rows) + 0.2 * (one - two)
    gap = STRENGTHS[one] - STRENGTHS[two]
    z = SHARP[judge] * gap + PLACE[judge] * order + LENGTH[judge] * lead
    won = (rng.random(rows) < 1 / (1 + np.exp(-z))).astype(float)
    return Votes(one, two, np.where(rng.random(rows) < ties, 0.5, won), judge, item, order, lead)


def test_the_fit_is_that_of_a_general_optimiser():
    votes = planted(1, 3000, 300, ties=0.05)
    found = fit_joint_model(votes, 5, 4, anchor=0)

    def unlikely(free):
        strength = np.append(free[:4], -free[:4].sum())
        sharp, place, length = np.append(1.0, free[4:7]), free[7:11], np.append(0.0, free[11:14])
        z = (
            sharp[votes.judge] * (strength[votes.first] - strength[votes.second]) + place[votes.judge] * votes.order
            + length[votes.judge] * votes.lead
        )  # fmt: skip
        belief = (strength**2).sum() / 25 + ((sharp - 1) ** 2).sum() / 4 + ((place**2).sum() + (length**2).sum()) / 4
        return float((np.logaddexp(0, z) - votes.outcome * z).sum() + belief / 2)

    best = optimize.minimize(unlikely, np.concatenate([np.zeros(4), np.ones(3), np.zeros(7)]), method="BFGS").x
    strength = np.append(best[:4], -best[:4].sum())
    assert [one.value for one in found.ratings] == pytest.approx((1000 + POINTS * strength).tolist(), abs=0.2)
    assert [fit.discrimination.value for fit in found.judges[1:]] == pytest.approx(best[4:7].tolist(), abs=2e-3)
    assert [fit.place.value for fit in found.judges] == pytest.approx(best[7:11].tolist(), abs=2e-3)
    assert [fit.length.value for fit in found.judges[1:]] == pytest.approx(best[11:14].tolist(), abs=2e-3)
    assert found.judges[0].discrimination is None
    assert found.judges[3].worth < 0.05 < found.judges[2].worth < found.judges[0].worth < found.judges[1].worth == 1


def covered(runs: int, rows: int) -> dict[str, float]:
    held: dict[str, list[float]] = {"rating": [], "discrimination": [], "place": [], "length": []}
    for run in range(runs):
        found = fit_joint_model(planted(run, rows, 400), 5, 4, anchor=0)
        held["rating"] += [
            one.low <= right <= one.high for one, right in zip(found.ratings, 1000 + POINTS * STRENGTHS, strict=True)
        ]
        for name, right in (("discrimination", SHARP), ("place", PLACE), ("length", LENGTH)):
            cells = [getattr(fit, name) for fit in found.judges]
            held[name] += [
                cell.low <= value <= cell.high for cell, value in zip(cells, right, strict=True) if cell is not None
            ]
    return {name: float(np.mean(values)) for name, values in held.items()}


def test_planted_values_lie_within_their_intervals():
    assert all(share > 0.88 for share in covered(12, 4000).values())


@pytest.mark.slow
def test_intervals_hold_as_often_as_they_say():
    for name, share in covered(200, 4000).items():
        assert 0.92 <= share <= 0.98, name


@pytest.mark.slow
def test_a_million_votes_take_seconds():
    votes = planted(3, 1_000_000, 100_000)
    began = time.process_time()
    found = fit_joint_model(votes, 5, 4, anchor=0)
    assert time.process_time() - began < 10
    assert [one.value for one in found.ratings] == pytest.approx((1000 + POINTS * STRENGTHS).tolist(), abs=6)


def test_the_command_shows_the_board_and_its_judges(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draw = random.Random(2)
    worth = {"alpha": 1.0, "beta": 0.3, "伽马": -0.8}
    with Ledger("fullbench.ledger") as ledger:
        for number in range(150):
            item = Item.ask(f"q{number}", f"Question {number}?")
            words = {name: draw.randint(2, 40) for name in worth}
            said = {name: Response.say(item.id, name, "字" * words[name]) for name in worth}
            for one, two in combinations(worth, 2):
                for first, second in ((one, two), (two, one)):
                    case = Case(item, (said[first], said[second]), Choice(tie=False))
                    gap = worth[first] - worth[second]
                    longer = np.log(words[first] / words[second])
                    for judge, z in (("sharp", 2 * gap), ("wordy", 0.3 * gap + 1.5 * longer), ("first", 3.0)):
                        win = draw.random() < 1 / (1 + np.exp(-z))
                        ledger.add(case, Verdict.from_case(case, judge, (1.0, 0.0) if win else (0.0, 1.0)))
                if number % 2:
                    win = draw.random() < 1 / (1 + np.exp(gap))
                    ledger.add(case, Verdict.from_case(case, "human", (0.0, 1.0) if win else (1.0, 0.0), rater="安"))
    done = CliRunner().invoke(app, ["leaderboard", "show", "--joint", "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    tables = {table["name"]: table for table in json.loads(done.stdout)}
    board = tables["joint, pair"]
    assert [row[1] for row in board["rows"]] == ["alpha", "beta", "伽马"]
    for row in board["rows"]:
        assert abs(row[2]["value"] - (1000 + POINTS * (worth[row[1]] - 1 / 6))) < 100
    judges = {row[0]: row[1:] for row in tables["joint judges, pair"]["rows"]}
    assert judges["human"][0] is None
    assert judges["sharp"][0]["value"] > 1.3
    assert judges["wordy"][3]["low"] > 1.0
    assert judges["first"][2]["low"] > 1.0
    assert judges["sharp"][1] == 1
    why = tables["joint disagreements, pair"]
    assert why["columns"][2:] == [
        "disagreement", "its place bias", "the other's place bias", "its length bias", "the other's length bias",
        "unequal sharpness", "the rest",
    ]  # fmt: skip
    by_pair = {(row[0], row[1]): row[2:] for row in why["rows"]}
    assert set(by_pair) == {tuple(pair) for pair in combinations(("first", "human", "sharp", "wordy"), 2)}
    assert max(by_pair["first", "sharp"][1:5]) == by_pair["first", "sharp"][1] > 0.03
    assert max(by_pair["sharp", "wordy"][1:5]) == by_pair["sharp", "wordy"][4] > 0.01
    for observed, *causes in by_pair.values():
        assert sum(causes) == pytest.approx(observed["value"])
    named = CliRunner().invoke(
        app, ["leaderboard", "show", "--joint", "--judge", "wordy", "--json"], catch_exceptions=False
    )
    names = [table["name"] for table in json.loads(named.stdout)]
    assert names[:4] == ["joint, pair", "joint judges, pair", "joint disagreements, pair", "board"]
