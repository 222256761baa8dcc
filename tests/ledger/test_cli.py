"""The commands that look into a ledger."""

from __future__ import annotations

import json
import os
import re

import pytest
import typer
from typer.testing import CliRunner

from fullbench.cli.ledger import ledger_app
from fullbench.core.model_call import Usage
from fullbench.core.picture import Picture
from fullbench.core.verdict import Failure, Verdict
from fullbench.errors import InputError, LedgerError
from fullbench.files.item_response_verdict_files import read_items, read_responses, read_verdicts
from fullbench.ledger.ledger import Ledger
from tests.ledger.making import case, png, verdict
from tests.ledger.tampering import intruder


@pytest.fixture
def path(tmp_path):
    with Ledger(tmp_path / "x.ledger") as ledger:
        ledger.add(case(1, Picture.from_bytes(png(1))), case(2))
        ledger.add(verdict(1), verdict(2), Verdict.from_case(case(3), "other", "refused", at=5.0))
        ledger.add(Failure("c", "j", 0, "time-out", Usage(0, 3, 0, 0, None, 1.0)))
    return tmp_path / "x.ledger"


def run(*args, **rest):
    return CliRunner().invoke(ledger_app, list(map(str, args)), catch_exceptions=False, **rest)


def test_show_says_what_is_inside(path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    told = run("show", path).stdout
    assert "2 items, 2 responses, 2 cases, 3 verdicts, 1 failure" in told
    rows = {line.split()[1]: line.split() for line in told.splitlines() if line.startswith(("judge", "contestant"))}
    assert rows["j"] == ["judge", "j", "2", "0", "1", "2", "20", "10", "-"]
    assert "means that the cost is unknown" in told
    assert rows["other"] == ["judge", "other", "1", "1", "0", "0", "0", "0", "0.00"]
    assert rows["a"][:3] == ["contestant", "a", "2"]


def test_every_command_takes_its_ledger_by_option_as_all_others_do(path):
    commands = typer.main.get_command(ledger_app).commands
    for name, command in commands.items():
        options = {word for each in command.params for word in each.opts}
        assert name == "copy" or "--ledger" in options, name
    assert run("verify", path).exit_code == 0
    assert run("verify", "--ledger", path).stdout == run("verify", path).stdout


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
            done = run("export", path, "--to", to, "--what", what)
            found = list(read(to))
            assert done.stdout == f"Written: {to} ({len(found)} {what})\n"
            assert found == list(kept)


def test_export_of_one_judge(path, tmp_path):
    run("export", path, "--to", tmp_path / "v.csv", "--judge", "other")
    assert [v.judge for v in read_verdicts(tmp_path / "v.csv")] == ["other"]
    with pytest.raises(InputError, match="Leave it out"):
        run("export", path, "--to", tmp_path / "r.csv", "--judge", "j", "--what", "items")


def test_verify_says_what_it_checked_and_exits_with_0_or_1(path):
    done = run("verify", path)
    assert done.exit_code == 0
    assert "sound" in done.stdout
    assert re.search(r"3 verdicts, 1 failure, 1 picture; \d+ rows in the chains of 2 writers", done.stdout)
    head = done.stdout.split("digest ")[1].strip()
    assert head in run("show", path).stdout
    proven = run("verify", path, "--digest", head)
    assert (proven.exit_code, "nothing was rewritten since that digest was noted" in proven.stdout) == (0, True)
    with intruder(str(path)) as connection:
        connection.execute("UPDATE texts SET body = replace(body, 'because', 'bribed') WHERE rowid = 1")
        connection.execute("UPDATE items SET key = CAST(x'b7' || key AS TEXT) WHERE rowid = 1")
    done = run("verify", path, "--json")
    assert done.exit_code == 1
    told = json.loads(done.stdout)
    assert told["sound"] is False
    assert any("checksum" in problem for problem in told["problems"])


def test_copy_to_a_server_and_back_goes_on_where_it_stopped(path, postgres, tmp_path):
    server, back = postgres.database(), tmp_path / "back.ledger"
    with pytest.raises(LedgerError, match="needs a place for pictures"):
        run("copy", path, server)
    done = run("copy", path, server, "--pictures", tmp_path / "shared")
    assert "3 verdicts" in done.stdout
    assert "both have the same digest" in done.stdout
    again = run("copy", path, server)
    assert "0 verdicts" in again.stdout
    run("copy", server, back)
    with Ledger(path, read_only=True) as one, Ledger(back, read_only=True) as two, Ledger(server) as three:
        assert one.record() == two.record() == three.record()
        assert one.bill() == two.bill() == three.bill()
        assert [item.pictures[0].data() for item in two.items() if item.pictures] == [png(1)]
        assert two.verify() == three.verify() == []
    with pytest.raises(LedgerError, match="cannot be copied onto itself"):
        run("copy", path, path)


def test_copying_keeps_what_stands_there_and_says_so(path, tmp_path):
    with Ledger(tmp_path / "y.ledger") as other:
        other.add(verdict(1, mark=5.0))
    done = run("copy", path, tmp_path / "y.ledger")
    assert "1 row has other content" in done.stdout
    assert "the digests differ" in done.stdout
    with Ledger(tmp_path / "y.ledger") as other:
        assert other.record("j").verdicts[0].marks == (5.0,)
        other.declare("judge", "twin", {"model": "one"})
    with Ledger(path) as ledger:
        ledger.declare("judge", "twin", {"model": "two"})
    with pytest.raises(LedgerError, match="'twin' has other settings there"):
        run("copy", path, tmp_path / "y.ledger")


def test_vacuum_gives_space_back_and_leaves_what_rows_name(path, tmp_path):
    folder = tmp_path / "x.ledger.pictures"
    (old, young) = (folder / "ab" / f"ab{name}" for name in ("old", "young"))
    for picture in (old, young):
        picture.parent.mkdir(exist_ok=True)
        picture.write_bytes(b"12345")
    os.utime(old, (1.0, 1.0))
    assert "1 picture with 5 bytes" in run("vacuum", path, "--dry-run").stdout
    assert old.exists()
    assert "1 picture with 5 bytes" in run("vacuum", path).stdout
    assert (old.exists(), young.exists()) == (False, True)
    with Ledger(path) as ledger:
        head = ledger.ledger_digest()
        assert ledger.verify(head) == []


def test_vacuum_on_a_server_leaves_a_named_place_for_pictures_alone(postgres, tmp_path):
    place = postgres.database()
    with Ledger(place, pictures=tmp_path / "shared") as ledger:
        ledger.add(case(1, Picture.from_bytes(png(1))), verdict(1))
    stray = tmp_path / "shared" / "ab" / "abold"
    stray.parent.mkdir(exist_ok=True)
    stray.write_bytes(b"12345")
    os.utime(stray, (1.0, 1.0))
    assert "pictures were kept" in run("vacuum", place).stdout
    assert stray.exists()
    run("vacuum", place, "--named-pictures")
    assert not stray.exists()
    with Ledger(place) as ledger:
        assert ledger.verify() == []


def test_a_missing_ledger_is_one_sentence(tmp_path):
    for command in ("show", "verify"):
        with pytest.raises(LedgerError, match="no ledger at this"):
            run(command, tmp_path / "x.ledger")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["show", "export", "verify", "copy", "vacuum"])
def test_help_has_an_example(command):
    assert f"fullbench ledger {command}" in run(command, "--help").stdout
