"""What a run wrote comes out of its ledger again, byte for byte, with nothing asked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from fullbench.errors import InputError
from fullbench.ledger.copies.copy_between_databases import LedgerCopy
from fullbench.ledger.ledger import Ledger
from fullbench.reports.table_formats import table_from_json
from fullbench.studies.run.judging_study_kind import StudyRun
from fullbench.studies.study_file import Study
from tests.support.commands import cli
from tests.support.data_builders import png

STUDY = """
name = "研究"
items = "items.jsonl"
responses = "answers.jsonl"
contestants = ["offline:echo"]
judges = ["length", "chance?seed=3", "reference"]
ballots = ["choice+tie", "ranking", "score:1-5"]
ledger = "mine.ledger"
tables = "out/tables.json"
report = "out/mine.html"
trials = 2
seed = 5
"""


def write_study_to_replay(tmp_path):
    (tmp_path / "p.png").write_bytes(png())
    items = [
        {"id": f"i{n}", "question": f"第 {n} 个问题?", "reference": f"answer {n}", "pictures": ["p.png"]}
        for n in range(9)
    ]
    answers = [
        {"item": f"i{n}", "contestant": who, "text": f"{who} 说 {n} " * (n % 3 + 1)}
        for n in range(9)
        for who in ("terse", "wordy")
    ]
    for name, rows in (("items", items), ("answers", answers)):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    return tmp_path / "study.toml"


@pytest.fixture
def study(tmp_path):
    return write_study_to_replay(tmp_path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a study that was run, for tests to copy."""
    folder = tmp_path_factory.mktemp("finished")
    cli("run", write_study_to_replay(folder), "--quiet")
    return folder


@pytest.fixture
def run_before(finished, tmp_path):
    """The study in a folder of the test's own, run already."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return tmp_path / "study.toml"


def fullbench(*words, seed="0"):
    """The command in a process of its own, whose sets have an order of their own."""
    code = "import sys; from fullbench.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, *map(str, words)]
    env = {**os.environ, "PYTHONHASHSEED": seed}
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def test_run_replay_and_replay_from_a_server_give_the_same_bytes(study, tmp_path, postgres):
    run = fullbench("run", study, "--quiet", seed="1")
    assert run.returncode == 0, run.stderr
    written = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert set(written) == {"tables.json", "mine.html"}
    place = postgres.database()
    with Ledger(tmp_path / "mine.ledger", read_only=True) as one, Ledger(place, pictures=tmp_path / "kept") as two:
        list(LedgerCopy(one, two).run())
    for number, more in enumerate([(), ("--ledger", place)]):
        again = fullbench("replay", study, "--out", tmp_path / f"again{number}", *more, seed=str(number + 2))
        assert again.returncode == 0, again.stderr
        assert again.stdout == run.stdout
        assert {path.name: path.read_bytes() for path in (tmp_path / f"again{number}").iterdir()} == written
    cli("replay", study, "--check")
    (tmp_path / "out" / "tables.json").write_bytes(written["tables.json"].replace(b"0.5", b"0.6"))
    told = cli("replay", study, "--check", code=1)
    assert "tables.json differs from what the ledger produces" in told.stderr


def test_what_others_add_to_the_ledger_changes_nothing(run_before, tmp_path):
    other = STUDY.replace('["length", "chance?seed=3", "reference"]', '["chance?seed=9"]').replace("out/", "other/")
    (tmp_path / "other.toml").write_text(other, encoding="utf-8")
    cli("run", tmp_path / "other.toml", "--quiet")
    cli("replay", run_before, "--check")


def test_tables_carry_what_made_them(finished):
    for entry in json.loads((finished / "out" / "tables.json").read_bytes()):
        table = table_from_json(json.dumps(entry))
        assert table.source["judges"] == ["length", "chance?seed=3", "reference"]
        assert table.source["ballots"] == ["choice+tie", "ranking", "score:1-5"]
        assert (table.source["orders"], table.source["trials"], table.source["seed"]) == ("both", 2, 5)
        assert table.source["study"] == "研究"
        assert len(table.source["verdicts"]) == 32
        assert table.source["fullbench"]


def test_a_replay_asks_nothing_and_says_what_is_missing(run_before, tmp_path):
    with (
        Ledger(tmp_path / "empty.ledger") as empty,
        pytest.raises(InputError, match="has no verdict of this study"),
    ):
        StudyRun(Study.read(run_before)).replay(empty)
    wider = STUDY.replace('"reference"]', '"reference", "chance?seed=4"]')
    (tmp_path / "wider.toml").write_text(wider, encoding="utf-8")
    told = cli("replay", tmp_path / "wider.toml")
    assert "verdicts of this study are missing" in told.stderr
    with Ledger(tmp_path / "mine.ledger", read_only=True) as ledger:
        assert "chance?seed=4" not in ledger.record().judges
