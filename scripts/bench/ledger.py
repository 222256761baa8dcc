"""The ledger: durable verdicts a second and their CPU, against bare databases with the same bytes; and kills."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

from tests.support.postgres import Postgres, programs

from fullbench.core.model_call import Usage
from fullbench.core.verdict import Verdict
from fullbench.ledger import row_conversion, schema
from fullbench.ledger.integrity.row_chain import Chain
from fullbench.ledger.ledger import Ledger
from fullbench.ledger.sqlite.connection import INSERTS
from fullbench.ledger.writing.group_commit_writer import GROUP
from scripts.bench import Row
from scripts.bench.kills import kill_and_check

COUNT = 50_000
USAGE = Usage(1, 0, 1200, 130, 0.0012, 1.25)


def _verdict(number: int) -> Verdict:
    """About 520 bytes, with a key that is spread like a real one."""
    key = blake2b(str(number).encode(), digest_size=16).hexdigest()
    return Verdict(
        key, "model/pair-1a2b3c4d", f"item-{number % 5000}", ("model-a", "model-b"), "choice+tie",
        marks=(1.0, 0.0), text="x" * 240, usage=USAGE, prompt=key, at=1.0 + number,
    )  # fmt: skip


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def _sealed(verdicts: list[Verdict]) -> list[row_conversion.Row]:
    made = (row_conversion.verdict_row(verdict, "default", lambda *_: "") for verdict in verdicts)
    return Chain.begin().seal("verdicts", made)


def _ours(path: Path | str, verdicts: list[Verdict], power: bool) -> tuple[float, float]:
    with Ledger(path, durability="power" if power else "process") as ledger:

        def work() -> None:
            for verdict in verdicts:
                ledger.add(verdict)
            ledger.flush()

        return _timed(work)


def _bare(path: Path, made: list[row_conversion.Row], power: bool) -> tuple[float, float]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {'FULL' if power else 'NORMAL'}")
    connection.execute(f"CREATE TABLE verdicts ({schema.table_definition('verdicts')}) STRICT")

    def work() -> None:
        for start in range(0, len(made), GROUP):
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(INSERTS["verdicts"], made[start : start + GROUP])
            connection.execute("COMMIT")

    try:
        return _timed(work)
    finally:
        connection.close()


def _writing(folder: Path, verdicts: list[Verdict]) -> list[Row]:
    made = _sealed(verdicts)
    found = []
    for power, label in ((False, "survives kill -9"), (True, "survives power loss")):
        ours = min(_ours(folder / f"ours-{power}-{turn}", verdicts, power) for turn in range(2))
        bare = min(_bare(folder / f"bare-{power}-{turn}", made, power) for turn in range(2))
        name, count = "bare sqlite3 executemany", len(verdicts)
        found.append(Row.of(f"verdicts a second, {label}", count / ours[0], count / bare[0], name, "1/s"))
        found.append(Row.of(f"CPU of a verdict, {label}", ours[1] / count * 1e6, bare[1] / count * 1e6, name, "us"))
    return found


def _reading(path: Path, verdicts: list[Verdict]) -> list[Row]:
    keys = [(verdict.case, verdict.trial) for verdict in verdicts[:1000]]
    with Ledger(path, read_only=True) as ledger:
        record = _timed(ledger.record)[0]
        heard = _timed(lambda: ledger.judged_keys(verdicts[0].judge, keys))[0]
    connection = sqlite3.connect(path)
    fetched = _timed(lambda: connection.execute("SELECT * FROM verdicts").fetchall())[0]
    connection.close()
    opened = _timed(lambda: Ledger(path).close())[0]
    bare = _timed(lambda: _one_query(path))[0]
    return [
        Row.of(f"record() of {len(verdicts):,} verdicts", record, fetched, "bare SELECT, no objects", "s"),
        Row.of("heard() of 1,000 keys", heard * 1e3, fetched * 1e3, "reading all rows", "ms"),
        Row.of("opening", opened * 1e3, bare * 1e3, "sqlite3.connect, one query", "ms"),
    ]


def _server(verdicts: list[Verdict]) -> list[Row]:
    """Against bare COPY and executemany into one table on the same server, committed in the same groups."""
    if programs() is None:
        return []
    made, count = _sealed(verdicts), len(verdicts)
    with Postgres(durable=True) as server:
        ours = min(_ours(server.database(), verdicts, power=True) for _ in range(2))
        copied = min(_bare_server(server.database(), made, copy=True) for _ in range(2))
        added = _bare_server(server.database(), made, copy=False)
    what = "verdicts a second on a server, survives power loss"
    return [
        Row.of(what, count / ours[0], count / copied[0], "bare COPY", "1/s"),
        Row.of(what, count / ours[0], count / added[0], "bare executemany", "1/s"),
        Row.of(
            "CPU of a verdict on a server, ours alone", ours[1] / count * 1e6, copied[1] / count * 1e6, "COPY", "us"
        ),
    ]


def _bare_server(url: str, made: list[row_conversion.Row], *, copy: bool) -> tuple[float, float]:
    import psycopg

    names = ", ".join((*schema.table_columns("verdicts"), "writer", "number", "link"))
    columns = schema.table_definition("verdicts").replace(" INTEGER", " BIGINT").replace(" REAL", " DOUBLE PRECISION")
    insert = f"INSERT INTO verdicts ({names}) VALUES ({', '.join(['%s'] * len(made[0]))}) ON CONFLICT DO NOTHING"
    with psycopg.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE verdicts ({columns})")

        def work() -> None:
            for start in range(0, len(made), GROUP):
                with connection.transaction():
                    if not copy:
                        cursor.executemany(insert, made[start : start + GROUP])
                        continue
                    with cursor.copy(f"COPY verdicts ({names}) FROM STDIN") as into:
                        for row in made[start : start + GROUP]:
                            into.write_row(row)

        return _timed(work)


def _one_query(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    connection.close()


def _kills(folder: Path) -> list[Row]:
    found = kill_and_check(folder, kills=20)
    return [
        Row.of(
            f"acknowledged verdicts lost in {found.kills} kills -9", found.lost, found.acknowledged, "given", "rows"
        ),
        Row.of("cases asked again after kills", found.asked_again, found.in_flight, "in flight", "rows"),
    ]


def main() -> list[Row]:
    """All rows."""
    verdicts = [_verdict(number) for number in range(COUNT)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        written, read = _writing(folder, verdicts), _reading(folder / "ours-False-0", verdicts)
        return [*written, *_server(verdicts), *read, *_kills(folder)]
