"""Tables whose every number leads to the verdicts behind it, kept ready in the database.

A board belongs to one study, judge and criterion. Its figures are those of `fullbench report`, computed from the
ledger's columns outside of any request, when verdicts came; a request only reads it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson
from sqlalchemy import Connection, Engine, delete, func, select

from fullbench.analysis.boards.head_to_head_and_slices import GROUPS
from fullbench.core.digests import digest
from fullbench.core.table import Table
from fullbench.reports.table_formats import render, table_from_json
from fullbench.reports.table_json_types import packed_hint, unpacked_hint
from fullbench.web.results import hidden_cases
from fullbench.web.results.catalogue import catalogue_tables, fill_catalogue
from fullbench.web.results.catalogue.disagreement import is_person
from fullbench.web.results.catalogue.row_helpers import put, studies
from fullbench.web.results.lists.verdict_filters import Filter

Links = Sequence[Sequence[Filter | None]]
HEADING = "heading"
"""The kind of the row that lists a board; it is written together with the board, so that both have one edition."""
BEFORE = "!"
"""Ends the stamp of a board that is shown without its figures by tag, see `stamps`."""


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
    """All tables of one judge under one criterion of a study."""

    study: str
    judge: str
    criterion: str
    verdicts: int
    tables: Sequence[Linked]
    stamp: str = ""

    @property
    def name(self) -> str:
        return board_name(self.study, self.judge, self.criterion)

    @property
    def without_tags(self) -> bool:
        """Whether its figures by tag are left out until they are computed anew."""
        return self.stamp.endswith(BEFORE)


def board_name(study: str, judge: str, criterion: str) -> str:
    """A board's name in addresses.

    >>> board_name("default", "length", "overall") != board_name("default", "length", "style")
    True
    """
    return digest([study, judge, criterion])[:16]


def dump(board: Board) -> str:
    """A board as JSON."""
    value = {
        "study": board.study,
        "judge": board.judge,
        "criterion": board.criterion,
        "verdicts": board.verdicts,
        "tables": [packed(linked) for linked in board.tables],
    }
    return orjson.dumps(value).decode()


def packed(linked: Linked) -> dict[str, Any]:
    """A table and its links as a JSON value."""
    return {
        "table": orjson.Fragment(render(linked.table, "json")),
        "links": [[link.pairs() if link else None for link in row] for row in linked.links],
        "charts": [packed_hint(hint) for hint in linked.charts],
    }


def unpacked(value: Mapping[str, Any]) -> Linked:
    """The table that `packed` made a JSON value of."""
    links = [[Filter.of(link) if link is not None else None for link in row] for row in value["links"]]
    return Linked(
        table_from_json(orjson.dumps(value["table"])), links, [unpacked_hint(hint) for hint in value["charts"]]
    )


def load(text: str, stamp: str, *, leading: bool = False, tag: str = "") -> Board:
    """The board that `dump` wrote; see `find`."""
    value = orjson.loads(text)
    linked = [
        unpacked(packed_table)
        for packed_table in value["tables"]
        if not (leading or tag)
        or str(packed_table["table"]["name"]).startswith("leaderboard")
        or (tag and packed_table["table"].get("source", {}).get("tag") == tag)
    ]
    return Board(value["study"], value["judge"], value["criterion"], value["verdicts"], linked, stamp)


@dataclass(frozen=True)
class Heading:
    """A board in the list of boards."""

    name: str
    study: str
    judge: str
    criterion: str
    verdicts: int


def item_tags(connection: Connection, study: int, most: int = GROUPS) -> dict[str, dict[str, str]]:
    """The tags that part a study's items into a few groups, and each item's value.

    Items that people judge in an open study have none meanwhile: a group may be one item, whose rulings it would tell.
    """
    t, i = catalogue_tables.tags.c, catalogue_tables.items.c
    tagged = select(t.name, t.value, i.name.label("item")).join(catalogue_tables.items, i.id == t.item_id)
    if (judged := hidden_cases.withheld(connection, None)) is not None:
        tagged = tagged.where(i.id.not_in(judged))
    by_tag: dict[str, dict[str, str]] = {}
    for name, value, item in connection.execute(tagged.where(i.study_id == study).order_by(t.name, i.name)):
        by_tag.setdefault(name, {})[item] = value
    return {name: values for name, values in by_tag.items() if 1 < len(set(values.values())) <= most}


def keep(engine: Engine, kind: str, name: str, stamp: str, body: str) -> None:
    """Put what was computed into the database."""
    row = {"name": name, "kind": kind, "stamp": stamp, "body": body}
    with fill_catalogue.sole(engine) as connection:
        put(connection, catalogue_tables.boards, [row], ["name"], ["kind", "stamp", "body"])


def keep_board(engine: Engine, board: Board, stamp: str) -> None:
    """Put a board and its heading into the database at once."""
    about = {"study": board.study, "judge": board.judge, "criterion": board.criterion, "verdicts": board.verdicts}
    rows = [
        {"name": board.name, "kind": "board", "stamp": stamp, "body": dump(board)},
        {"name": heading_row(board.name), "kind": HEADING, "stamp": stamp, "body": orjson.dumps(about).decode()},
    ]
    with fill_catalogue.sole(engine) as connection:
        put(connection, catalogue_tables.boards, rows, ["name"], ["kind", "stamp", "body"])


def computed_stamps(connection: Connection) -> dict[str, str]:
    """Return the stamp of every board."""
    b = catalogue_tables.boards.c
    rows = connection.execute(select(b.name, b.stamp).where(b.kind == "board"))
    return {row.name: row.stamp for row in rows}


def drop_boards(connection: Connection, names: Collection[str]) -> None:
    """Remove boards and their headings."""
    rows = [*names, *map(heading_row, names)]
    connection.execute(delete(catalogue_tables.boards).where(catalogue_tables.boards.c.name.in_(rows)))


def heading_row(name: str) -> str:
    """Return the name of the row that lists a board.

    >>> heading_row("0123")
    'heading-0123'
    """
    return f"{HEADING}-{name}"


def headings(connection: Connection, study: str = "") -> list[Heading]:
    """Return the boards of one study, or of all: the largest criterion first, people last.

    A board has the number of verdicts that it was computed from. The catalogue may have more already: then the board
    is due, and list and board change together. Only a board that was never computed has the catalogue's number.
    """
    b = catalogue_tables.boards.c
    subjects = {
        (where, judge, criterion): int(count) for where, judge, criterion, count in connection.execute(headed())
    }
    for body in connection.execute(select(b.body).where(b.kind == HEADING)).scalars():
        about = orjson.loads(body)
        subjects[about["study"], about["judge"], about["criterion"]] = about["verdicts"]
    order = list(studies(connection))
    listed = [
        Heading(board_name(*subject), *subject, verdicts)
        for subject, verdicts in subjects.items()
        if subject[0] in order and study in {"", subject[0]}
    ]
    return sorted(
        listed,
        key=lambda heading: (
            order.index(heading.study),
            is_person(heading.judge),
            heading.judge,
            -heading.verdicts,
            heading.criterion,
        ),
    )


def headed(*more: Any) -> Any:
    c, names = (
        catalogue_tables.counts.c,
        {kind: catalogue_tables.names.alias(kind) for kind in ("study", "judge", "criterion")},
    )
    asked = select(*(names[kind].c.name for kind in names), func.sum(c.n), *more).select_from(catalogue_tables.counts)
    for kind, alias in names.items():
        asked = asked.join(alias, alias.c.id == c[f"{kind}_id"])
    grouped = asked.where(c.contestant_id == 0).group_by(*(names[kind].c.name for kind in names))
    return grouped.having(func.sum(c.n) > 0)


def find(connection: Connection, name: str, *, leading: bool = False, tag: str = "") -> Board | None:
    """A board by its name; None where it is not computed (yet).

    With `leading` only its leaderboards, with `tag` also its tables by that tag: the others take most of the time.
    """
    b = catalogue_tables.boards.c
    row = connection.execute(select(b.body, b.stamp).where(b.name == name, b.kind == "board")).first()
    if row is None:
        return None
    if not hidden_cases.outdated(row.stamp, hidden_cases.stamp(connection)):
        return load(row.body, row.stamp, leading=leading, tag=tag)
    board = load(row.body, row.stamp + BEFORE, leading=leading, tag=tag)
    return replace(board, tables=[linked for linked in board.tables if "tag" not in linked.table.source])


def stamps(connection: Connection) -> dict[str, str]:
    """What every board and card that is there was computed from.

    Of what was computed before people began to judge some items, boards are shown without their figures by tag until
    they are computed anew, and cards not at all.
    """
    b, judged = catalogue_tables.boards.c, hidden_cases.stamp(connection)
    known: dict[str, str] = {}
    for row in connection.execute(select(b.name, b.stamp, b.kind).where(b.kind != HEADING)):
        before = row.kind in {"board", "card"} and hidden_cases.outdated(row.stamp, judged)
        if not before or row.kind == "board":
            known[row.name] = row.stamp + BEFORE * before
    return known
