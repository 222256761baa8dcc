"""`fullbench people`: a study from files, its votes out again, and mistakes in one sentence."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass

import pytest

from fullbench.cli import main
from fullbench.files.row_readers import read_rows
from fullbench.ledger.ledger import Ledger
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.votes import task_queue, vote_storage
from fullbench.web.campaigns.votes.task_queue import AnnotatorContext, Lease
from fullbench.web.database import engine_for, write_transaction

ITEMS = [{"id": f"q{n}", "question": f"{n}? 几？"} for n in range(3)]
ANSWERS = [{"item": f"q{n}", "contestant": name, "text": name} for n in range(3) for name in ("red", "blue")]
GOLD = [{"item": "q2", "contestants": ["red", "blue"], "marks": [1, 0]}]


@dataclass
class Done:
    code: int
    stdout: str
    stderr: str


@pytest.fixture
def fullbench(folder, monkeypatch, capsys):
    """The command line in this process: `fullbench("list")`."""
    monkeypatch.chdir(folder)

    def fullbench(*arguments):
        monkeypatch.setattr(sys, "argv", ["fullbench", "people", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        return Done(ended.value.code or 0, *capsys.readouterr())

    return fullbench


@pytest.fixture
def folder(tmp_path):
    for name, rows in (("items", ITEMS), ("responses", ANSWERS), ("gold", GOLD)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return tmp_path


def test_from_files_to_a_ledger(folder, fullbench):
    files = ("--items", "items.jsonl", "--responses", "responses.jsonl", "--gold", "gold.jsonl")
    made = fullbench("add", "red or blue", "--kind", "pair", *files)
    assert made.code == 0, made.stderr
    assert "2 tasks, 0 qualification tasks, 1 gold tasks" in made.stderr
    engine = engine_for(f"sqlite:///{folder / 'fullbench-web' / 'web.sqlite'}")
    with write_transaction(engine) as connection:
        desk = AnnotatorContext(connection, campaigns.campaign_by_name(connection, "red or blue"), "ann", 1.0)
        while isinstance(lease := task_queue.take_next_task(desk), Lease):
            names = [lease.content.responses[place].contestant for place in lease.display_order]
            vote_storage.store_vote(desk, lease.token, key=lease.token, fields={"best": str(names.index("red"))})
    engine.dispose()
    assert fullbench("export", "red or blue", "--to", "votes.jsonl").code == 0
    rows = [row for _, row in read_rows(folder / "votes.jsonl")]
    assert {dict(zip(row["contestants"], row["marks"], strict=True))["red"] for row in rows} == {1.0}
    kept = fullbench("keep", "red or blue", "--ledger", "l.ledger")
    assert "verdicts were added to l.ledger" in kept.stderr
    with Ledger(folder / "l.ledger", read_only=True) as ledger:
        record = ledger.record()
        assert record.judges == ["human"]
        assert len({verdict.rater for verdict in record}) == 1
    listed = json.loads(fullbench("list", "--json").stdout)
    assert "red or blue" in str(listed)
    assert "matches won" in fullbench("show", "red or blue").stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("add", "x", "--kind", "pair"), "a campaign needs items"),
        (("add", "x", "--kind", "dance", "--items", "items.jsonl"), "unknown kind of task 'dance'"),
        (("add", "x", "--kind", "pair", "--items", "items.jsonl"), "there is nothing to do"),
        (("add", "x", "--kind", "agree"), "give their ledger"),
        (("show", "nothing"), "there is no campaign 'nothing'"),
        (("export", "nothing", "--to", "x.jsonl", "--what", "all"), "found 'all'"),
    ],
)
def test_mistakes_are_one_sentence(folder, fullbench, arguments, said):
    done = fullbench(*arguments)
    assert (done.code, done.stderr.count("\n")) == (2, 1)
    assert said in done.stderr
    assert not (folder / "x.jsonl").exists()
