"""Boards that are watched while they grow: few wrong separations over all looks, fewer calls than playing evenly."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from fullbench.cli.all_commands import app
from fullbench.stats.ratings.sequential_intervals import anytime_half_width, compute_look, next_matches

UNEVEN = (1.2, 0.6, 0.5, 0.4, -0.4, -1.2)
PAIRED = (0.8, 0.8, 0.0, 0.0, -0.8, -0.8)
BATCH = 40


@dataclass
class Played:
    matches: int
    wrong: bool


def play(seed: int, strengths, *, adaptive: bool, zone: float = 40.0, most: int = 30_000, stop: bool = True) -> Played:
    """A board that is looked at after every batch; two matches an item, item effects, both orders heard."""
    rng = np.random.default_rng(seed)
    true = np.asarray(strengths)
    size, wrong, seen = len(true), False, None
    one, two, item = (np.zeros(0, dtype=np.int64) for _ in range(3))
    won = np.zeros(0)
    while True:
        if adaptive and len(one) >= 2 * size * (size - 1):
            sides = np.array(next_matches(seen, BATCH))
        else:
            first = rng.integers(0, size, BATCH)
            second = (first + rng.integers(1, size, BATCH)) % size
            sides = np.stack([np.minimum(first, second), np.maximum(first, second)], axis=1)
        here = np.arange(BATCH) // 2
        quality = true + rng.normal(0, 0.4, (BATCH, size))
        gap = quality[here, sides[:, 0]] - quality[here, sides[:, 1]]
        heard = (rng.random((2, BATCH)) < 1 / (1 + np.exp(-gap))).mean(axis=0)
        item = np.concatenate([item, here + len(one)])
        one, two, won = (
            np.concatenate([one, sides[:, 0]]),
            np.concatenate([two, sides[:, 1]]),
            np.concatenate([won, heard]),
        )
        seen = compute_look(one, two, won, item, size, zone=zone)
        wrong |= any(pair.is_separated and true[pair.ahead] <= true[pair.behind] for pair in seen.neighbours)
        if (stop and not seen.undecided_pairs) or len(one) >= most:
            return Played(len(one), wrong)


def test_the_sequence_covers_all_looks_where_a_plain_interval_does_not():
    rng = np.random.default_rng(1)
    missed = {"anytime": 0, "plain": 0}
    for _ in range(300):
        mean = np.cumsum(rng.normal(0, 1, 4000)) / np.arange(1, 4001)
        looks = np.arange(20, 4001, 20)
        far = np.abs(mean[looks - 1])
        missed["plain"] += bool((far > 1.96 / np.sqrt(looks)).any())
        missed["anytime"] += any(
            gap > anytime_half_width(1 / t, alpha=0.05, best_at=1 / 1000) for gap, t in zip(far, looks, strict=True)
        )
    assert missed["anytime"] / 300 <= 0.05 + 2 * (0.05 * 0.95 / 300) ** 0.5
    assert missed["plain"] / 300 > 0.3


def test_at_its_best_it_is_not_much_wider_than_a_plain_interval():
    assert anytime_half_width(0.01, alpha=0.05, best_at=0.01) / (0.1 * stats.norm.ppf(0.975)) < 1.6


def test_adaptive_play_decides_with_fewer_matches():
    aimed = [play(seed, UNEVEN, adaptive=True) for seed in range(2)]
    even = [play(seed, UNEVEN, adaptive=False) for seed in range(2)]
    assert sum(run.matches for run in aimed) <= 0.6 * sum(run.matches for run in even)
    assert not any(run.wrong for run in aimed + even)


@pytest.mark.slow
def test_adaptive_play_needs_at_most_six_tenths_of_the_calls():
    for strengths in (UNEVEN, PAIRED):
        aimed, even = (
            np.mean([play(seed, strengths, adaptive=adaptive).matches for seed in range(30)])
            for adaptive in (True, False)
        )
        assert aimed <= 0.6 * even, (strengths, aimed, even)


@pytest.mark.slow
@pytest.mark.parametrize("adaptive", [True, False])
def test_one_board_in_twenty_at_most_is_ever_wrong(adaptive):
    """All equal, looked at after every batch of 1,600 matches and never stopped: any separation is wrong."""
    runs = [play(seed, (0.0,) * 5, adaptive=adaptive, zone=30.0, most=1600, stop=False).wrong for seed in range(500)]
    assert np.mean(runs) <= 0.05 + 2 * (0.05 * 0.95 / 500) ** 0.5


def test_the_command_grows_a_board_until_it_is_decided_and_goes_on_where_it_stopped(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words):
        done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    run("export", "visitbench", "--out", "data")
    items = [json.loads(line)["id"] for line in (tmp_path / "data" / "items.jsonl").read_text("utf-8").splitlines()]
    names = ("brief", "middling", "绵长")
    rows = [
        {"item": item, "contestant": name, "text": " ".join(["word"] * (3 + 4 * place + (number * (place + 2)) % 9))}
        for number, item in enumerate(items) for place, name in enumerate(names)
    ]  # fmt: skip
    (tmp_path / "said.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    call = ("leaderboard", "grow", "--responses", "said.jsonl", "--judge", "length", "--json", "--quiet")
    first = json.loads(run(*call, "--most", 12))
    assert first[0]["name"] == "neighbours"
    assert "12 matches; stopped: 12 matches were played." in first[0]["notes"][0]
    last = json.loads(run(*call))
    assert "every pair was played on every item" in last[0]["notes"][0] or "separated" in last[0]["notes"][0]
    assert {row[-1] for row in last[0]["rows"]} <= {"separated", "equal", "undecided"}
    assert json.loads(run(*call))[0] == last[0]
