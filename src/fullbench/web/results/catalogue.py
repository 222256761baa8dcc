"""Filling the catalogue from the ledger: in the order of entry, a batch a transaction, resumable, while runs write.

A batch is there wholly or not at all, with the place in the ledger up to which it goes. One filler works at a time,
whatever the number of server processes; the others find nothing to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import orjson
from sqlalchemy import Connection, Engine, bindparam, delete, func, select, text, update

from fullbench.ledger.store import Ledger
from fullbench.web.database import reading, writing
from fullbench.web.results import rulings, search, tables
from fullbench.web.results.entering import Batch
from fullbench.web.results.rows import chunks, set_state, version

BATCH = 4_000
MANY = 10_000
"""After so many new verdicts PostgreSQL is told to look at the tables again, for its plans."""
LOCK = 0x6675_6C6C


@dataclass(frozen=True, slots=True)
class Filled:
    """What one call brought: so many verdicts, up to this version of the catalogue."""

    verdicts: int
    version: int


def fill(
    engine: Engine,
    ledger: Ledger,
    *,
    batch: int = BATCH,
    most: int | None = None,
    going: Callable[[], bool] = lambda: True,
) -> Filled:
    """Bring the catalogue up to date with the ledger; stop early after `most` verdicts, or when not `going`."""
    added = 0
    while going():
        with sole(engine) as connection:
            count, full = Batch(connection).take(ledger, batch)
        added += count
        if not full or (most is not None and added >= most):
            break
    while going() and not settle(engine):
        pass
    if added >= MANY and engine.dialect.name == "postgresql":
        with writing(engine) as connection:
            connection.execute(text("ANALYZE"))
    with reading(engine) as connection:
        return Filled(added, version(connection))


@contextmanager
def sole(engine: Engine) -> Iterator[Connection]:
    """A transaction that no second filler is in."""
    with writing(engine) as connection:
        turn(connection)
        yield connection


def turn(connection: Connection) -> None:
    """Wait until no filler is at work, and keep others waiting until this transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(LOCK)))


def forget(engine: Engine) -> None:
    """Empty the catalogue, so that it is filled anew."""
    with sole(engine) as connection:
        search.clear(connection)
        for table in tables.CATALOGUE:
            connection.execute(delete(table))


def settle(engine: Engine) -> bool:
    """Set the flags of some meetings to which verdicts came; True when none is left."""
    with sole(engine) as connection:
        waiting = list(connection.execute(select(tables.dirty.c.meeting_id).limit(BATCH)).scalars())
        if not waiting:
            return True
        for chunk in chunks(waiting):
            _flag(connection, chunk)
            connection.execute(delete(tables.dirty).where(tables.dirty.c.meeting_id.in_(chunk)))
        set_state(connection, "version", version(connection) + 1)
        return len(waiting) < BATCH


def _flag(connection: Connection, meetings: Sequence[int]) -> None:
    known = {id_: (kind, name) for id_, kind, name in connection.execute(select(tables.names))}
    v = tables.verdicts.c
    flags = [v[name] for name in rulings.Flags._fields]
    columns = (v.meeting_id, v.id, v.judge_id, v.trial, v.shown, v.marks, v.ballot_id, *flags)
    grouped: dict[int, list[rulings.Ruling]] = {}
    specs: dict[int, str] = {}
    before: dict[int, tuple[int, ...]] = {}
    for row in connection.execute(select(*columns).where(v.meeting_id.in_(meetings))):
        meeting, id_, judge, trial, shown, marks, spec, *earlier = row
        given = None if marks is None else tuple(orjson.loads(marks))
        name, order = known[judge][1], tuple(orjson.loads(shown))
        one = rulings.Ruling(id_, judge, rulings.is_person(name), rulings.is_panel(name), trial, order, given)
        grouped.setdefault(meeting, []).append(one)
        specs[meeting] = known[spec][1]
        before[id_] = tuple(earlier)
    changed = [
        {"of": id_} | {name: int(value) for name, value in flagged._asdict().items()}
        for meeting, found in grouped.items()
        for id_, flagged in rulings.weigh(found, specs[meeting]).items()
        if flagged != before[id_]
    ]
    if changed:
        connection.execute(update(tables.verdicts).where(v.id == bindparam("of")), changed)
