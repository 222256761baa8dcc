"""Whole journeys with several of everything through the command line.

Each ends in a comparison with a computation of its own, in plain Python from the rows that the ledger exports.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from itertools import combinations
from statistics import fmean

import pytest
from typer.testing import CliRunner

from fullbench import Case, Choice, Item, Ledger, Response, Verdict
from fullbench.cli.all_commands import app
from tests.support.commands import read_jsonl as rows
from tests.support.commands import write_rows as write

ITEMS = 12


@pytest.fixture
def cli(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> str:
        done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    return run


def tables(text: str) -> list[dict]:
    found = json.loads(text)
    return found["tables"] if isinstance(found, dict) else found


def leaderboards(text: str, judge: str) -> list[dict]:
    return [table for table in tables(text) if table["name"].startswith("leaderboard") and judge in table["title"]]


def column(table: dict, name: str) -> dict[str, dict]:
    """The cells of a column by contestant."""
    labels = [entry["label"] if isinstance(entry, dict) else entry for entry in table["columns"]]
    who, where = labels.index("contestant"), next(i for i, label in enumerate(labels) if label.startswith(name))
    return {row[who]: row[where] for row in table["rows"]}


@pytest.fixture
def several(tmp_path):
    """Three contestants with three answers each, a reference with one, Chinese among them; words of known numbers."""
    rng = random.Random(5)
    items = [
        {"id": f"q{number}", "question": f"第{number}题：有几条腿？ How many legs?", "reference": "eight legs"}
        for number in range(ITEMS)
    ]
    answers = [
        {"item": item["id"], "contestant": name, "sample": sample, "text": " ".join(["word"] * rng.randint(1, 12))}
        for item in items
        for name in ("alpha", "beta", "伽马")
        for sample in range(3)
    ]
    answers += [{"item": item["id"], "contestant": "human-reference", "text": "four words it is"} for item in items]
    return write(tmp_path / "items.jsonl", items), write(tmp_path / "answers.jsonl", answers), answers


def won(verdicts: list[dict]) -> dict[str, float]:
    """The share of pairs that each contestant won, ties half: the mean over verdicts, as plain as it can be."""
    shares = defaultdict(list)
    for verdict in verdicts:
        if verdict["marks"] is not None and len(verdict["contestants"]) == 2:
            (one, two), (mark, other) = verdict["contestants"], verdict["marks"]
            outcome = 0.5 if mark == other else float(mark > other)
            shares[one].append(outcome)
            shares[two].append(1 - outcome)
    return {name: fmean(values) for name, values in shares.items()}


def test_several_answers_of_several_contestants_by_several_criteria(cli, several, tmp_path):
    items, answers, given = several
    cli(
        "judge", "--items", items, "--responses", answers, "--judge", "length", "--ballot", "choice+tie",
        "--criterion", "accuracy", "--criterion", "brevity", "--quiet",
    )  # fmt: skip
    exported = tmp_path / "verdicts.jsonl"
    cli("ledger", "export", "--what", "verdicts", "--to", exported)
    verdicts = rows(exported)
    names = sorted({row["contestant"] for row in given})
    # Three samples of each pair of the three, the reference against each sample; both orders, two criteria.
    pairs = {tuple(sorted(verdict["contestants"])) for verdict in verdicts}
    assert pairs == set(combinations(names, 2))
    assert len(verdicts) == ITEMS * 6 * 3 * 2 * 2
    for verdict in verdicts:
        samples = verdict["samples"] or [0, 0]
        assert "human-reference" in verdict["contestants"] or samples[0] == samples[1]
    boards = leaderboards(cli("report", "--json"), "length")
    assert len(boards) == 2
    for criterion in ("accuracy", "brevity"):
        (board,) = [board for board in boards if criterion in board["title"]]
        expected = won([verdict for verdict in verdicts if verdict["criterion"] == criterion])
        shown = column(board, "won") if any(str(c) == "won" for c in board["columns"]) else column(board, "matches won")
        assert {name: round(cell["value"], 9) for name, cell in shown.items()} == {
            name: round(value, 9) for name, value in expected.items()
        }


def test_verdicts_in_which_a_contestant_met_itself_are_set_aside_and_counted(cli, tmp_path):
    with Ledger(tmp_path / "fullbench.ledger") as ledger:
        for number in range(8):
            item = Item.ask(f"q{number}", "?")
            echo = [Response.say(item.id, "echo", f"{word} {number}", sample=place) for place, word in enumerate("xy")]
            other = Response.say(item.id, "other", "z")
            for shown in ((echo[0], echo[1]), (echo[0], other), (other, echo[0])):
                case = Case(item, shown, Choice(tie=True))
                ledger.add(case, Verdict.from_case(case, "judge", (1.0, 0.0) if number % 4 else (0.5, 0.5)))
    report = cli("report", "--all")
    assert re.search(r"\b8\b[^.]*\b(itself|twice)\b", report), report
    cli("card", "judge")
    cli("leaderboard", "show", "--judge", "judge")
    cli("export", "site", "--out", tmp_path / "site")


def test_people_of_a_study_are_in_the_ledger_one_by_one(cli, several, tmp_path):
    items, answers, _ = several
    labels = write(
        tmp_path / "labels.jsonl",
        [
            {"item": f"q{number}", "contestants": ["alpha"], "ballot": "score:1-5", "rater": rater, "marks": [mark]}
            for number in range(ITEMS)
            for rater, mark in (("r1", 1 + number % 5), ("r2", 1 + (number + 1) % 5), ("r3", 5))
        ],
    )
    cli(
        "judge", "--items", items, "--responses", answers, "--judge", "length", "--judge", "reference",
        "--ballot", "score:1-5", "--labels", labels, "--quiet",
    )  # fmt: skip
    exported = tmp_path / "verdicts.jsonl"
    cli("ledger", "export", "--what", "verdicts", "--to", exported)
    people = [row for row in rows(exported) if row["judge"] == "human"]
    assert len(people) == 3 * ITEMS
    assert {row["rater"] for row in people} == {"r1", "r2", "r3"}
    card = cli("card", "length")
    assert "No verdict of people" not in card
    assert "human" not in [row[0] for table in tables(cli("report", "--json")) if "again" in table["title"]
                           for row in table["rows"]]  # fmt: skip


def test_two_studies_that_share_ids_never_meet(cli, tmp_path):
    for study, winner in (("birds", "alpha"), ("cars", "beta")):
        items = write(tmp_path / f"{study}.jsonl", [{"id": f"q{n}", "question": f"{study} {n}?"} for n in range(6)])
        answers = write(
            tmp_path / f"{study}-answers.jsonl",
            [
                {"item": f"q{n}", "contestant": name, "text": "long long long" if name == winner else "short"}
                for n in range(6)
                for name in ("alpha", "beta")
            ],
        )
        cli(
            "judge", "--items", items, "--responses", answers, "--judge", "length", "--ballot", "choice+tie",
            "--study", study, "--quiet",
        )  # fmt: skip
    for study, winner in (("birds", "alpha"), ("cars", "beta")):
        (board,) = leaderboards(cli("report", "--study", study, "--json"), "length")
        labels = [entry["label"] if isinstance(entry, dict) else entry for entry in board["columns"]]
        assert board["rows"][0][labels.index("contestant")] == winner
    both = cli("report")
    assert "birds" in both
    assert "cars" in both
    for command in (("report",), ("card", "length"), ("leaderboard", "show"), ("ledger", "tables")):
        done = CliRunner().invoke(app, [*command, "--study", "planes"])
        assert done.exit_code != 0
        assert "there is no study 'planes'; it holds 'birds', 'cars'" in str(done.exception or done.output)
