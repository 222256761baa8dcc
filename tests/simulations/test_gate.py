"""`fullbench gate`: chance alone seldom fails a build, and `sure = true` seldom passes what it should not."""

from __future__ import annotations

import json
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from typer.testing import CliRunner

from fullbench import Ledger
from fullbench.audit.threshold_gate import run_checks
from fullbench.cli.all_commands import app
from tests.simulations.records import POINTS, at_most, fitted_strengths, logistic, pair_verdicts, show

NAMES_PAIRS = np.array(list(combinations(range(4), 2)))


def run_of(rng, effect: np.ndarray, drop: float) -> list:
    """All pairs of four contestants on each item; the first one has lost `drop` (log-odds)."""
    items = len(effect)
    item = np.repeat(np.arange(items), len(NAMES_PAIRS))
    first, second = np.tile(NAMES_PAIRS.T, items)
    worth = np.array([0.4 - drop, 0.1, -0.1, -0.4])[None] + effect
    won = rng.random(len(item)) < logistic(worth[item, first] - worth[item, second])
    return pair_verdicts("j", item, first, second, won * 1.0)


@cache
def rating_drop(drop: float) -> float:
    """How far the first contestant's rating falls, item effects included, in points."""
    ratings = []
    for lost in (0.0, drop):
        rng = np.random.default_rng(1)
        verdicts = run_of(rng, rng.normal(0, 0.7, (10_000, 4)), lost)
        first = np.array([int(verdict.contestants[0][1:]) for verdict in verdicts])
        second = np.array([int(verdict.contestants[1][1:]) for verdict in verdicts])
        won = np.array([verdict.marks[0] for verdict in verdicts])
        ratings.append(POINTS * fitted_strengths(first, second, won, 4)[0])
    return float(ratings[0] - ratings[1])


def write(path, verdicts) -> None:
    with Ledger(path) as ledger:
        ledger.add(*verdicts)


def failed(folder, seed: int, *, drop: float, points: float, sure: bool, items: int) -> bool:
    """True if the gate fails a run after the base run, on the same items with the same item effects."""
    rng = np.random.default_rng(seed)
    effect = rng.normal(0, 0.7, (items, 4))
    place = folder / str(seed)
    place.mkdir()
    write(place / "base.ledger", run_of(rng, effect, 0.0))
    write(place / "new.ledger", run_of(rng, effect, drop))
    (place / "gate.toml").write_text(
        'ledger = "new.ledger"\n[[regression]]\ncontestant = "m000"\nbase = "base.ledger"\n'
        f"points = {points}\nsure = {str(sure).lower()}\n",
        encoding="utf-8",
    )
    (check,) = run_checks(place / "gate.toml")
    return not check.is_passed


def share_failed(folder, runs: int, **world) -> float:
    return float(np.mean([failed(folder, seed, **world) for seed in range(runs)]))


def test_the_command_fails_a_large_fall_and_passes_an_equal_run(tmp_path):
    for drop, code in ((1.2, 1), (0.0, 0)):
        folder = tmp_path / str(drop)
        folder.mkdir()
        failed(folder, 3, drop=drop, points=20, sure=False, items=60)
        done = CliRunner().invoke(app, ["gate", str(folder / "3" / "gate.toml"), "--json"])
        assert done.exit_code == code, done.output
        ((row,),) = (json.loads(done.stdout)[0]["rows"],)
        assert row[0].startswith("m000: rating by j")


@pytest.mark.slow
def test_chance_alone_seldom_fails_a_build(tmp_path):
    """A fall of exactly the points that are allowed: one-sided 2.5 %, less since both runs share their items."""
    runs, drop = 120, 0.3
    allowed = rating_drop(drop)
    for items in (20, 60):
        (tmp_path / str(items)).mkdir()
        share = share_failed(tmp_path / str(items), runs, drop=drop, points=allowed, sure=False, items=items)
        show(f"gate, fall of the allowed {allowed:.0f} points, {items} items: {share:.3f} failed")
        assert share <= at_most(0.025, runs)


@pytest.mark.slow
def test_a_sure_gate_seldom_passes_a_fall_above_the_limit(tmp_path):
    runs, drop = 120, 0.3
    share = share_failed(tmp_path, runs, drop=drop, points=rating_drop(drop), sure=True, items=40)
    show(f"gate, sure, fall of the allowed points: {1 - share:.3f} passed")
    assert 1 - share <= at_most(0.025, runs)


@pytest.mark.slow
def test_a_large_fall_fails_the_build(tmp_path):
    runs, drop = 60, 1.2
    share = share_failed(tmp_path, runs, drop=drop, points=20, sure=False, items=60)
    show(f"gate, fall of {rating_drop(drop):.0f} points, 20 allowed: {share:.3f} failed")
    assert share >= 0.8
