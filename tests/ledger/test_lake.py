"""A lake: what was sealed is read through every door as the ledger is, and what was done to it is found."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pytest

from fullbench import Ledger
from fullbench.errors import LedgerError
from fullbench.ledger.lake import manifest, parquet_segments
from fullbench.ledger.lake.storage import LakeFolder
from tests.ledger.lakes import DOORS, JUDGES, fill
from tests.ledger.test_s3_pictures import endpoint, s3  # noqa: F401 - fixtures
from tests.support.commands import cli


def run(*words: object, code: int = 0) -> str:
    done = cli(*words, code=code)
    return done.stdout + (done.stderr if code else "")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path / "own-cache"))


@pytest.fixture(scope="module")
def filled(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("filled") / "x.ledger"
    fill(place, items=4)
    return place


@pytest.fixture
def book(filled, tmp_path) -> Path:
    """A ledger of this test's own."""
    shutil.copytree(filled.parent, tmp_path / "book")
    return tmp_path / "book" / filled.name


@pytest.fixture
def lake(filled, tmp_path) -> Path:
    run("lake", "write", filled, "--out", tmp_path / "lake")
    return tmp_path / "lake"


def seen(place: object, doors: Collection[str] = tuple(DOORS)) -> dict[str, str]:
    """What each door shows of a place."""
    return {name: run(*DOORS[name], "--ledger", place) for name in doors}


@pytest.fixture(scope="module")
def as_ledger(filled) -> dict[str, str]:
    return seen(filled)


def test_every_door_shows_the_same_of_a_lake_as_of_its_ledger(filled, lake, as_ledger):
    assert seen(lake) == as_ledger
    assert all(len(json.loads(text)) for text in as_ledger.values())
    with Ledger(filled, read_only=True) as one, Ledger(lake, read_only=True) as two:
        assert two.digest() == one.digest()
        assert two.ledger_digest() == one.ledger_digest()
        assert two.columns().has_same_verdicts(one.columns())
        assert list(two.verdicts()) == list(one.verdicts())
        assert list(two.responses()) == list(one.responses())
        assert [item.id for item in two.items()] == [item.id for item in one.items()]
        assert two.bill() == one.bill()
        key = next(iter(one.verdicts())).case
        assert two.case(key) == one.case(key)
        assert two.case(key).item.pictures[0].data() == one.case(key).item.pictures[0].data()


def test_the_means_are_those_of_a_plain_computation(lake):
    with Ledger(lake, read_only=True) as ledger:
        marks: dict[str, list[float]] = {}
        for verdict in ledger.verdicts("kind", study="legs"):
            if len(verdict.contestants) == 1 and verdict.marks and verdict.criterion == "clarity":
                marks.setdefault(verdict.contestants[0], []).append(verdict.marks[0])
    shown = json.loads(run(*DOORS["leaderboard"], "--ledger", lake))
    (table,) = (one for one in shown if one["name"] == "board on clarity, score")
    labels = table["columns"]
    place = labels.index("mean score:1-5")
    means = {row[labels.index("contestant")]: row[place]["value"] for row in table["rows"]}
    assert means == {name: pytest.approx(sum(given) / len(given)) for name, given in marks.items()}


@pytest.mark.slow
def test_the_site_of_a_lake_is_the_ledgers(filled, lake, tmp_path):
    for place, out in ((filled, "one"), (lake, "two")):
        run("export", "site", "--study", "legs", "--ledger", place, "--out", tmp_path / out)
    one, two = ({path.relative_to(tmp_path / out) for path in (tmp_path / out).rglob("*")} for out in ("one", "two"))
    assert len(one) > 20
    assert one == two


def test_files_and_folders_and_patterns_of_exports_are_read_by_every_door(filled, tmp_path):
    parts = tmp_path / "parts"
    parts.mkdir()
    for judge in ("strict", "kind", "noisy", "human"):
        run("ledger", "export", filled, "--study", "legs", "--judge", judge, "--to", parts / f"{judge}.parquet")
    run("ledger", "export", filled, "--study", "legs", "--to", tmp_path / "whole.parquet")
    for words, place in (
        (("report", "--json"), parts),
        (("card", "strict", "--json"), parts / "*.parquet"),
        (("leaderboard", "show", "--judge", "kind"), parts),
    ):
        assert run(*words, "--ledger", place) == run(*words, "--ledger", tmp_path / "whole.parquet")
    with Ledger(parts, read_only=True) as ledger, Ledger(filled, read_only=True) as original:
        there = sorted(verdict.marks or () for verdict in ledger.verdicts())
        assert there == sorted(verdict.marks or () for verdict in original.verdicts(study="legs"))
    assert "no row digests" in run("ledger", "verify", parts, code=2)


def test_what_is_new_is_appended_and_nothing_else(book, tmp_path):
    lake = tmp_path / "lake"
    first = run("lake", "write", book, "--out", lake)
    before = {path: path.stat().st_mtime_ns for path in lake.rglob("*.parquet")}
    assert "nothing new" in run("lake", "write", book, "--out", lake)
    fill(book, seed=9, first=50, items=2)
    second = run("lake", "write", book, "--out", lake)
    assert "digest 2-" in second
    assert first.splitlines()[-1] not in second
    assert {path: path.stat().st_mtime_ns for path in before} == before
    with Ledger(book, read_only=True) as one, Ledger(lake, read_only=True) as two:
        assert two.columns().has_same_verdicts(one.columns())
        assert two.ledger_digest() == one.ledger_digest()
    entries = manifest.read_entries(LakeFolder(lake))
    new = {segment.table: segment.rows for segment in entries[1].segments}
    assert 0 < new["verdicts"] < sum(segment.rows for segment in entries[0].segments if segment.table == "verdicts")


def test_a_lake_of_another_ledger_and_a_rewritten_ledger_are_refused(book, lake, tmp_path):
    with Ledger(tmp_path / "other.ledger"):
        pass
    assert "another ledger" in run("lake", "write", tmp_path / "other.ledger", "--out", lake, code=2)
    with pytest.raises(LedgerError, match="a Parquet lake is read-only"):
        Ledger(lake)


def test_segments_that_were_read_are_not_read_again_unless_touched_or_all_are_wanted(lake):
    assert ", 0 verified before" in run("lake", "verify", lake)
    again = run("lake", "verify", lake)
    assert " 0 segments read" in again
    assert " 0 verified before" in run("lake", "verify", lake, "--all")
    touched = next((lake / "segments" / "verdicts").iterdir())
    os.utime(touched, ns=(1, 1))
    assert " 1 segment read" in run("lake", "verify", lake)


def changed_byte(lake: Path) -> str:
    victim = next((lake / "segments" / "verdicts").iterdir())
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 1
    victim.write_bytes(data)
    return "was changed"


def removed_segment(lake: Path) -> str:
    next((lake / "segments" / "calls").iterdir()).unlink()
    return "is missing"


def shortened(lake: Path) -> str:
    (lake / "manifest" / "00000002.json").unlink()
    return "its end is missing"


def without_the_middle(lake: Path) -> str:
    (lake / "manifest" / "00000001.json").unlink()
    return "entry 1 of the manifest is missing"


def reordered(lake: Path) -> str:
    one, two = (lake / "manifest" / f"0000000{number}.json" for number in (1, 2))
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    return "another order"


def other_count(lake: Path) -> str:
    entry = lake / "manifest" / "00000001.json"
    entry.write_text(entry.read_text().replace('"rows": 2,', '"rows": 3,', 1))
    return "does not follow"


@pytest.mark.parametrize(
    "tamper", [changed_byte, removed_segment, shortened, without_the_middle, reordered, other_count]
)
def test_whatever_is_done_to_a_lake_is_found(book, tmp_path, tamper):
    lake = tmp_path / "lake"
    run("lake", "write", book, "--out", lake)
    fill(book, seed=9, first=50, items=1)
    run("lake", "write", book, "--out", lake)
    run("lake", "verify", lake)
    told = tamper(lake)
    assert told in " ".join(run("lake", "verify", lake, code=1).split())


def test_a_noted_head_shows_a_shortened_manifest_to_whoever_never_saw_the_lake(book, tmp_path, monkeypatch):
    lake = tmp_path / "lake"
    run("lake", "write", book, "--out", lake)
    fill(book, seed=9, first=50, items=1)
    head = run("lake", "write", book, "--out", lake).split()[-1]
    shortened(lake)
    monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path / "elsewhere"))
    assert "sound" in run("lake", "verify", lake)
    assert "its end is missing" in run("lake", "verify", lake, "--digest", head, code=1)


def test_entries_are_signed_and_an_entry_made_up_by_another_is_told(book, tmp_path):
    lake, mine, other = tmp_path / "lake", tmp_path / "mine.key", tmp_path / "other.key"
    for key in (mine, other):
        run("ledger", "sign", book, "--key", key, "--new")
    assert "signed by ed25519:" in run("lake", "write", book, "--out", lake, "--key", mine)
    assert "sound" in run("lake", "verify", lake, "--key", f"{mine}.pub")
    assert "nothing is proven" in run("lake", "verify", lake, "--key", f"{other}.pub", code=1)
    fill(book, seed=9, first=50, items=1)
    run("lake", "write", book, "--out", lake, "--key", other)
    assert "entries after 1 (1) are not signed" in run("lake", "verify", lake, "--key", f"{mine}.pub", code=1)
    entry = json.loads((lake / "manifest" / "00000001.json").read_text())
    entry["at"] += 1
    (lake / "manifest" / "00000001.json").write_text(json.dumps(entry))
    assert "is not the one that was signed" in run("lake", "verify", lake, "--key", f"{mine}.pub", code=1)


KILLED = """
import os, signal, sys
from fullbench.ledger.lake import manifest, parquet_segments as segments, write_lake as writing
from fullbench.ledger.lake.storage import LakeFolder
from fullbench.ledger.ledger import Ledger
sealed = []
def watch(table, done):
    if table == "cases":
        os.kill(os.getpid(), signal.SIGKILL)
with Ledger(sys.argv[1], read_only=True) as ledger:
    writing.update_lake(ledger, LakeFolder(__import__("pathlib").Path(sys.argv[2])), watch=watch)
"""


def test_a_killed_writer_leaves_the_lake_as_it_was_and_the_next_goes_on(book, tmp_path):
    lake = tmp_path / "lake"
    run("lake", "write", book, "--out", lake)
    head = run("lake", "verify", lake).split()[-1]
    fill(book, seed=9, first=50, items=2)
    ended = subprocess.run([sys.executable, "-c", KILLED, str(book), str(lake)], timeout=60).returncode
    assert ended == -signal.SIGKILL
    after = run("lake", "verify", lake)
    assert after.split()[-1] == head
    assert "belong to no entry" in after
    run("lake", "write", book, "--out", lake)
    assert "belong to no entry" not in run("lake", "verify", lake, "--all")
    with Ledger(book, read_only=True) as one, Ledger(lake, read_only=True) as two:
        assert two.columns().has_same_verdicts(one.columns())


def test_of_two_writers_at_once_the_second_adds_nothing(book, lake):
    fill(book, seed=9, first=50, items=1)
    store = LakeFolder(lake)
    entries = manifest.read_entries(store)
    late = manifest.next_entry(entries, ledger="x", ledger_digest=entries[0].lake_digest, at=0.0, segments=())
    manifest.append_entry(store, late)
    with pytest.raises(LedgerError, match="another process"):
        manifest.append_entry(store, late)


def test_rows_of_a_lake_are_checked_in_the_chains_of_their_writers(lake, tmp_path, monkeypatch):
    """A segment that was made anew, with a manifest to match: the rows' own chain shows it."""
    assert "sound" in run("ledger", "verify", lake)
    entry_file = lake / "manifest" / "00000001.json"
    entry = json.loads(entry_file.read_text())
    segment = next(one for one in entry["segments"] if one["table"] == "verdicts")
    _forge(lake, segment)
    entry_file.write_text(json.dumps(entry))
    monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path / "elsewhere"))
    assert "sound" in run("lake", "verify", lake, "--all")
    assert "does not have the content that its chain promises" in run("ledger", "verify", lake, code=1)


def _forge(lake: Path, segment: dict) -> None:
    """Give one verdict another mark."""
    from pyarrow.parquet import read_table

    old = lake / segment["file"]
    rows = read_table(old).to_pylist()
    victim = next(row for row in rows if row["marks"] == "[1.0]")
    victim["marks"] = "[5.0]"
    target = lake.parent / "forged.parquet"
    parquet_segments.write_segment(
        "verdicts", [parquet_segments.table_of("verdicts", [tuple(row.values()) for row in rows])], target
    )
    made = parquet_segments.store_segment("verdicts", target, LakeFolder(lake))
    old.unlink()
    segment |= {"file": made.file, "root": made.root, "bytes": made.bytes}


def test_the_salt_stays_with_the_ledger(filled, lake):
    with Ledger(filled, read_only=True) as one, Ledger(lake, read_only=True) as two:
        assert one.salt
        assert not two.salt
        salt = one.salt.hex().encode()
    assert not any(salt in path.read_bytes() for path in lake.rglob("*") if path.is_file())


def test_a_bucket_holds_a_lake_like_a_folder(s3, filled, as_ledger, tmp_path):  # noqa: F811
    place = s3.place.replace("deep/prefix", "lakes/one")
    run("lake", "write", filled, "--out", place)
    doors = ("card", "leaderboard")
    assert seen(place, doors) == {name: as_ledger[name] for name in doors}
    assert "sound" in run("lake", "verify", place)
    assert " 0 segments read" in run("lake", "verify", place)
    with Ledger(place, read_only=True) as ledger:
        key = next(iter(ledger.verdicts())).case
        assert ledger.case(key).item.pictures[0].data()
    listed = s3.list_objects_v2(Bucket=s3.bucket, Prefix="lakes/one/segments/verdicts")["Contents"]
    stored = s3.get_object(Bucket=s3.bucket, Key=listed[0]["Key"])["Body"].read()
    s3.put_object(Bucket=s3.bucket, Key=listed[0]["Key"], Body=stored[:-9] + b"x" + stored[-8:])
    assert "was changed" in run("lake", "verify", place, code=1)
    s3.delete_object(Bucket=s3.bucket, Key=listed[0]["Key"])
    assert "is missing" in run("lake", "verify", place, code=1)


def test_a_bucket_of_exports_is_read_too(s3, filled, tmp_path):  # noqa: F811
    for study in ("legs", "wings"):
        run("ledger", "export", filled, "--study", study, "--to", tmp_path / f"{study}.parquet")
    s3.upload_file(str(tmp_path / "legs.parquet"), s3.bucket, "exports/legs.parquet")
    place = s3.place.replace("deep/prefix", "exports")
    assert run("report", "--json", "--ledger", place) == run("report", "--json", "--ledger", tmp_path / "legs.parquet")


def test_a_lake_becomes_a_ledger_again(lake, filled, tmp_path):
    run("ledger", "copy", lake, tmp_path / "again.ledger", "--quiet")
    with Ledger(filled, read_only=True) as one, Ledger(tmp_path / "again.ledger", read_only=True) as two:
        assert two.digest() == one.digest()
        assert two.columns().has_same_verdicts(one.columns())


def test_means_alone_are_the_means_of_the_whole_leaderboard(lake):
    words = ("leaderboard", "show", "--study", "legs", "--json", "--ledger", lake)
    alone = {table["name"]: table for table in json.loads(run(*words, "--means"))}
    assert set(alone) == {f"means {judge}{on}" for judge in ("human", *JUDGES) for on in ("", " on clarity")}
    whole = json.loads(run(*words, "--judge", "kind"))
    (board,) = (table for table in whole if table["name"] == "board on clarity, score")
    for table in (board, alone["means kind on clarity"]):
        table["means"] = {row[1]: row[table["columns"].index("mean score:1-5")] for row in table["rows"]}
    assert board["means"] == alone["means kind on clarity"]["means"]
    assert "showed several responses at once" in str(alone["means kind on clarity"]["notes"])
    assert "Leave out --joint" in run(*words, "--means", "--joint", code=2)
