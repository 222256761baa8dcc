"""Rows that stand within those of another table, so that what both say is stored once.

A verdict and its only call agree in the judge, the digest of the prompt, what was used and when; a case and an item
are members of a study from the moment in which they are added. In a lake such a call or membership is some more columns
of the row that it belongs to. All other rows of these tables lie in segments of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fullbench.ledger import schema
from fullbench.ledger.database_interface import Connection
from fullbench.ledger.row_conversion import Row

SEAL = ("writer", "number")
"""What of a row's seal is stored."""


@dataclass(frozen=True)
class Inlined:
    """A table whose rows may stand within those of another, its host."""

    table: str
    host: str
    join: str
    """SQL that finds the row which belongs to a row of the host; its value is the last place that was sealed."""
    same: Mapping[str, str]
    """Columns that are not stored, and the host's columns that say the same."""
    listed: Mapping[str, str] = field(default_factory=dict)
    """Columns of the host that are left out, for they are a list of one value: that of this column within."""

    @property
    def own(self) -> tuple[str, ...]:
        """The columns that are stored."""
        return tuple(name for name in columns(self.table) if name not in self.same)

    def stored(self, name: str) -> str:
        """What a column is called among those of the host."""
        return f"{self.table}_{name}"

    @property
    def present(self) -> str:
        """SQL that is true of the rows of the host that have a row within."""
        return f"{self.stored('rowid')} IS NOT NULL"


def columns(table: str) -> tuple[str, ...]:
    """What a lake keeps of a row that stands in a segment of its own table."""
    return ("rowid", *schema.columns(table), *SEAL)


_EARLIEST = (
    "LEFT JOIN (SELECT {key} AS belongs, min(rowid) AS place FROM {table} WHERE rowid > ? GROUP BY {key}) AS earliest "
    "ON earliest.belongs = {host}.key LEFT JOIN {table} ON {table}.rowid = earliest.place"
)
_USED = ("calls", "retries", "tokens_in", "tokens_out", "dollars", "seconds", "at", "cached", "stored")

INLINED = {
    "items": Inlined(
        "study_items", "items", _EARLIEST.format(table="study_items", key="item_key", host="items"),
        {"item_key": "key", "item": "item"},
    ),
    "cases": Inlined(
        "study_cases", "cases", _EARLIEST.format(table="study_cases", key="case_key", host="cases"),
        {"case_key": "key"},
    ),
    "verdicts": Inlined(
        "calls", "verdicts",
        "LEFT JOIN calls ON calls.rowid > ? "
        "AND calls.id = replace(replace(verdicts.exchanges, '[\"', ''), '\"]', '')",
        {"name": "judge", "prompt": "prompt", **{name: name for name in _USED}},
        {"exchanges": "id"},
    ),
}  # fmt: skip
"""The tables within others, by their hosts."""


class Places:
    """Places of a table after one of them, a bit each: a set would take a hundred times the room."""

    def __init__(self, after: int) -> None:
        self.after = after
        self._bits = bytearray()

    def add(self, place: int) -> bool:
        """Whether it was not there."""
        byte, bit = divmod(place - self.after, 8)
        if byte >= len(self._bits):
            self._bits.extend(bytes(byte + 1 - len(self._bits) + (1 << 16)))
        new = not self._bits[byte] >> bit & 1
        self._bits[byte] |= 1 << bit
        return new

    def __contains__(self, place: int) -> bool:
        byte, bit = divmod(place - self.after, 8)
        return byte < len(self._bits) and bool(self._bits[byte] >> bit & 1)


def hosting_rows(reader: Connection, within: Inlined, after: int, places: Places) -> Iterator[Row]:
    """The rows of a host after a place, each with what stands within it, which is added to the places.

    A call that gave several verdicts stands within the first of them.
    """
    host, inside = columns(within.host), columns(within.table)
    selected = [*(f"{within.host}.{name}" for name in host), *(f"{within.table}.{name}" for name in inside)]
    sql = (
        f"SELECT {', '.join(selected)} FROM {within.host} {within.join} "
        f"WHERE {within.host}.rowid > ? ORDER BY {within.host}.rowid"
    )
    width = len(host)
    place = {name: number for number, name in enumerate(inside, width)}
    same = [(place[name], host.index(other)) for name, other in within.same.items()]
    listed = [(place[name], host.index(other)) for other, name in within.listed.items()]
    own = [place[name] for name in within.own]
    nothing = (None,) * len(own)
    for row in reader.stream(sql, (places.after, after)):
        if (
            row[width] is not None
            and all(row[one] == row[other] for one, other in same)
            and all(f'["{row[one]}"]' == row[other] for one, other in listed)
            and places.add(row[width])
        ):
            told = list(row[:width])
            for _, other in listed:
                told[other] = None
            yield (*told, *(row[number] for number in own))
        else:
            yield (*row[:width], *nothing)
