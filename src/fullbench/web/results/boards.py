"""Tables whose every number leads to the verdicts behind it, kept ready in the database.

A board belongs to one judge and one criterion. It is computed from the catalogue's numbers, outside of any request,
when verdicts came; a request only reads it. `n` counts verdicts everywhere, so that it equals what a link finds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import Connection, Engine, delete, func, select

from fullbench.nouns.digests import digest
from fullbench.nouns.table import Cell, Table
from fullbench.reports.tables import render, table_from_json
from fullbench.web.database import reading
from fullbench.web.results import catalogue, tables
from fullbench.web.results.filters import Filter
from fullbench.web.results.rows import judges, put
from fullbench.web.results.rulings import is_panel, is_person

Links = Sequence[Sequence[Filter | None]]


@dataclass(frozen=True)
class Linked:
    """A table, the filter behind each of its cells, and further ways to draw it."""

    table: Table
    links: Links = ()
    charts: Sequence[Mapping[str, Any]] = ()

    def link(self, row: int, column: int) -> Filter | None:
        """The filter behind a cell."""
        return self.links[row][column] if self.links else None


@dataclass(frozen=True)
class Board:
    """All tables of one judge under one criterion."""

    judge: str
    criterion: str
    verdicts: int
    tables: Sequence[Linked]
    stamp: str = ""

    @property
    def name(self) -> str:
        return board_name(self.judge, self.criterion)


def board_name(judge: str, criterion: str) -> str:
    """A board's name in addresses.

    >>> board_name("length", "overall") == board_name("length", "overall") != board_name("length", "style")
    True
    """
    return digest([judge, criterion])[:16]


@dataclass
class Grid:
    """Rows of a table and their links, put together cell by cell."""

    columns: Sequence[str]
    rows: list[list[Cell]] = field(default_factory=list)
    links: list[list[Filter | None]] = field(default_factory=list)

    def add(self, *cells: tuple[Cell, Filter | None]) -> None:
        """One row: every cell with its filter."""
        self.rows.append([cell for cell, _ in cells])
        self.links.append([link if cell is not None else None for cell, link in cells])

    def linked(self, name: str, title: str, notes: Sequence[str] = (), *, charts: Sequence[Mapping[str, Any]] = (),
               **source: Any) -> Linked:  # fmt: skip
        """The table; the first chart is its own."""
        made = Table(name, title, tuple(self.columns), self.rows, tuple(notes), source, charts[0] if charts else None)
        return Linked(made, self.links, charts)


def dump(board: Board) -> str:
    """A board as JSON."""
    value = {
        "judge": board.judge,
        "criterion": board.criterion,
        "verdicts": board.verdicts,
        "tables": [packed(one) for one in board.tables],
    }
    return orjson.dumps(value).decode()


def packed(linked: Linked) -> dict[str, Any]:
    """A table and its links as a JSON value."""
    return {
        "table": orjson.Fragment(render(linked.table, "json")),
        "links": [[link.pairs() if link else None for link in row] for row in linked.links],
        "charts": [dict(hint) for hint in linked.charts],
    }


def unpacked(value: Mapping[str, Any]) -> Linked:
    """The table that `packed` made a JSON value of."""
    links = [[Filter.of(link) if link is not None else None for link in row] for row in value["links"]]
    return Linked(table_from_json(orjson.dumps(value["table"])), links, value["charts"])


def load(text: str, stamp: str) -> Board:
    """The board that `dump` wrote."""
    value = orjson.loads(text)
    made = [unpacked(one) for one in value["tables"]]
    return Board(value["judge"], value["criterion"], value["verdicts"], made, stamp)


@dataclass(frozen=True)
class Heading:
    """A board in the list of boards."""

    name: str
    judge: str
    criterion: str
    verdicts: int


def refresh(engine: Engine, *, going: Callable[[], bool] = lambda: True) -> int:
    """Compute the boards of which verdicts came, drop those that are gone; say how many were computed.

    `going` is asked before each; False ends it early.
    """
    from fullbench.web.results.figures import compute

    with reading(engine) as connection:
        wanted = _stamps(connection)
        b = tables.boards.c
        known = {row.name: row.stamp for row in connection.execute(select(b.name, b.stamp).where(b.kind == "board"))}
        names = judges(connection)
    made = 0
    for (judge, criterion), stamp in wanted.items():
        name = board_name(names[judge], criterion)
        if known.pop(name, None) == stamp or not going():
            continue
        with reading(engine) as connection:
            board = compute(connection, judge, criterion)
        keep(engine, "board", name, stamp, dump(board))
        made += 1
    if known and going():
        with catalogue.sole(engine) as connection:
            connection.execute(delete(tables.boards).where(tables.boards.c.name.in_(known)))
    return made


def keep(engine: Engine, kind: str, name: str, stamp: str, body: str) -> None:
    """Put what was computed into the database."""
    row = {"name": name, "kind": kind, "stamp": stamp, "body": body}
    with catalogue.sole(engine) as connection:
        put(connection, tables.boards, [row], ["name"], ["kind", "stamp", "body"])


def _stamps(connection: Connection) -> dict[tuple[int, str], str]:
    """What every board would be computed from, as a short text: equal texts, equal boards."""
    c, n, s = tables.counts.c, tables.names.c, tables.state.c
    rows = connection.execute(
        select(c.judge_id, n.name, func.sum(c.n))
        .join(tables.names, n.id == c.criterion_id)
        .where(c.contestant_id == 0)
        .group_by(c.judge_id, n.name)
    )
    tagged = connection.execute(select(func.count()).select_from(tables.tags)).scalar_one()
    names = judges(connection)
    turned = [
        row.value for row in connection.execute(select(s.value).where(s.name.startswith("panel ")).order_by(s.name))
    ]
    return {
        (judge, criterion): digest([int(count), tagged, turned if is_panel(names[judge]) else []])[:16]
        for judge, criterion, count in rows
    }


def headings(connection: Connection) -> list[Heading]:
    """All boards: the largest criterion first, people last."""
    found = [
        Heading(board_name(judge, criterion), judge, criterion, int(count))
        for judge, criterion, count in connection.execute(_headed())
    ]
    return sorted(found, key=lambda one: (is_person(one.judge), one.judge, -one.verdicts, one.criterion))


def _headed() -> Any:
    c, judge, criterion = tables.counts.c, tables.names.alias("judge"), tables.names.alias("criterion")
    return (
        select(judge.c.name, criterion.c.name, func.sum(c.n))
        .select_from(tables.counts)
        .join(judge, judge.c.id == c.judge_id)
        .join(criterion, criterion.c.id == c.criterion_id)
        .where(c.contestant_id == 0)
        .group_by(judge.c.name, criterion.c.name)
    )


def find(connection: Connection, name: str) -> Board | None:
    """A board by its name; None where it is not computed (yet)."""
    b = tables.boards.c
    row = connection.execute(select(b.body, b.stamp).where(b.name == name, b.kind == "board")).first()
    return None if row is None else load(row.body, row.stamp)


def stamps(connection: Connection) -> dict[str, str]:
    """What every board and card that is there was computed from."""
    b = tables.boards.c
    return {row.name: row.stamp for row in connection.execute(select(b.name, b.stamp))}
