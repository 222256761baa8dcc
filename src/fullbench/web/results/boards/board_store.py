"""Store of computed leaderboards (boards): tables whose numbers link to the verdicts behind them.

A board belongs to one study, judge and criterion. Its numbers are those of `fullbench report`. They are computed from
the ledger's columns when verdicts arrive, never in a request; a request only reads them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from sqlalchemy import Connection, Engine, delete, func, select

from fullbench.analysis.boards.head_to_head_and_slices import GROUPS
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.table import Table
from fullbench.reports.table_formats import render_table, table_from_json
from fullbench.reports.table_json_types_and_notes import packed_hint, unpacked_hint
from fullbench.version_and_code_digest import package_digest
from fullbench.web.results import hidden_cases_and_results
from fullbench.web.results.boards.criteria_of_items_without_boards import read_item_criteria
from fullbench.web.results.catalogue import catalogue_tables, fill_catalogue
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import study_ids_by_name, upsert_rows
from fullbench.web.results.catalogue.disagreement_flags import is_person
from fullbench.web.results.lists.verdict_filters import Filter


def code_of_metrics() -> str:
    """Return a digest of the code that computes boards and cards: after an upgrade they are computed again."""
    return package_digest("analysis", "stats", "columns", "web/results/boards")[:16]


Links = Sequence[Sequence[Filter | None]]
HEADING = "heading"
"""Kind of the row that lists a board; it is written together with the board, so that both have one edition."""
WITHOUT_TAGS_SUFFIX = "!"
"""Ends the stamp of a board that is shown without its numbers by tag, see `stamps_by_name`."""


@dataclass(frozen=True)
class LinkedTable:
    """A table, the filter behind each of its cells, and its charts."""

    table: Table
    links: Links = ()
    charts: Sequence[Mapping[str, Any]] = ()
    verdict_counts: Mapping[Filter, int] = field(default_factory=dict)
    """Number of verdicts behind links, as far as counted; see `lists.verdict_counts_of_cells`."""

    def link(self, row: int, column: int) -> Filter | None:
        """Return the filter behind a cell, or None."""
        return self.links[row][column] if self.links else None


@dataclass(frozen=True)
class Board:
    """All tables of one study, judge and criterion."""

    study: str
    judge: str
    criterion: str
    verdicts: int
    tables: Sequence[LinkedTable]
    stamp: str = ""

    @property
    def name(self) -> str:
        return board_name(self.study, self.judge, self.criterion)

    @property
    def without_tags(self) -> bool:
        """Return True if the tables by tag are left out until they are recomputed."""
        return self.stamp.endswith(WITHOUT_TAGS_SUFFIX)


def board_name(study: str, judge: str, criterion: str) -> str:
    """Return a board's name in URLs.

    >>> board_name("default", "length", "overall") != board_name("default", "length", "style")
    True
    """
    return digest([study, judge, criterion])[:16]


def board_to_json(board: Board) -> str:
    """Serialize a board as JSON."""
    value = {
        "study": board.study,
        "judge": board.judge,
        "criterion": board.criterion,
        "verdicts": board.verdicts,
        "tables": [pack_table(linked_table) for linked_table in board.tables],
    }
    return orjson.dumps(value).decode()


def pack_table(linked_table: LinkedTable) -> dict[str, Any]:
    """Return a table and its links as a JSON value."""
    return {
        # A Fragment is inserted as it is: the table is JSON text already.
        "table": orjson.Fragment(render_table(linked_table.table, "json")),
        "links": [[link.pairs() if link else None for link in row] for row in linked_table.links],
        "charts": [packed_hint(hint) for hint in linked_table.charts],
    }


def unpack_table(value: Mapping[str, Any]) -> LinkedTable:
    """Return the table that `pack_table` packed."""
    links = [[Filter.from_query(link) if link is not None else None for link in row] for row in value["links"]]
    return LinkedTable(
        table_from_json(orjson.dumps(value["table"])), links, [unpacked_hint(hint) for hint in value["charts"]]
    )


def board_from_json(text: str, stamp: str, *, leading: bool = False, tag: str = "") -> Board:
    """Read a board that `board_to_json` wrote. For `leading` and `tag` see `find_board`."""
    value = orjson.loads(text)
    linked_tables = [
        unpack_table(packed_table)
        for packed_table in value["tables"]
        if not (leading or tag)
        or str(packed_table["table"]["name"]).startswith("leaderboard")
        or (tag and packed_table["table"].get("source", {}).get("tag") == tag)
    ]
    return Board(value["study"], value["judge"], value["criterion"], value["verdicts"], linked_tables, stamp)


@dataclass(frozen=True)
class Heading:
    """Entry of a board in the list of boards."""

    name: str
    study: str
    judge: str
    criterion: str
    verdicts: int


def item_tags(connection: Connection, study: int, max_values: int = GROUPS) -> dict[str, dict[str, str]]:
    """Return each item's value of the tags that divide a study's items into a few groups.

    Items that people judge in an open campaign are left out: a group of one item would reveal its verdicts.
    """
    t, i = catalogue_tables.tags.c, catalogue_tables.items.c
    query = select(t.name, t.value, i.name.label("item")).join(catalogue_tables.items, i.id == t.item_id)
    if (hidden_items := hidden_cases_and_results.withheld_items(connection, None)) is not None:
        query = query.where(i.id.not_in(hidden_items))
    by_tag: dict[str, dict[str, str]] = {}
    for name, value, item in connection.execute(query.where(i.study_id == study).order_by(t.name, i.name)):
        by_tag.setdefault(name, {})[item] = value
    return {name: values for name, values in by_tag.items() if 1 < len(set(values.values())) <= max_values}


def store_body(engine: Engine, kind: str, name: str, stamp: str, body: str) -> None:
    """Store a computed result in the database."""
    row = {"name": name, "kind": kind, "stamp": stamp, "body": body}
    with fill_catalogue.exclusive_transaction(engine) as connection:
        upsert_rows(connection, catalogue_tables.boards, [row], ["name"], ["kind", "stamp", "body"])


def store_board(engine: Engine, board: Board, stamp: str) -> None:
    """Store a board and its heading in one transaction."""
    about = {"study": board.study, "judge": board.judge, "criterion": board.criterion, "verdicts": board.verdicts}
    rows = [
        {"name": board.name, "kind": "board", "stamp": stamp, "body": board_to_json(board)},
        {"name": heading_row(board.name), "kind": HEADING, "stamp": stamp, "body": orjson.dumps(about).decode()},
    ]
    with fill_catalogue.exclusive_transaction(engine) as connection:
        upsert_rows(connection, catalogue_tables.boards, rows, ["name"], ["kind", "stamp", "body"])


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


def board_headings(connection: Connection, study: str = "") -> list[Heading]:
    """Return the boards of one study, or of all: largest criterion first, people last.

    A board has the number of verdicts that it was computed from. If the catalogue has more, the board is due; list and
    board will change together. Only a board that was never computed has the catalogue's number. Criteria of items' own
    rubrics have no boards.
    """
    b = catalogue_tables.boards.c
    subjects = {
        (study_name, judge, criterion): int(count)
        for study_name, judge, criterion, count in connection.execute(heading_query())
    }
    for body in connection.execute(select(b.body).where(b.kind == HEADING)).scalars():
        about = orjson.loads(body)
        subjects[about["study"], about["judge"], about["criterion"]] = about["verdicts"]
    order = list(study_ids_by_name(connection))
    hidden = {(name, one) for name, known in read_item_criteria(connection).items() for one in known.criteria}
    matching_headings = [
        Heading(board_name(*subject), *subject, verdicts)
        for subject, verdicts in subjects.items()
        if subject[0] in order and study in {"", subject[0]} and (subject[0], subject[2]) not in hidden
    ]
    return sorted(
        matching_headings,
        key=lambda heading: (
            order.index(heading.study),
            is_person(heading.judge),
            heading.judge,
            -heading.verdicts,
            heading.criterion,
        ),
    )


def heading_query(*extra_columns: Any) -> Any:
    """Select study, judge, criterion and number of verdicts of every possible board."""
    c, names = (
        catalogue_tables.counts.c,
        {kind: catalogue_tables.names.alias(kind) for kind in ("study", "judge", "criterion")},
    )
    query = select(*(names[kind].c.name for kind in names), func.sum(c.n), *extra_columns).select_from(
        catalogue_tables.counts
    )
    for kind, alias in names.items():
        query = query.join(alias, alias.c.id == c[f"{kind}_id"])
    grouped_query = query.where(c.contestant_id == 0).group_by(*(names[kind].c.name for kind in names))
    return grouped_query.having(func.sum(c.n) > 0)


def find_board(connection: Connection, name: str, *, leading: bool = False, tag: str = "") -> Board | None:
    """Return a board by its name, or None if it is not computed yet.

    With `leading`, load only its leaderboards; with `tag`, also its tables by that tag. Parsing the other tables takes
    most of the time.
    """
    b = catalogue_tables.boards.c
    row = connection.execute(select(b.body, b.stamp).where(b.name == name, b.kind == "board")).first()
    if row is None:
        return None
    if not hidden_cases_and_results.is_outdated(row.stamp, hidden_cases_and_results.open_campaign_stamps(connection)):
        return board_from_json(row.body, row.stamp, leading=leading, tag=tag)
    board = board_from_json(row.body, row.stamp + WITHOUT_TAGS_SUFFIX, leading=leading, tag=tag)
    return replace(
        board, tables=[linked_table for linked_table in board.tables if "tag" not in linked_table.table.source]
    )


def stamps_by_name(connection: Connection) -> dict[str, str]:
    """Return the stamp of every board and card that may be shown.

    Results computed before a campaign opened are outdated. Outdated boards are shown without their tables by tag until
    they are recomputed. Outdated cards are not shown.
    """
    b, campaign_stamps = catalogue_tables.boards.c, hidden_cases_and_results.open_campaign_stamps(connection)
    shown_stamps: dict[str, str] = {}
    for row in connection.execute(select(b.name, b.stamp, b.kind).where(b.kind != HEADING)):
        is_outdated = row.kind in {"board", "card", "summary"} and hidden_cases_and_results.is_outdated(
            row.stamp, campaign_stamps
        )
        if not is_outdated or row.kind == "board":
            shown_stamps[row.name] = row.stamp + WITHOUT_TAGS_SUFFIX * is_outdated
    return shown_stamps
