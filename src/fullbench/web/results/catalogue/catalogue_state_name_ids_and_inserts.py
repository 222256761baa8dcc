"""Helpers that read and write rows of the catalogue: state, ids, names, bulk inserts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, TypeVar

from sqlalchemy import ClauseElement, Connection, Insert, Table, func, insert, select

from fullbench.web.database import dialect_insert
from fullbench.web.results.catalogue import catalogue_tables

# Far below the number of `?` that one statement of SQLite may have.
CHUNK_SIZE = 500
Row = dict[str, Any]
Value = TypeVar("Value")


def catalogue_version(connection: Connection) -> int:
    """Return a number that grows with every change of the catalogue. It is part of cache keys."""
    return int(get_state(connection, "version") or 0)


def get_state(connection: Connection, name: str) -> str | None:
    """Return a value of the state table, or None."""
    return connection.execute(
        select(catalogue_tables.state.c.value).where(catalogue_tables.state.c.name == name)
    ).scalar()


def set_state(connection: Connection, name: str, value: object) -> None:
    """Write a value to the state table as text."""
    upsert_rows(connection, catalogue_tables.state, [{"name": name, "value": str(value)}], ["name"], ["value"])


def upsert_rows(
    connection: Connection, table: Table, rows: Sequence[Row], key: list[str], update_columns: list[str]
) -> None:
    """Insert rows. If the key exists, update the given columns."""
    insertion = dialect_insert(connection, table)
    update_values = {name: insertion.excluded[name] for name in update_columns}
    execute_many(connection, insertion.on_conflict_do_update(index_elements=key, set_=update_values), rows)


def split_into_chunks(values: Iterable[Value], size: int = CHUNK_SIZE) -> Iterator[tuple[Value, ...]]:
    """Yield the values in groups of at most `size`, as many as one SQL statement takes."""
    remaining = iter(values)
    while chunk := tuple(islice(remaining, size)):
        yield chunk


def next_id(connection: Connection, table: Table) -> int:
    """Return the next free id. Safe because only one process fills the catalogue at a time."""
    return int(connection.execute(select(func.coalesce(func.max(table.c.id), 0))).scalar_one()) + 1


def lookup_ids(connection: Connection, table: Table, column: str, values: Iterable[str]) -> dict[str, int]:
    """Return the id of each value that is in the table."""
    ids: dict[str, int] = {}
    for chunk in split_into_chunks(dict.fromkeys(values)):
        place = table.c[column]
        ids.update((row[0], row[1]) for row in connection.execute(select(place, table.c.id).where(place.in_(chunk))))
    return ids


def assign_ids(
    connection: Connection, table: Table, column: str, values: Iterable[str]
) -> tuple[dict[str, int], set[str]]:
    """Return the id of each value and the set of new values. New values get the next free ids."""
    distinct_values = dict.fromkeys(values)
    ids = lookup_ids(connection, table, column, distinct_values)
    new_values = [value for value in distinct_values if value not in ids]
    ids.update(zip(new_values, range(start := next_id(connection, table), start + len(new_values)), strict=True))
    return ids, set(new_values)


def insert_all(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Insert many rows with the same columns."""
    execute_many(connection, insert(table), rows)


def execute_many(connection: Connection, statement: ClauseElement, rows: Sequence[Row]) -> None:
    """Execute a statement for many rows with the same columns. It is compiled once and run by the driver."""
    if not rows:
        return
    column_keys = list(rows[0]) if isinstance(statement, Insert) else None
    compiled_statement: Any = statement.compile(dialect=connection.dialect, column_keys=column_keys)
    values: Any = rows
    if compiled_statement.positional:  # SQLite takes positional parameters, PostgreSQL named ones
        names = compiled_statement.positiontup
        pick_values = itemgetter(*names)
        values = list(map(pick_values, rows)) if len(names) > 1 else [(pick_values(row),) for row in rows]
    connection.exec_driver_sql(str(compiled_statement), values)


def name_ids(connection: Connection, name_keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Return the id of each (kind, name). New names are inserted."""
    name_keys = sorted(name_keys)
    ids = {(kind, name): id_ for id_, kind, name in connection.execute(select(catalogue_tables.names))}
    new_keys = [place for place in name_keys if place not in ids]
    rows = [
        {"id": id_, "kind": kind, "name": name}
        for id_, (kind, name) in enumerate(new_keys, start=next_id(connection, catalogue_tables.names))
    ]
    insert_all(connection, catalogue_tables.names, rows)
    return ids | {(row["kind"], row["name"]): row["id"] for row in rows}


def judge_names_by_id(connection: Connection) -> dict[int, str]:
    """Return the names of all judges by id."""
    rows = connection.execute(
        select(catalogue_tables.names.c.id, catalogue_tables.names.c.name).where(
            catalogue_tables.names.c.kind == "judge"
        )
    )
    return {row.id: row.name for row in rows}


def study_ids_by_name(connection: Connection) -> dict[str, int]:
    """Return the id of every study, in the order in which they were added."""
    n = catalogue_tables.names.c
    rows = connection.execute(select(n.name, n.id).where(n.kind == "study").order_by(n.id))
    return {row.name: row.id for row in rows}


def judges_in(connection: Connection, study: int) -> dict[int, str]:
    """Return the judges with verdicts in a study, by id."""
    c, n = catalogue_tables.counts.c, catalogue_tables.names.c
    judge_ids = select(c.judge_id).where(c.study_id == study, c.contestant_id == 0, c.n > 0)
    return {row.id: row.name for row in connection.execute(select(n.id, n.name).where(n.id.in_(judge_ids)))}


def contestants_in(connection: Connection, study: int) -> list[str]:
    """Return the contestants shown in verdicts of a study, sorted by name."""
    c, n = catalogue_tables.counts.c, catalogue_tables.names.c
    contestant_ids = select(c.contestant_id).where(c.study_id == study, c.contestant_id > 0, c.n > 0)
    return list(connection.execute(select(n.name).where(n.id.in_(contestant_ids)).order_by(n.name)).scalars())
