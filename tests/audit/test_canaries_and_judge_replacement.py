"""Canaries notice a changed judge, and a new judge is converted to the scale of the old one."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, replace
from itertools import combinations
from math import exp, lgamma, log
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from typer.testing import CliRunner

from fullbench import Case, Choice, Item, Ledger, Response, Verdict
from fullbench.audit import canary_checks
from fullbench.audit.simulated_judges import AuditJudge
from fullbench.cli.all_commands import app
from fullbench.stats import drift_alarm as alarms
from fullbench.stats.drift_alarm import alarm_call, alarm_calls
from fullbench.stats.ratings.joint_rating_model import Votes, fit_joint_model
from fullbench.studies.run.judge_cases import judge_cases
from tests.support.fake_chat_server import FakeServer


@dataclass(frozen=True)
class Served(AuditJudge):
    """A judge that keeps its name whatever stands behind it, as a provider's alias does."""

    @property
    def name(self) -> str:
        return "served"


def hearing(ledger: Ledger, judge: AuditJudge, calls: int = 60) -> canary_checks.Alarm:
    cases = canary_checks.draw_canaries(ledger, 20)
    due = canary_checks.due_cases(cases, ledger.record([judge.name], study=canary_checks.STUDY), judge.name, calls)
    judge_cases([judge], lambda _: due, ledger)
    return canary_checks.judge_alarm(ledger.record([judge.name], study=canary_checks.STUDY), judge.name)


def test_a_judge_that_changed_is_noticed_and_one_that_did_not_is_not(tmp_path):
    steady = Served("alias", sharpness=9.0)
    with Ledger(tmp_path / "a.ledger", study=canary_checks.STUDY) as ledger:
        first = hearing(ledger, steady)
        assert gated(tmp_path) == (1, "no canary was run since the baseline; fullbench audit watch runs some")
        assert (first.watched_count + first.unwatched_count, first.call_count) == (20, 0)
        assert first.baseline_counts[1] == first.watched_count * (
            canary_checks.ROUNDS[0][1] - canary_checks.SELECTION_ROUNDS
        )
        again = hearing(ledger, steady, 200)
        assert again.call_count == pytest.approx(200, abs=200 * first.unwatched_count / 20 + 1)
        assert not again.rang_at_call
        assert gated(tmp_path) == (0, "")
        # the provider puts another model behind the same name
        later = hearing(ledger, _behind(steady, replace(steady, picture_use=0.6)), 200)
        assert later.rang_at_call > again.call_count
        assert later.share.value < again.share.value
        assert [alarm.judge for alarm in canary_checks.load_alarms(ledger)] == ["served"]
        assert gated(tmp_path) == (1, f"the alarm rang at canary call {later.rang_at_call}")


def gated(folder: Path) -> tuple[int, str]:
    """What a gate on drift comes to: its exit code, and why, as JUnit XML and Markdown say it too."""
    (folder / "gate.toml").write_text('ledger = "a.ledger"\n[[drift]]\njudge = "served"\n', encoding="utf-8")
    files = ["--junit", str(folder / "gate.xml"), "--out", str(folder / "gate.md"), "--json"]
    done = CliRunner().invoke(app, ["gate", str(folder / "gate.toml"), *files])
    (row,) = json.loads(done.stdout)[0]["rows"]
    why = str(row[-1] or "")
    suite = ET.parse(folder / "gate.xml").getroot()
    assert [failure.text.endswith(why) for failure in suite.iter("failure")] == [True] * int(suite.get("failures"))
    assert int(suite.get("failures")) == done.exit_code
    assert why in (folder / "gate.md").read_text(encoding="utf-8")
    return done.exit_code, why


def _behind(alias: Served, model: Served):
    """The alias, ruled by another model."""

    @dataclass(frozen=True)
    class Swapped(Served):
        @property
        def settings(self):
            return alias.settings

    return Swapped(**{name: getattr(model, name) for name in Served.__dataclass_fields__})


def test_canaries_are_private_and_fixed(tmp_path):
    with Ledger(tmp_path / "a.ledger") as one, Ledger(tmp_path / "b.ledger") as two:
        first, again, other = (canary_checks.draw_canaries(ledger, 4) for ledger in (one, one, two))
        seed = canary_checks.private_seed(one)
    assert (
        canary_checks.canary_set_digest(first)
        == canary_checks.canary_set_digest(again)
        != canary_checks.canary_set_digest(other)
    )
    assert str(seed) not in str([(case.item.id, case.item.tags) for case in first])


def test_canaries_from_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(canary_checks, "CASES", 6)
    monkeypatch.setattr(canary_checks.draw_canaries, "__defaults__", (6,))
    call = CliRunner()
    done = call.invoke(app, ["audit", "watch", "simulated:accurate", "--quiet"])
    assert done.exit_code == 0, done.output
    assert "baseline only" in done.output
    assert "Called 78," in done.output
    done = call.invoke(app, ["audit", "watch", "simulated:accurate", "--calls", "9", "--quiet"])
    assert "Called 9," in done.output
    assert "no sign of a change" in done.output
    shown = json.loads(call.invoke(app, ["audit", "watch", "--json"]).output)
    assert shown[0]["name"] == "canaries"
    # and after a run of a study, where it is asked for
    (tmp_path / "items.jsonl").write_text('{"id": "i", "question": "?"}', encoding="utf-8")
    (tmp_path / "said.jsonl").write_text('{"item": "i", "contestant": "a", "text": "x"}', encoding="utf-8")
    (tmp_path / "study.toml").write_text(
        'name = "s"\nitems = "items.jsonl"\nresponses = "said.jsonl"\njudges = ["simulated:accurate"]\n'
        'ballots = ["score:1-5"]\n',
        encoding="utf-8",
    )
    done = call.invoke(app, ["run", "study.toml", "--canaries", "7", "--quiet"])
    assert done.exit_code == 0, done.output
    assert "canary calls after a baseline" in done.output
    assert "Called 7," in done.output
    (tmp_path / "gate.toml").write_text('[[drift]]\njudge = "simulated/accurate"\n', encoding="utf-8")
    assert call.invoke(app, ["gate"]).exit_code == 0


def test_canaries_after_a_run_get_what_its_budget_has_left(tmp_path, monkeypatch):
    """A call costs $0.905: one for the run, two for canaries, although their baseline takes 78.

    The replies of this server are unreadable on the ballot of canaries, which counts as not right.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setattr(canary_checks, "CASES", 6)
    monkeypatch.setattr(canary_checks.draw_canaries, "__defaults__", (6,))
    (tmp_path / "items.jsonl").write_text('{"id": "i", "question": "?"}', encoding="utf-8")
    (tmp_path / "said.jsonl").write_text('{"item": "i", "contestant": "a", "text": "x"}', encoding="utf-8")
    with FakeServer(quick=True) as server:
        judge = f"openai:m@{server.url}?mode=direct&price_in=1000&price_out=1000&concurrency=1"
        (tmp_path / "study.toml").write_text(
            f'name = "s"\nitems = "items.jsonl"\nresponses = "said.jsonl"\njudges = ["{judge}"]\n'
            'ballots = ["score:1-5"]\n',
            encoding="utf-8",
        )
        done = CliRunner().invoke(app, ["run", "study.toml", "--canaries", "7", "--budget", "3", "--quiet"])
    costs = [float(cost) for cost in re.findall(r"cost \$([\d.]+\d)", done.output)]
    assert len(costs) == 2, done.output  # of the run, and of the canaries after it
    assert 0 < costs[1] <= 3 - costs[0], done.output


def evidence_by_hand(baseline: list[list[bool]], later: list[tuple[int, bool]], rounds: int) -> float:
    """How many times as likely the later calls are by a change as by none, straight from the definition."""

    def log_beta(one: float, two: float) -> float:
        return lgamma(one) + lgamma(two) - lgamma(one + two)

    def counts(calls: list[tuple[int, bool]]) -> list[tuple[int, int]]:
        """Of each case, how often it differed and how often it agreed."""
        return [
            (sum(differed for place, differed in calls if place == case),
             sum(not differed for place, differed in calls if place == case))
            for case in range(len(baseline))
        ]  # fmt: skip

    def unchanged(calls: list[tuple[int, bool]]) -> list[float]:
        return [
            sum(log_beta(a + differed, b + agreed) - log_beta(a, b) for differed, agreed in counts(calls))
            for a, b in zip(alarms._ALPHA, alarms._BETA, strict=True)
        ]

    heard = [(case, differed) for case, hearings in enumerate(baseline) for differed in hearings]
    total = 0.0
    for start in range(0, len(later), rounds):
        before, since = [*heard, *later[:start]], later[start:]
        fits = unchanged(before)
        best = int(np.argmax(fits))
        a, b = alarms._ALPHA[best], alarms._BETA[best]
        none = max(unchanged([*before, *since])) - max(fits)
        known, new = counts(before), counts(since)
        stories: list[list[float]] = [[], []]
        for share in alarms.TURNED_SHARES:
            cases = []
            for (differed, agreed), (more, fewer) in zip(known, new, strict=True):
                base = log_beta(a + differed, b + agreed)
                same = exp(log_beta(a + differed + more, b + agreed + fewer) - base)
                other = exp(log_beta(a + differed + fewer, b + agreed + more) - base)
                cases.append(log((1 - share) * same + share * other))
            stories[0].append(exp(sum(cases) - none))
        for points in alarms.RAISED_POINTS:
            chances = [min(0.97, (a + known[case][0]) / (a + b + sum(known[case])) + points) for case, _ in since]
            likely = [log(p if differed else 1 - p) for p, (_, differed) in zip(chances, since, strict=True)]
            stories[1].append(exp(sum(likely) - none))
        weight = alarms.FIRST_CALL_BELIEF if start == 0 else (1 - alarms.FIRST_CALL_BELIEF) / alarms.HORIZON
        total += weight * float(np.mean([np.mean(story) for story in stories]))
    return total


def test_the_alarm_rings_where_the_evidence_by_hand_does():
    rng = np.random.default_rng(2)
    for chance in (0.1, 0.5, 0.9):
        baseline = [[bool(differed) for differed in rng.random(6) < 0.1] for _ in range(3)]
        later = [(call % 3, bool(rng.random() < chance)) for call in range(15)]
        by_hand = [evidence_by_hand(baseline, later[:call], 3) for call in range(1, len(later) + 1)]
        first = next((call for call, value in enumerate(by_hand, start=1) if value >= alarms.ALARM_RATIO), 0)
        named = {str(case): hearings for case, hearings in enumerate(baseline)}
        assert alarm_call(named, [(str(case), differed) for case, differed in later]) == first
        watch = alarms._Watch(np.array([[float(sum(h)) for h in baseline]]), np.full((1, 3), 6.0))
        for call, (case, differed) in enumerate(later):
            if call % 3 == 0:
                watch.begin()
            seen = watch.add_calls(np.array([case]), np.array([differed]))
            assert seen[0] == pytest.approx(by_hand[call], rel=1e-9)


def rang(
    change: str, points: float, calls: int, *, share: float, noise: str, runs: int, quiet: int = 0, seed: int = 7
) -> float:
    """In which share of runs the alarm rings, after `quiet` calls in which nothing has changed.

    Each run is one judge from its first hearing on, as `canaries` hears it: cases chosen, a baseline, the watch. It
    differs from itself in a `share` of calls: alike on all cases, much on some (flaky), or by a coin on a few (coins).
    """
    rng = np.random.default_rng(seed)
    shape = (runs, canary_checks.CASES)
    differed, heard = np.zeros(shape), np.zeros(shape)
    which, differs = np.zeros((runs, calls), dtype=np.int64), np.zeros((runs, calls), dtype=bool)
    for run in range(runs):
        chances = {
            "alike": np.full(60, share),
            "flaky": rng.beta(0.15, 0.15 * (1 - share) / share, 60),
            "coins": np.where(rng.random(60) < 2.5 * share, 0.4, 0.0),
        }[noise]
        kept = chances[(rng.random((60, canary_checks.SELECTION_ROUNDS)) >= chances[:, None]).all(axis=1)]
        baseline = np.zeros((len(kept), 0), dtype=bool)
        for most, end in canary_checks.ROUNDS:
            more = rng.random((len(kept), end - canary_checks.SELECTION_ROUNDS - baseline.shape[1])) < kept[:, None]
            baseline = np.concatenate([baseline, more], axis=1)
            if baseline.mean() <= most:
                break
        later = {
            "none": kept,
            "everywhere": kept + points,
            "on some cases": np.where(rng.random(len(kept)) < points, 1 - kept, kept),
        }[change]
        differed[run, : len(kept)], heard[run, : len(kept)] = baseline.sum(axis=1), baseline.shape[1]
        which[run] = np.arange(calls) % len(kept)
        chance = np.where(np.arange(calls) < quiet, kept[which[run]], later[which[run]])
        differs[run] = rng.random(calls) < chance
    return float(np.mean(alarm_calls(differed, heard, which, differs) > quiet))


def test_the_alarm_hears_one_case_that_turned_for_good():
    steady = {str(case): [False] * 9 for case in range(60)}
    later = [(str(case), case == 7) for _ in range(8) for case in range(60)]
    assert 60 < alarm_call(steady, later) <= 4 * 60 + 8
    assert alarm_call(steady, [(case, False) for case, _ in later]) == 0
    assert alarm_call({}, later) == alarm_call(steady, []) == 0


def test_the_alarm_hears_ten_points_within_200_calls():
    for change in ("everywhere", "on some cases"):
        assert rang(change, 0.10, 200, share=0.02, noise="alike", runs=100) >= 0.90


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["alike", "flaky", "coins"])
@pytest.mark.parametrize("share", [0.01, 0.02, 0.03])
def test_the_alarm_is_quick_and_seldom_false(share, noise):
    """10 points within 200 calls in 90 %, 5 within 500 in 80 %, false in 1 % of 2,000 calls; at once, or after 600."""
    for change in ("everywhere", "on some cases"):
        assert rang(change, 0.10, 200, share=share, noise=noise, runs=300) >= 0.90
        assert rang(change, 0.05, 500, share=share, noise=noise, runs=300) >= 0.80
        assert rang(change, 0.10, 800, share=share, noise=noise, runs=300, quiet=600) >= 0.90
    assert rang("none", 0.0, 2_000, share=share, noise=noise, runs=400) <= 0.01


WORTH = {"ann": 0.6, "bob": 0.2, "cy": -0.2, "dee": -0.9, "eve": 0.3}


def play(ledger: Ledger, judge: str, sharp: float, items: range, names: set[str]) -> None:
    rng = random.Random(f"{judge}/{items}")
    for number in items:
        item = Item.ask(f"q{number}", f"Question {number}?")
        said = {name: Response.say(item.id, name, f"{name} {number}") for name in WORTH}
        for one, two in combinations(sorted(names), 2):
            pair = (one, two) if (number + ord(one[0])) % 2 else (two, one)
            case = Case(item, (said[pair[0]], said[pair[1]]), Choice(tie=True))
            chance = 1 / (1 + np.exp(-sharp * (WORTH[pair[0]] - WORTH[pair[1]])))
            marks = (1.0, 0.0) if rng.random() < chance else (0.0, 1.0)
            ledger.add(case, Verdict.from_case(case, judge, marks))


def test_a_successor_stands_on_the_old_scale_with_the_seam_in_view(tmp_path, monkeypatch):
    """Eve is met by the new judge alone, which is twice as sharp; her rating is what the old judge's own would be."""
    monkeypatch.chdir(tmp_path)
    known = set(WORTH) - {"eve"}
    with Ledger("board.ledger") as ledger:
        play(ledger, "old", 1.0, range(300), known)
        play(ledger, "new", 2.0, range(100), known)
        play(ledger, "new", 2.0, range(500, 650), set(WORTH))
    done = CliRunner().invoke(app, ["audit", "replace", "old", "new", "--ledger", "board.ledger", "--json"])
    assert done.exit_code == 0, done.output
    table = json.loads(done.stdout)[0]
    rows = {row[0]: dict(zip(table["columns"], row, strict=True)) for row in table["rows"]}
    assert {name: row["judged by"] for name, row in rows.items()} == {
        **dict.fromkeys(known, "both judges"), "eve": "new judge",
    }  # fmt: skip
    points = {name: 400 / np.log(10) * worth for name, worth in WORTH.items()}
    middle = np.mean([*points.values()])
    ours = {name: row["rating"]["value"] for name, row in rows.items()}
    ours_middle = np.mean([*ours.values()])
    for name in WORTH:
        assert ours[name] - ours_middle == pytest.approx(points[name] - middle, abs=30)
    assert (
        rows["eve"]["rating"]["low"] - ours_middle
        <= points["eve"] - middle
        <= rows["eve"]["rating"]["high"] - ours_middle
    )
    # the report's leaderboards carry the seam, and the common scale is the same as above
    done = CliRunner().invoke(app, ["report", "--ledger", "board.ledger", "--replace", "old", "new", "--json"])
    assert done.exit_code == 0, done.output
    shown = json.loads(done.output)
    common = shown[0]
    assert {row[0]: row[1]["value"] for row in common["rows"]} == ours
    boards = [one for one in shown if one["name"].startswith("leaderboard")]
    assert len(boards) == 2
    assert all(any("The judge changes here: new replaces old" in str(note) for note in one["notes"]) for one in boards)
    for words, sentence in ((("old", "nobody"), "there is no judge 'nobody'"), (("old", "old"), "give two judges")):
        done = CliRunner().invoke(app, ["audit", "replace", *words, "--ledger", "board.ledger"])
        assert sentence in str(done.exception)


@pytest.mark.slow
def test_equated_ratings_are_within_15_points_of_judging_all_again():
    """Shared matches and a newcomer met by the new judge alone, beside the old judge's rulings on everything."""
    rng = np.random.default_rng(5)
    worth = np.array([0.6, 0.2, -0.2, -0.9, 0.3, 0.0])

    def votes(judge: int, sharp: float, count: int, names: int) -> Votes:
        one = rng.integers(0, names, count)
        two = (one + rng.integers(1, names, count)) % names
        won = (rng.random(count) < 1 / (1 + np.exp(-sharp * (worth[one] - worth[two])))).astype(float)
        order = np.where(rng.random(count) < 0.5, 1.0, -1.0)
        return Votes(one, two, won, np.full(count, judge), np.arange(count), order, np.zeros(count))

    gaps = []
    for _ in range(20):
        parts = [votes(0, 1.0, 12_000, 5), votes(1, 1.6, 4_000, 5), votes(1, 1.6, 8_000, 6)]
        names = [*Votes.__dataclass_fields__]
        together = Votes(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
        equated = fit_joint_model(together, 6, 2, anchor=0).ratings[5].value
        again = fit_joint_model(votes(0, 1.0, 20_000, 6), 6, 1, anchor=0).ratings[5].value
        gaps.append(abs(equated - again))
    assert np.mean(np.array(gaps) <= 15) >= 0.9
