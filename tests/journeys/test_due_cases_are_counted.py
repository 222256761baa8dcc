"""Cases whose calls failed: every output says how many are missing."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

from fullbench import Ledger
from tests.cli.test_faulty_server_replies import CONTEXT, ended, spec, start, write
from tests.support.commands import cli
from tests.support.fake_chat_server import FakeServer


def said(folder: Path, *words: str) -> str:
    with contextlib.chdir(folder):
        return cli(*words).stdout


def test_cases_that_are_due_stand_in_every_table_page_and_card(tmp_path):
    """Of 30 items every third is too long for the judge: each door says that 20 of its cases are missing."""
    questions = [CONTEXT if number % 3 == 0 else "How many" for number in range(30)]
    write(tmp_path, questions)
    labels = [{"item": f"i{number}", "contestants": [name], "marks": [1 + number % 5], "ballot": "score:1-5"}
              for number in range(30) for name in "ab"]  # fmt: skip
    (tmp_path / "labels.jsonl").write_text("\n".join(map(json.dumps, labels)), encoding="utf-8")
    with FakeServer(says="[[4]]") as server:
        judging = ("--labels", "labels.jsonl", "--report", "page.html")
        code, out, _ = ended(start(tmp_path, *judging, judges=[spec(server)]))
    assert code == 1
    with Ledger(tmp_path / "l.ledger", read_only=True) as book:
        (judge,) = {verdict.judge for verdict in book.verdicts()} - {"human"}
        assert sum(due.cases for due in book.columns(judge).due) == 20
    due = re.compile(r"\b20 cases are due")
    assert due.search(out)
    assert due.search((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert due.search(said(tmp_path, "report", "--ledger", "l.ledger"))
    assert due.search(said(tmp_path, "ledger", "tables", "l.ledger"))
    card = said(tmp_path, "card", judge, "--ledger", "l.ledger")
    assert due.search(card.split("\n\n")[0]), "in a card's first words"
    said(tmp_path, "export", "site", "--ledger", "l.ledger", "--out", "site")
    boards = [path.read_text(encoding="utf-8") for path in (tmp_path / "site" / "boards").glob("*.html")]
    cards = [path.read_text(encoding="utf-8") for path in (tmp_path / "site" / "judges").glob("*.html")]
    assert any(due.search(page) for page in boards)
    assert any(due.search(page) for page in cards)


def test_a_run_that_stops_early_does_not_say_that_all_cases_are_judged(tmp_path):
    """A judge without a usable verdict stops after 20 calls; the other 40 cases are due, not judged."""
    write(tmp_path, ["How many"] * 30)
    labels = [{"item": f"i{number}", "contestants": [name], "marks": [1 + number % 5], "ballot": "score:1-5"}
              for number in range(30) for name in "ab"]  # fmt: skip
    (tmp_path / "labels.jsonl").write_text("\n".join(map(json.dumps, labels)), encoding="utf-8")
    with FakeServer(says="no idea") as server:
        (tmp_path / "study.toml").write_text(
            'name = "s"\nitems = "items.jsonl"\nresponses = "answers.jsonl"\n'
            'labels = "labels.jsonl"\nballots = ["score:1-5"]\n'
            f'judges = ["vllm:judge@{server.url}?mode=direct"]\nledger = "s.ledger"\n'
        )
        with contextlib.chdir(tmp_path):
            output = cli("run", "study.toml", "--quiet", code=1).output
    assert "Stopped: no usable verdict in the first 20 replies" in output
    assert "40 cases are due" in " ".join(output.split())
    assert "all cases are judged" not in output
