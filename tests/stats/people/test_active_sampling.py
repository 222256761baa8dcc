"""Asking where it counts: fewer votes for the same width than drawing evenly, and the figures stay unbiased."""

from __future__ import annotations

import json
import random
import re
from itertools import combinations

import numpy as np
import pytest
from typer.testing import CliRunner

from fullbench import Case, Choice, Item, Ledger, Response, Verdict
from fullbench.cli.all_commands import app
from fullbench.stats.people.active_sampling import remaining_variance, sampling_order, vote_chances, vote_leverage
from fullbench.stats.ratings.bradley_terry_solver import solve_strengths
from fullbench.stats.ratings.corrected_ratings import corrected_ratings

POPULAR = np.array([8, 8, 4, 2, 1, 1]) / 24
STRENGTHS = np.linspace(1, -1, 6)


class Arena:
    """A board as they grow: newcomers met seldom, most pairs clear to everybody, some to nobody; three judges."""

    def __init__(self, rng, items, per):
        rows = items * per
        self.item = np.repeat(np.arange(items), per)
        sides = np.array([rng.choice(6, 2, replace=False, p=POPULAR) for _ in range(rows)])
        self.one, self.two = sides.min(axis=1), sides.max(axis=1)
        gap = STRENGTHS[self.one] - STRENGTHS[self.two] + rng.normal(0, 0.3, rows)
        murky = rng.random(rows) < 0.35
        better = rng.random(rows) < 1 / (1 + np.exp(-1.5 * gap))
        self.vote = np.where(rng.random(rows) < np.where(murky, 0.5, 0.96), better, ~better).astype(float)
        self.ruled = np.array([
            np.where(rng.random(rows) < np.where(murky, 0.5, 0.9), better, ~better).astype(float) for _ in range(3)
        ])  # fmt: skip

    def people(self):
        wins = np.zeros((6, 6))
        np.add.at(wins, (self.one, self.two), self.vote)
        np.add.at(wins, (self.two, self.one), 1 - self.vote)
        return solve_strengths(wins)


def voted(arena, votes, rng, *, designed):
    """The corrected ratings after so many votes, and the chances they had."""
    rows = len(arena.vote)
    if not designed:
        chosen, chance = rng.choice(rows, votes, replace=False), None
    else:
        judged = corrected_ratings(arena.one, arena.two, arena.ruled[0], arena.ruled[:1], cluster=arena.item).strengths
        says = 1 / (1 + np.exp(judged[arena.two] - judged[arena.one]))
        worth = vote_leverage(arena.one, arena.two, judged) * np.sqrt(remaining_variance(arena.ruled, says))
        chance = vote_chances(worth, votes)
        chosen = sampling_order(chance, 1 - rng.random(rows))[:votes]
    vote = np.full(rows, np.nan)
    vote[chosen] = arena.vote[chosen]
    return corrected_ratings(arena.one, arena.two, vote, arena.ruled, cluster=arena.item, probability=chance)


def widths(votes, runs, *, designed):
    """Half widths, mean over contestants and runs; the share of intervals that hold people's rating."""
    truth = Arena(np.random.default_rng(99), 30_000, 3).people()
    pts = 1000 + 400 / np.log(10) * truth
    wide, held = [], []
    for run in range(runs):
        rng = np.random.default_rng(run)
        found = voted(Arena(rng, 1000, 3), votes, rng, designed=designed)
        wide.append(np.mean([(e.high - e.low) ** 2 for e in found.corrected_estimates]) ** 0.5 / 2)
        held.append(
            np.mean([e.low <= right <= e.high for e, right in zip(found.corrected_estimates, pts, strict=True)])
        )
    return float(np.mean(wide)), float(np.mean(held))


def test_the_first_of_the_order_are_a_sample_with_the_chances():
    rng = np.random.default_rng(1)
    chance = vote_chances(rng.gamma(1.0, 1.0, 200), 40)
    assert chance.sum() == pytest.approx(40)
    assert chance.min() >= 0.1 * 40 / 200 - 1e-12
    hits = np.zeros(200)
    for _ in range(4000):
        hits[sampling_order(chance, 1 - rng.random(200))[:40]] += 1
    assert np.abs(hits / 4000 - chance).max() < 0.03


def test_asking_where_it_counts_narrows_the_board():
    even, _ = widths(300, 3, designed=False)
    aimed, _ = widths(300, 3, designed=True)
    assert aimed < 0.9 * even


@pytest.mark.slow
def test_a_quarter_fewer_votes_give_the_same_width_and_intervals_still_hold():
    even, _ = widths(400, 120, designed=False)
    aimed, held = widths(300, 120, designed=True)
    assert aimed <= even
    assert 0.93 <= held <= 0.97


def votes_to_cast(said):
    return int(re.search(r"^([\d,]+) more votes? in this order", said, re.MULTILINE)[1].replace(",", ""))


def test_the_command_writes_what_to_ask_and_takes_the_answers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draw = random.Random(8)
    worth = {"alpha": 1.0, "beta": 0.5, "伽马": 0.0}

    def choose(one, two):
        gap = worth[one] - worth[two] + draw.gauss(0, 1)
        return (0.5, 0.5) if abs(gap) < 0.2 else (1.0, 0.0) if gap > 0 else (0.0, 1.0)

    with Ledger("fullbench.ledger") as ledger:
        for number in range(150):
            item = Item.ask(f"题{number}", f"Question {number}?")
            said = {name: Response.say(item.id, name, f"{name} {number}") for name in worth}
            for one, two in combinations(worth, 2):
                case = Case(item, (said[one], said[two]), Choice(tie=True))
                for judge in ("j", "k"):
                    ledger.add(case, Verdict.from_case(case, judge, choose(one, two)))

    def run(*words):
        done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done

    def ask(votes):
        said = run("people", "next", "--votes", votes, "--to", "ask.jsonl", "--width", 60, "--planned", 150).stderr
        return said, [json.loads(line) for line in (tmp_path / "ask.jsonl").read_text(encoding="utf-8").splitlines()]

    said, rows = ask(120)
    assert "120 of 450 pairs without votes" in said
    assert "more votes in this order to ±60 points (now ±?)" in said
    assert len({(row["item"], *row["contestants"]) for row in rows}) == 120
    assert all(0.02 < row["probability"] <= 1 for row in rows)
    first = votes_to_cast(said)
    for row in rows:
        row |= {"marks": list(choose(*row["contestants"])), "rater": "安"}
    (tmp_path / "votes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    run("ledger", "import", "votes.jsonl", "--ledger", "fullbench.ledger")
    said, again = ask(50)
    assert "50 of 330 pairs without votes" in said
    assert not {(row["item"], *row["contestants"]) for row in rows} & {(r["item"], *r["contestants"]) for r in again}
    assert votes_to_cast(said) < first
    tables = json.loads(run("report", "--corrected", "--json").stdout)
    board = next(table for table in tables if table["name"] == "corrected j, pair")
    assert any("drawn with the chances recorded" in note for note in board["notes"])
    heads = [head["key"] if isinstance(head, dict) else head for head in board["columns"]]
    assert sum(row[heads.index("votes")] for row in board["rows"]) == 2 * 120
