"""Thresholds for continuous integration: exit codes, JUnit XML and Markdown; the plugin for pytest; what is refused."""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner

from fullbench import Case, Choice, Item, Ledger, Response, Verdict
from fullbench.audit.cases.build_audit_cases import SIZES, audit_cases
from fullbench.audit.simulated_judges import JUDGES
from fullbench.cli.all_commands import app
from fullbench.errors import InputError
from fullbench.studies.run.judge_cases import judge_cases

WORTH = {"old": 0.0, "new": 0.3, "weak": -1.0}


def play(path: Path, worth: dict[str, float], seed: int, *, people: bool = False) -> None:
    """A ledger of matches by one judge, and by people who agree with it in nine of ten."""
    rng = random.Random(seed)
    with Ledger(path) as ledger:
        for number in range(120):
            item = Item.ask(f"q{number}", f"Question {number}?")
            said = {name: Response.say(item.id, name, f"{name} {number}") for name in worth}
            for one, two in combinations(worth, 2):
                case = Case(item, (said[one], said[two]), Choice(tie=True))
                gap = worth[one] - worth[two] + rng.gauss(0, 1)
                marks = (1.0, 0.0) if gap > 0 else (0.0, 1.0)
                ledger.add(case, Verdict.from_case(case, "judge", marks))
                if people:
                    vote = marks if rng.random() < 0.9 else marks[::-1]
                    ledger.add(case, Verdict.from_case(case, "human", vote, rater="ann"))


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> tuple[int, str]:
        done = CliRunner().invoke(app, [str(word) for word in words])
        if isinstance(done.exception, InputError):
            raise done.exception
        return done.exit_code, done.output

    return run


def test_a_gate_on_an_audit_passes_and_fails(call, tmp_path):
    assert call("audit", "simulated:accurate", "simulated:blind", "--quick", "--quiet")[0] == 0
    (tmp_path / "gate.toml").write_text(
        '[[audit]]\njudge = "simulated/accurate"\naccuracy = 0.8\npicture_use_index = 0.5\nattack_rate = 0.3\n'
        "reading_misled = 0\nunusable = 0.1\nbias = 3\nsteadiness = 0.5\n",
        encoding="utf-8",
    )
    code, said = call("gate", "--junit", "gate.xml", "--out", "gate.md")
    assert (code, "0 of 7 thresholds failed" in said) == (0, True)
    suite = ET.parse(tmp_path / "gate.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("7", "0")
    assert "picture_use_index" in (tmp_path / "gate.md").read_text(encoding="utf-8")
    (tmp_path / "gate.toml").write_text("[[audit]]\npicture_use_index = 0.5\n", encoding="utf-8")
    code, said = call("gate", "gate.toml", "--junit", "gate.xml")
    assert code == 1
    suite = ET.parse(tmp_path / "gate.xml").getroot()
    failed = [case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None]
    assert len(failed) == 1
    assert failed[0].startswith("simulated/blind")


@pytest.mark.slow
def test_the_same_thresholds_by_pytest_in_a_process_of_its_own(call, tmp_path):
    call("audit", "simulated:accurate", "simulated:blind", "--quick", "--quiet")
    (tmp_path / "gate.toml").write_text("[[audit]]\npicture_use_index = 0.5\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--fullbench-gates", "-q", "-p", "no:cacheprovider", "gate.toml"],
        cwd=tmp_path, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 1 passed" in done.stdout
    assert "wanted ≥ 0.5" in done.stdout


def test_agreement_with_people_and_ratings_beside_an_earlier_run(call, tmp_path):
    play(tmp_path / "base.ledger", WORTH, 1)
    play(tmp_path / "fullbench.ledger", WORTH, 2, people=True)
    play(tmp_path / "worse.ledger", {**WORTH, "new": -1.2}, 3)
    gate = tmp_path / "gate.toml"
    gate.write_text(
        '[[agreement]]\njudge = "judge"\nat_least = 0.8\n[[regression]]\ncontestant = "new"\nbase = "base.ledger"\n',
        encoding="utf-8",
    )
    code, said = call("gate", gate)
    assert code == 0, said
    assert "0 of 2" in said
    gate.write_text('[[regression]]\ncontestant = "new"\nbase = "base.ledger"\npoints = 20\n', encoding="utf-8")
    code, said = call("gate", gate, "--ledger", "worse.ledger")
    assert code == 1
    assert "1 of 1" in said
    gate.write_text('[[agreement]]\njudge = "judge"\nat_least = 0.9\nsure = true\n', encoding="utf-8")
    assert call("gate", gate)[0] == 1


def test_several_audits_in_one_ledger_are_told_apart(call, tmp_path, monkeypatch):
    cases = list(
        audit_cases(
            replace(SIZES["quick"], attacks=0, changes=(), picture_pairs=0, scores=0, rankings=0, picture_use_pairs=0),
            0,
        )
    )
    for study in ("audit-quick-0", "audit-quick-1"):
        with Ledger(tmp_path / "fullbench.ledger", study=study) as ledger:
            judge_cases([JUDGES["accurate"]], lambda _: cases, ledger)
    gate = tmp_path / "gate.toml"
    gate.write_text("[[audit]]\naccuracy = 0.5\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"several audits .audit-quick-0, audit-quick-1.. Choose one"):
        call("gate", gate)
    gate.write_text('[[audit]]\nstudy = "audit-quick-1"\naccuracy = 0.5\n', encoding="utf-8")
    assert call("gate", gate)[0] == 0


def test_what_a_gate_cannot_be_is_said(call, tmp_path):
    play(tmp_path / "fullbench.ledger", WORTH, 1)
    gate = tmp_path / "gate.toml"
    for text, sentence in (
        ("", "has no thresholds"),
        ("[[audits]]\n", "no part 'audits'"),
        ("[audit]\naccuracy = 1\n", r"written \[\[audit\]\]"),
        ("[[audit]]\nacuracy = 1\n", "no key 'acuracy'"),
        ('[[agreement]]\njudge = "x"\n', "lacks the key 'at_least'"),
        ('[[agreement]]\njudge = "x"\nat_least = 0.5\n', "there is no judge 'x'"),
        ("[[audit]]\naccuracy = 1\n", "holds no audit"),
        ('[[drift]]\njudge = "x"\n', "there is no judge 'x'"),
        ("[[audit]\n", "not valid TOML"),
        ('[[audit]]\naccuracy = "high"\n', "accuracy of .*audit.* is a number; found 'high'"),
        ("[[drift]]\njudge = 3\n", "judge of .*drift.* is a text"),
        ('[[regression]]\ncontestant = "x"\nbase = "b"\nsure = 1\n', "sure of .* is true or false; found 1"),
    ):
        gate.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=sentence):
            call("gate", gate)
    with pytest.raises(InputError, match="cannot be read"):
        call("gate", tmp_path / "none.toml")
