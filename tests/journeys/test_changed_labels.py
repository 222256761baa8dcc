"""A label that was changed in its file: every door shows the new one, counts each person once, and says so."""

from __future__ import annotations

import json
from itertools import product

import pytest

import fullbench
from fullbench import Ledger
from fullbench.errors import DataWarning
from tests.support.commands import invoke

RATERS, ITEMS = ("ann", "博"), 6
STUDY = """
name = "标签"
items = "items.jsonl"
responses = "answers.jsonl"
labels = "labels.jsonl"
judges = ["length"]
ballots = ["choice+tie", "score:1-5"]
ledger = "study.ledger"
"""


def rows(marks=(1, 0), score=5):
    said = (("choice+tie", ["alpha", "贝塔"], list(marks)), ("score:1-5", ["alpha"], [score]))
    return [{"item": f"题{number}", "contestants": shown, "marks": given, "ballot": ballot, "rater": rater}
            for (ballot, shown, given), number, rater in product(said, range(ITEMS), RATERS)]  # fmt: skip


def write(path, entries):
    path.write_text("".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries), encoding="utf-8")


@pytest.fixture
def study(tmp_path):
    write(tmp_path / "items.jsonl", [{"id": f"题{n}", "question": f"问 {n}?"} for n in range(ITEMS)])
    answers = [{"item": f"题{n}", "contestant": name, "text": "word " * (n + place)}
               for n in range(ITEMS) for place, name in enumerate(("alpha", "贝塔", "gamma"), 1)]  # fmt: skip
    write(tmp_path / "answers.jsonl", answers)
    write(tmp_path / "labels.jsonl", rows())
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    return tmp_path / "study.toml"


def people(tables):
    """How often people have alpha win over 贝塔, and the mean of their marks for alpha."""
    found = {}
    for table in tables:
        source = table["source"]
        if source.get("judge") == "human" and table["name"].startswith(("leaderboard", "board")):
            column = "matches won" if source["family"] == "pair" else "mean score:1-5"
            shown = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
            found[source["family"]] = next(row[column]["value"] for row in shown if row["contestant"] == "alpha")
    return found


def voted(tables):
    (faults,) = [table for table in tables if table["name"] == "unusable"]
    return sum(row[faults["columns"].index("verdicts")] for row in faults["rows"] if row[0] == "human")


def test_a_changed_label_counts_at_every_door_once_and_is_said(study):
    ledger, labels = study.parent / "study.ledger", study.parent / "labels.jsonl"
    invoke("run", study, "--quiet")
    told = "labels differ from the ledger"
    beside = invoke("report", "--ledger", ledger, "--labels", labels, "--json")
    assert (voted(json.loads(beside.stdout)), told in beside.output) == (len(rows()), False)
    for marks, score in (((0, 1), 2), ((0.5, 0.5), 2), ((1, 0), 4)):
        before = people(json.loads(invoke("report", "--ledger", ledger, "--json").stdout))
        write(labels, rows(marks, score))
        changed = len(rows()) // 2 * ((before["pair"] != marks[0]) + (before["score"] != score))
        beside = invoke("report", "--ledger", ledger, "--labels", labels, "--json")
        ran = invoke("run", study, "--quiet", "--json")
        again = invoke("run", study, "--quiet", "--json")
        for door in (beside, ran):
            assert f"labels.jsonl: {changed} {told}" in door.output
        assert told not in again.output
        report = invoke("report", "--ledger", ledger, "--json")
        for door in (beside, ran, again, report):
            assert people(json.loads(door.stdout)) == {"pair": marks[0], "score": score}
            assert voted(json.loads(door.stdout)) == len(rows())
    with Ledger(ledger, read_only=True) as book:
        kept = list(book.verdicts("human", revisions=True))
    assert len(kept) == len(rows()) + 3 * len(rows()) // 2 + 2 * len(rows()) // 2, "what was said before stays"


def test_revisions_that_a_file_numbers_are_entered_and_older_files_change_nothing(study):
    ledger, labels = study.parent / "study.ledger", study.parent / "labels.jsonl"
    invoke("run", study, "--quiet")
    second = [{**row, "revision": 1} for row in rows((0, 1), 1)]
    third = [{**row, "revision": 2} for row in rows((0, 1), 3)]
    for file, score in (([*rows(), *second], 1), ([*rows(), *second, *third], 3), ([*rows(), *second], 3)):
        write(labels, file)
        assert "labels differ" not in invoke("run", study, "--quiet").output
        assert people(json.loads(invoke("report", "--ledger", ledger, "--json").stdout)) == {"pair": 0, "score": score}


def test_a_label_changed_in_a_notebook_is_warned_of(study, tmp_path):
    items, answers, ledger = study.parent / "items.jsonl", study.parent / "answers.jsonl", tmp_path / "own.ledger"
    pairs = [row for row in rows() if len(row["contestants"]) == 2]
    fullbench.judge(items, answers, ledger, judge="length", ballot="choice+tie", labels=pairs)
    pairs[0] = {**pairs[0], "marks": [0.5, 0.5]}
    with pytest.warns(DataWarning, match="labels: 1 label differs"):
        record = fullbench.judge(items, answers, ledger, judge="length", ballot="choice+tie", labels=pairs)
    own = sorted(verdict.marks for verdict in record.where(judge="human"))
    with Ledger(ledger, read_only=True) as book:
        assert sorted(verdict.marks for verdict in book.verdicts("human")) == own
