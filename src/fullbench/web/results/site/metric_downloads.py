"""All figures of a study's leaderboards as one file, for whoever computes with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from sqlalchemy import Connection

from fullbench.core.estimate import Estimate
from fullbench.core.table import Column, Table
from fullbench.reports.cell_text import show
from fullbench.reports.site_info import KNOWN, Imprint
from fullbench.reports.table_formats import render
from fullbench.version import __version__
from fullbench.web.results.boards import board_store
from fullbench.web.results.pages.page_cache import Recent
from fullbench.web.results.site import ledger_edition

COLUMNS = ("study", "criterion", "ballot", "judge", "contestant", "rank_best", "rank_worst", "measure", "figure")
FORMS = {"csv": "text/csv; charset=utf-8", "json": "application/json"}


class Files:
    """The files that were asked for lately, made anew when a leaderboard was."""

    def __init__(self) -> None:
        self._made: Recent[str | bytes] = Recent(16)

    def file(self, connection: Connection, study: str, form: str, about: Mapping[str, Any]) -> str | bytes:
        """All figures of a study, as CSV or, with what they are of, as JSON."""
        stamps = board_store.stamps(connection)
        computed = tuple(stamps.get(heading.name) for heading in board_store.headings(connection, study))

        def make() -> str | bytes:
            table = figures(connection, study)
            return as_csv(table) if form == "csv" else as_json(table, about)

        return self._made.get((study, form, computed, repr(about)), make)


def figures(connection: Connection, study: str) -> Table:
    """A row for each figure: whose board, of whom, in which rank set, what is measured, its interval and n."""
    rows = []
    for heading in board_store.headings(connection, study):
        board = board_store.find(connection, heading.name, leading=True)
        for table in (linked.table for linked in board.tables) if board else ():
            ballot = str(table.source.get("family", ""))
            for row in table.rows:
                rank, contestant = row[:2]
                ends = [int(end) for end in show(rank).split("-") if end.isdigit()]
                ranks = (ends[0], ends[-1]) if ends else (None, None)
                whose = (study, heading.criterion, ballot, heading.judge, str(contestant))
                rows += [
                    (*whose, *ranks, column.key, cell)
                    for column, cell in zip(table.typed, row, strict=True)
                    if isinstance(cell, Estimate)
                ]
    return Table("results", "Results", tuple(map(Column, COLUMNS)), rows)


def facts(connection: Connection, study: str, imprint: Imprint, ledger: str) -> dict[str, Any]:
    """What the figures are of, and from which ledger."""
    said = imprint.of_study(study)
    known = {name: value for name in KNOWN if name != "logo" and (value := getattr(said, name))}
    noted = ledger_edition.edition_of(connection, study)
    made_from = {"ledger": ledger, "digest": noted.digest, "last_verdict": noted.date, "fullbench": __version__}
    return {**known, "title": said.title or imprint.title, "study": study, **made_from}


def as_csv(table: Table) -> str:
    return render(table, "csv")


def as_json(table: Table, about: Mapping[str, Any]) -> bytes:
    packed = orjson.loads(render(table, "json"))
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in packed["rows"]]
    return orjson.dumps({**about, "results": rows}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
