"""Compact storage in a lake: a verdict and its only call, or an item and its study membership, in one Parquet row.

A verdict and its only call share the judge, prompt digest, usage and time. Cases and items usually join a study when
they are added. In a lake such a call or membership is stored as extra columns of its host row. All other rows of
these tables are in segments of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fullbench.ledger import schema
from fullbench.ledger.database_interface import Connection
from fullbench.ledger.row_conversion import Row

SEAL = ("writer", "number")
"""Chain columns that are stored."""


@dataclass(frozen=True)
class InlinedTable:
    """A table whose rows may be stored as extra columns of another table, its host."""

    table: str
    host: str
    join: str
    """SQL that joins the inlined row of a host row; its parameter is the last rowid in the lake."""
    shared_columns: Mapping[str, str]
    """Columns that are not stored, and the host's columns with the same values."""
    list_columns: Mapping[str, str] = field(default_factory=dict)
    """Host columns that are not stored, because they are a list of one value: that of this inlined column."""

    @property
    def stored_columns(self) -> tuple[str, ...]:
        """Columns that are stored in the host's rows."""
        return tuple(name for name in lake_columns(self.table) if name not in self.shared_columns)

    def name_in_host(self, name: str) -> str:
        """Return the name of a column among the host's columns."""
        return f"{self.table}_{name}"

    @property
    def presence_condition(self) -> str:
        """SQL condition for host rows that contain an inlined row."""
        return f"{self.name_in_host('rowid')} IS NOT NULL"


def lake_columns(table: str) -> tuple[str, ...]:
    """Return the columns that a lake stores of a table's own rows."""
    return ("rowid", *schema.table_columns(table), *SEAL)


_EARLIEST = (
    "LEFT JOIN (SELECT {key} AS belongs, min(rowid) AS place FROM {table} WHERE rowid > ? GROUP BY {key}) AS earliest "
    "ON earliest.belongs = {host}.key LEFT JOIN {table} ON {table}.rowid = earliest.place"
)
_USAGE_COLUMNS = ("calls", "retries", "tokens_in", "tokens_out", "dollars", "seconds", "at", "cached", "stored")

INLINED_TABLES = {
    "items": InlinedTable(
        "study_items", "items", _EARLIEST.format(table="study_items", key="item_key", host="items"),
        {"item_key": "key", "item": "item"},
    ),
    "cases": InlinedTable(
        "study_cases", "cases", _EARLIEST.format(table="study_cases", key="case_key", host="cases"),
        {"case_key": "key"},
    ),
    "verdicts": InlinedTable(
        "calls", "verdicts",
        "LEFT JOIN calls ON calls.rowid > ? "
        "AND calls.id = replace(replace(verdicts.exchanges, '[\"', ''), '\"]', '')",
        {"name": "judge", "prompt": "prompt", **{name: name for name in _USAGE_COLUMNS}},
        {"exchanges": "id"},
    ),
}  # fmt: skip


class RowidSet:
    """Set of rowids greater than `after`, one bit each: a Python set would need a hundred times the memory."""

    def __init__(self, after: int) -> None:
        self.after = after
        self._bits = bytearray()

    def add(self, place: int) -> bool:
        """Add a rowid; return True if it was new."""
        byte, bit = divmod(place - self.after, 8)
        if byte >= len(self._bits):
            # 64 KiB extra, so that rising rowids do not extend it each time.
            self._bits.extend(bytes(byte + 1 - len(self._bits) + (1 << 16)))
        new = not self._bits[byte] >> bit & 1
        self._bits[byte] |= 1 << bit
        return new

    def __contains__(self, place: int) -> bool:
        byte, bit = divmod(place - self.after, 8)
        return byte < len(self._bits) and bool(self._bits[byte] >> bit & 1)


def hosting_rows(reader: Connection, within: InlinedTable, after: int, places: RowidSet) -> Iterator[Row]:
    """Yield the host rows after a rowid with their inlined columns, and add inlined rowids to `places`.
    A call that gave several verdicts is stored in the first of them.
    """
    host_columns, inner_columns = lake_columns(within.host), lake_columns(within.table)
    selected_columns = [
        *(f"{within.host}.{name}" for name in host_columns),
        *(f"{within.table}.{name}" for name in inner_columns),
    ]
    sql = (
        f"SELECT {', '.join(selected_columns)} FROM {within.host} {within.join} "
        f"WHERE {within.host}.rowid > ? ORDER BY {within.host}.rowid"
    )
    width = len(host_columns)
    place = {name: number for number, name in enumerate(inner_columns, width)}
    shared_places = [
        (place[name], host_columns.index(host_column)) for name, host_column in within.shared_columns.items()
    ]
    list_places = [(place[name], host_columns.index(host_column)) for host_column, name in within.list_columns.items()]
    stored_places = [place[name] for name in within.stored_columns]
    nothing = (None,) * len(stored_places)
    for row in reader.stream(sql, (places.after, after)):
        if (
            row[width] is not None
            and all(row[inner_column] == row[host_column] for inner_column, host_column in shared_places)
            and all(f'["{row[inner_column]}"]' == row[host_column] for inner_column, host_column in list_places)
            and places.add(row[width])
        ):
            host_row = list(row[:width])
            for _, host_column in list_places:
                host_row[host_column] = None
            yield (*host_row, *(row[number] for number in stored_places))
        else:
            yield (*row[:width], *nothing)
