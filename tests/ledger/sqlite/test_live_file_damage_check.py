"""Files of a ledger that are deleted, cut or overwritten during a run: the run stops, and saves what can be read."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress

import pytest

from fullbench import Ledger
from fullbench.core.picture import Picture
from fullbench.errors import LedgerError
from fullbench.ledger.copies import backup_and_rescue
from fullbench.ledger.sqlite import live_file_damage_check, missing_write_ahead_log_marks
from tests.cli.test_interrupt import CASES, ITEMS, calls, data, start, wait_for  # noqa: F401  (`data` is a fixture)
from tests.ledger.making import case, png, verdict
from tests.support.fake_chat_server import FakeServer
from tests.support.wait_until import LONG

OVERWRITE = """
import random, sys
path, share = sys.argv[1], float(sys.argv[2])
rng = random.Random(7)
with open(path, "r+b") as file:
    pages = file.seek(0, 2) // 4096
    for page in rng.sample(range(1, pages), max(1, int(pages * share))):
        file.seek(page * 4096)
        file.write(rng.randbytes(4096))
"""
OVERWRITE_PAGES_WITH = """
import random, sys
path, *texts = sys.argv[1:]
rng = random.Random(7)
with open(path, "r+b") as file:
    pages = file.seek(0, 2) // 4096
    for page in range(1, pages):
        file.seek(page * 4096)
        content = file.read(4096)
        if any(text.encode() in content for text in texts):
            file.seek(page * 4096)
            file.write(rng.randbytes(4096))
"""
TRUNCATE = "import os, sys; os.truncate(sys.argv[1], int(float(sys.argv[2]) * os.path.getsize(sys.argv[1])))"


def by_another_process(code: str, *args: object) -> None:
    """Run code elsewhere: closing a descriptor of the file in this process would drop the locks that SQLite holds."""
    subprocess.run([sys.executable, "-c", code, *map(str, args)], check=True)


def fill(ledger: Ledger, first: int, last: int) -> None:
    for number in range(first, last):
        ledger.add(case(number), verdict(number, text=f"{number} " + "x" * 500))
        if number % 20 == 0:
            ledger.flush()
    ledger.flush()


@pytest.mark.parametrize("suffix", ["-wal", pytest.param("-shm", marks=pytest.mark.slow)])
def test_a_run_whose_log_is_deleted_stops_and_saves_everything(data, suffix):  # noqa: F811
    """The finding: 450 calls were paid, exit code 0, and no verdict was kept, because a reader was open."""
    with FakeServer(says="[[4]]", answers=100) as server:
        process = start(data, server)
        wait_for(data, 60)
        path = data / "fullbench.ledger"
        with closing(sqlite3.connect(path)) as reader:
            reader.execute("SELECT count(*) FROM verdicts").fetchone()
            (data / f"fullbench.ledger{suffix}").unlink()
            server.more(150)
            _, err = process.communicate(timeout=LONG)
        assert process.returncode == 2, err
        assert "Traceback" not in err
        assert f"fullbench.ledger{suffix}" in err
        assert "fullbench.ledger.rescued" in err
        asked = calls(server)
        assert asked < CASES, "it continued to call the model"
        server.more()
        for name in ("-wal", "-shm"):
            (data / f"fullbench.ledger{name}").unlink(missing_ok=True)
        (data / "fullbench.ledger.rescued").replace(path)
        with Ledger(path, read_only=True) as ledger:
            kept = {(v.case, v.trial) for v in ledger.verdicts()}
            assert ledger.verify() == []
        assert asked - 8 <= len(kept) <= asked, "all but the eight calls in flight"
        again = start(data, server)
        _, err = again.communicate(timeout=LONG)
        assert again.returncode == 0, err
        assert calls(server) == CASES + asked - len(kept)


@pytest.mark.parametrize(
    ("code", "file", "share"),
    [(OVERWRITE, "x.ledger", 0.3), (TRUNCATE, "x.ledger", 0.5), (TRUNCATE, "x.ledger-wal", 0.0)],
    ids=["overwritten", "cut", "log cut"],
)
def test_damage_stops_the_writer_and_readable_rows_are_saved(tmp_path, monkeypatch, code, file, share):
    monkeypatch.setattr(missing_write_ahead_log_marks, "MAX_LOG_BYTES", 200_000)  # so that rows are in both files
    path = tmp_path / "x.ledger"
    ledger = Ledger(path)
    fill(ledger, 0, 400)
    by_another_process(code, tmp_path / file, share)
    what = r"while this process wrote to it; .*x\.ledger\.rescued"
    with pytest.raises(LedgerError, match=what) as stopped:  # noqa: PT012
        for number in range(400, 4_000):
            fill(ledger, number, number + 1)
    written = number - 400
    assert written < 3_000, "it continued to write"
    with suppress(LedgerError):
        ledger.close()
    with Ledger(tmp_path / "x.ledger.rescued", read_only=True) as rescued:
        found = {v.item: v for v in rescued.verdicts()}
        wanted = {f"item-{index}": f"{index} " for index in range(number + 1)}
        assert all(v.text.startswith(wanted[item]) for item, v in found.items())
        is_whole = "everything in it" in str(stopped.value)
        assert is_whole == (rescued.verify() == [])
        assert len(found) == number + 1 if is_whole else 50 < len(found) <= number + 1
    with Ledger(tmp_path / "x.ledger.rescued") as again:
        again.add(case(9_999), verdict(9_999))
    with Ledger(tmp_path / "x.ledger.rescued", read_only=True) as rescued:
        assert len(rescued.record()) == len(found) + 1


def test_rows_that_vanish_after_the_last_commit_are_noticed_before_the_end(tmp_path):
    """Nothing is committed after the damage, so only the check at the end can notice it."""
    path = tmp_path / "x.ledger"
    ledger = Ledger(path)
    fill(ledger, 0, 300)
    by_another_process(
        "import sqlite3, sys\n"
        "with sqlite3.connect(sys.argv[1]) as c:\n"
        "    for (name,) in c.execute(\"SELECT name FROM sqlite_master WHERE type = 'trigger'\").fetchall():\n"
        "        c.execute(f'DROP TRIGGER {name}')\n"
        "    c.execute(\"DELETE FROM verdicts WHERE item = 'item-7'\")\n",
        path,
    )
    with pytest.raises(LedgerError, match="rows of this run were lost or changed"):
        ledger.close()


def test_damage_in_rows_of_earlier_runs_is_noticed_too(tmp_path):
    path = tmp_path / "x.ledger"
    with Ledger(path) as earlier:
        fill(earlier, 0, 400)
    ledger = Ledger(path)
    fill(ledger, 400, 401)
    by_another_process(OVERWRITE, path, 0.3)
    with suppress(LedgerError):  # from a look at a damaged page
        fill(ledger, 401, 402)
    with pytest.raises(LedgerError, match=r"while this process wrote to it; .*x\.ledger\.rescued"):
        ledger.close()


def test_an_untouched_ledger_passes_whoever_else_writes_to_it(tmp_path):
    path = tmp_path / "x.ledger"
    with Ledger(path) as first, Ledger(path) as second:
        for number in range(0, 60, 2):
            fill(first, number, number + 1)
            fill(second, number + 1, number + 2)
        with Ledger(path) as third:
            third.vacuum()
        fill(first, 100, 130)
        fill(second, 130, 160)
    with Ledger(path, read_only=True) as ledger:
        assert len(ledger.record()) == 120
        assert ledger.verify() == []


def test_all_pages_are_checked_only_when_the_file_changed_by_another_hand(tmp_path, monkeypatch):
    checks = []
    real = live_file_damage_check.LiveFiles._read_pages
    monkeypatch.setattr(live_file_damage_check.LiveFiles, "_read_pages", lambda self: (checks.append(1), real(self)))
    monkeypatch.setattr(missing_write_ahead_log_marks, "MAX_LOG_BYTES", 100_000)
    path = tmp_path / "x.ledger"
    with Ledger(path) as ledger:
        fill(ledger, 0, 400)
        assert not checks, "own checkpoints are no reason"
        by_another_process(
            "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('PRAGMA wal_checkpoint').fetchone()", path
        )
        fill(ledger, 400, 401)
    assert len(checks) == 1


def test_a_run_whose_pictures_are_deleted_stops_and_the_next_one_copies_them_again(data):  # noqa: F811
    (data / "photos").mkdir()
    for number in range(ITEMS):
        (data / "photos" / f"{number}.png").write_bytes(_picture(number))
    items = [{"id": f"i{n}", "question": f"How many in #{n}?", "picture": f"photos/{n}.png"} for n in range(ITEMS)]
    (data / "items.jsonl").write_text("\n".join(map(json.dumps, items)), encoding="utf-8")
    with FakeServer(says="[[4]]", answers=100) as server:
        process = start(data, server)
        wait_for(data, 60)
        shutil.rmtree(data / "fullbench.ledger.pictures")
        server.more(150)
        _, err = process.communicate(timeout=LONG)
        assert process.returncode == 2, err
        assert "Traceback" not in err
        assert "pictures of this run were deleted or changed" in err
        asked = calls(server)
        assert asked < CASES, "it continued to call the model"
        server.more()
        again = start(data, server)
        _, err = again.communicate(timeout=LONG)
        assert again.returncode == 0, err
    with Ledger(data / "fullbench.ledger", read_only=True) as ledger:
        assert ledger.verify() == []
        assert len(ledger.record()) == CASES
        assert {len(item.pictures[0].data()) for item in ledger.items()}


def _picture(number: int) -> bytes:
    return png(number % 200) + f"{number}".encode()


@pytest.mark.parametrize("change", ["delete", "truncate", "overwrite", "replace by an older file"])
def test_single_pictures_that_were_deleted_or_changed_are_noticed_at_the_end(tmp_path, change):
    older = tmp_path / "older.png"
    older.write_bytes(png(200))
    ledger = Ledger(tmp_path / "x.ledger")
    for number in range(5):
        ledger.add(case(number, Picture.from_bytes(png(number))), verdict(number))
    ledger.flush()
    lost = Picture.from_bytes(png(3)).digest
    file = tmp_path / "x.ledger.pictures" / lost[:2] / lost
    time.sleep(0.02)  # the clock of a file system has ticks
    match change:
        case "delete":
            file.unlink()
        case "truncate":
            os.truncate(file, 9)
        case "overwrite":
            file.write_bytes(png(200))
        case _:
            older.replace(file)
    with pytest.raises(
        LedgerError,
        match="deleted or changed while it ran: 0 are copied again from their files, 1 are lost",
    ):
        ledger.close()
    with Ledger(tmp_path / "x.ledger", read_only=True) as back:
        assert len(back.record()) == 5


def test_the_rescue_keeps_every_row_that_can_be_read(tmp_path):
    """Compared with an independent count: rows on pages that were not overwritten."""
    path = tmp_path / "x.ledger"
    with Ledger(path) as ledger:
        fill(ledger, 0, 500)
    readable = []
    with closing(sqlite3.connect(path)) as plain:
        plain.execute("PRAGMA cache_size = 1")
        before = plain.execute("SELECT rowid, * FROM verdicts").fetchall()
        # Random pages would sometimes miss the table: how many pages there are depends on how rows were committed.
        by_another_process(OVERWRITE_PAGES_WITH, path, *(row[1] for row in before[50::200]))
        for row in before:
            with suppress(sqlite3.DatabaseError):
                found = plain.execute("SELECT rowid, * FROM verdicts WHERE rowid = ?", row[:1]).fetchone()
                readable += [row[1]] if found == row else []
        backup_and_rescue.save_readable(plain, tmp_path / "saved.ledger")
    assert 0 < len(readable) < 500
    with closing(sqlite3.connect(tmp_path / "saved.ledger")) as saved:
        assert {key for (key,) in saved.execute("SELECT case_key FROM verdicts")} >= set(readable)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_no_moment_of_a_deleted_log_loses_a_verdict(tmp_path, seed):
    rng = random.Random(seed)
    path = tmp_path / "x.ledger"
    ledger = Ledger(path)
    count, at = 0, rng.randrange(1, 300)
    with closing(sqlite3.connect(path)) as reader, pytest.raises(LedgerError, match=r"x\.ledger-wal was deleted"):  # noqa: PT012
        reader.execute("SELECT count(*) FROM verdicts").fetchone()
        while count < 10_000:
            fill(ledger, count, count + 1)
            count += 1
            if count == at:
                (tmp_path / "x.ledger-wal").unlink()
    with suppress(LedgerError):
        ledger.close()
    with Ledger(tmp_path / "x.ledger.rescued", read_only=True) as rescued:
        assert len(rescued.record()) in (count, count + 1)
        assert rescued.verify() == []
