"""A ledger of the first release, run again with the same study: nothing that was paid for is asked again."""

from __future__ import annotations

import shutil
from pathlib import Path

from typer.testing import CliRunner

from fullbench.cli.app import app
from fullbench.ledger.store import Ledger

FIRST = Path(__file__).parent / "fixtures" / "first"
"""Made by version 0.1.0 with the study below, when its server was at another address."""

STUDY = """
name = "legs"
items = "items.jsonl"
responses = "answers.jsonl"
judges = ["length", "chance?seed=1", "openai:qwen@http://127.0.0.1:9/v1"]
ballots = ["choice+tie", "score:1-5"]
ledger = "first.ledger"
"""


def test_it_asks_nothing(tmp_path, monkeypatch):
    """Nobody answers at that address: a single call would be a failure."""
    folder = tmp_path / "study"
    shutil.copytree(FIRST, folder)
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with Ledger(folder / "first.ledger", read_only=True) as ledger:
        before = [(v.case, v.trial, v.marks, v.fault, v.text) for v in ledger.verdicts()]
        head, digest = ledger.head(), ledger.digest()
    for _ in range(2):
        done = CliRunner().invoke(app, ["run", str(folder / "study.toml"), "--quiet"], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    with Ledger(folder / "first.ledger", read_only=True) as ledger:
        assert [(v.case, v.trial, v.marks, v.fault, v.text) for v in ledger.verdicts()] == before
        assert len(before) == 24
        assert ledger.digest() == digest
        assert [account.failures for account in ledger.bill()] == [0] * 5
        assert ledger.studies() == ["default", "legs"]
        assert len(ledger.record(study="legs")) == 24
        assert ledger.verify(head) == []
