"""Leaderboards, peer reviews and reranking as kinds of studies: planned, run, killed, resumed, replayed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from fullbench import InputError, Ledger
from fullbench.studies.study_file import Study
from tests.support.commands import invoke as cli
from tests.support.commands import write_rows as write
from tests.support.data_builders import png
from tests.support.fake_chat_server import FakeServer
from tests.support.forked_command import ForkedCommand
from tests.support.wait_until import LONG, until

KINDS = ("rerank", "leaderboard", "peer-review")
RERANK = """
kind = "rerank"
items = "items.jsonl"
responses = "answers.jsonl"
judges = ["{judge}"]
ballots = ["real:0-10"]

[rerank]
keep = 2
out = "best.jsonl"
"""
LEADERBOARD = """
kind = "leaderboard"
benchmark = "visitbench"
judges = ["{judge}"]

[leaderboard]
newcomer = "新手"
predictions = "predictions.jsonl"
responses = ["others.jsonl"]
opponents = 2
by = "family"
"""
PEERS = """
kind = "peer-review"
contestants = ["{one}", "{two}", "{three}"]

[peer-review]
images = "pictures"
mode = "direct"
both_orders = true
"""


def write_study_of_kind(folder: Path, kind: str, judge: str = "length", peers: tuple[str, ...] = ()) -> Path:
    from fullbench.studies import judge_contestant_and_benchmark_specs

    write(folder / "items.jsonl", [{"id": f"题{n}", "question": f"What is #{n}?"} for n in range(8)])
    write(folder / "answers.jsonl", [
        {"item": f"题{n}", "contestant": name, "sample": sample, "text": "word " * (1 + (7 * n + 3 * sample + at) % 9)}
        for n in range(8) for at, name in enumerate(("甲", "b")) for sample in range(2)
    ])  # fmt: skip
    items = list(judge_contestant_and_benchmark_specs.benchmark_from_name("visitbench").items(None))
    for name, who in (("predictions", "新手"), ("others", "old")):
        texts = [f"{who} says {n} " + "word " * (1 + (n * len(who)) % 7) for n in range(len(items))]
        rows = [{"item": i.id, "contestant": who, "text": text} for i, text in zip(items, texts, strict=True)]
        write(folder / f"{name}.jsonl", rows)
    (folder / "pictures").mkdir()
    for n in range(2):
        (folder / "pictures" / f"p{n}.png").write_bytes(png((40 * n, 90, 120)))
    one, two, three = peers or ("offline:echo", "offline:first", "offline:last")
    text = {"rerank": RERANK, "leaderboard": LEADERBOARD, "peer-review": PEERS}[kind]
    head, _, options = text.format(judge=judge, one=one, two=two, three=three).partition("\n[")
    common = f'name = "一项"\nledger = "study.ledger"\ntables = "tables.json"\nseed = 3\n{head}\n[{options}'
    (folder / "study.toml").write_text(common, encoding="utf-8")
    return folder / "study.toml"


@pytest.mark.parametrize("kind", ["rerank", "leaderboard"])
def test_a_kind_is_planned_run_and_replayed(tmp_path, kind):
    study = write_study_of_kind(tmp_path, kind)
    (plan,) = json.loads(cli("plan", study, "--json").stdout)
    asked = [row[plan["columns"].index("due")] for row in plan["rows"]]
    ran = json.loads(cli("run", study, "--json", "--quiet").stdout)
    with Ledger(tmp_path / "study.ledger", read_only=True) as ledger:
        assert sum(asked) == len(list(ledger.verdicts()))
        assert ledger.studies() == ["一项"]
    (plan,) = json.loads(cli("plan", study, "--json").stdout)
    assert [row[plan["columns"].index("due")] for row in plan["rows"]] == [0] * len(plan["rows"])
    replayed = cli("replay", study, "--json")
    assert json.loads(replayed.stdout) == [table for table in ran if table["name"] != "schedule"]
    assert "missing" not in replayed.output
    assert "identical to what the ledger" in cli("replay", study, "--check").output


def test_reranking_puts_the_best_of_each_item_first_as_the_command_does(tmp_path):
    study = write_study_of_kind(tmp_path, "rerank")
    (table,) = json.loads(cli("run", study, "--json", "--quiet").stdout)
    best = [json.loads(line) for line in (tmp_path / "best.jsonl").read_text(encoding="utf-8").splitlines()]
    cli(
        "rerank", "--items", tmp_path / "items.jsonl", "--responses", tmp_path / "answers.jsonl", "--judge", "length",
        "--keep", 2, "--out", tmp_path / "command.jsonl", "--ledger", tmp_path / "other.ledger",
    )  # fmt: skip
    assert (tmp_path / "command.jsonl").read_bytes() == (tmp_path / "best.jsonl").read_bytes()
    answers = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text(encoding="utf-8").splitlines()]
    for n in range(8):
        longest = max(len(row["text"].split()) for row in answers if row["item"] == f"题{n}")
        own = [row for row in best if row["item"] == f"题{n}"]
        assert len(own) == 2
        assert len(own[0]["text"].split()) == longest
    assert table["columns"] == ["item", "rank", "contestant", "sample", "worth", "marks given"]
    assert {row[0] for row in table["rows"]} == {f"题{n}" for n in range(8)}


def test_a_leaderboard_study_says_what_the_command_says(tmp_path):
    study = write_study_of_kind(tmp_path, "leaderboard")
    ran = json.loads(cli("run", study, "--json", "--quiet").stdout)
    told = json.loads(cli(
        "leaderboard", "add", "新手", "--predictions", tmp_path / "predictions.jsonl", "--responses",
        tmp_path / "others.jsonl", "--judge", "length", "--opponents", 2, "--by", "family", "--seed", 3,
        "--ledger", tmp_path / "other.ledger", "--json", "--quiet",
    ).stdout)  # fmt: skip
    assert {table["name"]: table["rows"] for table in ran} == {table["name"]: table["rows"] for table in told}
    assert any(table["name"].startswith("board") for table in ran)


def start(folder: Path, *words: object) -> ForkedCommand:
    env = {**os.environ, "OPENAI_API_KEY": "sk-not-a-key"}
    return ForkedCommand([str(word) for word in words], folder=folder, environment=env)


def held(folder: Path) -> int:
    """How many answers and verdicts the ledger holds."""
    if not (folder / "study.ledger").exists():
        return 0
    with Ledger(folder / "study.ledger", read_only=True) as ledger:
        return len(list(ledger.verdicts())) + len([one for one in ledger.responses() if one.contestant.startswith("m")])


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_that_was_killed_goes_on_and_asks_nothing_twice(tmp_path, kind, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key")
    with FakeServer(says="{prompt} [[A]]" if kind != "rerank" else "[[4]]", answers=9) as server:
        options = "mode=direct&concurrency=2&price_in=1&price_out=2"
        judge = f"openai:judge@{server.url}?{options}"
        peers = tuple(f"openai:m{n}@{server.url}?concurrency=2&label=m{n}&price_in=1&price_out=2" for n in (1, 2, 3))
        study = write_study_of_kind(tmp_path, kind, judge, peers)
        (plan,) = json.loads(cli("plan", study.name, "--json").stdout)
        whole = dict(zip(plan["columns"], plan["rows"][-1], strict=True))
        assert whole["calls"] > 9
        assert whole["dollars"] > 0
        process = start(tmp_path, "run", study.name, "--quiet")
        until(lambda: held(tmp_path) >= 4)
        process.kill()
        process.communicate(timeout=LONG)
        before = held(tmp_path)
        server.more()
        ran = json.loads(cli("run", study.name, "--json", "--quiet").stdout)
        after = held(tmp_path)
        assert 4 <= before < after
        answered = sum(server.books()["answered"].values())
        assert answered <= after + 9 - before + 4  # what was in flight when it was killed may be asked again
        assert whole["calls"] == after
        cli("run", study.name, "--json", "--quiet")
        assert sum(server.books()["answered"].values()) == answered
    own = {"schedule", "cost a picture"}
    assert json.loads(cli("replay", study.name, "--json").stdout) == [
        table for table in ran if table["name"] not in own
    ]


@pytest.mark.parametrize(
    ("kind", "old", "new", "said"),
    [
        ("rerank", "keep = 2", "keep = 0", "keep is 1 or more; found 0"),
        ("rerank", "keep = 2", 'keep = "2"', "keep is a whole number"),
        ("rerank", 'out = "best.jsonl"', "", "out under [rerank]"),
        ("rerank", "[rerank]", "[leaderboard]", "unknown key 'leaderboard'"),
        ("rerank", 'judges = ["length"]', 'judges = ["length", "chance"]', "has one judge"),
        ("leaderboard", 'newcomer = "新手"', "", "a newcomer"),
        ("leaderboard", "opponents = 2", "opponent = 2", "unknown key 'opponent'"),
        ("peer-review", 'kind = "peer-review"', 'kind = "peers"', "unknown kind 'peers'"),
    ],
)
def test_a_study_of_a_kind_that_lacks_something_is_refused(tmp_path, kind, old, new, said):
    study = write_study_of_kind(tmp_path, kind)
    text = study.read_text(encoding="utf-8")
    assert old in text
    study.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as told:
        Study.read(study)
    assert said in str(told.value)


def test_a_kind_is_not_sent_in_batches(tmp_path):
    study = write_study_of_kind(tmp_path, "rerank")
    with pytest.raises(InputError, match="step by step"):
        cli("batch", "write", study)
