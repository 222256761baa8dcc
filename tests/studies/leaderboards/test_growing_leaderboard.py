"""A leaderboard that grows: nothing is asked twice, a budget stops cleanly, and adaptive play needs fewer matches."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from fullbench.analysis.boards.leaderboard import build_boards
from fullbench.analysis.boards.matches_from_verdicts import build_matches
from fullbench.benchmarks.visit_bench.prompt_styles_and_reference_correctness_by_caption import (
    build_judge as visit_judge,
)
from fullbench.core.item import Item
from fullbench.core.model_call import Usage
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.models.local.offline_models_for_tests import OfflineModel
from fullbench.stats.ratings.next_match import Design
from fullbench.studies.engines import Budget, Stop
from fullbench.studies.leaderboards.growing_leaderboard import Board, Newcomer, Pool, uniform_cases
from fullbench.studies.run.run_options import RunOptions


class Noisy:
    """A judge that knows how strong everybody is and errs as a Bradley-Terry model does; each call has a price."""

    name = "noisy"

    def __init__(self, strengths, dollars=0.01):
        self.settings = {"noise": "Bradley-Terry"}
        self.strengths, self.dollars, self.heard = strengths, dollars, 0

    def judge(self, cases):
        for case in cases:
            self.heard += 1
            one, two = case.contestants
            lot = random.Random(f"{case.item.id}{sorted(case.contestants)}").random()
            low = min(one, two)
            gap = self.strengths[max(one, two)] - self.strengths[low]
            winner = low if lot < 1 / (1 + np.exp(gap)) else max(one, two)
            marks = (float(one == winner), float(two == winner))
            yield Verdict.from_case(case, self.name, marks, usage=Usage(calls=1, dollars=self.dollars))


class Tosses(Noisy):
    """One that errs anew in each order."""

    def judge(self, cases):
        for case in cases:
            first = float(random.Random(f"{case.item.id}{case.contestants}").random() < 0.5)
            yield Verdict.from_case(case, self.name, (first, 1 - first), usage=Usage(calls=1, dollars=self.dollars))


STRENGTHS = {"a": -1.5, "b": -0.5, "c": 0.5, "d": 1.5, "new": 0.4, "reference": 2.0}


def pool(names=("a", "b", "c", "d", "new"), items=60):
    asked = [Item.ask(f"i{place:03}", "?", reference="so", tags={"family": f"f{place % 3}"}) for place in range(items)]
    return Pool(asked, [Response.say(item.id, name, f"{name} says") for item in asked for name in names])


def grown(ledger, judge, names="abcd"):
    """The old board: everybody against everybody."""
    there = pool(tuple(names))
    board = Board(there, judge, ledger)
    for name in names:
        board.add(Newcomer(name, opponents=len(names)))
    return board


def test_a_newcomer_plays_and_old_verdicts_are_not_asked_again(tmp_path: Path):
    judge = Noisy(STRENGTHS)
    with Ledger(tmp_path / "l") as ledger:
        grown(ledger, judge)
        before = judge.heard
        assert before == 60 * 6 * 2
        board = Board(pool((*"abcd", "new", "reference")), judge, ledger)
        newcomer = Newcomer("new", reference="reference", reference_matches=25)
        made = board.add(newcomer)
        assert judge.heard - before == (60 + 25) * 2
        assert made.matches == 85
        assert board.add(newcomer).job_counts[0].started_count == 0
        settled = build_matches(board.record(), "noisy")
        assert settled.names == ("a", "b", "c", "d", "new", "reference")


def test_the_same_seed_draws_the_same_opponents_and_another_draws_others():
    there = pool()
    keys = [case.key for case in uniform_cases(there, Newcomer("new"))]
    assert keys == [case.key for case in uniform_cases(there, Newcomer("new"))]
    assert keys != [case.key for case in uniform_cases(there, Newcomer("new", seed=1))]
    assert len(keys) == 2 * 60


def test_a_budget_stops_cleanly_and_what_was_paid_is_kept(tmp_path: Path):
    judge = Noisy(STRENGTHS)
    with Ledger(tmp_path / "l") as ledger:
        board = Board(pool(), judge, ledger)
        made = board.add(Newcomer("new"), budget=Budget(0.50, guess=0.01))
        assert "budget" in made.reason
        assert 40 <= judge.heard <= 51
        kept = judge.heard
        board.add(Newcomer("new"))
        assert judge.heard == 2 * 60
        assert kept < 2 * 60


def test_adaptive_play_stops_when_narrow_and_needs_fewer_matches_than_uniform(tmp_path: Path):
    judge = Noisy({**STRENGTHS, "a": -4.0, "b": -3.5})
    with Ledger(tmp_path / "l") as ledger:
        grown(ledger, judge)
        board = Board(pool(items=60), judge, ledger)
        made = board.add(Newcomer("new"), schedule="adaptive", width=95.0)
        assert made.width <= 95
        assert made.matches < made.uniform_matches
        table = made.table("new")
        assert table.rows[0][4] > 0
        assert "narrow enough" in table.notes[0]
        again = board.add(Newcomer("new"), schedule="adaptive", width=95.0)
        assert again.matches == 0


def test_adaptive_play_ends_when_there_is_nothing_left_or_enough(tmp_path: Path):
    judge = Noisy(STRENGTHS)
    with Ledger(tmp_path / "l") as ledger:
        board = Board(pool(items=10), judge, ledger)
        made = board.add(Newcomer("new"), schedule="adaptive", width=5.0, most=12)
        assert made.reason == "12 matches were played"
        made = board.add(Newcomer("new"), schedule="adaptive", width=5.0)
        assert made.reason == "every pair was played"
        stopped = Stop()
        stopped.pull("interrupted")
        assert board.add(Newcomer("new"), schedule="adaptive", width=1.0, stop=stopped).reason == "interrupted"


def test_a_priced_judge_prefers_the_cheaper_of_two_like_opponents(tmp_path: Path):
    items = [Item.ask(f"i{place}", "?", reference="so") for place in range(12)]
    said = [Response.say(item.id, name, "x " * (9000 if name == "wordy" else 3)) for item in items
            for name in ("new", "short", "wordy")]  # fmt: skip
    model = OfflineModel("m", lambda _: "Overall, Response A is better.", price=(1.0, 1.0))
    with Ledger(tmp_path / "l") as ledger:
        board = Board(Pool(items, said), visit_judge(model, "ref-backed"), ledger)
        board.add(Newcomer("new"), schedule="adaptive", width=10.0, most=4)
        rivals = [name for verdict in board.record() for name in verdict.contestants if name != "new"]
        assert rivals.count("short") > rivals.count("wordy")


@pytest.mark.parametrize(
    ("newcomer", "complaint"),
    [
        (Newcomer("nobody"), "'nobody' has answered none of the 60 items"),
        (Newcomer("new", reference="gold"), "the reference 'gold' has no answers"),
    ],
)
def test_unknown_names_are_refused(newcomer, complaint):
    with pytest.raises(InputError, match=complaint):
        list(uniform_cases(pool(), newcomer))


def test_a_pool_needs_items_one_answer_each_and_an_opponent():
    item = Item.ask("i", "?")
    with pytest.raises(InputError, match="needs items"):
        Pool([], [])
    with pytest.raises(InputError, match="'a' answers item 'i' twice"):
        Pool([item], [Response.say("i", "a", "x"), Response.say("i", "a", "y")])
    with pytest.raises(InputError, match="has no opponents"):
        list(uniform_cases(Pool([item], [Response.say("i", "a", "x")]), Newcomer("a")))


def test_a_gain_is_what_a_match_takes_off_the_variance():
    wins = np.array([[0.0, 8.0, 0.0], [6.0, 0.0, 3.0], [0.0, 2.0, 0.0]])
    design = Design.from_wins(wins)
    after = design.after(0, 2)
    assert design.gain(0, 2) == pytest.approx(np.trace(design.covariance) - np.trace(after.covariance))
    assert design.gain(0, 2, of=1) == pytest.approx(design.covariance[1, 1] - after.covariance[1, 1])
    assert after.width(0) < design.width(0)
    assert design.uniform_needed(0, [], 10.0) is None


def test_one_budget_pays_for_answers_and_verdicts_together(tmp_path: Path, monkeypatch):
    """A server that charges a cent a call: with ten cents, answering eight items leaves two for judging."""
    from fullbench.core.model import Reply
    from fullbench.studies import judge_contestant_and_benchmark_specs
    from fullbench.studies.leaderboards import leaderboard_inputs_from_options, leaderboard_settings_tables_and_page

    class Priced(OfflineModel):
        def answer(self, prompts):
            for prompt in prompts:
                yield Reply(prompt, self.reply(prompt), Usage(calls=1, dollars=0.01), stop="stop")

    def said(prompt):
        asked = " ".join(part for turn in prompt.turns for part in turn.parts if isinstance(part, str))
        return "Overall, Response A is better." if "Response A" in asked else "A kettle on a stove."

    made = Priced("m", said, price=(1.0, 1.0))
    monkeypatch.setattr(judge_contestant_and_benchmark_specs, "model_of", lambda *_: made)
    asked = leaderboard_inputs_from_options.LeaderboardRequest("visitbench", None, (), "offline:m", None, "offline:m")
    with Ledger(tmp_path / "l") as ledger:
        ready = leaderboard_inputs_from_options.prepare_leaderboard(
            asked, ledger, RunOptions(budget=0.10, quiet=True), answer=True
        )
        assert ready.job_counts[0].finished_count == 8
        added = ready.board(ledger, leaderboard_settings_tables_and_page.parse_settings("both-agree", "half", 0)).add(
            ready.newcomer(1, 150, 0), budget=ready.budget
        )
        assert added.job_counts[0].finished_count == 2
        assert "budget" in added.reason
        assert ready.budget.spent_dollars == pytest.approx(0.10)


def test_the_command_adds_a_model_and_shows_the_board(tmp_path: Path, monkeypatch):
    from typer.testing import CliRunner

    from fullbench.benchmarks.visit_bench.items_and_responses_from_release import SAMPLE
    from fullbench.cli.all_commands import app

    monkeypatch.chdir(tmp_path)
    answers = [json.loads(line) for line in (SAMPLE / "responses.jsonl").read_text().splitlines()]
    mine = tmp_path / "mine.jsonl"
    mine.write_text("\n".join(json.dumps({"item": row["item"], "text": row["text"] + " Yes."}) for row in answers[::3]))
    call = ["leaderboard", "add", "mine", "--predictions", str(mine), "--responses", str(SAMPLE / "responses.jsonl"),
            "--judge", "length", "--opponents", "3", "--reference-matches", "4", "--quiet"]  # fmt: skip
    planned = CliRunner().invoke(app, [*call, "--dry-run", "--json"])
    assert planned.exit_code == 0, planned.output
    assert json.loads(planned.stdout)[0]["rows"][0][3] == 2 * (8 * 3 + 4)
    hopeful = ["leaderboard", "add", "offline:echo", *call[5:], "--dry-run", "--json"]
    forecast = json.loads(CliRunner().invoke(app, hopeful).stdout)[0]
    assert [row[3] for row in forecast["rows"]] == [8, 2 * (8 * 3 + 4), 8 + 2 * (8 * 3 + 4)]
    assert "are used for the plan" in forecast["notes"][-1]
    for _ in range(2):
        made = CliRunner().invoke(app, [*call, "--out", "board.json"])
        assert made.exit_code == 0, made.output
    assert "board" in (tmp_path / "board.json").read_text()
    for name in ("board.html", "board.md", "board.csv"):
        shown = CliRunner().invoke(app, ["leaderboard", "show", "--judge", "length", "--out", name])
        assert shown.exit_code == 0, shown.output
        written = [path for path in tmp_path.rglob(f"*{Path(name).suffix}") if "board" in str(path)]
        assert any("mine" in path.read_text() for path in written)
    for wrong in (["--rule", "best"], ["--ties", "none"], ["--schedule", "often"], ["--by", "colour"]):
        refused = CliRunner().invoke(app, [*call, *wrong])
        assert isinstance(refused.exception, InputError), wrong


def test_adaptive_play_does_not_overshoot_with_a_judge_whose_orders_err_apart(tmp_path: Path):
    """Both orders of a pair are independent tosses: their mean knows twice as much as the model of one toss thinks."""
    judge = Tosses(dict.fromkeys((*"abcd", "new"), 0.0))
    with Ledger(tmp_path / "l") as ledger:
        grown(ledger, judge)
        board = Board(pool(items=60), judge, ledger)
        made = board.add(Newcomer("new"), schedule="adaptive", width=55.0)
        (ranked,) = build_boards(board.record())
        shown = ranked.rating_of("new")
        assert made.width == pytest.approx((shown.high - shown.low) / 2)
        # One round of matches at most goes beyond what was asked for.
        assert 55 * 0.75 < made.width <= 55
        assert made.matches < Design.from_wins(np.zeros((5, 5))).uniform_needed(0, [1, 2, 3, 4], 55.0)
