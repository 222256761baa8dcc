"""Questions to a ledger, each a plain SELECT on a connection handed in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from typing import Any, Literal

from fullbench.ledger import rows, schema
from fullbench.ledger.database import Connection
from fullbench.ledger.rows import Find, Row
from fullbench.nouns.ballot import ballot
from fullbench.nouns.call import Usage
from fullbench.nouns.case import Case
from fullbench.nouns.item import Item
from fullbench.nouns.record import Record
from fullbench.nouns.response import Response
from fullbench.nouns.verdict import FAULTS, Failure, Verdict

Role = Literal["judge", "contestant"]
Names = str | Sequence[str] | None
CHUNK = 500
COUNTED = ("items", "responses", "cases", "verdicts", "failures", "pictures")
SPENT = (
    ", ".join(f"CAST(coalesce(sum({name}), 0) AS BIGINT)" for name in ("calls", "retries", "tokens_in", "tokens_out"))
    + ", CASE WHEN count(dollars) = count(*) THEN coalesce(sum(dollars), 0.0) END, coalesce(sum(seconds), 0.0)"
)


@dataclass(frozen=True, slots=True)
class Account:
    """What one judge or contestant used: verdicts or responses given, calls that brought none, and the sum of all."""

    role: Role
    name: str
    given: int
    failures: int
    usage: Usage


def verdicts(reader: Connection, judge: Names, cases: Iterable[str] | None, texts: bool) -> Iterator[Verdict]:
    columns = rows.VERDICT if texts else rows.VERDICT.replace(" text,", " '',").replace(" earlier,", " '[]',")
    names = names_of(judge)
    for condition, values in _conditions("judge", names, "case_key", cases):
        sql = f"SELECT {columns} FROM verdicts{condition} ORDER BY rowid"
        yield from map(rows.verdict_of, reader.stream(sql, values))


def since(reader: Connection, place: int, limit: int) -> list[tuple[int, Verdict]]:
    sql = f"SELECT rowid, {rows.VERDICT} FROM verdicts WHERE rowid > ? ORDER BY rowid LIMIT ?"
    return [(row[0], rows.verdict_of(row[1:])) for row in reader.execute(sql, (place, limit))]


def responses(reader: Connection, contestant: Names, item_keys: Iterable[str] | None, find: Find) -> Iterator[Response]:
    for condition, values in _conditions("contestant", names_of(contestant), "item_key", item_keys):
        sql = f"SELECT {rows.RESPONSE} FROM responses{condition} ORDER BY rowid"
        for row in reader.stream(sql, values):
            yield rows.response_of(row, find)


def items(reader: Connection, find: Find, ids: Collection[str] | None = None) -> Iterator[Item]:
    latest = "SELECT max(rowid) FROM items GROUP BY key"
    for row in reader.stream(f"SELECT {rows.ITEM} FROM items WHERE rowid IN ({latest}) ORDER BY rowid", ()):
        if ids is None or row[1] in ids:
            yield rows.item_of(row, find)


def case(reader: Connection, key: str, trial: int, find: Find) -> Case | None:
    found = reader.execute("SELECT item_key, responses, ballot, criterion FROM cases WHERE key = ?", (key,)).fetchone()
    if found is None:
        return None
    item_key, keys, spec, criterion = found
    item = reader.execute(
        f"SELECT {rows.ITEM} FROM items WHERE key = ? ORDER BY rowid DESC LIMIT 1", (item_key,)
    ).fetchone()
    shown = [
        reader.execute(f"SELECT {rows.RESPONSE} FROM responses WHERE key = ? LIMIT 1", (name,)).fetchone()
        for name in rows.load(keys)
    ]
    if item is None or None in shown:
        return None
    made = tuple(rows.response_of(row, find) for row in shown)
    return Case(rows.item_of(item, find), made, ballot(spec), criterion, trial)


def cases(reader: Connection, keys: Iterable[str], find: Find) -> Iterator[Case]:
    found = list(_keyed(reader, "key, item_key, responses, ballot, criterion", "cases", keys))
    asked = {row[0]: rows.item_of(row, find) for row in _keyed(reader, rows.ITEM, "items", {row[1] for row in found})}
    shown = {key for row in found for key in rows.load(row[2])}
    said = {row[0]: rows.response_of(row, find) for row in _keyed(reader, rows.RESPONSE, "responses", shown)}
    for _, item_key, keys_text, spec, criterion in found:
        names = rows.load(keys_text)
        if item_key in asked and all(name in said for name in names):
            yield Case(asked[item_key], tuple(said[name] for name in names), ballot(spec), criterion)


def _keyed(reader: Connection, columns: str, table: str, keys: Iterable[str]) -> Iterator[Row]:
    """The rows of a table with these keys, in the order they came."""
    for condition, values in _conditions("key", None, "key", keys):
        yield from reader.stream(f"SELECT {columns} FROM {table}{condition} ORDER BY rowid", values)


def record(
    reader: Connection,
    find: Find,
    *,
    judge: Names,
    cases: Iterable[str] | None,
    tags: Mapping[str, str] | None,
    texts: bool,
) -> Record:
    ruled = tuple(verdicts(reader, judge, cases, texts))
    known = {item.id: item for item in items(reader, find, {verdict.item for verdict in ruled})}
    if tags:
        known = {name: item for name, item in known.items() if tags.items() <= item.tags.items()}
        ruled = tuple(verdict for verdict in ruled if verdict.item in known)
    spoken = {(verdict.item, *one) for verdict in ruled for one in verdict.shown}
    given: dict[tuple[str, str, int], Response] = {}
    for row in reader.stream(f"SELECT {rows.RESPONSE} FROM responses ORDER BY rowid", ()):
        _, contestant, item, _, sample, *_ = row
        place = (item, contestant, sample)
        if place in spoken:
            given[place] = rows.response_of(row, find)
    return Record(ruled, known, given)


def failures(reader: Connection, name: str) -> Iterator[Failure]:
    sql = "SELECT key, name, trial, error, calls, retries, tokens_in, tokens_out, dollars, seconds FROM failures"
    for key, who, trial, error, *spent in reader.stream(f"{sql} WHERE name = ?", (name,)):
        yield Failure(key, who, trial, error, Usage(*spent))


def bill(reader: Connection) -> list[Account]:
    sql = (
        f"SELECT 'judge', judge, count(*), 0, {SPENT} FROM verdicts GROUP BY judge UNION ALL "
        f"SELECT 'contestant', contestant, count(*), 0, {SPENT} FROM responses GROUP BY contestant UNION ALL "
        f"SELECT role, name, 0, count(*), {SPENT} FROM failures GROUP BY role, name"
    )
    accounts: dict[tuple[str, str], Account] = {}
    for role, name, given, failed, *spent in reader.execute(sql):
        before = accounts.get((role, name), Account(role, name, 0, 0, Usage()))
        usage = before.usage + Usage(*spent)
        accounts[role, name] = Account(role, name, before.given + given, before.failures + failed, usage)
    return [accounts[key] for key in sorted(accounts)]


def content_digest(reader: Connection) -> str:
    whole = blake2b(digest_size=16)
    for sql in (
        "SELECT DISTINCT key FROM items ORDER BY key",
        "SELECT contestant || ' ' || item_key || ' ' || trial || ' ' || key FROM responses "
        "ORDER BY item_key, contestant, trial",
        "SELECT sum FROM verdicts ORDER BY sum",
    ):
        for (text,) in reader.stream(sql):
            whole.update(text.encode() + b"\n")
        whole.update(b"\n")
    return whole.hexdigest()


def counts(reader: Connection) -> dict[str, int]:
    return {table: reader.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in COUNTED}


def chains(reader: Connection) -> dict[str, int]:
    """How many rows of how many writers are chained, in how many commits."""
    each = " UNION ALL ".join(f"SELECT count(*) AS n FROM {table}" for table in schema.TABLES)
    rows_ = reader.execute(f"SELECT CAST(sum(n) AS BIGINT) FROM ({each}) AS each_table").fetchone()[0]
    commits, writers = reader.execute("SELECT count(*), count(DISTINCT writer) FROM commits").fetchone()
    return {"rows": rows_, "commits": commits, "writers": writers}


def describe(reader: Connection) -> dict[str, Any]:
    faults = {
        (judge, fault): count
        for judge, fault, count in reader.execute(
            "SELECT judge, fault, count(*) FROM verdicts WHERE fault IS NOT NULL GROUP BY judge, fault"
        )
    }
    first, last = reader.execute("SELECT min(at), max(at) FROM verdicts").fetchone()
    settings = {
        (role, name): rows.load(text)
        for role in ("judge", "contestant")
        for name, text in reader.execute(f"SELECT name, settings FROM {role}s")
    }
    return {
        "digest": content_digest(reader),
        "counts": counts(reader),
        "chains": chains(reader),
        "first": first,
        "last": last,
        "accounts": [
            {
                "role": account.role,
                "name": account.name,
                "given": account.given,
                "failures": account.failures,
                "faults": {fault: faults.get((account.name, fault), 0) for fault in FAULTS}
                if account.role == "judge"
                else {},
                "usage": {name: getattr(account.usage, name) for name in Usage.__dataclass_fields__},
                "settings": settings.get((account.role, account.name)),
            }
            for account in bill(reader)
        ],
    }


def names_of(names: Names) -> tuple[str, ...] | None:
    return (names,) if isinstance(names, str) else None if names is None else tuple(names)


def _conditions(
    column: str, names: tuple[str, ...] | None, key_column: str, keys: Iterable[str] | None
) -> Iterator[tuple[str, Row]]:
    """WHERE clauses with their values: one, or one for each chunk of keys."""
    if names == ():
        return
    by_name = [] if names is None else [f"{column} IN ({', '.join('?' * len(names))})"]
    if keys is None:
        yield (" WHERE " + by_name[0] if by_name else ""), names or ()
        return
    left = iter(dict.fromkeys(keys))
    while chunk := tuple(islice(left, CHUNK)):
        both = [*by_name, f"{key_column} IN ({', '.join('?' * len(chunk))})"]
        yield " WHERE " + " AND ".join(both), (*(names or ()), *chunk)
