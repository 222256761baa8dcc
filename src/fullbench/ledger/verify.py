"""Everything that can be wrong with a ledger."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

from fullbench.core.ballots import ballot
from fullbench.core.errors import InputError, UserError
from fullbench.core.items import digest
from fullbench.ledger import rows
from fullbench.ledger.rows import Find


def problems(reader: sqlite3.Connection, find: Find) -> Iterator[str]:
    """One sentence for each thing that is wrong."""
    try:
        found = [text for (text,) in reader.execute("PRAGMA integrity_check") if text != "ok"]
        if found:
            yield from (f"the file is damaged: {text}" for text in found)
            return
        yield from _items(reader)
        yield from _responses(reader)
        yield from _cases(reader)
        yield from _verdicts(reader)
        yield from _pictures(reader, find)
    except sqlite3.DatabaseError as error:
        yield f"the file is damaged: {error}"


def _items(reader: sqlite3.Connection) -> Iterator[str]:
    shown = set()
    for key, body in reader.execute("SELECT key, body FROM items"):
        content = _loaded(body)
        if digest(content) != key:
            yield f"the item {key} does not have the content its key promises"
            continue
        shown |= {part["picture"] for _, parts in content[1] for part in parts if isinstance(part, dict)}
    yield from _unknown_pictures(reader, shown)


def _responses(reader: sqlite3.Connection) -> Iterator[str]:
    shown = set()
    for key, contestant, item, body in reader.execute("SELECT key, contestant, item, body FROM responses"):
        content = _loaded(body)
        if digest([item, contestant, content]) != key:
            yield f"the response of {contestant!r} to item {item!r} does not have the content its key promises"
            continue
        shown |= {part["picture"] for part in content if isinstance(part, dict)}
    yield from _unknown_pictures(reader, shown)
    dangling = "SELECT contestant, item FROM responses WHERE item_key NOT IN (SELECT key FROM items)"
    for contestant, item in reader.execute(dangling):
        yield f"the response of {contestant!r} belongs to an item {item!r} that is not in the ledger"


def _loaded(text: str) -> Any:
    """The JSON value of a column; None, which no key is made of, when it is none."""
    try:
        return rows.load(text)
    except ValueError:
        return None


def _unknown_pictures(reader: sqlite3.Connection, shown: set[str]) -> Iterator[str]:
    for name in sorted(shown.difference(name for (name,) in reader.execute("SELECT digest FROM pictures"))):
        yield f"the picture {name} is shown and is not known"


def _cases(reader: sqlite3.Connection) -> Iterator[str]:
    for key, item_key, keys, spec, criterion in reader.execute(
        "SELECT key, item_key, responses, ballot, criterion FROM cases"
    ):
        if digest([item_key, _loaded(keys), spec, criterion]) != key:
            yield f"the case {key} does not have the content its key promises"
    dangling = (
        "SELECT key, 'item ' || item_key FROM cases WHERE item_key NOT IN (SELECT key FROM items) UNION ALL "
        "SELECT cases.key, 'response ' || value FROM cases, json_each(cases.responses) "
        "WHERE value NOT IN (SELECT key FROM responses)"
    )
    for key, what in reader.execute(dangling):
        yield f"the case {key} speaks of the {what}, which is not in the ledger"
    differing = (
        "SELECT judge, case_key FROM verdicts JOIN cases ON cases.key = verdicts.case_key "
        "WHERE cases.ballot <> verdicts.ballot OR cases.criterion <> verdicts.criterion"
    )
    for judge, key in reader.execute(differing):
        yield f"the verdict of {judge!r} in case {key} is on another ballot or criterion than the case"


def _verdicts(reader: sqlite3.Connection) -> Iterator[str]:
    for row in reader.execute(f"SELECT {rows.VERDICT} FROM verdicts"):
        where = f"the verdict of {row[1]!r} in case {row[0]} (trial {row[6]})"
        try:
            verdict = rows.verdict_of(row)
            if rows.verdict_row(verdict)[-1] != row[-1]:
                yield f"{where} does not have the content its checksum promises"
            if verdict.marks is not None and not ballot(verdict.ballot).allows(verdict.marks):
                yield f"{where} has marks {list(verdict.marks)} that its ballot {verdict.ballot} does not allow"
        except (InputError, ValueError, TypeError) as error:
            yield f"{where} cannot be read: {error}"


def _pictures(reader: sqlite3.Connection, find: Find) -> Iterator[str]:
    for (name,) in reader.execute("SELECT digest FROM pictures").fetchall():
        try:
            find(name).data()
        except UserError as error:
            yield f"the picture {name} cannot be shown: {error}"
