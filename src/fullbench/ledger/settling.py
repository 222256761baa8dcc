"""Which of several rows with one key stays: the first. The others are left out, and billed where they were paid for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from fullbench.ledger import schema
from fullbench.ledger.database import Connection
from fullbench.ledger.rows import Row

Batch = dict[str, list[Row]]
"""Rows without seals, by table."""

LOOKUP = 500
UNLIKE = frozenset({"at", "tags", "prompt", "words", "exchanges", "study", "reader", "stop"})
"""What may differ between a row and its repetition. A verdict's words are in its checksum."""


def settle(connection: Connection, pending: Batch) -> tuple[Batch, bool]:
    """What of a batch can still go in, and whether anything was left out."""
    kept: Batch = {}
    bills: list[Row] = []
    left_out = False
    for table, rows in pending.items():
        kept[table] = rows
        if table not in schema.KEYS or not rows:
            continue
        there = dict(rows_there(connection, table, rows))
        kept[table] = []
        for row in rows:
            key = key_of(table, row)
            if key in there:
                left_out = True
                bills += _bill(table, row, there[key])
            else:
                there[key] = row
                kept[table].append(row)
    kept["failures"] = [*pending["failures"], *bills]
    return kept, left_out


def key_of(table: str, row: Row) -> Row:
    """What there is one of at most."""
    names = schema.columns(table)
    return tuple(row[names.index(name)] for name in schema.KEYS[table])


def rows_there(connection: Connection, table: str, rows: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    """The rows that have one of these keys already, by their keys."""
    names, first = schema.columns(table), schema.KEYS[table][0]
    place = names.index(first)
    wanted = {key_of(table, row) for row in rows}
    left = iter(dict.fromkeys(row[place] for row in rows))
    while chunk := list(islice(left, LOOKUP)):
        marks = ", ".join("?" * len(chunk))
        sql = f"SELECT {', '.join(names)} FROM {table} WHERE {first} IN ({marks})"
        for row in connection.execute(sql, chunk):
            if (key := key_of(table, tuple(row))) in wanted:
                yield key, tuple(row)


def _bill(table: str, row: Row, kept: Row) -> Iterator[Row]:
    """The failure that stands for a row which came second and was another call; a plain repetition is none."""
    if table not in {"verdicts", "responses"}:
        return
    mine, theirs = _named(table, row), _named(table, kept)
    usage = [mine[name] for name in ("calls", "retries", "tokens_in", "tokens_out", "dollars", "seconds")]
    same = all(mine[name] == theirs[name] for name in mine if name not in UNLIKE)
    if table == "verdicts" and not same:
        why = "a second verdict in the same case was not kept"
        yield ("judge", mine["judge"], mine["case_key"], mine["trial"], why, *usage, mine["at"], "passing")
    if table == "responses" and not same and mine["calls"]:
        why = "a second response to the same item was not kept"
        yield ("contestant", mine["contestant"], mine["item_key"], mine["trial"], why, *usage, mine["at"], "passing")


def _named(table: str, row: Row) -> dict[str, Any]:
    return dict(zip(schema.columns(table), row, strict=True))
