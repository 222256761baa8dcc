"""The light critic: a real one, on real scores of people where they are at hand."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fullbench import Case, Choice, Item, Real, Response, Score
from fullbench.cli.all_commands import app
from fullbench.errors import InputError
from fullbench.files.row_writers import write_rows
from fullbench.studies.judge_contestant_and_benchmark_specs import judge_from_spec as judge_of
from fullbench.studies.run.progress_display import LineWatch
from fullbench.training.critic import light_critic
from fullbench.training.critic.critic_metadata import Critic
from fullbench.training.critic.data.prompt_settings import PromptSettings
from fullbench.training.critic.data.scored_answers import ScoredAnswer
from fullbench.training.critic.light_critic import answer_measures
from tests.training.critic.making import files, options

DATA = Path(__file__).parents[3] / ".." / "shared" / "data" / "mllm-as-a-judge"
PLAIN = ["--prompt-style", "plain", "--language", "en", "--ballot", "score:1-5"]
COLOURS = {"red": 5, "blue": 1}


def run(*words: object) -> str:
    done = CliRunner().invoke(app, ["critic", *map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("light")
    made = files(folder)
    found = run("train", "--kind", "light", *PLAIN, *options(made), "--share", 0.25, "--out", folder / "c", "--json")
    return folder, made, json.loads(found)


def test_it_learns_what_the_words_say_and_is_tried_on_items_it_never_saw(small):
    _, _, tables = small
    errors = next(table for table in tables if table["name"] == "errors")
    judge, e, mean, difference = errors["rows"][-1]
    assert "+light2#" in judge
    assert e["value"] == 0.0
    assert mean["value"] == pytest.approx(2.0)
    assert difference["value"] == pytest.approx(-2.0)
    assert difference["why"], "every item differs by the same, so that no interval can be given"
    assert e["n"] == 12


def test_no_item_is_on_both_sides(small):
    folder, _, _ = small
    rows = [json.loads(line) for line in (folder / "c" / "run" / "split.jsonl").read_text().splitlines()]
    learned = {row["item"] for row in rows if row["split"] == "train"}
    held = {row["item"] for row in rows if row["split"] == "internal"}
    assert len(rows) == 48
    assert held
    assert not learned & held


def test_the_folder_is_a_judge_of_scores_pairs_and_real_numbers(small):
    folder, _, _ = small
    judge = judge_of(f"trained:{folder / 'c'}")
    item = Item.ask("new", "图片 99: what colour is square 99?", reference="红 red")
    good, bad = Response.say("new", "x", "good right answer 99"), Response.say("new", "y", "bad wrong 坏 99")
    ballots = [Case(item, (good,), Score(1, 5)), Case(item, (bad, good), Choice()), Case(item, (bad,), Real(1, 5))]
    score, pair, real = (verdict.marks for verdict in judge.judge(ballots))
    assert score == (5.0,)
    assert pair == (0.0, 1.0)
    assert 1 <= real[0] < 2
    assert judge_of(f"trained:{folder / 'c'}").name == judge.name


def test_eval_gives_the_figures_that_train_gave_and_leaves_out_what_was_learned(small, monkeypatch):
    folder, made, before = small
    monkeypatch.setattr(LineWatch.__init__, "__defaults__", (0.0,))  # a line for each answer, not every five seconds
    monkeypatch.setattr("fullbench.studies.run.progress_display._MIN_RATE_SECONDS", 1e-9)
    done = CliRunner().invoke(app, ["critic", "eval", str(folder / "c"), *options(made), "--json"])
    after = json.loads(done.stdout)
    said = [line for line in done.stderr.splitlines() if line.startswith("trying: ")]
    assert [line.split(",")[0] for line in said] == [f"trying: {n} of 24" for n in range(1, 25)], (
        "two judges, 12 answers"
    )
    assert all(re.search(r"/s, 0 unusable, 0 failed, .* left$", line) for line in said[1:-1])
    assert said[-1].endswith("0 failed, $0.00"), "nothing is left"
    assert (
        "trying" not in CliRunner().invoke(app, ["critic", "eval", str(folder / "c"), *options(made), "--quiet"]).stderr
    )
    pick = {table["name"]: table["rows"] for table in before}
    assert {table["name"]: table["rows"] for table in after} == pick
    assert pick["errors"][-1][1]["n"] == 12


def test_training_again_changes_nothing_and_another_run_does_not_take_its_folder(small):
    folder, made, _ = small
    file = folder / "c" / "model" / "weights.npz"
    written = file.stat().st_mtime_ns
    same = ["train", "--kind", "light", *PLAIN, *options(made), "--share", "0.25", "--out", str(folder / "c")]
    run(*same, "--no-eval")
    assert file.stat().st_mtime_ns == written
    with pytest.raises(InputError, match=r"this folder has another run .* differ"):
        run(*same, "--seed", 7)


def cases(colours: list[str]) -> list[ScoredAnswer]:
    made = []
    for number, colour in enumerate(colours):
        item = Item.ask(f"i{number}", "Which colour?")
        case = Case(item, (Response.say(item.id, "c", f"it is {colour} {number % 3}"),), Score(1, 5))
        made.append(ScoredAnswer(case, float(COLOURS[colour]), "", "train"))
    return made


def test_the_weights_are_those_of_scikit_learns_ridge():
    from sklearn.linear_model import Ridge

    scored = cases(["red", "blue", "red", "blue", "blue"] * 6)
    rows = light_critic.feature_matrix([one.case for one in scored])
    marks = np.array([one.mark for one in scored])
    ours = light_critic.ridge_weights(rows, marks - marks.mean(), 2.0)
    theirs = Ridge(alpha=2.0, fit_intercept=False, solver="lsqr", tol=1e-10).fit(rows, marks - marks.mean()).coef_
    assert ours == pytest.approx(theirs, abs=1e-4)
    assert np.abs(ours).max() > 0.1


def test_names_follow_the_weights():
    critic = Critic("light", PromptSettings("plain", "score:1-5", "en"), 1, 1, 3.0, 1.0)
    one, two = np.zeros(light_critic.SIZE + light_critic.BENDS), np.zeros(light_critic.SIZE + light_critic.BENDS)
    two[5] = 1e-9
    bending = light_critic.RandomFeatureMap.from_measures(np.zeros((2, 1)), 0)
    assert (
        light_critic.LightJudge("c", critic, one, bending).name
        != light_critic.LightJudge("c", critic, two, bending).name
    )


EN = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
THINGS = [("cats", "只猫"), ("cars", "辆车"), ("trees", "棵树"), ("boats", "条船")]


def told(number: int) -> tuple[str, str, str, str]:
    """A question, its reference, a right answer in other words and a wrong one: counts, and yes or no."""
    rng = random.Random(number)
    count = rng.randrange(9)
    other = (count + rng.randrange(1, 9)) % 9
    english, chinese = rng.choice(THINGS)
    there, gone = ("Yes, there are.", "No, there is nothing of the kind."), ("有的。", "没有。")
    match number % 4:
        case 0:
            return (
                f"How many {english}?",
                f"There are {EN[count]} {english}.",
                f"I see {count + 1}.",
                f"I see {other + 1}.",
            )
        case 1:
            signs = "一二三四五六七八九"
            return f"有几{chinese}？", f"一共{signs[count]}{chinese}。", f"我数到{count + 1}。", f"我数到{other + 1}。"
        case 2:
            right, wrong = there if count % 2 else there[::-1]
            sure = f"{english} can be seen" if count % 2 else f"{english} cannot be seen"
            return f"Are there any {english}?", sure, right, wrong
        case _:
            right, wrong = gone if count % 2 else gone[::-1]
            return f"图里有{chinese[1:]}吗？", f"{'看得到' if count % 2 else '看不到'}{chinese[1:]}", right, wrong


def test_numbers_and_negation_are_compared_with_the_reference(tmp_path):
    """Which of two answers is right on items that it never saw: words alone cannot tell 三 from 4."""
    rows = [(f"i{number}", *told(number)) for number in range(240)]
    write_rows(tmp_path / "items.jsonl", [{"id": i, "question": q, "reference": r} for i, q, r, _, _ in rows])
    answers = [
        (i, name, text) for i, _, _, *texts in rows for name, text in zip(("right", "wrong"), texts, strict=True)
    ]
    write_rows(tmp_path / "answers.jsonl", [{"item": i, "contestant": n, "text": t} for i, n, t in answers])
    marks = {"right": 5, "wrong": 1}
    write_rows(
        tmp_path / "labels.jsonl",
        [{"item": i, "contestant": n, "score": marks[n], "ballot": "score:1-5"} for i, n, _ in answers],
    )
    names = ("items", "answers", "labels")
    given = [word for name, file in zip(("--items", "--responses", "--labels"), names, strict=True)
             for word in (name, tmp_path / f"{file}.jsonl")]  # fmt: skip
    run(
        "train", "--kind", "light", *PLAIN, "--reference", *given, "--share", 0.25, "--out", tmp_path / "c", "--no-eval"
    )
    split = [json.loads(line) for line in (tmp_path / "c" / "run" / "split.jsonl").read_text().splitlines()]
    held = {row["item"] for row in split if row["split"] == "internal"}
    judge = judge_of(f"trained:{tmp_path / 'c'}")
    hits = []
    for name, question, reference, right, wrong in rows:
        if name in held:
            item = Item.ask(name, question, reference=reference)
            pair = (Response.say(name, "wrong", wrong), Response.say(name, "right", right))
            (verdict,) = judge.judge([Case(item, pair, Choice())])
            hits.append(verdict.marks == (0.0, 1.0))
    assert len(hits) == 60
    assert np.mean(hits) >= 0.95


def test_without_a_reference_none_is_looked_at():
    item = Item.ask("i", "How many cats?", reference="three")
    case = Case(item, (Response.say("i", "c", "I see 3"),), Score(1, 5))
    bare = Case(replace(item, reference=""), case.responses, Score(1, 5))
    assert light_critic.visible_case(case, reference=False) == bare
    assert light_critic.visible_case(case, reference=True) == case
    assert answer_measures(bare) != answer_measures(case)


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="the released scores of MLLM-as-a-Judge are not at hand")
def test_on_the_released_scores_it_beats_the_mean_on_items_it_never_saw(tmp_path):
    found = run(
        "train", "--kind", "light", *PLAIN, "--no-reference", "--criterion", "overall", "--share", 0.2,
        "--benchmark", "mllm-as-a-judge", "--data", DATA, "--out", tmp_path / "c", "--json",
    )  # fmt: skip
    tables = {table["name"]: table for table in json.loads(found)}
    _, e, mean, difference = tables["errors"]["rows"][-1]
    assert e["n"] > 800
    assert e["value"] < 0.95
    assert mean["value"] > 1.0
    assert difference["high"] < -0.1
    r = next(row for row in tables["critics"]["rows"] if "light" in row[0])[3]
    assert r["low"] > 0.25
