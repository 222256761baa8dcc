"""Rows chained by digest, so that a row changed, taken out or put in afterwards is named.

Every writer (a `Ledger` opened for writing) has a chain of its own, so that many can write at once. It numbers its
rows over all tables from 1, and each row ends with a digest of itself and of the digest before it; every commit ends
with a row of the table `commits`, which says what version of seals its writer makes. Nothing here is secret: who
rewrites all that follows a row makes a sound chain again. That is what the head is for, a digest of all commits in
their order: noted elsewhere, it shows such a thing.
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
    """The digest of a row and of all before it."""
    return blake2b(orjson.dumps((before, table, writer, number, row)), digest_size=16).hexdigest()


@dataclass
class Chain:
    """Where a writer's chain ends."""

    writer: str
    number: int = 0
    link: str = ""
    links: dict[str, blake2b] = field(default_factory=dict)
    """The digest of all links so far, by table: to see that every row is stored, without a row in memory."""

    @classmethod
    def begin(cls) -> Chain:
        return cls(secrets.token_hex(6))

    def copy(self) -> Chain:
        return Chain(self.writer, self.number, self.link, {table: links.copy() for table, links in self.links.items()})

    def seal(self, table: str, rows: Iterable[Row]) -> list[Row]:
        """The rows with their seals."""
        writer, number, link = self.writer, self.number, self.link
        sealed = []
        for row in rows:
            number += 1
            link = link_of(link, table, writer, number, row)
            sealed.append((*row, writer, number, link))
        self.number, self.link = number, link
        self.links.setdefault(table, blake2b()).update("".join([row[-1] for row in sealed]).encode())
        return sealed


@dataclass(frozen=True)
class Head:
    """All commits of a ledger at one moment, as their number and a digest; written `NUMBER-DIGEST`."""

    commits: int
    digest: str

    def __str__(self) -> str:
        return f"{self.commits}-{self.digest}"

    @classmethod
    def read(cls, text: str) -> Head:
        """
        >>> Head.read("12-00ff") == Head(12, "00ff")
        True
        """
        count, _, digest = text.strip().partition("-")
        if not (count.isdecimal() and digest):
            raise InputError(f"a head looks like 12-3f5a..., as `fullbench ledger show` prints it; found {text!r}")
        return cls(int(count), digest)


def head(reader: Connection, first: int | None = None) -> Head:
    """The head of the ledger, or the one it had after its first commits."""
    (*_, (_, last)) = heads(reader, (), first)
    return last


def heads(reader: Connection, wanted: Collection[int], first: int | None = None) -> Iterator[tuple[int, Head]]:
    """The heads that the ledger had after so many commits, in one pass, and the one it has; by their commits."""
    whole, count = blake2b(digest_size=16), 0
    limit = "" if first is None else f" LIMIT {first}"
    for writer, number, link in reader.stream(f"SELECT writer, number, link FROM commits ORDER BY rowid{limit}"):
        if count in wanted:
            yield count, Head(count, whole.hexdigest())
        whole.update(f"{writer} {number} {link}\n".encode())
        count += 1
    yield count, Head(count, whole.hexdigest())


@dataclass(frozen=True)
class _Sealed:
    table: str
    row: Row
    writer: str
    number: int
    link: str | None
    """None where it is not stored, for it follows from the row, as in a lake."""
    seal: int

    def __str__(self) -> str:
        names = schema.columns(self.table)
        keys = schema.KEYS.get(self.table, ())
        told = ", ".join(f"{name} {self.row[names.index(name)]!r}" for name in keys if name in names)
        return f"the row of {self.table} with {told or f'writer {self.writer!r}, number {self.number}'}"

    def fits(self, before: Iterable[str]) -> bool:
        """Whether its digest follows from one of those before it."""
        if self.table == "settings" and self.row[:2] == ("salt", ""):  # which stays with the ledger
            return True
        after = set(map(self.link_after, before))
        return None not in after if self.link is None else self.link in after

    def link_after(self, before: str) -> str | None:
        """The digest that it should have; None where it has content that its seal cannot have covered."""
        width = schema.sealed_width(self.table, self.seal)
        if self.row[width:] and self.row[width:] != tuple(schema.defaults(self.table).values())[width:]:
            return None
        try:
            return link_of(before, self.table, self.writer, self.number, self.row[:width])
        except TypeError:
            return None


def problems(reader: Connection) -> Iterator[str]:
    """What the chains show: rows that were changed, taken out or put in."""
    seals = dict(reader.execute("SELECT writer, min(seal) FROM commits GROUP BY writer"))
    for _, rows in groupby(_all(reader, seals), key=lambda sealed: sealed.writer):
        yield from _chain_problems(rows)


def is_stored(reader: Connection, own: Chain, start: Mapping[str, int]) -> bool:
    """Read the links of one writer's rows again, and check that all are there and none is another.

    The link is the last column, so SQLite reads every page of a row to get it.

    Args:
        reader: A connection that did not write the rows.
        own: Where the writer's chain ends.
        start: The last rowid of each table before the writer's first row. 0 reads the whole table.
    """
    return all(
        _stored_links(reader, table, own.writer, start.get(table, 0)).digest() == links.digest()
        for table, links in own.links.items()
    )


def _stored_links(reader: Connection, table: str, writer: str, start: int) -> blake2b:
    links = blake2b()
    sql = f"SELECT link FROM {table} WHERE rowid > ? AND writer = ? ORDER BY rowid"
    for batch in reader.batches(sql, (start, writer)):
        links.update("".join([link for (link,) in batch]).encode())
    return links


def _chain_problems(rows: Iterable[_Sealed]) -> Iterator[str]:
    """What is wrong with one writer's chain."""
    last: _Sealed | None = None
    links: set[str] = {""}
    for number, same in groupby(rows, key=lambda sealed: sealed.number):
        found = list(same)
        sealed = next((one for one in found if one.fits(links)), found[0])
        for other in found:
            if other is not sealed:
                yield f"{other} was put in or changed: the writer {sealed.writer!r} has another row numbered {number}"
        expected = last.number + 1 if last else 1
        if number != expected:
            which = f"{expected} to {number - 1}" if number - expected > 1 else str(expected)
            yield f"the writer {sealed.writer!r} lacks what it numbered {which}, before {sealed}"
        elif not sealed.fits(links):
            yield f"{sealed} was changed: it does not have the content that its chain promises"
        links = set(filter(None, (sealed.link, *map(sealed.link_after, links))))
        last = sealed
    if last is not None and last.table != "commits":
        yield f"the end of the chain of the writer {last.writer!r} is missing, after {last}"


def _all(reader: Connection, seals: Mapping[str, int]) -> Iterator[_Sealed]:
    """All rows by writer and number."""
    return merge(
        *(_rows(reader, table, seals) for table in schema.TABLES), key=lambda sealed: (sealed.writer, sealed.number)
    )


def _rows(reader: Connection, table: str, seals: Mapping[str, int]) -> Iterator[_Sealed]:
    names = ", ".join(schema.columns(table))
    for row in reader.stream(f"SELECT {names}, writer, number, link FROM {table} ORDER BY writer, number"):
        yield _Sealed(table, row[:-3], row[-3], row[-2], row[-1], seals.get(row[-3], schema.SEALS))
