"""How many votes are needed, beside simulations of our own worlds."""

from __future__ import annotations

import json
import random
from itertools import combinations

import numpy as np
import pytest
from typer.testing import CliRunner

from fullbench import Case, Choice, Item, Ledger, Response, Score, Verdict
from fullbench.cli.all_commands import app
from fullbench.stats.people.power_analysis import Votes, explained_share
from fullbench.stats.ratings.corrected_ratings import corrected_ratings
from tests.stats.worlds import POINTS, World, sampled
from tests.support.commands import stdout_of


def test_needed_is_the_reverse_of_what_votes_give():
    for help_ in (0.0, 0.3, 0.8):
        votes = Votes(POINTS**2 * 9, 5000, help_)
        for amount in (50, 400, 2000):
            assert votes.votes_for_width(votes.half_width(amount)) == amount
            assert votes.votes_to_detect(votes.detectable(amount)) == amount
        assert votes.error(5000) == pytest.approx(votes.alone.error(5000))


def seen(world: World, votes: int, run: int):
    return corrected_ratings(
        world.one, world.two, sampled(world, votes, np.random.default_rng(run)), world.ruled, cluster=world.item
    )


def forecasts(pilot: int, later: int, runs: int) -> tuple[float, float]:
    """Half a width after more votes, as foretold from a pilot and as it came: with the judge, means over runs."""
    told, came = [], []
    for run in range(runs):
        world = World(np.random.default_rng(run), items=800, contestants=4, per=5, follows=0.8, love=0.5)
        first, second = seen(world, pilot, run), seen(world, later, run + 1000)
        alone, both = float(first.people_covariance[0, 0]), float(first.covariance[0, 0])
        votes = Votes(POINTS**2 * alone * pilot, 4000, explained_share(pilot, 4000, alone, both))
        told.append(votes.half_width(later))
        came.append((second.corrected_estimates[0].high - second.corrected_estimates[0].low) / 2)
    return float(np.mean(told)), float(np.mean(came))


def test_widths_come_as_foretold():
    told, came = forecasts(300, 1200, 20)
    assert told == pytest.approx(came, rel=0.06)


@pytest.mark.slow
def test_widths_come_as_foretold_from_few_votes_too():
    for pilot, later in ((100, 400), (200, 1000), (400, 3000)):
        told, came = forecasts(pilot, later, 150)
        assert told == pytest.approx(came, rel=0.05), (pilot, later)


@pytest.mark.slow
def test_a_difference_that_is_told_is_found_as_often_as_promised():
    """The number of votes for a power of 80 % finds the difference in 80 % of the runs, judge and all."""
    strengths = np.array([0.35, 0.0, -0.35])
    big = World(np.random.default_rng(1), items=40_000, contestants=3, per=3, strengths=strengths)
    gap = POINTS * float(big.strengths_of_people()[0] - big.strengths_of_people()[1])
    pilot = seen(World(np.random.default_rng(2), items=1500, contestants=3, per=4, strengths=strengths), 2000, 3)
    line = np.array([1.0, -1.0, 0.0])
    alone, both = line @ pilot.people_covariance @ line, line @ pilot.covariance @ line
    need = Votes(POINTS**2 * alone * 2000, 6000, explained_share(2000, 6000, alone, both)).votes_to_detect(gap, 0.8)
    found = 0
    for run in range(300):
        world = World(np.random.default_rng(run + 10), items=1500, contestants=3, per=4, strengths=strengths)
        later = seen(world, need, run)
        error = float(line @ later.covariance @ line) ** 0.5
        found += abs(float(line @ later.strengths)) > 1.96 * error
    assert found / 300 == pytest.approx(0.8, abs=2.5 * (0.16 / 300) ** 0.5 + 0.02)


def cells(text: str) -> dict[str, list]:
    (table,) = json.loads(text)
    return {row[0]: row[2:] for row in table["rows"]}


def test_the_command_answers_before_and_after_the_first_votes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = cells(
        stdout_of("power", "--contestants", 4, "--pairs", 4000, "--rho", 0.6, "--width", 30, "--votes", 500, "--json")
    )
    # Four equal models, six pairs: a vote on a pair has the information 1/4; the covariance by hand.
    spread = POINTS**2 * np.linalg.pinv((4 * np.eye(4) - np.ones((4, 4))) / 6 / 4)
    alone, helped, saved = table["votes to ±30 points on average over contestants"]
    need = 1.959964**2 * spread[0, 0] / 900
    assert alone == np.ceil(need)
    room = 900 / 1.959964**2 - spread[0, 0] * 0.36 / 4000
    assert helped == np.ceil(spread[0, 0] * 0.64 / room)
    assert saved == pytest.approx(1 - helped / alone)
    gap, less, _ = table["smallest difference found with 500 votes"]
    assert gap == pytest.approx((1.959964 + 0.8416212) * (2 * spread[0, 0] - 2 * spread[0, 1]) ** 0.5 / 500**0.5)
    assert less == pytest.approx(gap * (1 - 0.36 * (1 - 500 / 4000)) ** 0.5)
    draw = random.Random(3)
    with Ledger("fullbench.ledger") as ledger:
        for number in range(200):
            item = Item.ask(f"q{number}", "?")
            said = {name: Response.say(item.id, name, name) for name in ("alpha", "beta", "伽马")}
            for place, (one, two) in enumerate(combinations(said, 2)):
                case = Case(item, (said[one], said[two]), Choice(tie=False))
                win = draw.random() < 0.75
                ledger.add(case, Verdict.from_case(case, "judge", (1.0, 0.0) if win else (0.0, 1.0)))
                if number < 60 and (number + place) % 2:
                    agrees = win if draw.random() < 0.8 else not win
                    ledger.add(case, Verdict.from_case(case, "human", (1.0, 0.0) if agrees else (0.0, 1.0), rater="安"))
    seen_now = stdout_of("power", "--between", "alpha,伽马", "--width", 40, "--json")
    (table,) = json.loads(seen_now)
    assert table["notes"][0] == "From 90 votes and 600 pairs that judges judged."
    answers = cells(seen_now)
    alone, helped, saved = answers["votes to ±40 points on average over contestants"]
    assert helped < alone
    assert saved > 0.1
    (separate,) = [value for key, value in answers.items() if key.startswith("votes to separate alpha and 伽马")]
    assert separate[1] is not None
    wrong = CliRunner().invoke(app, ["power", "--between", "alpha"])
    assert wrong.exit_code != 0
    assert "ONE,OTHER" in str(wrong.exception)


def ledger_of_criteria(path, criteria, *, marked=""):
    """Pairs by each criterion, other winners by the second one, and marks by the criterion `marked`."""
    draw = random.Random(4)
    with Ledger(path) as ledger:
        for number in range(60):
            item = Item.ask(f"q{number}", "?")
            pair = tuple(Response.say(item.id, name, name) for name in ("alpha", "beta"))
            for place, criterion in enumerate(criteria):
                case = Case(item, pair, Choice(tie=False), criterion=criterion)
                win = (draw.random() < 0.8) != bool(place)
                for judge, rater in (("judge", ""), ("human", "安"))[: 2 if number < 50 else 1]:
                    marks = (1.0, 0.0) if win else (0.0, 1.0)
                    ledger.add(case, Verdict.from_case(case, judge, marks, rater=rater))
            if marked:
                case = Case(item, pair[:1], Score(1, 5), criterion=marked)
                ledger.add(case, Verdict.from_case(case, "judge", (3.0,)))
    return path


def refusal(*words) -> str:
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code != 0
    return str(done.exception)


def test_power_and_next_pairs_name_the_criterion_that_they_use(tmp_path):
    two = ledger_of_criteria(tmp_path / "two.ledger", ("clear", "true"), marked="style")
    asked = ("power", "--ledger", two, "--between", "alpha,beta")
    assert refusal(*asked) == "The verdicts have 2 criteria: clear, true. Choose one with --criterion."
    gaps = {}
    for criterion in ("clear", "true"):
        (table,) = json.loads(stdout_of(*asked, "--criterion", criterion, "--json"))
        assert table["title"] == f"How many votes are needed on {criterion}"
        assert table["notes"][0] == "From 50 votes and 60 pairs that judges judged."
        (question,) = [row[0] for row in table["rows"] if row[0].startswith("votes to separate")]
        gaps[criterion] = question
    assert gaps["clear"] != gaps["true"]
    assert refusal(*asked, "--criterion", "style") == (
        "There are no verdicts of kind 'pair' on criterion 'style'. There are verdicts on clear (pair), style (score), "
        "true (pair). Choose with --criterion and --family."
    )
    one = ledger_of_criteria(tmp_path / "one.ledger", ("clear",))
    (table,) = json.loads(stdout_of("power", "--ledger", one, "--json"))
    assert table["title"] == "How many votes are needed on clear"
    both = ledger_of_criteria(tmp_path / "both.ledger", ("overall", "clear"))
    (table,) = json.loads(stdout_of("power", "--ledger", both, "--json"))
    assert table["title"] == "How many votes are needed"
    asked = tmp_path / "ask.jsonl"
    assert "2 criteria: clear, true" in refusal("people", "next", "--ledger", two, "--to", asked)
    stdout_of("people", "next", "--ledger", one, "--to", asked)
    assert [json.loads(line)["criterion"] for line in asked.read_text().splitlines()] == ["clear"] * 10
