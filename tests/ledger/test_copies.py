"""Copies of a ledger that is being written: one without its log says so, a backup is whole."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fullbench import Ledger
from fullbench.cli.all_commands import app
from fullbench.core.picture import Picture
from fullbench.errors import InputError, LedgerError
from fullbench.ledger.integrity.row_chain import Chain
from fullbench.ledger.sqlite import missing_write_ahead_log_marks
from fullbench.ledger.sqlite.connection import SqliteConnection
from fullbench.ledger.sqlite.ledger_file_opening_migration_and_copies import back_up, open_connection
from tests.ledger.making import case, png, verdict
from tests.ledger.test_kills_and_full_disks import child


def run(*args: object):
    return CliRunner().invoke(app, list(map(str, args)), catch_exceptions=False)


def cp(*names: Path) -> None:
    """By another process: closing a descriptor of the file here would drop the locks that SQLite holds."""
    subprocess.run(["cp", *map(str, names)], check=True)


@pytest.mark.parametrize("log", [missing_write_ahead_log_marks.MAX_LOG_BYTES, 50_000])
def test_a_copy_without_its_log_is_not_sound_and_one_with_it_is(tmp_path, monkeypatch, log):
    """Whether the log was never brought into the main file yet, or many times."""
    monkeypatch.setattr(missing_write_ahead_log_marks, "MAX_LOG_BYTES", log)
    path = tmp_path / "x.ledger"
    for name in ("alone", "both"):
        (tmp_path / name).mkdir()
    with Ledger(path) as ledger:
        for number in range(40):
            ledger.add(case(number), verdict(number, text="x" * 3000))
            if number % 5 == 0:
                ledger.flush()
        ledger.flush()
        cp(path, tmp_path / "alone")
        cp(path, tmp_path / "x.ledger-wal", tmp_path / "both")
        assert ledger.verify() == []
    with Ledger(tmp_path / "both" / "x.ledger", read_only=True) as both:
        assert len(both.record()) == 40
        assert both.verify() == []
    with Ledger(path, read_only=True) as whole:
        assert whole.verify() == []
    done = run("ledger", "verify", tmp_path / "alone" / "x.ledger")
    assert done.exit_code == 1
    assert "was copied without its write-ahead log (x.ledger-wal)" in done.stdout
    assert "fullbench ledger backup" in done.stdout


def checkpoint(path: Path, mode: str) -> None:
    """Do what a `sqlite3` shell can do to a ledger that others write to."""
    with closing(sqlite3.connect(path)) as shell:
        shell.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()


def lacks_rows_silently(path: Path, copy: Path) -> bool:
    """Copy the main file alone, and check whether the copy has fewer verdicts and verifies as sound."""
    cp(path, copy)
    with Ledger(path, read_only=True) as live, Ledger(copy, read_only=True) as copied:
        assert live.verify() == []
        is_short = len(copied.record()) < len(live.record())
        return is_short and copied.verify() == []


@pytest.mark.parametrize("mode", ["vacuum", "PASSIVE", "TRUNCATE"])
def test_a_foreign_checkpoint_next_to_a_run_does_not_hide_that_rows_follow(tmp_path, mode):
    """The finding: after `ledger vacuum` a copy with 960 of 1,578 verdicts was called sound."""
    path = tmp_path / "x.ledger"
    with Ledger(path) as ledger:
        for number in range(30):
            ledger.add(case(number), verdict(number))
            ledger.flush()
            if number in {10, 11, 20}:
                if mode == "vacuum":
                    assert run("ledger", "vacuum", path).exit_code == 0
                else:
                    checkpoint(path, mode)
            assert not lacks_rows_silently(path, tmp_path / f"{number}.ledger"), f"after {number + 1} verdicts"


def test_a_long_read_keeps_rows_from_the_main_file_only_until_it_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(missing_write_ahead_log_marks, "RETRY", 0.0)
    path = tmp_path / "x.ledger"
    with Ledger(path) as ledger, closing(sqlite3.connect(path, isolation_level=None)) as reader:
        ledger.add(verdict(1))
        ledger.flush()
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM verdicts").fetchone()
        ledger.add(verdict(2))
        ledger.flush()
        checkpoint(path, "PASSIVE")
        ledger.add(verdict(3))
        ledger.flush()
        reader.execute("ROLLBACK")
        ledger.add(verdict(4))
        ledger.flush()
        assert not lacks_rows_silently(path, tmp_path / "alone.ledger")


def test_a_reader_that_meets_a_mark_of_a_live_writer_explains_that_mark_alone(tmp_path):
    path = tmp_path / "x.ledger"
    with Ledger(path) as ledger:
        ledger.add(verdict(1))
        ledger.flush()
        writer = ledger._writer
        writer._chain = missing_write_ahead_log_marks.add_marks(
            writer.connection, writer._chain, missing_write_ahead_log_marks.LOG_BEGUN, [writer._chain.writer]
        )
        Ledger(path, read_only=True).close()
        checkpoint(path, "PASSIVE")
        ledger.add(verdict(2))
        ledger.flush()
        assert not lacks_rows_silently(path, tmp_path / "alone.ledger")


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 40))])
def test_whatever_writers_readers_and_shells_do_no_short_copy_is_called_sound(tmp_path, monkeypatch, seed):
    rng = random.Random(seed)
    monkeypatch.setattr(
        missing_write_ahead_log_marks,
        "MAX_LOG_BYTES",
        rng.choice([20_000, 100_000, missing_write_ahead_log_marks.MAX_LOG_BYTES]),
    )
    path = tmp_path / "x.ledger"
    writers = [Ledger(path)]
    numbers = count()
    for step in range(40):
        writer, what = rng.choice(writers), rng.random()
        if what < 0.6:
            for _ in range(rng.choice([1, 1, 30])):
                number = next(numbers)
                writer.add(case(number), verdict(number, text="x" * rng.choice([10, 3000])))
            writer.flush()
        elif what < 0.8:
            checkpoint(path, rng.choice(["PASSIVE", "FULL", "RESTART", "TRUNCATE"]))
        elif what < 0.85:
            with Ledger(path) as other:
                other.vacuum()
        elif what < 0.93 and len(writers) < 3:
            writers.append(Ledger(path))
        elif len(writers) > 1:
            writers.remove(writer)
            writer.close()
        assert not lacks_rows_silently(path, tmp_path / f"{step}.ledger"), f"step {step}"
    for writer in writers:
        writer.close()
    with Ledger(path, read_only=True) as ledger:
        assert ledger.verify() == []


def test_a_copy_without_its_log_says_so_whenever_it_is_opened_and_for_ever_when_written_to(tmp_path, caplog):
    path, alone = tmp_path / "x.ledger", tmp_path / "alone.ledger"
    with Ledger(path) as ledger:
        ledger.add(verdict(1))
        ledger.flush()
        cp(path, alone)
    Ledger(alone, read_only=True).close()
    assert "copied without its write-ahead log (alone.ledger-wal)" in caplog.text
    with Ledger(alone) as ledger:
        ledger.add(verdict(2))
        ledger.flush()
        caplog.clear()
        with Ledger(alone, read_only=True) as another:
            assert any("without its write-ahead log" in problem for problem in another.verify())
    with Ledger(alone, read_only=True) as ledger:
        assert any("without its write-ahead log" in problem for problem in ledger.verify())
    assert run("ledger", "copy", alone, tmp_path / "rest.ledger").exit_code == 0
    with Ledger(tmp_path / "rest.ledger", read_only=True) as rest:
        assert rest.verify() == []


def test_a_kill_between_a_mark_and_its_commit_is_no_missing_log(tmp_path):
    path = tmp_path / "x.ledger"
    process = child("die", path)
    process.communicate(timeout=120)
    assert process.returncode == -9
    for _ in range(2):  # the first who opens it brings the log over and deletes it
        with Ledger(path, read_only=True) as ledger:
            assert [v.item for v in ledger.verdicts()] == ["item-1"]
            assert ledger.verify() == []


def test_what_is_acknowledged_survives_a_loss_of_power_unless_the_user_says_otherwise(tmp_path, monkeypatch):
    def level(**options: object) -> int:
        with Ledger(tmp_path / "x.ledger", **options) as ledger:
            return ledger._writer.connection.execute("PRAGMA synchronous").fetchone()[0]

    assert level() == 2
    assert level(durability="process") == 1
    monkeypatch.setenv("FULLBENCH_DURABILITY", "process")
    assert level() == 1
    assert level(durability="power") == 2
    monkeypatch.setenv("FULLBENCH_DURABILITY", "fast")
    with pytest.raises(LedgerError, match="unknown durability 'fast'; known: power"):
        Ledger(tmp_path / "x.ledger")


@pytest.mark.slow
def test_the_flag_reaches_the_disk(tmp_path):
    """What a real process asks of SQLite: it looks with the usual setting, and writes with the one that was said."""
    rows = [{"id": f"q{number}", "question": f"What is {number}?"} for number in range(3)]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    answers = [{"item": row["id"], "contestant": who, "text": f"{who}!"} for row in rows for who in "ab"]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, answers)), encoding="utf-8")
    trace = """
import sqlite3, sys
real, seen = sqlite3.connect, []
class Traced(sqlite3.Connection):
    def execute(self, sql, *rest):
        if sql.startswith("PRAGMA synchronous ="): seen.append(sql.split()[-1])
        return super().execute(sql, *rest)
sqlite3.connect = lambda *a, **k: real(*a, **{**k, "factory": Traced})
from fullbench.cli import main
try: main()
finally: print(",".join(sorted(set(seen))), file=sys.stderr)
"""
    for flag, expected in (([], "FULL"), (["--durability", "process"], "FULL,NORMAL")):
        command = [
            sys.executable, "-c", trace, "judge", "--items", "items.jsonl", "--responses", "answers.jsonl", "--judge",
            "length", "--ballot", "choice", "--ledger", f"{expected}.ledger", *flag,
        ]  # fmt: skip
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stderr.strip().splitlines()[-1] == expected


def test_a_backup_of_a_live_ledger_is_whole(tmp_path):
    path, safe = tmp_path / "x.ledger", tmp_path / "safe" / "x.ledger"
    with Ledger(path) as ledger:
        ledger.add(case(1, Picture.from_bytes(png(7))), verdict(1))
        ledger.flush()
        head = str(ledger.ledger_digest())
        done = subprocess.run(
            [sys.executable, "-m", "fullbench", "ledger", "backup", str(path), "--to", str(safe)],
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert head in done.stdout
        ledger.add(verdict(2))
    with Ledger(safe, read_only=True) as copied:
        assert [v.item for v in copied.verdicts()] == ["item-1"]
        assert [item.pictures[0].data() for item in copied.items()] == [png(7)]
        assert copied.verify() == []
        assert str(copied.ledger_digest()) == head
    with pytest.raises(InputError, match="a backup never replaces a file"):
        run("ledger", "backup", path, "--to", safe)
    with pytest.raises(InputError, match="no ledger at this path"):
        run("ledger", "backup", tmp_path / "no.ledger", "--to", tmp_path / "y.ledger")
    assert not (tmp_path / "no.ledger").exists()


def test_pictures_in_a_place_of_their_own_stay_there(tmp_path):
    with Ledger(tmp_path / "x.ledger", pictures=tmp_path / "shared") as ledger:
        ledger.add(case(1, Picture.from_bytes(png(7))))
    done = run("ledger", "backup", tmp_path / "x.ledger", "--to", tmp_path / "y.ledger")
    assert f"pictures stay in {tmp_path / 'shared'}" in done.stdout
    with Ledger(tmp_path / "y.ledger", read_only=True) as copied:
        assert copied.verify() == []


def test_heads_that_were_noted_and_signed_hold_in_a_copy_and_in_a_copy_of_that(fresh, tmp_path):
    first, second, third = str(tmp_path / "first.ledger"), fresh(), str(tmp_path / "third.ledger")
    for number in range(2):
        with Ledger(first) as ledger:
            ledger.add(case(number), verdict(number))
    run("ledger", "sign", first, "--key", tmp_path / "mine.key", "--new", "--to", tmp_path / "sent.jsonl")
    with Ledger(first, read_only=True) as ledger:
        head = ledger.ledger_digest()
    assert "every row keeps its digest" in run("ledger", "copy", first, second, "--quiet").stdout
    with Ledger(first) as ledger:
        ledger.add(case(7), verdict(7))
    again = run("ledger", "copy", first, second, "--quiet").stdout
    assert "1 case, 1 verdict" in again
    assert "both have the same digest" in again
    run("ledger", "copy", second, third, "--quiet")
    with Ledger(first, read_only=True) as ledger:
        grown = ledger.ledger_digest()
    for place in (second, third):
        with Ledger(place, read_only=True) as copied:
            assert copied.ledger_digest() == grown
            assert copied.verify(head) == []
            assert copied.verify_signatures(tmp_path / "mine.key.pub", [tmp_path / "sent.jsonl"]) == []
            assert len(copied.record()) == 3


def test_a_copy_into_a_ledger_with_rows_of_its_own_says_that_heads_do_not_hold(tmp_path):
    for name in ("one", "two"):
        with Ledger(tmp_path / f"{name}.ledger") as ledger:
            ledger.add(case(len(name)), verdict(len(name), judge=name))
    said = run("ledger", "copy", tmp_path / "one.ledger", tmp_path / "two.ledger", "--quiet").stdout
    assert "are not valid in" in said
    with Ledger(tmp_path / "two.ledger", read_only=True) as two:
        assert two.verify() == []
        assert {verdict.judge for verdict in two.verdicts()} == {"one", "two"}


def test_a_backup_taken_right_after_a_mark_is_whole(tmp_path):
    """The writer has committed its mark and not yet the rows behind it: nothing is missing in a copy of that moment."""
    path, target = tmp_path / "x.ledger", tmp_path / "copy.ledger"
    with Ledger(path) as ledger:
        ledger.add(case(1), verdict(1))
        ledger.flush()
        other = SqliteConnection(open_connection(path, read_only=False))
        marks = missing_write_ahead_log_marks
        chain = Chain.begin()
        marks.add_marks(other, chain, marks.LOG_BEGUN, [chain.writer])
        other.close()
        back_up(path, target)  # the command opens the ledger first, which would explain the mark
    with Ledger(target, read_only=True) as copy:
        assert copy.verify() == []
        assert [found.item for found in copy.verdicts()] == ["item-1"]
