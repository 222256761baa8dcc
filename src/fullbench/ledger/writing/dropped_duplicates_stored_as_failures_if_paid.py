"""Rows with the same key: the first one stays. Others are dropped, and stored as failures if they were paid for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fullbench.ledger import schema
from fullbench.ledger.database_interface import Connection, lookup
from fullbench.ledger.row_conversion import Row

Batch = dict[str, list[Row]]
"""Rows without chain columns, by table."""

VARYING_COLUMNS = frozenset(
    {"at", "tags", "prompt", "words", "exchanges", "study", "reader", "stop", *schema.CACHED_COUNTS}
)
"""Columns that may differ between a row and its repetition. A verdict's text is covered by its checksum."""


def drop_duplicates(connection: Connection, pending: Batch) -> tuple[Batch, bool]:
    """Return the rows of a batch that can be inserted, and True if any was dropped."""
    accepted_rows: Batch = {}
    bills: list[Row] = []
    left_out = False
    for table, rows in pending.items():
        accepted_rows[table] = rows
        if table not in schema.KEYS or not rows:
            continue
        # Accepted rows are added to those of the ledger, since a batch may contain duplicates.
        first_by_key = dict(existing_rows(connection, table, rows))
        accepted_rows[table] = []
        for row in rows:
            key = key_of(table, row)
            if key in first_by_key:
                left_out = True
                bills += _failure_rows(table, row, first_by_key[key])
            else:
                first_by_key[key] = row
                accepted_rows[table].append(row)
    accepted_rows["failures"] = [*pending["failures"], *bills]
    return accepted_rows, left_out


def key_of(table: str, row: Row) -> Row:
    """Return the primary key of a row."""
    names = schema.table_columns(table)
    return tuple(row[names.index(name)] for name in schema.KEYS[table])


def existing_rows(connection: Connection, table: str, rows: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    """Yield the stored rows that have one of these keys, with their keys."""
    # The query uses only the key's first column, which is selective enough; the whole key is compared here.
    names, first_column = schema.table_columns(table), schema.KEYS[table][0]
    place = names.index(first_column)
    requested_keys = {key_of(table, row) for row in rows}
    sql = f"SELECT {', '.join(names)} FROM {table} WHERE {first_column} IN ({{}})"
    for row in lookup(connection, sql, (row[place] for row in rows)):
        if (key := key_of(table, tuple(row))) in requested_keys:
            yield key, tuple(row)


def _failure_rows(table: str, row: Row, first: Row) -> Iterator[Row]:
    """Yield a failure for a dropped row that was another call; an identical row yields none."""
    if table not in {"verdicts", "responses"}:
        return
    second, earlier = _row_values(table, row), _row_values(table, first)
    if all(second[name] == earlier[name] for name in second if name not in VARYING_COLUMNS):
        return
    usage = [second[name] for name in ("calls", "retries", "tokens_in", "tokens_out", "dollars", "seconds")]
    ending = (*usage, second["at"], "passing", second["cached"], second["stored"])
    if table == "verdicts":
        why = "a second verdict in the same case was not kept"
        yield ("judge", second["judge"], second["case_key"], second["trial"], why, *ending)
    elif second["calls"]:  # responses from files were not paid for
        why = "a second response to the same item was not kept"
        yield ("contestant", second["contestant"], second["item_key"], second["trial"], why, *ending)


def _row_values(table: str, row: Row) -> dict[str, Any]:
    return dict(zip(schema.table_columns(table), row, strict=True))
