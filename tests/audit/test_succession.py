"""Has a judge changed, and how does its successor stand on its scale?"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pytest
from typer.testing import CliRunner

from fullbench import Case, Choice, Item, Ledger, Response, Verdict
from fullbench.audit import canaries
from fullbench.audit.simulated import AuditJudge
from fullbench.cli.app import app
from fullbench.errors import InputError
from fullbench.stats.alarm import Limit, alarm_call, limits, rings
from fullbench.stats.joint import Votes, joint
from fullbench.studies.hear import hear


@dataclass(frozen=True)
class Served(AuditJudge):
    """A judge that keeps its name whatever stands behind it, as a provider's alias does."""

    @property
    def name(self) -> str:
        return "served"


def hearing(ledger: Ledger, judge: AuditJudge, calls: int = 60) -> canaries.Alarm:
    cases = canaries.canaries(ledger, 20)
    due = canaries.due(cases, ledger.record([judge.name], study=canaries.STUDY), judge.name, calls)
    hear([judge], lambda _: due, ledger)
    return canaries.alarm(ledger.record([judge.name], study=canaries.STUDY), judge.name)


def test_a_judge_that_changed_is_noticed_and_one_that_did_not_is_not(tmp_path):
    steady = Served("alias", sharpness=9.0)
    with Ledger(tmp_path / "a.ledger", study=canaries.STUDY) as ledger:
        first = hearing(ledger, steady)
        assert (first.watched + first.left_out, first.calls) == (20, 0)
        assert first.baseline[1] == first.watched * (canaries.ROUNDS[0][1] - canaries.CHOSEN)
        again = hearing(ledger, steady, 200)
        assert again.calls == pytest.approx(200, abs=200 * first.left_out / 20 + 1)
        assert not again.rung
        # the provider puts another model behind the same name
        later = hearing(ledger, _behind(steady, replace(steady, sight=0.6)), 200)
        assert later.rung > again.calls
        assert later.share.value < again.share.value
        assert [*canaries.watched(ledger)] == ["served"]


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
        first, again, other = (canaries.canaries(ledger, 4) for ledger in (one, one, two))
        seed = canaries.private_seed(one)
    assert canaries.digest_of(first) == canaries.digest_of(again) != canaries.digest_of(other)
    assert str(seed) not in str([(case.item.id, case.item.tags) for case in first])


def test_canaries_from_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(canaries, "CASES", 6)
    monkeypatch.setattr(canaries.canaries, "__defaults__", (6,))
    call = CliRunner()
    done = call.invoke(app, ["canary", "simulated:accurate", "--quiet"])
    assert done.exit_code == 0, done.output
    assert "baseline only" in done.output
    assert "Asked 78," in done.output
    done = call.invoke(app, ["canary", "simulated:accurate", "--calls", "9", "--quiet"])
    assert "Asked 9," in done.output
    assert "no sign of a change" in done.output
    shown = json.loads(call.invoke(app, ["canary", "--json"]).output)
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
    assert "Asked 7," in done.output
    (tmp_path / "gate.toml").write_text('[[drift]]\njudge = "simulated/accurate"\n', encoding="utf-8")
    assert call.invoke(app, ["gate"]).exit_code == 0


def test_sums_by_hand():
    assert rings([False, True, True, False, True], [Limit(3, 8)]) == 5  # 0 3 6 5 8
    with pytest.raises(InputError, match="2 of 1"):
        limits(2, 1)


def watched_run(rng, noise: np.ndarray, change: str, points: float, calls: int) -> int:
    """One judge from its first hearing on, as `canaries` hears it: cases chosen, a baseline, the watch."""
    kept = noise[(rng.random((len(noise), canaries.CHOSEN)) >= noise[:, None]).all(axis=1)]
    baseline = np.zeros((len(kept), 0), dtype=bool)
    for most, end in canaries.ROUNDS:
        more = rng.random((len(kept), end - canaries.CHOSEN - baseline.shape[1])) < kept[:, None]
        baseline = np.concatenate([baseline, more], axis=1)
        if baseline.mean() <= most:
            break
    later = {
        "none": kept,
        "everywhere": kept + points,
        "on some cases": np.where(rng.random(len(kept)) < points, 1 - kept, kept),
    }[change]
    rounds = -(-calls // len(kept))
    heard = rng.random((rounds, len(kept))) < later
    names = [str(place) for place in range(len(kept))]
    told = [(name, bool(differed)) for row in heard for name, differed in zip(names, row, strict=True)]
    return alarm_call(dict(zip(names, baseline.tolist(), strict=True)), told[:calls])


def rang(change: str, points: float, calls: int, *, share: float, flaky: bool, runs: int) -> float:
    """In which share of runs the alarm rings, for judges that differ from themselves in so many calls: alike on all
    cases, or often on a few."""
    rng = np.random.default_rng(7)
    times = []
    for _ in range(runs):
        noise = rng.beta(0.15, 0.15 * (1 - share) / share, 60) if flaky else np.full(60, share)
        times.append(watched_run(rng, noise, change, points, calls))
    return float(np.mean([time > 0 for time in times]))


def test_the_alarm_hears_one_case_that_turned_for_good():
    steady = {str(case): [False] * 9 for case in range(60)}
    later = [(str(case), case == 7) for _ in range(8) for case in range(60)]
    assert alarm_call(steady, later) == 4 * 60 + 8
    assert alarm_call(steady, [(case, False) for case, _ in later]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("flaky", [False, True])
@pytest.mark.parametrize("share", [0.01, 0.02])
def test_the_alarm_is_quick_and_seldom_false(share, flaky):
    """10 points within 200 calls in 90 %, 5 within 500 in 80 %, false in 1 % of 2,000 calls; errors of so few runs."""
    # how many of 60 cases turn is chance too: ten points are then noticed a little less often than the goal says
    for change, goal in (("everywhere", 0.90), ("on some cases", 0.80)):
        assert (
            rang(change, 0.10, 200, share=share, flaky=flaky, runs=300) >= goal - 2 * (goal * (1 - goal) / 300) ** 0.5
        )
        assert rang(change, 0.05, 500, share=share, flaky=flaky, runs=300) >= 0.80 - 2 * (0.8 * 0.2 / 300) ** 0.5
    assert rang("none", 0.0, 2_000, share=share, flaky=flaky, runs=400) <= 0.01 + 2 * (0.01 * 0.99 / 400) ** 0.5


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
            ledger.add(case, Verdict.of(case, judge, marks))


def test_a_successor_stands_on_the_old_scale_with_the_seam_in_view(tmp_path, monkeypatch):
    """Eve is met by the new judge alone, which is twice as sharp; her rating is what the old judge's own would be."""
    monkeypatch.chdir(tmp_path)
    known = set(WORTH) - {"eve"}
    with Ledger("board.ledger") as ledger:
        play(ledger, "old", 1.0, range(300), known)
        play(ledger, "new", 2.0, range(100), known)
        play(ledger, "new", 2.0, range(500, 650), set(WORTH))
    done = CliRunner().invoke(app, ["equate", "old", "new", "--ledger", "board.ledger", "--json"])
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
    done = CliRunner().invoke(app, ["report", "--ledger", "board.ledger", "--equate", "old", "new", "--json"])
    assert done.exit_code == 0, done.output
    shown = json.loads(done.output)
    common = shown[0]
    assert {row[0]: row[1]["value"] for row in common["rows"]} == ours
    boards = [one for one in shown if one["name"].startswith("leaderboard")]
    assert len(boards) == 2
    assert all(any("A seam runs here: new succeeds old" in str(note) for note in one["notes"]) for one in boards)
    for words, sentence in ((("old", "nobody"), "no verdict of 'nobody'"), (("old", "old"), "its own scale")):
        done = CliRunner().invoke(app, ["equate", *words, "--ledger", "board.ledger"])
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
        equated = joint(together, 6, 2, anchor=0).ratings[5].value
        again = joint(votes(0, 1.0, 20_000, 6), 6, 1, anchor=0).ratings[5].value
        gaps.append(abs(equated - again))
    assert np.mean(np.array(gaps) <= 15) >= 0.9
