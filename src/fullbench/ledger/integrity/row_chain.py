"""Hash chains over rows, which reveal rows that were changed, removed or inserted afterwards.

Every writer (a `Ledger` opened for writing) has its own chain, so that many can write at once. It numbers its rows over
all tables from 1. Each row ends with a digest of itself and of the digest before it. Every commit ends with a row of
the table `commits`, which names the version of its row digests. Nothing here is secret: anyone who rewrites all rows
after a row can make a valid chain again. The ledger digest, a digest of all commits in order, reveals that if a copy is
kept elsewhere.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from heapq import merge
from itertools import groupby
from typing import Any

import orjson

from fullbench.errors import InputError
from fullbench.ledger import schema
from fullbench.ledger.database_interface import Connection
from fullbench.ledger.row_conversion import Row


def link_of(before: str, table: str, writer: str, number: int, row: Sequence[Any]) -> str:
    """Return the digest of a row and of all rows before it."""
    return blake2b(orjson.dumps((before, table, writer, number, row)), digest_size=16).hexdigest()


@dataclass
class Chain:
    """End of a writer's chain."""

    writer: str
    number: int = 0
    link: str = ""
    links: dict[str, blake2b] = field(default_factory=dict)
    """Digest of all row digests so far, by table, to check that every row is stored without keeping rows in memory."""

    @classmethod
    def begin(cls) -> Chain:
        return cls(secrets.token_hex(6))

    def copy(self) -> Chain:
        return Chain(self.writer, self.number, self.link, {table: links.copy() for table, links in self.links.items()})

    def seal(self, table: str, rows: Iterable[Row]) -> list[Row]:
        """Return the rows with their chain columns: writer, number and digest."""
        writer, number, link = self.writer, self.number, self.link
        chained_rows = []
        for row in rows:
            number += 1
            link = link_of(link, table, writer, number, row)
            chained_rows.append((*row, writer, number, link))
        self.number, self.link = number, link
        self.links.setdefault(table, blake2b()).update("".join([row[-1] for row in chained_rows]).encode())
        return chained_rows


@dataclass(frozen=True)
class LedgerDigest:
    """Number and digest of all commits of a ledger at one moment, written `NUMBER-DIGEST`."""

    commits: int
    digest: str

    def __str__(self) -> str:
        return f"{self.commits}-{self.digest}"

    @classmethod
    def from_text(cls, text: str) -> LedgerDigest:
        """Parse `NUMBER-DIGEST`.

        >>> LedgerDigest.from_text("12-00ff") == LedgerDigest(12, "00ff")
        True
        """
        count, _, digest = text.strip().partition("-")
        if not (count.isdecimal() and digest):
            raise InputError(f"a digest looks like 12-3f5a..., as `fullbench ledger show` prints it; found {text!r}")
        return cls(int(count), digest)


def ledger_digest(reader: Connection, first: int | None = None) -> LedgerDigest:
    """Return the ledger digest, or the one after the `first` commits."""
    (*_, (_, last)) = ledger_digests(reader, (), first)
    return last


def ledger_digests(
    reader: Connection, commit_counts: Collection[int], first: int | None = None
) -> Iterator[tuple[int, LedgerDigest]]:
    """Yield the ledger digests after these numbers of commits, and the current one, in one pass."""
    hasher, count = blake2b(digest_size=16), 0
    limit = "" if first is None else f" LIMIT {first}"
    for writer, number, link in reader.stream(f"SELECT writer, number, link FROM commits ORDER BY rowid{limit}"):
        if count in commit_counts:
            yield count, LedgerDigest(count, hasher.hexdigest())
        hasher.update(f"{writer} {number} {link}\n".encode())
        count += 1
    yield count, LedgerDigest(count, hasher.hexdigest())


@dataclass(frozen=True)
class _ChainedRow:
    table: str
    row: Row
    writer: str
    number: int
    link: str | None
    """None if it is not stored because it follows from the row, as in a lake."""
    seal: int

    def __str__(self) -> str:
        names = schema.table_columns(self.table)
        keys = schema.KEYS.get(self.table, ())
        key_text = ", ".join(f"{name} {self.row[names.index(name)]!r}" for name in keys if name in names)
        return f"the row of {self.table} with {key_text or f'writer {self.writer!r}, number {self.number}'}"

    def fits(self, before: Iterable[str]) -> bool:
        if self.table == "settings" and self.row[:2] == ("salt", ""):  # a lake does not contain the salt
            return True
        after = set(map(self.link_after, before))
        return None not in after if self.link is None else self.link in after

    def link_after(self, before: str) -> str | None:
        width = schema.sealed_width(self.table, self.seal)
        if self.row[width:] and self.row[width:] != tuple(schema.column_defaults(self.table).values())[width:]:
            return None
        try:
            return link_of(before, self.table, self.writer, self.number, self.row[:width])
        except TypeError:
            return None


def find_chain_problems(reader: Connection) -> Iterator[str]:
    """Yield one sentence for each row that was changed, removed or inserted."""
    seals = dict(reader.execute("SELECT writer, min(seal) FROM commits GROUP BY writer"))
    for _, rows in groupby(_rows_by_writer(reader, seals), key=lambda row: row.writer):
        yield from _chain_problems(rows)


def is_stored(reader: Connection, chain: Chain, start: Mapping[str, int]) -> bool:
    """Read the digests of one writer's rows again and check that all are there and unchanged.

    The digest is the last column, so SQLite reads every page of a row to get it.

    Args:
        reader: A connection that did not write the rows.
        chain: The end of the writer's chain.
        start: The last rowid of each table before the writer's first row. 0 reads the whole table.
    """
    return all(
        _stored_links(reader, table, chain.writer, start.get(table, 0)).digest() == links.digest()
        for table, links in chain.links.items()
    )


def read_links(reader: Connection, writer: str, start: Mapping[str, int]) -> dict[str, blake2b]:
    """Return the digest of all stored row digests of one writer, by table."""
    return {table: _stored_links(reader, table, writer, start.get(table, 0)) for table in schema.TABLES}


def _stored_links(reader: Connection, table: str, writer: str, start: int) -> blake2b:
    links = blake2b()
    sql = f"SELECT link FROM {table} WHERE rowid > ? AND writer = ? ORDER BY rowid"
    for batch in reader.batches(sql, (start, writer)):
        links.update("".join([link for (link,) in batch]).encode())
    return links


def _chain_problems(rows: Iterable[_ChainedRow]) -> Iterator[str]:
    last: _ChainedRow | None = None
    links: set[str] = {""}
    for number, same in groupby(rows, key=lambda row: row.number):
        candidates = list(same)
        if len(candidates) == len(links) == 1 and number == (last.number + 1 if last else 1):
            row = candidates[0]
            (before,) = links
            # All rows of a sound ledger: one digest each in place of three.
            if row.link is not None and row.link_after(before) == row.link:
                links, last = {row.link}, row
                continue
        row = next((candidate for candidate in candidates if candidate.fits(links)), candidates[0])
        for other_row in candidates:
            if other_row is not row:
                yield f"{other_row} was put in or changed: the writer {row.writer!r} has another row numbered {number}"
        expected_number = last.number + 1 if last else 1
        if number != expected_number:
            which = f"{expected_number} to {number - 1}" if number - expected_number > 1 else str(expected_number)
            yield f"the writer {row.writer!r} lacks what it numbered {which}, before {row}"
        elif not row.fits(links):
            yield f"{row} was changed: it does not have the content that its chain promises"
        links = set(filter(None, (row.link, *map(row.link_after, links))))
        last = row
    if last is not None and last.table != "commits":
        yield f"the end of the chain of the writer {last.writer!r} is missing, after {last}"


def _rows_by_writer(reader: Connection, seals: Mapping[str, int]) -> Iterator[_ChainedRow]:
    return merge(
        *(_table_rows(reader, table, seals) for table in schema.TABLES), key=lambda row: (row.writer, row.number)
    )


def _table_rows(reader: Connection, table: str, seals: Mapping[str, int]) -> Iterator[_ChainedRow]:
    names = ", ".join(schema.table_columns(table))
    for row in reader.stream(f"SELECT {names}, writer, number, link FROM {table} ORDER BY writer, number"):
        yield _ChainedRow(table, row[:-3], row[-3], row[-2], row[-1], seals.get(row[-3], schema.SEALS))
