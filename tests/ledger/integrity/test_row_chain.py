"""Whatever is changed, taken out or put in afterwards is named."""

from __future__ import annotations

import random
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fullbench.core.model_call import Call
from fullbench.core.picture import Picture
from fullbench.core.verdict import Failure
from fullbench.errors import InputError
from fullbench.ledger import row_conversion, schema
from fullbench.ledger.integrity.row_chain import Chain, LedgerDigest
from fullbench.ledger.ledger import Ledger
from tests.ledger.making import case, png, verdict
from tests.ledger.tampering import intruder

SEAL = ("writer", "number", "link")


def fill(place, folder):
    """Two writers at once, every table in use."""
    with Ledger(place, pictures=folder / "kept") as one, Ledger(place) as two:
        one.declare("judge", "j", {"model": "评委"})
        two.declare("contestant", "a", {})
        for number in range(6):
            (one, two)[number % 2].add(case(number, Picture.from_bytes(png(number))), verdict(number))
            (one, two)[number % 2].flush()
        one.add(Failure("c", "j", 0, "time-out"), verdict(7, judge="k", exchanges=(Call("x", "it is 7"),)))
        one.declare("judge", "j", {"model": "评委", "temperature": 0})
        one.alias("judge", "k", "l")
        one.keep_rows("signatures", [("1-00", "key", "signed", 1.0)])
        one.flush()
        assert one.verify() == []
    return place


@pytest.fixture
def filled(place, tmp_path):
    return fill(place, tmp_path)


@pytest.fixture(scope="module")
def kept_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chain")
    return fill(str(folder / "x.ledger"), folder)


def named(problems, table, row):
    """Whether one of the sentences names that row of that table, by its key or by its place in its chain."""
    keys = [repr(row[name]) for name in schema.KEYS.get(table, ()) if name in schema.table_columns(table)]
    where = [repr(row["writer"]), str(row["number"])]
    return any(f"of {table} with" in problem and all(text in problem for text in keys or where) for problem in problems)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_flip_any_byte_of_any_column_and_that_row_is_named(kept_file, tmp_path, data):
    table = data.draw(st.sampled_from(list(schema.TABLES)))
    column = data.draw(st.sampled_from([*schema.table_columns(table), *SEAL]))
    # A place of its own each time: a log that was left beside the copy before would be taken for this one's.
    copy = Path(tempfile.mkdtemp(dir=tmp_path)) / "copy.ledger"
    shutil.copy(kept_file, copy)
    with intruder(str(copy)) as connection:
        connection.row_factory = sqlite3.Row
        row = data.draw(st.sampled_from(connection.execute(f"SELECT rowid AS place, * FROM {table}").fetchall()))
        new = _flipped(row[column], data)
        try:
            connection.execute("PRAGMA ignore_check_constraints = ON")
            cast = f"CAST(? AS {'TEXT' if isinstance(new, bytes) else 'NUMERIC'})"
            connection.execute(f"UPDATE {table} SET {column} = {cast} WHERE rowid = ?", (new, row["place"]))
        except sqlite3.IntegrityError:
            return
        changed = dict(row) | {column: new.decode("utf-8", "surrogateescape") if isinstance(new, bytes) else new}
    with Ledger(copy, read_only=True) as ledger:
        problems = ledger.verify()
    assert named(problems, table, changed), (table, column, row[column], new, problems)


def test_writer_of_a_setting_that_is_no_text_is_named(kept_file, tmp_path):
    copy = tmp_path / "copy.ledger"
    shutil.copy(kept_file, copy)
    with intruder(str(copy)) as connection:
        connection.execute("UPDATE settings SET writer = CAST(x'b3' || substr(writer, 2) AS TEXT)")
    with Ledger(copy, read_only=True) as ledger:
        assert any("of settings with" in problem for problem in ledger.verify())


@pytest.fixture(scope="module")
def kept_on_server(postgres, tmp_path_factory):
    """A ledger on a server whose triggers are gone, and a connection in which anything may be changed."""
    place = fill(postgres.database(), tmp_path_factory.mktemp("chain"))
    with intruder(place) as connection:
        connection.row_factory = psycopg.rows.dict_row
        yield place, connection


@settings(max_examples=40)
@given(data=st.data())
def test_flip_any_byte_of_any_column_on_a_server_and_that_row_is_named(kept_on_server, data):
    """What the server itself refuses (a broken letter, a key that is there already) cannot have been done."""
    place, connection = kept_on_server
    table = data.draw(st.sampled_from(list(schema.TABLES)))
    column = data.draw(st.sampled_from([*schema.table_columns(table), *SEAL]))
    row = data.draw(st.sampled_from(connection.execute(f"SELECT * FROM {table} ORDER BY rowid").fetchall()))
    new = _flipped(row[column], data)
    if isinstance(new, bytes):
        try:
            new = new.decode()
        except UnicodeDecodeError:
            assume(False)
    change = f"UPDATE {table} SET {column} = %s WHERE rowid = %s"
    try:
        connection.execute(change, (new, row["rowid"]))
    except (psycopg.DataError, psycopg.IntegrityError, ValueError):
        assume(False)
    try:
        with Ledger(place, read_only=True) as ledger:
            problems = ledger.verify()
    finally:
        connection.execute(change, (row[column], row["rowid"]))
    assert named(problems, table, row | {column: new}), (table, column, row[column], new, problems)


def test_the_ledger_on_the_server_is_sound_again_when_every_byte_is_back(kept_on_server):
    with Ledger(kept_on_server[0], read_only=True) as ledger:
        assert ledger.verify() == []


def _flipped(value, data):
    """The value with one bit of it turned."""
    if value is None:
        return b"x"
    if isinstance(value, int):
        return value ^ (1 << data.draw(st.integers(0, 30)))
    if isinstance(value, float):
        return value + data.draw(st.sampled_from([1e-3, -1.0, 64.0]))
    raw = bytearray(value.encode())
    if not raw:
        return b"x"
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    return bytes(raw)


def test_a_setting_that_is_no_text_any_more_is_named(kept_file, tmp_path):
    """The place of the pictures is read when a ledger is opened."""
    # A place of its own each time: a log that was left beside the copy before would be taken for this one's.
    copy = Path(tempfile.mkdtemp(dir=tmp_path)) / "copy.ledger"
    shutil.copy(kept_file, copy)
    with intruder(str(copy)) as connection:
        connection.execute("UPDATE settings SET value = CAST(? AS TEXT)", (b"\xaf" + b"tmp/kept",))
    with Ledger(copy, read_only=True) as ledger:
        assert any("of settings with" in problem for problem in ledger.verify())


@pytest.mark.parametrize("table", [table for table in schema.TABLES if table != "settings"])
def test_what_is_taken_out_is_missed(filled, table):
    with intruder(filled) as connection:
        writer, number = connection.execute(
            f"SELECT writer, number FROM {table} ORDER BY number, writer LIMIT 1"
        ).fetchone()
        connection.execute(f"DELETE FROM {table} WHERE writer = '{writer}' AND number = {number}")
    with Ledger(filled, read_only=True) as ledger:
        assert any(f"{writer!r} lacks what it numbered {number}, before" in one for one in ledger.verify())


def test_what_is_put_in_is_named(filled):
    names = ", ".join(schema.table_columns("failures"))
    with intruder(filled) as connection:
        connection.execute(
            f"INSERT INTO failures ({names}, writer, number, link) SELECT {names}, writer, 3, link FROM failures"
        )
    with Ledger(filled, read_only=True) as ledger:
        assert any("of failures" in one and "was put in or changed" in one for one in ledger.verify())


def test_the_end_of_a_chain_cannot_be_cut_off_unseen(filled):
    with intruder(filled) as connection:
        connection.execute("DELETE FROM commits WHERE number = (SELECT max(number) FROM commits)")
    with Ledger(filled, read_only=True) as ledger:
        assert any("the end of the chain" in one for one in ledger.verify())


def test_two_rows_that_changed_places_are_both_named(filled):
    with intruder(filled) as connection:
        (one, two) = connection.execute("SELECT prompt, at FROM verdicts ORDER BY rowid LIMIT 2").fetchall()
        connection.execute(f"UPDATE verdicts SET at = {two[1]} WHERE at = {one[1]}")
    with Ledger(filled, read_only=True) as ledger:
        assert sum("of verdicts" in problem and "was changed" in problem for problem in ledger.verify()) == 1


def test_a_head_that_was_noted_proves_that_nothing_was_rewritten(filled):
    with Ledger(filled) as ledger:
        noted = ledger.ledger_digest()
        assert str(noted) == ledger.describe()["ledger_digest"]
        ledger.add(verdict(50))
        ledger.flush()
        assert ledger.ledger_digest() != noted
        assert ledger.verify(LedgerDigest.from_text(str(noted))) == []
        assert "fewer than the 900" in ledger.verify(LedgerDigest(900, noted.digest))[0]
    rewrite(filled)
    with Ledger(filled, read_only=True) as ledger:
        assert not any("was changed" in problem for problem in ledger.verify()), "the chain itself is sound again"
        assert any("something was rewritten" in problem for problem in ledger.verify(noted))


def rewrite(place):
    """What somebody does who knows how it is made: change a verdict and chain anew all that its writer wrote."""
    with intruder(place) as connection:
        (writer,) = connection.execute("SELECT writer FROM verdicts ORDER BY rowid LIMIT 1").fetchone()
        connection.execute("UPDATE failures SET error = 'nothing happened'")
        connection.execute("UPDATE verdicts SET seconds = 99.0 WHERE item = 'item-0'")
        (writer,) = connection.execute("SELECT writer FROM verdicts WHERE item = 'item-0'").fetchone()
        (other,) = connection.execute("SELECT writer FROM failures").fetchone()
        for who in {writer, other}:
            chain = Chain(who)
            found = [
                (row[-1], table, row[:-1])
                for table in schema.TABLES
                for row in connection.execute(
                    f"SELECT {', '.join(schema.table_columns(table))}, number FROM {table} WHERE writer = '{who}'"
                ).fetchall()
            ]
            for number, table, row in sorted(found, key=lambda entry: entry[0]):
                (*_, link) = chain.seal(table, [row])[0]
                connection.execute(f"UPDATE {table} SET link = '{link}' WHERE writer = '{who}' AND number = {number}")


def test_rows_of_an_older_seal_are_checked_by_the_columns_that_it_covers(tmp_path, monkeypatch):
    """A made-up seal without the last two columns of verdicts; what is put there later is found."""
    older, path = schema.SEALS - 1, tmp_path / "x.ledger"
    covered = ", ".join(schema.TABLES["verdicts"].split(", ")[:-2])
    monkeypatch.setitem(schema.SEALED_TABLES, older, {**schema.TABLES, "verdicts": covered})
    schema.sealed_width.cache_clear()
    Ledger(path).close()
    chain, row = Chain.begin(), row_conversion.verdict_row(verdict(1, text=""), "default", lambda *_: "")
    with intruder(str(path)) as connection:
        for table, short in (("verdicts", row[:-2]), ("commits", (5.0, older))):
            names = (*schema.table_columns(table)[: len(short)], *SEAL)
            (sealed,) = chain.seal(table, [short])
            connection.execute(
                f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})", sealed
            )
        with Ledger(path, read_only=True) as ledger:
            assert ledger.verify() == []
            connection.execute("UPDATE verdicts SET cached = 7")
            (problem,) = ledger.verify()
    assert "of verdicts" in problem
    assert "was changed" in problem
    monkeypatch.undo()
    schema.sealed_width.cache_clear()


def test_a_head_has_its_shape():
    with pytest.raises(InputError, match="a digest looks like"):
        LedgerDigest.from_text("abc")


def test_many_rows_of_many_writers_are_chained_without_gaps(tmp_path):
    draw = random.Random(3)
    ledgers = [Ledger(tmp_path / "x.ledger") for _ in range(4)]
    for number in range(400):
        ledgers[draw.randrange(4)].add(case(number), verdict(draw.randrange(300)))
    for ledger in ledgers:
        ledger.close()
    with closing(sqlite3.connect(tmp_path / "x.ledger")) as connection:
        for (writer,) in connection.execute("SELECT DISTINCT writer FROM commits").fetchall():
            numbers = sorted(
                number
                for table in schema.TABLES
                for (number,) in connection.execute(f"SELECT number FROM {table} WHERE writer = ?", (writer,))
            )
            assert numbers == list(range(1, len(numbers) + 1))
