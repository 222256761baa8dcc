"""Small ways to read and write the catalogue's rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, TypeVar

from sqlalchemy import ClauseElement, Connection, Insert, Table, func, insert, select

from fullbench.web.database import insert_here
from fullbench.web.results.catalogue import catalogue_tables

CHUNK = 500
Row = dict[str, Any]
Value = TypeVar("Value")


def version(connection: Connection) -> int:
    """Grows whenever the catalogue changes; what is computed from it is cached under this number."""
    return int(get_state(connection, "version") or 0)


def get_state(connection: Connection, name: str) -> str | None:
    return connection.execute(
        select(catalogue_tables.state.c.value).where(catalogue_tables.state.c.name == name)
    ).scalar()


def set_state(connection: Connection, name: str, value: object) -> None:
    put(connection, catalogue_tables.state, [{"name": name, "value": str(value)}], ["name"], ["value"])


def put(connection: Connection, table: Table, rows: Sequence[Row], key: list[str], change: list[str]) -> None:
    """Insert rows; where the key is there, change the columns named."""
    insertion = insert_here(connection, table)
    changed = {name: insertion.excluded[name] for name in change}
    many(connection, insertion.on_conflict_do_update(index_elements=key, set_=changed), rows)


def chunks(values: Iterable[Value], size: int = CHUNK) -> Iterator[tuple[Value, ...]]:
    """Values in groups of at most `size`: as many as one statement takes."""
    left = iter(values)
    while chunk := tuple(islice(left, size)):
        yield chunk


def next_id(connection: Connection, table: Table) -> int:
    return int(connection.execute(select(func.coalesce(func.max(table.c.id), 0))).scalar_one()) + 1


def lookup(connection: Connection, table: Table, column: str, values: Iterable[str]) -> dict[str, int]:
    ids: dict[str, int] = {}
    for chunk in chunks(dict.fromkeys(values)):
        place = table.c[column]
        ids.update((row[0], row[1]) for row in connection.execute(select(place, table.c.id).where(place.in_(chunk))))
    return ids


def known(connection: Connection, table: Table, column: str, values: Iterable[str]) -> tuple[dict[str, int], set[str]]:
    """The id of each value, new ones numbered on; and which are new."""
    wanted = dict.fromkeys(values)
    ids = lookup(connection, table, column, wanted)
    fresh = [value for value in wanted if value not in ids]
    ids.update(zip(fresh, range(start := next_id(connection, table), start + len(fresh)), strict=True))
    return ids, set(fresh)


def insert_all(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Insert many rows with the same columns."""
    many(connection, insert(table), rows)


def many(connection: Connection, statement: ClauseElement, rows: Sequence[Row]) -> None:
    """Execute a statement for many rows with the same names; it is compiled once and handed to the driver."""
    if not rows:
        return
    named = list(rows[0]) if isinstance(statement, Insert) else None
    compiled: Any = statement.compile(dialect=connection.dialect, column_keys=named)
    values: Any = rows
    if compiled.positional:
        names = compiled.positiontup
        picked = itemgetter(*names)
        values = list(map(picked, rows)) if len(names) > 1 else [(picked(row),) for row in rows]
    connection.exec_driver_sql(str(compiled), values)


def name_ids(connection: Connection, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """The number of each (kind, name); new ones are numbered on."""
    wanted = sorted(wanted)
    ids = {(kind, name): id_ for id_, kind, name in connection.execute(select(catalogue_tables.names))}
    fresh = [place for place in wanted if place not in ids]
    rows = [
        {"id": id_, "kind": kind, "name": name}
        for id_, (kind, name) in enumerate(fresh, start=next_id(connection, catalogue_tables.names))
    ]
    insert_all(connection, catalogue_tables.names, rows)
    return ids | {(row["kind"], row["name"]): row["id"] for row in rows}


def judges(connection: Connection) -> dict[int, str]:
    """All judges by number."""
    rows = connection.execute(
        select(catalogue_tables.names.c.id, catalogue_tables.names.c.name).where(
            catalogue_tables.names.c.kind == "judge"
        )
    )
    return {row.id: row.name for row in rows}


def studies(connection: Connection) -> dict[str, int]:
    """The number of every study, in the order in which they came."""
    n = catalogue_tables.names.c
    rows = connection.execute(select(n.name, n.id).where(n.kind == "study").order_by(n.id))
    return {row.name: row.id for row in rows}


def judges_in(connection: Connection, study: int) -> dict[int, str]:
    """The judges that have a verdict in a study, by number."""
    c, n = catalogue_tables.counts.c, catalogue_tables.names.c
    ruling = select(c.judge_id).where(c.study_id == study, c.contestant_id == 0, c.n > 0)
    return {row.id: row.name for row in connection.execute(select(n.id, n.name).where(n.id.in_(ruling)))}


def contestants_in(connection: Connection, study: int) -> list[str]:
    """The contestants that a verdict of a study shows, by name."""
    c, n = catalogue_tables.counts.c, catalogue_tables.names.c
    shown = select(c.contestant_id).where(c.study_id == study, c.contestant_id > 0, c.n > 0)
    return list(connection.execute(select(n.name).where(n.id.in_(shown)).order_by(n.name)).scalars())
