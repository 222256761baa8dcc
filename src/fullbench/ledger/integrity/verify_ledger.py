"""Everything that can be wrong with a ledger."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from fullbench.core.ballot import ballot
from fullbench.core.digests import digest
from fullbench.errors import InputError, UserError
from fullbench.ledger import row_conversion, schema
from fullbench.ledger.database_interface import Connection, Database
from fullbench.ledger.integrity import acknowledged_digests, row_chain
from fullbench.ledger.integrity.row_chain import Head
from fullbench.ledger.pictures.picture_bucket import BucketPicture
from fullbench.ledger.read_queries import apart_of
from fullbench.ledger.row_conversion import Find, Row
from fullbench.ledger.sqlite import incomplete_copy_marks

READABLE = ("CHECK constraint failed", "NULL value in")
"""Damage after which all rows can still be read, as with a wrong index."""


def problems(database: Database, reader: Connection, find: Find, noted: Head | None = None) -> Iterator[str]:
    """One sentence for each thing that is wrong; `noted` is a head that the ledger is said to have had."""
    try:
        found = database.integrity(reader)
        yield from (f"the file is damaged: {text}" for text in found)
        if any(not text.startswith(READABLE) and " index " not in text for text in found):
            return
        claims = database.noted_heads()  # before the snapshot: other processes may be writing
        with reader.snapshot():
            yield from row_chain.problems(reader)
            yield from acknowledged_digests.lost(claims, reader)
            for writer in database.missing_logs(reader):
                yield incomplete_copy_marks.sentence(writer, database.path.name)
            if noted is not None:
                yield from _head(reader, noted)
            yield from _items(reader)
            yield from _responses(reader)
            yield from _cases(reader)
            yield from _verdicts(reader)
            yield from _pictures(reader, find)
    except database.errors as error:
        yield f"the file is damaged: {error}"


def _head(reader: Connection, noted: Head) -> Iterator[str]:
    found = row_chain.head(reader, noted.commits)
    if found.commits < noted.commits:
        yield f"the ledger has {found.commits} commits, fewer than the {noted.commits} of the head that was noted"
    elif found != noted:
        yield f"the head after {noted.commits} commits is {found}, not {noted} as noted: something was rewritten since"


def _items(reader: Connection) -> Iterator[str]:
    shown = set()
    for key, body in reader.stream("SELECT key, body FROM items"):
        content = _loaded(body)
        if digest(content) != key:
            yield f"the item {key} does not have the content its key promises"
            continue
        shown |= {part["picture"] for _, parts in content[1] for part in parts if isinstance(part, dict)}
    yield from _unknown_pictures(reader, shown)


def _responses(reader: Connection) -> Iterator[str]:
    shown = set()
    sql = "SELECT key, contestant, item, trial, body FROM responses"
    for key, contestant, item, sample, body in reader.stream(sql):
        content = _loaded(body)
        if key != digest([item, contestant, content, *([sample] if sample else [])]):
            yield f"the response of {contestant!r} to item {item!r} does not have the content its key promises"
            continue
        shown |= {part["picture"] for part in content if isinstance(part, dict)}
    yield from _unknown_pictures(reader, shown)
    dangling = "SELECT contestant, item FROM responses WHERE item_key NOT IN (SELECT key FROM items)"
    for contestant, item in reader.stream(dangling):
        yield f"the response of {contestant!r} belongs to an item {item!r} that is not in the ledger"


def _loaded(text: str) -> Any:
    """The JSON value of a column; None, which no key is made of, when it is none."""
    try:
        return row_conversion.load(text)
    except ValueError:
        return None


def _unknown_pictures(reader: Connection, shown: set[str]) -> Iterator[str]:
    for name in sorted(shown.difference(name for (name,) in reader.execute("SELECT digest FROM pictures"))):
        yield f"the picture {name} is shown and is not known"


def _cases(reader: Connection) -> Iterator[str]:
    cases = reader.stream("SELECT key, item_key, responses, ballot, criterion FROM cases")
    while some := list(islice(cases, 500)):
        shown: dict[str, list[str]] = {}
        for key, item_key, keys, spec, criterion in some:
            content = _loaded(keys)
            if digest([item_key, content, spec, criterion]) != key:
                yield f"the case {key} does not have the content its key promises"
            else:
                shown[key] = content
        yield from _dangling(reader, shown)
    for key, item_key in reader.stream("SELECT key, item_key FROM cases WHERE item_key NOT IN (SELECT key FROM items)"):
        yield f"the case {key} speaks of the item {item_key}, which is not in the ledger"
    differing = (
        "SELECT judge, case_key FROM verdicts JOIN cases ON cases.key = verdicts.case_key "
        "WHERE cases.ballot <> verdicts.ballot OR cases.criterion <> verdicts.criterion"
    )
    for judge, key in reader.stream(differing):
        yield f"the verdict of {judge!r} in case {key} is on another ballot or criterion than the case"


def _dangling(reader: Connection, shown: dict[str, list[str]]) -> Iterator[str]:
    """Cases that show responses which are not there."""
    wanted = sorted({name for keys in shown.values() for name in keys})
    there = set()
    for start in range(0, len(wanted), 500):
        chunk = wanted[start : start + 500]
        marks = ", ".join("?" * len(chunk))
        there |= {name for (name,) in reader.execute(f"SELECT key FROM responses WHERE key IN ({marks})", chunk)}
    for key, keys in shown.items():
        for name in keys:
            if name not in there:
                yield f"the case {key} speaks of the response {name}, which is not in the ledger"


def _verdicts(reader: Connection) -> Iterator[str]:
    stream = reader.stream(f"SELECT {row_conversion.VERDICT} FROM verdicts ORDER BY rowid")
    while batch := list(islice(stream, 500)):
        apart = _apart(reader, batch)
        for row in batch:
            yield from _verdict(row, apart or _apart(reader, [row]) or row_conversion.NOTHING_APART)


def _apart(reader: Connection, batch: list[Row]) -> row_conversion.Apart | None:
    """What stands apart from some verdicts; None where something of it cannot be read."""
    try:
        return apart_of(reader, batch)
    except (ValueError, TypeError, LookupError):
        return None


def _verdict(row: Row, apart: row_conversion.Apart) -> Iterator[str]:
    named = dict(zip(schema.columns("verdicts"), row, strict=True))
    where = f"the verdict of {named['judge']!r} in case {named['case_key']} (trial {named['trial']})"
    try:
        for name in row_conversion.load(named["exchanges"]):
            if name not in apart.calls:
                yield f"{where} came from the exchange {name}, which is not in the ledger"
        verdict = row_conversion.verdict_of(row, apart)
        if row_conversion.sum_of(verdict) != named["sum"]:
            yield f"{where} does not have the content its checksum promises"
        if verdict.marks is not None and not ballot(verdict.ballot).allows(verdict.marks):
            yield f"{where} has marks {list(verdict.marks)} that its ballot {verdict.ballot} does not allow"
    except (InputError, ValueError, TypeError) as error:
        yield f"{where} cannot be read: {error}"


def _pictures(reader: Connection, find: Find) -> Iterator[str]:
    for (name,) in reader.execute("SELECT digest FROM pictures").fetchall():
        try:
            picture = find(name)
            if isinstance(picture, BucketPicture):
                picture.check()
            else:
                picture.data()
        except (UserError, UnicodeEncodeError) as error:
            yield f"the picture {name!r} cannot be shown: {error}"
