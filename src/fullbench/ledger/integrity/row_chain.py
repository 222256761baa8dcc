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
from itertools import count, groupby, repeat
from operator import itemgetter
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
    hasher, commits = blake2b(digest_size=16), 0
    limit = "" if first is None else f" LIMIT {first}"
    for writer, number, link in reader.stream(f"SELECT writer, number, link FROM commits ORDER BY rowid{limit}"):
        if commits in commit_counts:
            yield commits, LedgerDigest(commits, hasher.hexdigest())
        hasher.update(f"{writer} {number} {link}\n".encode())
        commits += 1
    yield commits, LedgerDigest(commits, hasher.hexdigest())


@dataclass(frozen=True)
class _ChainedRow:
    table: str
    row: Row
    writer: str
    number: int
    link: str | None
    """None if it is not stored because it follows from the row, as in a lake."""
    seal: int

    @classmethod
    def from_stored(cls, stored_row: _StoredRow, seal: int) -> _ChainedRow:
        writer, number, place, _, (_, _, link, *row) = stored_row
        return cls(_TABLES[place], tuple(row), writer, number, link, seal)

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


_TABLES = tuple(schema.TABLES)
_StoredRow = tuple[str, int, int, int, Row]
"""Writer and number of a row, the place of its table, its own place there, and its columns after writer, number and
link. The places make rows of the same number comparable, so that `merge` needs no key."""


def find_chain_problems(reader: Connection) -> Iterator[str]:
    """Yield one sentence for each row that was changed, removed or inserted."""
    seals = dict(reader.execute("SELECT writer, min(seal) FROM commits GROUP BY writer"))
    stored_rows = merge(*(_table_rows(reader, place) for place in range(len(_TABLES))))
    for writer, own_rows in groupby(stored_rows, key=itemgetter(0)):
        yield from _chain_problems(own_rows, seals.get(writer, schema.SEALS))


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


def _chain_problems(stored_rows: Iterator[_StoredRow], seal: int) -> Iterator[str]:
    """Yield the problems of one writer's rows, which come in the order of their numbers."""
    is_sealed_whole = [schema.sealed_width(table, seal) == len(schema.table_columns(table)) for table in _TABLES]
    last: _StoredRow | _ChainedRow | None = None
    last_number = 0
    # The digests that the next row may follow; one of them, as long as the chain is sound.
    link, links = "", {""}
    stored_row = next(stored_rows, None)
    while stored_row is not None:
        writer, number, place, _, row = stored_row
        if number == last_number + 1 and len(links) == 1 and is_sealed_whole[place]:
            # The short way, which all rows of a sound ledger take.
            try:
                is_next = link_of(link, _TABLES[place], writer, number, row[3:]) == row[2]
            except TypeError:
                is_next = False
            if is_next:
                link, last, last_number = row[2], stored_row, number
                stored_row = next(stored_rows, None)
                continue
        candidates = [_ChainedRow.from_stored(stored_row, seal)]
        while (following := next(stored_rows, None)) is not None and following[1] == number:
            candidates.append(_ChainedRow.from_stored(following, seal))
        before = {link} if len(links) == 1 else links
        chosen = next((candidate for candidate in candidates if candidate.fits(before)), candidates[0])
        is_second = last is not None and number == last_number
        for other_row in candidates:
            if other_row is not chosen or is_second:
                yield f"{other_row} was put in or changed: the writer {writer!r} has another row numbered {number}"
        if not is_second:
            if number != last_number + 1:
                missing = f"{last_number + 1} to {number - 1}" if number - last_number > 2 else str(last_number + 1)
                yield f"the writer {writer!r} lacks what it numbered {missing}, before {chosen}"
            elif not chosen.fits(before):
                yield f"{chosen} was changed: it does not have the content that its chain promises"
            links = set(filter(None, (chosen.link, *map(chosen.link_after, before))))
            link = min(links, default="")
            last, last_number = chosen, number
        stored_row = following
    if last is not None:
        end = last if isinstance(last, _ChainedRow) else _ChainedRow.from_stored(last, seal)
        if end.table != "commits":
            yield f"the end of the chain of the writer {end.writer!r} is missing, after {end}"


def _table_rows(reader: Connection, place: int) -> Iterator[_StoredRow]:
    table = _TABLES[place]
    names, positions = ", ".join(schema.table_columns(table)), count()
    for batch in reader.batches(f"SELECT writer, number, link, {names} FROM {table} ORDER BY writer, number"):
        writers, numbers = map(itemgetter(0), batch), map(itemgetter(1), batch)
        yield from zip(writers, numbers, repeat(place), positions, batch, strict=False)
