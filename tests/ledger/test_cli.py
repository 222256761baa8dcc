"""The commands that look into a ledger."""

from __future__ import annotations

import json
import sqlite3

import pytest
from typer.testing import CliRunner

from fullbench.cli.ledger import ledger_app
from fullbench.core.cases import Failure, Usage, Verdict
from fullbench.core.errors import InputError, LedgerError
from fullbench.core.files import read_items, read_responses, read_verdicts
from fullbench.core.pictures import Picture
from fullbench.ledger.store import Ledger
from tests.ledger.making import case, png, verdict


@pytest.fixture
def path(tmp_path):
    with Ledger(tmp_path / "x.ledger") as ledger:
        ledger.add(case(1, Picture.of(png(1))), case(2))
        ledger.add(verdict(1), verdict(2), Verdict.of(case(3), "other", "refused", at=5.0))
        ledger.add(Failure("c", "j", 0, "time-out", Usage(0, 3, 0, 0, None, 1.0)))
    return tmp_path / "x.ledger"


def run(*args, **rest):
    return CliRunner().invoke(ledger_app, list(map(str, args)), catch_exceptions=False, **rest)


def test_show_says_what_is_inside(path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    told = run("show", "--ledger", path).stdout
    assert "2 items, 2 responses, 2 cases, 3 verdicts, 1 failures" in told
    rows = {line.split()[1]: line.split() for line in told.splitlines() if line.startswith(("judge", "contestant"))}
    assert rows["j"] == ["judge", "j", "2", "0", "1", "2", "20", "10", "-"]
    assert "Dollars are not known" in told
    assert rows["other"] == ["judge", "other", "1", "1", "0", "0", "0", "0", "0.00"]
    assert rows["a"][:3] == ["contestant", "a", "2"]


def test_show_as_json_and_the_ledger_from_the_environment(path):
    told = json.loads(run("show", "--json", env={"FULLBENCH_LEDGER": str(path)}).stdout)
    assert told["counts"]["verdicts"] == 3
    assert {account["name"] for account in told["accounts"]} == {"a", "j", "other"}


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_what_is_exported_reads_back(path, tmp_path, suffix):
    with Ledger(path, read_only=True) as ledger:
        for what, read, kept in (
            ("verdicts", read_verdicts, ledger.verdicts()),
            ("responses", read_responses, ledger.responses()),
            ("items", read_items, ledger.items()),
        ):
            to = tmp_path / f"{what}{suffix}"
            done = run("export", "--ledger", path, "--to", to, "--what", what)
            found = list(read(to))
            assert done.stdout == f"wrote {len(found)} {what} to {to}\n"
            assert found == list(kept)


def test_export_of_one_judge(path, tmp_path):
    run("export", "--ledger", path, "--to", tmp_path / "v.csv", "--judge", "other")
    assert [v.judge for v in read_verdicts(tmp_path / "v.csv")] == ["other"]
    with pytest.raises(InputError, match="leave it out"):
        run("export", "--ledger", path, "--to", tmp_path / "r.csv", "--judge", "j", "--what", "items")


def test_verify_exits_with_0_or_1(path):
    done = run("verify", "--ledger", path)
    assert (done.exit_code, "sound; 3 verdicts" in done.stdout) == (0, True)
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER verdicts_update")
    connection.execute("UPDATE verdicts SET text = 'bribed' WHERE rowid = 1")
    connection.commit()
    connection.close()
    done = run("verify", "--ledger", path)
    assert done.exit_code == 1
    assert "checksum" in done.stdout


def test_a_missing_ledger_is_one_sentence(tmp_path):
    for command in ("show", "verify"):
        with pytest.raises(LedgerError, match="there is no ledger here"):
            run(command, "--ledger", tmp_path / "x.ledger")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["show", "export", "verify"])
def test_help_has_an_example(command):
    assert f"fullbench ledger {command}" in run(command, "--help").stdout
