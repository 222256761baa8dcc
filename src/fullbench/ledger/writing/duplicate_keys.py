"""Which of several rows with one key stays: the first. The others are left out, and billed where they were paid for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from fullbench.ledger import schema
from fullbench.ledger.database_interface import Connection
from fullbench.ledger.row_conversion import Row

Batch = dict[str, list[Row]]
"""Rows without seals, by table."""

LOOKUP = 500
"""So many keys are looked up at a time: SQLite takes 999 values in a statement where it was built long ago."""
UNLIKE = frozenset({"at", "tags", "prompt", "words", "exchanges", "study", "reader", "stop", *schema.CACHED_COUNTS})
"""What may differ between a row and its repetition. A verdict's words are in its checksum."""


def settle(connection: Connection, pending: Batch) -> tuple[Batch, bool]:
    """What of a batch can still go in, and whether anything was left out."""
    accepted: Batch = {}
    bills: list[Row] = []
    left_out = False
    for table, rows in pending.items():
        accepted[table] = rows
        if table not in schema.KEYS or not rows:
            continue
        # Rows of this batch join those of the ledger as they are accepted: a batch may repeat itself.
        first_by_key = dict(rows_there(connection, table, rows))
        accepted[table] = []
        for row in rows:
            key = key_of(table, row)
            if key in first_by_key:
                left_out = True
                bills += _bill(table, row, first_by_key[key])
            else:
                first_by_key[key] = row
                accepted[table].append(row)
    accepted["failures"] = [*pending["failures"], *bills]
    return accepted, left_out


def key_of(table: str, row: Row) -> Row:
    """What there is one of at most."""
    names = schema.columns(table)
    return tuple(row[names.index(name)] for name in schema.KEYS[table])


def rows_there(connection: Connection, table: str, rows: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    """The rows that have one of these keys already, by their keys."""
    # Asked by the key's first column alone, which narrows enough; the whole key is compared here.
    names, first_column = schema.columns(table), schema.KEYS[table][0]
    place = names.index(first_column)
    wanted = {key_of(table, row) for row in rows}
    values = iter(dict.fromkeys(row[place] for row in rows))
    while chunk := list(islice(values, LOOKUP)):
        marks = ", ".join("?" * len(chunk))
        sql = f"SELECT {', '.join(names)} FROM {table} WHERE {first_column} IN ({marks})"
        for row in connection.execute(sql, chunk):
            if (key := key_of(table, tuple(row))) in wanted:
                yield key, tuple(row)


def _bill(table: str, row: Row, first: Row) -> Iterator[Row]:
    """The failure that stands for a row which came second and was another call; a plain repetition is none."""
    if table not in {"verdicts", "responses"}:
        return
    second, earlier = _named(table, row), _named(table, first)
    if all(second[name] == earlier[name] for name in second if name not in UNLIKE):
        return
    usage = [second[name] for name in ("calls", "retries", "tokens_in", "tokens_out", "dollars", "seconds")]
    ending = (*usage, second["at"], "passing", second["cached"], second["stored"])
    if table == "verdicts":
        why = "a second verdict in the same case was not kept"
        yield ("judge", second["judge"], second["case_key"], second["trial"], why, *ending)
    elif second["calls"]:  # an answer read from a file was not paid for
        why = "a second response to the same item was not kept"
        yield ("contestant", second["contestant"], second["item_key"], second["trial"], why, *ending)


def _named(table: str, row: Row) -> dict[str, Any]:
    return dict(zip(schema.columns(table), row, strict=True))
