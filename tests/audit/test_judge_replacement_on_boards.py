"""A replaced judge: after `audit replace`, every board shows the judge change."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import fullbench
from fullbench import Ledger
from fullbench.cli.all_commands import app
from fullbench.ledger.judge_replacements import JudgeReplacement, load_replacements
from tests.audit.test_canaries_and_judge_replacement import WORTH, play

SEAM = "The judge changes here: new replaces old"


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> str:
        done = CliRunner().invoke(app, [str(word) for word in words])
        assert done.exit_code == 0, (done.output, done.exception)
        return done.stdout

    return run


@pytest.fixture
def board(tmp_path):
    """Two studies in one ledger, each with both judges; eve is met by the new one alone."""
    known = set(WORTH) - {"eve"}
    for study in ("first", "second"):
        with Ledger(tmp_path / "board.ledger", study=study) as ledger:
            play(ledger, "old", 1.0, range(16), known)
            play(ledger, "new", 2.0, range(8), known)
            play(ledger, "new", 2.0, range(500, 508), set(WORTH))
    return "board.ledger"


def noted(tables: list[dict]) -> dict[tuple[str, str], int]:
    """How many notes tell of the seam, by judge and study, on leaderboards."""
    return {
        (table["source"]["judge"], table["source"]["study"]): sum(SEAM in str(note) for note in table["notes"])
        for table in tables
        if table["name"].startswith(("leaderboard", "board"))
    }


def test_every_board_carries_the_seam_once_a_successor_was_equated(call, board, tmp_path):
    shown = json.loads(
        call("audit", "replace", "old", "new", "--ledger", board, "--study", "first", "--json", "--dry-run")
    )
    assert noted(json.loads(call("report", "--ledger", board, "--json"))) == {
        (judge, study): 0 for judge in ("old", "new") for study in ("first", "second")
    }
    kept = json.loads(call("audit", "replace", "old", "new", "--ledger", board, "--study", "first", "--json"))
    assert kept == shown
    ratings = {row[0]: row[1]["value"] for row in kept[0]["rows"]}
    assert "the judge new replaces old" in call("ledger", "show", board)
    # a report, a leaderboard and a card of one study each: no flag is repeated, and the other study has no seam
    report = json.loads(call("report", "--ledger", board, "--json"))
    assert noted(report) == {("old", "first"): 1, ("new", "first"): 1, ("old", "second"): 0, ("new", "second"): 0}
    assert {row[0]: row[1]["value"] for row in report[0]["rows"]} == ratings
    for study in (None, "first", "second"):  # the notebook's report is the command's, seams and all
        own = json.loads(call("report", "--ledger", board, "--json", *(() if study is None else ("--study", study))))
        plain = [(table.name, [str(note) for note in table.notes]) for table in fullbench.report(board, study=study)]
        assert plain == [(table["name"], [str(note) for note in table["notes"]]) for table in own]
    leader = json.loads(call("leaderboard", "show", "--ledger", board, "--study", "first", "--judge", "new", "--json"))
    assert leader[0]["name"] == "judge replacement"
    assert noted(leader) == {("new", "first"): 1}
    assert SEAM in call("report", "--ledger", board, "--study", "first", "--out", "report.md") + (
        tmp_path / "report.md"
    ).read_text(encoding="utf-8")
    # a copy has it too, and one without the study has not
    call("ledger", "copy", board, "copy.ledger", "--quiet")
    call("ledger", "copy", board, "less.ledger", "--without", "study:first", "--quiet")
    with Ledger(tmp_path / "copy.ledger", read_only=True) as copied, Ledger("less.ledger", read_only=True) as less:
        assert load_replacements(copied) == [JudgeReplacement("first", "old", "new")]
        assert load_replacements(less) == []
    assert "sound" in call("ledger", "verify", board)
    # so has a lake, into which nothing is entered
    call("lake", "write", board, "--out", "lake")
    assert noted(json.loads(call("report", "--ledger", "lake", "--study", "first", "--json"))) == {
        ("old", "first"): 1, ("new", "first"): 1,
    }  # fmt: skip
    done = CliRunner().invoke(app, ["audit", "replace", "old", "new", "--ledger", "lake", "--study", "second"])
    assert "read-only" in str(done.exception)
    # and it can be taken back
    call("audit", "replace", "old", "new", "--ledger", board, "--study", "first", "--withdraw")
    assert not any(noted(json.loads(call("report", "--ledger", board, "--json"))).values())


@pytest.mark.slow
def test_the_site_carries_the_seam_and_its_counts_lead_to_verdicts(call, board, tmp_path):
    call("audit", "replace", "old", "new", "--ledger", board, "--study", "second", "--json")
    call("export", "site", "--ledger", board, "--study", "second", "--out", "site", "--no-charts")
    pages = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "site").rglob("*.html")}
    seamed = [name for name, text in pages.items() if SEAM in text]
    assert len(seamed) >= 2
    scales = [text for text in pages.values() if "new on the scale of old" in text]
    assert scales
    assert all("judged by" in text and "both judges" in text for text in scales)
    links = re.findall(r'href="[^"]*verdicts\.html\?[^"]*contestant=eve[^"]*"', scales[0])
    assert any("judge=new" in link for link in links)


@pytest.mark.slow
def test_within_15_points_of_judging_all_again(call, tmp_path):
    """The old judge hears all that the new one heard, in another ledger: eve's rating there is what to come near."""
    known, items, later = set(WORTH) - {"eve"}, range(1_500), range(2_000, 3_500)
    with Ledger(tmp_path / "seam.ledger") as ledger:
        play(ledger, "old", 1.0, items, known)
        play(ledger, "new", 1.6, items, known)
        play(ledger, "new", 1.6, later, set(WORTH))
    with Ledger(tmp_path / "again.ledger") as ledger:
        play(ledger, "old", 1.0, items, known)
        play(ledger, "old", 1.0, later, set(WORTH))
    (table,) = json.loads(call("audit", "replace", "old", "new", "--ledger", "seam.ledger", "--json"))
    equated = {row[0]: row[1]["value"] for row in table["rows"]}
    shown = json.loads(call("leaderboard", "show", "--ledger", "again.ledger", "--judge", "old", "--json"))
    again = {row[1]: row[2]["value"] for row in shown[0]["rows"]}
    assert set(again) == set(equated) == set(WORTH)
    middle = np.mean([*equated.values()]) - np.mean([*again.values()])
    for name in WORTH:
        assert equated[name] - middle == pytest.approx(again[name], abs=15)
