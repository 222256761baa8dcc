"""Ledgers as the code of version 0.1.0 wrote them, in schema 3, 2 or 1. See also the frozen ones in `fixtures`."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from fullbench.ledger import rows, schema
from fullbench.ledger.chain import Chain
from fullbench.nouns.call import NOTHING
from fullbench.nouns.case import Case
from fullbench.nouns.digests import digest
from fullbench.nouns.item import parts_content
from fullbench.nouns.response import Response
from fullbench.nouns.verdict import Verdict

KEYS = {**schema.KEYS, "verdicts": ("case_key", "judge", "trial")}
Entry = Case | Verdict | tuple[str, str]
"""A case with its item and responses, a verdict, or the name of a judge or contestant with its role."""


def old_ledger(path: Path, entries: Sequence[Entry], version: int = 3) -> Chain:
    """A ledger of an older schema; schema 2 had no chain, and in schema 1 verdicts had no earlier replies either."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    for table, columns in schema.FIRST.items():
        if version < 3 and table in {"settings", "commits"}:
            continue
        own = columns.replace("earlier TEXT NOT NULL DEFAULT '[]', ", "") if version == 1 else columns
        parts = [own, schema.SEAL if version == 3 else "", schema.CHECKS.get(table, "")]
        key = f"PRIMARY KEY ({', '.join(KEYS[table])})" if table in KEYS else ""
        parts.insert(2, key)
        connection.execute(f"CREATE TABLE {table} ({', '.join(filter(None, parts))}) STRICT")
        schema.forbid(connection, table)
    for statement in schema.INDEXES:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {schema.APPLICATION}")
    connection.execute(f"PRAGMA user_version = {version}")
    chain = Chain.begin()
    for table, row in dict.fromkeys(row for entry in entries for row in _rows(entry)):
        _insert(connection, chain, table, row, version)
    if version == 3:
        _insert(connection, chain, "commits", (1000.0,), version)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return chain


def _insert(connection: sqlite3.Connection, chain: Chain, table: str, row: tuple[Any, ...], version: int) -> None:
    names = [column.split()[0] for column in schema.FIRST[table].split(", ")]
    if version == 3:
        (row,) = chain.seal(table, [row])
        names += ["writer", "number", "link"]
    named = {name: value for name, value in zip(names, row, strict=True) if version > 1 or name != "earlier"}
    marks = ", ".join("?" * len(named))
    sql = f"INSERT INTO {table} ({', '.join(named)}) VALUES ({marks})"
    connection.execute(sql, list(named.values()))


def _rows(entry: Entry) -> list[tuple[str, tuple[Any, ...]]]:
    if isinstance(entry, tuple):
        return [(f"{entry[0]}s", (entry[1], "{}", 1.0))]
    if isinstance(entry, Case):
        item = entry.item
        said = [("responses", _response(entry, response)) for response in entry.responses]
        keys = [row[0] for _, row in said]
        key = digest([item.key, keys, entry.ballot.spec, entry.criterion])
        shown = (key, item.key, orjson.dumps(keys).decode(), entry.ballot.spec, entry.criterion)
        return [("items", rows.item_row(item)), *said, ("cases", shown)]
    v = entry
    marks = None if v.marks is None else orjson.dumps(v.marks).decode()
    total = rows.checksum(
        v.case, v.judge, v.item, v.contestants, v.ballot, v.criterion, v.trial, v.marks, v.fault, v.text, v.prompt,
        v.earlier,
    )  # fmt: skip
    row = (
        v.case, v.judge, v.item, orjson.dumps(v.contestants).decode(), v.ballot, v.criterion, v.trial, marks, v.fault,
        v.text, v.prompt, *rows.usage_row(v.usage), v.at or 1.0, orjson.dumps(v.earlier).decode(), total,
    )  # fmt: skip
    return [("verdicts", row)]


def _response(case: Case, response: Response) -> tuple[Any, ...]:
    """A row whose key does not say which sample it is: that release left it out."""
    row = rows.response_row(case.item, response, NOTHING, "", 1.0)[: schema.sealed_width("responses", 1)]
    return (digest([response.item, response.contestant, parts_content(response.parts)]), *row[1:])


def old_key(case: Case) -> str:
    """The key that a case had."""
    keys = [_response(case, response)[0] for response in case.responses]
    return digest([case.item.key, keys, case.ballot.spec, case.criterion])
