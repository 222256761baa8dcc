"""Arena battles and FastChat's MT-Bench folder: every round, person and picture is read."""

from __future__ import annotations

import base64
import csv
import json
from collections import Counter

import pytest

from tests.files.test_exchange import keep, put, taken
from tests.support.data_builders import png


def rounds(*texts: str) -> list[dict[str, str]]:
    """A conversation in which user and model take turns."""
    return [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]


def battle(name: str, one: list, other: list, winner: str = "model_a", **rest: object) -> dict:
    return {"question_id": name, "model_a": "甲", "model_b": "b", "winner": winner, "conversation_a": one,
            "conversation_b": other, **rest}  # fmt: skip


def test_each_side_keeps_all_of_its_rounds(cli, tmp_path):
    rows = [
        battle("went apart", rounds("问1", "a1", "问2", "a2"), rounds("问1", "b1", "问2", "b2"), judge="u1", turn=2),
        battle("one context", rounds("q1", "same", "q2", "a2"), rounds("q1", "same", "q2", "b2"), "tie", judge="u2"),
        battle("one round", rounds("q", "a"), rounds("q", "b"), "model_b", judge=None, user_id="u3"),
        battle("nobody", rounds("q", "a"), rounds("q", "b"), judge=None),
        battle("not the same", rounds("q", "a"), rounds("another", "b"), judge="u1"),
    ]
    path = put(tmp_path / "b.json", rows)
    items, said, ruled = taken(cli, "arena", path)
    assert [turn.text for turn in items["went apart"].turns] == ["问1", "问2"]
    assert said["went apart", "甲", 0].parts == ("a1", "a2")
    assert said["went apart", "b", 0].parts == ("b1", "b2")
    assert [(turn.role, turn.text) for turn in items["one context"].turns] == [
        ("user", "q1"), ("assistant", "same"), ("user", "q2"),
    ]  # fmt: skip
    assert said["one context", "b", 0].text == "b2"
    assert {v.item: v.rater for v in ruled} == {
        "went apart": "u1",
        "one context": "u2",
        "one round": "u3",
        "nobody": "0",
    }
    assert "not the same" not in items
    keep(tmp_path / "b.ledger", items, said, ruled)
    code, _, err = cli("export", "arena", "--ledger", "b.ledger", "--out", "again.json")
    assert code == 0, err
    again = {row["question_id"]: row for row in json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))}
    for row in rows[:4]:
        for name in ("conversation_a", "conversation_b", "winner"):
            assert again[row["question_id"]][name] == row[name]


def test_other_shapes_of_battles(cli, tmp_path):
    """Rounds as JSON in a cell, a column for each outcome; typed parts and sessions; nested rounds and pictures."""
    kaggle = {"id": 7, "model_a": "x", "model_b": "y", "prompt": '["一", "二"]', "response_a": '["x1", null]',
              "response_b": '["y1", "y2"]', "winner_model_a": 0, "winner_model_b": 1, "winner_tie": 0}  # fmt: skip
    words = [[{"type": "text", "text": text, "image": None}] for text in ("How?", "So.", "Thus.")]
    typed = {"id": "t", "model_a": "x", "model_b": "y", "winner": "both_bad", "evaluation_session_id": "s9",
             "conversation_a": [{"role": "user", "content": words[0]}, {"role": "assistant", "content": words[1]}],
             "conversation_b": [{"role": "user", "content": words[0]}, {"role": "assistant", "content": words[2]}],
             }  # fmt: skip
    uris = [f"data:image/png;base64,{base64.b64encode(png(colour)).decode()}" for colour in ((1, 2, 3), (4, 5, 6))]
    nested = battle("n", [rounds("看?", "a")], [rounds("看?", "b")], images=uris)
    items, said, ruled = taken(cli, "arena", put(tmp_path / "s.jsonl", [kaggle, typed, nested]))
    assert [turn.text for turn in items["7"].turns] == ["一", "二"]
    assert (said["7", "x", 0].parts, said["7", "y", 0].parts) == (("x1", ""), ("y1", "y2"))
    assert {v.item: (v.marks, v.rater) for v in ruled} == {
        "7": ((0, 1), "0"), "t": ((0.5, 0.5), "s9"), "n": ((1, 0), "0"),
    }  # fmt: skip
    assert (items["t"].question, said["t", "y", 0].text) == ("How?", "Thus.")
    assert [picture.data() for picture in items["n"].pictures] == [png((1, 2, 3)), png((4, 5, 6))]
    keep(tmp_path / "s.ledger", items, said, ruled)
    assert cli("export", "wildvision", "--ledger", "s.ledger", "--out", "x.json")[0] == 2, "arena is its name"
    code, _, err = cli("export", "arena", "--ledger", "s.ledger", "--out", "again.json")
    assert code == 0, err
    again, _, _ = taken(cli, "wildvision", tmp_path / "again.json")
    assert {name: item.key for name, item in again.items()} == {name: item.key for name, item in items.items()}


def test_votes_on_an_earlier_round_are_apart(cli, tmp_path):
    """As MT-Bench releases people's judgments: both rounds are there, and `turn` says which was judged."""
    talks = rounds("q1", "a1", "q2", "a2"), rounds("q1", "b1", "q2", "b2")
    rows = [battle("81", *talks, winner, judge=f"expert_{n}", turn=turn)
            for turn, winner in ((1, "model_a"), (2, "model_b")) for n in range(3)]  # fmt: skip
    items, said, ruled = taken(cli, "arena", put(tmp_path / "h.jsonl", rows))
    assert (list(items), len(said), {v.trial for v in ruled}) == (["81"], 2, {0})
    assert Counter((v.criterion, v.marks) for v in ruled) == {("turn 1", (1, 0)): 3, ("overall", (0, 1)): 3}


@pytest.fixture
def bench(tmp_path):
    """A folder as FastChat leaves it: two models with two answers each, a reference, two judges."""
    folder = tmp_path / "mt"
    questions = [{"question_id": n, "category": "math", "turns": [f"{n}一", f"{n}二"]} for n in (81, 82)]
    questions[1]["reference"] = ["own 1", "own 2"]
    put(folder / "question.jsonl", questions)
    for model in ("m1", "m2", "gpt-4"):
        choices = [{"index": n, "turns": [f"{model} {n} first", f"{model} {n} second"]} for n in (0, 1)]
        rows = [{"question_id": n, "answer_id": "x", "model_id": model, "choices": choices} for n in (81, 82, 99)]
        put(folder / "model_answer" / f"{model}.jsonl", rows)
    right = {"question_id": 81, "model_id": "gpt-4", "choices": [{"index": 0, "turns": ["right 1", "right 2"]}]}
    put(folder / "reference_answer" / "gpt-4.jsonl", [right])
    single = [
        {"question_id": n, "model": model, "judge": [judge, "single-math-v1"], "judgment": f"[[{mark}]]", "score": mark,
         "turn": turn, "tstamp": 1.0}
        for n in (81, 82) for model, mark in (("m1", 8), ("m2", 3.5))
        for judge in ("gpt-4", "claude") for turn in (1, 2)
    ]  # fmt: skip
    put(folder / "model_judgment" / "gpt-4_single.jsonl", single)
    return folder


def test_references_of_mt_bench_are_no_contestants_and_each_answer_is_kept(cli, bench):
    items, said, ruled = taken(cli, "mt_bench", bench)
    assert {name: item.reference for name, item in items.items()} == {
        "81": "[turn 1] right 1\n[turn 2] right 2", "82": "[turn 1] own 1\n[turn 2] own 2",
    }  # fmt: skip
    assert Counter((item, who) for item, who, _ in said) == {
        (name, who): 2 for name in ("81", "82") for who in ("m1", "m2", "gpt-4")
    }
    assert said["81", "gpt-4", 0].parts == ("gpt-4 0 first", "gpt-4 0 second")
    assert Counter((v.judge, v.criterion, v.contestants[0], v.marks[0]) for v in ruled) == {
        (judge, f"turn {turn}", who, mark): 2
        for judge in ("gpt-4", "claude") for turn in (1, 2) for who, mark in (("m1", 8), ("m2", 3.5))
    }  # fmt: skip
    code, out, err = cli("import", "mt_bench", bench, "--out", "again")
    assert (code, "questions that are not here   3" in out + err) == (0, True), out + err


@pytest.mark.parametrize("written", [json.dumps, repr])
def test_conversations_as_text_in_a_table(cli, tmp_path, written):
    """A table of an arena has conversations as JSON, or as pandas writes lists."""
    rows = [battle(f"b{n}", rounds("How's it?", f"a{n}"), rounds("How's it?", f"b{n}")) for n in range(2)]
    for row in rows:
        for side in ("conversation_a", "conversation_b"):
            row[side] = written(row[side])
    with (tmp_path / "arena.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    items, said, ruled = taken(cli, "arena", tmp_path / "arena.csv")
    assert {item.question for item in items.values()} == {"How's it?"}
    assert {answer.text for answer in said.values()} == {"a0", "b0", "a1", "b1"}
    assert [verdict.marks for verdict in ruled] == [(1, 0)] * 2
