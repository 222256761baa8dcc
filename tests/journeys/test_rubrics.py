"""Rubrics from a study's file to every door: in one call and in one each, of the study and of each item, beside a plain
computation from what the server said."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from statistics import fmean

import pytest
from typer.testing import CliRunner

from fullbench.cli.app import app
from fullbench.errors import InputError
from tests.scripted_server import ScriptedServer

NAMES = ("alpha", "beta", "伽马")
CRITERIA = {"颜色": (2.0, "likert:no|yes"), "count": (1.0, "score:1-5"), "style": (0.5, "real:0-1")}
WORDS = {"颜色": "颜色说对了。", "count": "The number of things is right.", "style": "It reads well."}
RUBRIC = """
[[criteria]]
name = "颜色"
asks = "颜色说对了。"
weight = 2
[[criteria]]
name = "count"
asks = "The number of things is right."
ballot = "score:1-5"
[[criteria]]
name = "style"
asks = "It reads well."
weight = 0.5
ballot = "real:0-1"
"""
STUDY = """
name = "rubrics"
items = "items.jsonl"
responses = "answers.jsonl"
judges = ["rubric:quality"]
ledger = "study.ledger"

[rubrics.quality]
judge = "vllm:filler@{url}"
file = "rubric.toml"
calls = "{calls}"
"""


def write(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def cli(*words):
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def drawn(answer, words, values):
    """What the server says of an answer by a criterion, in its words: always the same."""
    return values[int(hashlib.sha256(f"{answer}|{words}".encode()).hexdigest(), 16) % len(values)]


VALUES = {"颜色": ["no", "yes"], "count": ["1", "2", "3", "4", "5"], "style": ["0", "0.25", "0.5", "1"]}
BY_WORDS = {words: VALUES[name] for name, words in WORDS.items()}


def filler(asked):
    """Fills in a sheet line by line, or rules by the one criterion that it is asked about."""
    answer = re.search(r"answer-\d+-\S+", asked.words)[0]
    points = re.findall(r"^POINT (\w{4}) \(.*?\): (.+)$", asked.words, re.MULTILINE)
    if points:
        values = [(code, drawn(answer, words, BY_WORDS.get(words, ["no", "yes"]))) for code, words in points]
        return "Looking at each.\n" + "\n".join(f"POINT {code}: {value}" for code, value in values)
    (words,) = re.findall(r"Judge this alone: (.+)\.\n", asked.words)
    nonce = re.search(r"\b[a-z]{8}\b(?=[^\n]*$)", asked.last)
    return f"[[{drawn(answer, words, BY_WORDS[words])}]]" + (f" {nonce[0]}" if nonce else "")


def lay_out(folder, url, calls="one", items=8, samples=2):
    rows = [{"id": f"题{number}", "question": "What is there?"} for number in range(items)]
    answers = [
        {"item": row["id"], "contestant": name, "sample": sample, "text": f"answer-{number}-{name}-{sample}"}
        for number, row in enumerate(rows) for name in NAMES for sample in range(samples)
    ]  # fmt: skip
    write(folder / "items.jsonl", rows)
    write(folder / "answers.jsonl", answers)
    (folder / "rubric.toml").write_text(RUBRIC, encoding="utf-8")
    (folder / "study.toml").write_text(STUDY.format(url=url, calls=calls), encoding="utf-8")
    return folder / "study.toml", answers


def exported(folder):
    cli(
        "ledger", "export", "--ledger", folder / "study.ledger", "--what", "verdicts", "--to", folder / "verdicts.jsonl"
    )
    return [json.loads(line) for line in (folder / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()]


def own_shares(answers):
    """Each contestant's mean by each criterion, and its weighted total, from the server's words alone."""
    marks = defaultdict(lambda: defaultdict(list))
    for answer in answers:
        total = 0.0
        for name, (weight, _) in CRITERIA.items():
            value = drawn(answer["text"], WORDS[name], VALUES[name])
            mark = {"no": 1.0, "yes": 2.0}[value] if name == "颜色" else float(value)
            low, high = {"颜色": (1, 2), "count": (1, 5), "style": (0, 1)}[name]
            marks[name][answer["contestant"]].append(mark)
            total += weight * (mark - low) / (high - low)
        marks["rubric:quality"][answer["contestant"]].append(total / sum(weight for weight, _ in CRITERIA.values()))
    return {name: {who: round(fmean(each), 9) for who, each in by.items()} for name, by in marks.items()}


def means(tables, judge, criterion, ballot):
    (board,) = [
        table for table in tables
        if table["name"].startswith("leaderboard") and table["source"].get("criterion") == criterion
        and (table["source"].get("judge") == judge or (judge is None and "rubric:" not in table["source"]["judge"]))
    ]  # fmt: skip
    who, where = board["columns"].index("contestant"), board["columns"].index(f"mean {ballot}")
    return {row[who]: round(row[where]["value"], 9) for row in board["rows"]}


@pytest.mark.parametrize("calls", ["one", "each"])
def test_a_rubric_is_filled_in_by_criterion_and_its_total_is_a_judge_of_its_own(tmp_path, calls):
    with ScriptedServer({"filler": filler}) as server:
        study, answers = lay_out(tmp_path, server.url, calls)
        ran = json.loads(cli("run", study, "--json", "--quiet"))
        asked = len(server.asked)
        assert asked == len(answers) * (1 if calls == "one" else len(CRITERIA))
        assert json.loads(cli("run", study, "--json", "--quiet")) == ran
        assert len(server.asked) == asked, "what is known is not asked again"
    stored = exported(tmp_path)
    assert len(stored) == len(answers) * len(CRITERIA)
    assert {verdict["criterion"] for verdict in stored} == set(CRITERIA), "no total is stored"
    assert sum(verdict["calls"] for verdict in stored) == asked, "a call is on the bill once"
    wanted = own_shares(answers)
    report = json.loads(cli("report", "--ledger", tmp_path / "study.ledger", "--json"))
    for door in (ran, report):
        for name, (_, ballot) in CRITERIA.items():
            assert means(door, None, name, ballot) == wanted[name]
        assert means(door, "rubric:quality", "overall", "real:0-1") == wanted["rubric:quality"]
    card = json.loads(cli("card", "rubric:quality", "--ledger", tmp_path / "study.ledger", "--json"))["tables"]
    assert means(card, "rubric:quality", "overall", "real:0-1") == wanted["rubric:quality"]
    replayed = CliRunner().invoke(app, ["replay", str(study), "--json"], catch_exceptions=False)
    assert json.loads(replayed.stdout) == ran
    assert "missing" not in replayed.output
    again = cli("ledger", "reread", "--ledger", tmp_path / "study.ledger", "--dry-run")
    assert "->" not in again, "every reply is read as before"


def test_items_bring_rubrics_of_their_own_and_a_line_that_is_missing_leaves_that_criterion_open(tmp_path):
    def forgetful(asked):
        lines = filler(asked).splitlines()
        return "\n".join(line for line in lines if "POINT" not in line or "answer-1-beta" not in asked.words) or "?"

    with ScriptedServer({"filler": forgetful}) as server:
        study, answers = lay_out(tmp_path, server.url, samples=1)
        rows = [
            {"id": f"题{number}", "question": "What is there?",
             "rubric": [f"It names thing {number}.", {"asks": "It names 颜色.", "weight": 3}]}
            for number in range(8)
        ]  # fmt: skip
        write(tmp_path / "items.jsonl", rows)
        study.write_text(study.read_text(encoding="utf-8").replace('file = "rubric.toml"\n', ""), encoding="utf-8")
        ran = json.loads(cli("run", study, "--json", "--quiet"))
    wanted = defaultdict(list)
    for answer in answers:
        number = answer["item"].removeprefix("题")
        yes = [drawn(answer["text"], words, ["no", "yes"]) == "yes"
               for words in (f"It names thing {number}.", "It names 颜色.")]  # fmt: skip
        if "answer-1-beta" not in answer["text"]:
            wanted[answer["contestant"]].append((yes[0] + 3 * yes[1]) / 4)
    assert means(ran, "rubric:quality", "overall", "real:0-1") == {
        name: round(fmean(totals), 9) for name, totals in wanted.items()
    }
    (reasons,) = [table for table in ran if table["name"] == "reasons"]
    assert ["rubric:quality", "0 of 2 criteria have a mark"] in [row[:2] for row in reasons["rows"]]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("weight = 2", "weight = 0", "must be above 0"),
        ("weight = 2", 'weight = "two"', "the weight of a criterion is a number"),
        ('"score:1-5"', '"choice"', "is marked on a scale for each response alone"),
        ('name = "count"', 'name = "颜色"', "names the criterion '颜色' twice"),
        ('asks = "It reads well."', 'ask = "It reads well."', "a criterion has name, asks, weight, ballot; found 'ask'"),
        ("[[criteria]]", "[[criterion]]", "unknown key 'criterion' in a rubric"),
    ],
)
def test_a_rubric_that_cannot_be_is_refused_in_one_sentence(tmp_path, old, new, said):
    study, _ = lay_out(tmp_path, "http://127.0.0.1:9/v1")
    (tmp_path / "rubric.toml").write_text(RUBRIC.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as told:
        cli("run", study)
    assert said in str(told.value)
    assert "rubric.toml" in str(told.value)
    assert not (tmp_path / "study.ledger").exists()
