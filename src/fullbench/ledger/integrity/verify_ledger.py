"""All checks of `fullbench ledger verify`: database, chains, digests, contents and pictures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fullbench.core.ballot import ballot
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.media import NOUNS, kind_of
from fullbench.errors import InputError, UserError
from fullbench.ledger import row_conversion, schema
from fullbench.ledger.database_interface import Connection, Database, chunks, lookup
from fullbench.ledger.integrity import last_committed_rows, row_chain
from fullbench.ledger.integrity.row_chain import LedgerDigest
from fullbench.ledger.read_queries import load_reply_texts
from fullbench.ledger.row_conversion import FindMedia, Row
from fullbench.ledger.sqlite import missing_write_ahead_log_marks

READABLE = ("CHECK constraint failed", "NULL value in")
"""Damage after which all rows can still be read, as with a wrong index."""


def find_ledger_problems(
    database: Database, reader: Connection, find: FindMedia, noted_digest: LedgerDigest | None = None
) -> Iterator[str]:
    """Yield one sentence for each problem; `noted_digest` is an earlier ledger digest to check against."""
    try:
        database_problems = database.integrity_problems(reader)
        yield from (f"the file is damaged: {text}" for text in database_problems)
        if any(not text.startswith(READABLE) and " index " not in text for text in database_problems):
            return
        claims = database.noted_digests()  # before the snapshot: other processes may be writing
        with reader.snapshot():
            yield from row_chain.find_chain_problems(reader)
            yield from last_committed_rows.find_lost_rows(claims, reader)
            for writer in database.missing_logs(reader):
                yield missing_write_ahead_log_marks.missing_rows_message(writer, database.path.name)
            if noted_digest is not None:
                yield from _digest_problems(reader, noted_digest)
            yield from _item_problems(reader)
            yield from _response_problems(reader)
            yield from _case_problems(reader)
            yield from _verdict_problems(reader)
            yield from _picture_problems(reader, find)
    except database.errors as error:
        yield f"the file is damaged: {error}"


def _digest_problems(reader: Connection, noted_digest: LedgerDigest) -> Iterator[str]:
    stored_digest = row_chain.ledger_digest(reader, noted_digest.commits)
    if stored_digest.commits < noted_digest.commits:
        yield (
            f"the ledger has {stored_digest.commits} commits, fewer than the {noted_digest.commits} of the "
            "head that was noted"
        )
    elif stored_digest != noted_digest:
        yield (
            f"the digest after {noted_digest.commits} commits is {stored_digest}, not {noted_digest} as noted: "
            "something was rewritten since"
        )


def _item_problems(reader: Connection) -> Iterator[str]:
    picture_digests = set()
    for key, body in reader.stream("SELECT key, body FROM items"):
        content = _load_column(body)
        if digest(content) != key:
            yield f"the item {key} does not have the content its key promises"
            continue
        picture_digests |= row_conversion.media_digests(part for _, parts in content[1] for part in parts)
    yield from _unknown_picture_problems(reader, picture_digests)


def _response_problems(reader: Connection) -> Iterator[str]:
    picture_digests = set()
    sql = "SELECT key, contestant, item, trial, body FROM responses"
    for key, contestant, item, sample, body in reader.stream(sql):
        content = _load_column(body)
        if key != digest([item, contestant, content, *([sample] if sample else [])]):
            yield f"the response of {contestant!r} to item {item!r} does not have the content its key promises"
            continue
        picture_digests |= row_conversion.media_digests(content)
    yield from _unknown_picture_problems(reader, picture_digests)
    dangling = "SELECT contestant, item FROM responses WHERE item_key NOT IN (SELECT key FROM items)"
    for contestant, item in reader.stream(dangling):
        yield f"the response of {contestant!r} belongs to an item {item!r} that is not in the ledger"


def _load_column(text: str) -> Any:
    """Return the JSON value of a column, or None if it is invalid; no key is a digest of None."""
    try:
        return row_conversion.load_json(text)
    except ValueError:
        return None


def _unknown_picture_problems(reader: Connection, picture_digests: set[str]) -> Iterator[str]:
    for name in sorted(picture_digests.difference(name for (name,) in reader.execute("SELECT digest FROM pictures"))):
        yield f"the picture {name} is shown and is not known"


def _case_problems(reader: Connection) -> Iterator[str]:
    cases = reader.stream("SELECT key, item_key, responses, ballot, criterion FROM cases")
    for batch in chunks(cases, 500):
        response_keys_by_case: dict[str, list[str]] = {}
        for key, item_key, keys, spec, criterion in batch:
            content = _load_column(keys)
            if digest([item_key, content, spec, criterion]) != key:
                yield f"the case {key} does not have the content its key promises"
            else:
                response_keys_by_case[key] = content
        yield from _missing_response_problems(reader, response_keys_by_case)
    for key, item_key in reader.stream("SELECT key, item_key FROM cases WHERE item_key NOT IN (SELECT key FROM items)"):
        yield f"the case {key} speaks of the item {item_key}, which is not in the ledger"
    differing = (
        "SELECT judge, case_key FROM verdicts JOIN cases ON cases.key = verdicts.case_key "
        "WHERE cases.ballot <> verdicts.ballot OR cases.criterion <> verdicts.criterion"
    )
    for judge, key in reader.stream(differing):
        yield f"the verdict of {judge!r} in case {key} is on another ballot or criterion than the case"


def _missing_response_problems(reader: Connection, response_keys_by_case: dict[str, list[str]]) -> Iterator[str]:
    response_keys = (name for keys in response_keys_by_case.values() for name in keys)
    stored_keys = {name for (name,) in lookup(reader, "SELECT key FROM responses WHERE key IN ({})", response_keys)}
    for key, keys in response_keys_by_case.items():
        for name in keys:
            if name not in stored_keys:
                yield f"the case {key} speaks of the response {name}, which is not in the ledger"


def _verdict_problems(reader: Connection) -> Iterator[str]:
    stream = reader.stream(f"SELECT {row_conversion.VERDICT} FROM verdicts ORDER BY rowid")
    for batch in chunks(stream, 500):
        verdict_texts = _readable_texts(reader, batch)
        for row in batch:
            yield from _verdict_row_problems(
                row, verdict_texts or _readable_texts(reader, [row]) or row_conversion.NO_VERDICT_TEXTS
            )


def _readable_texts(reader: Connection, batch: list[Row]) -> row_conversion.VerdictTexts | None:
    try:
        return load_reply_texts(reader, batch)
    except (ValueError, TypeError, LookupError):
        return None


def _verdict_row_problems(row: Row, verdict_texts: row_conversion.VerdictTexts) -> Iterator[str]:
    try:
        for name in row_conversion.load_json(row[_EXCHANGES]) if row[_EXCHANGES] != "[]" else ():
            if name not in verdict_texts.calls:
                yield f"{_verdict_name(row)} came from the exchange {name}, which is not in the ledger"
        verdict = row_conversion.verdict_of(row, verdict_texts)
        if row_conversion.verdict_checksum(verdict) != row[_SUM]:
            yield f"{_verdict_name(row)} does not have the content its checksum promises"
        if verdict.marks is not None and not ballot(verdict.ballot).allows(verdict.marks):
            yield (
                f"{_verdict_name(row)} has marks {list(verdict.marks)} that its ballot {verdict.ballot} does not allow"
            )
    except (InputError, ValueError, TypeError) as error:
        yield f"{_verdict_name(row)} cannot be read: {error}"


_EXCHANGES, _SUM = map(schema.table_columns("verdicts").index, ("exchanges", "sum"))


def _verdict_name(row: Row) -> str:
    values = dict(zip(schema.table_columns("verdicts"), row, strict=True))
    return f"the verdict of {values['judge']!r} in case {values['case_key']} (trial {values['trial']})"


def _picture_problems(reader: Connection, find: FindMedia) -> Iterator[str]:
    for name, media_type in reader.execute("SELECT digest, media FROM pictures").fetchall():
        try:
            find(name, kind_of(media_type)).check()
        except (UserError, UnicodeEncodeError) as error:
            yield f"the {NOUNS[kind_of(media_type)]} {name!r} cannot be shown: {error}"
