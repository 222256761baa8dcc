"""Download of all metrics of a study's leaderboards as one CSV or JSON file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from sqlalchemy import Connection

from fullbench.core.estimate import Estimate
from fullbench.core.table import Column, Table
from fullbench.reports.cell_text import format_cell
from fullbench.reports.site_info import FIELD_NAMES, Imprint
from fullbench.reports.table_formats import render_table
from fullbench.version_and_code_digest import __version__
from fullbench.web.results.boards import board_store
from fullbench.web.results.recent_value_cache import RecentCache
from fullbench.web.results.site import ledger_edition

COLUMNS = ("study", "criterion", "ballot", "judge", "contestant", "rank_best", "rank_worst", "metric", "value")
MEDIA_TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json"}


class DownloadCache:
    """Cache of recent downloads. A file is made again after a leaderboard changed."""

    def __init__(self) -> None:
        self._file_cache: RecentCache[str | bytes] = RecentCache(16)

    def file(self, connection: Connection, study: str, form: str, about: Mapping[str, Any]) -> str | bytes:
        """Return all metrics of a study as CSV, or as JSON with the metadata `about`."""
        stamps = board_store.stamps_by_name(connection)
        board_stamps = tuple(stamps.get(heading.name) for heading in board_store.board_headings(connection, study))

        def make() -> str | bytes:
            table = metric_table(connection, study)
            return render_table(table, "csv") if form == "csv" else as_json(table, about)

        return self._file_cache.get((study, form, board_stamps, repr(about)), make)


def metric_table(connection: Connection, study: str) -> Table:
    """Return a table with one row for each metric of each contestant on each board."""
    rows = []
    for heading in board_store.board_headings(connection, study):
        board = board_store.find_board(connection, heading.name, leading=True)
        for table in (linked_table.table for linked_table in board.tables) if board else ():
            ballot = str(table.source.get("family", ""))
            for row in table.rows:
                rank, contestant = row[:2]
                ends = [int(end) for end in format_cell(rank).split("-") if end.isdigit()]
                ranks = (ends[0], ends[-1]) if ends else (None, None)
                row_scope = (study, heading.criterion, ballot, heading.judge, str(contestant))
                rows += [
                    (*row_scope, *ranks, column.key, cell)
                    for column, cell in zip(table.typed_columns, row, strict=True)
                    if isinstance(cell, Estimate)
                ]
    return Table("results", "Results", tuple(map(Column, COLUMNS)), rows)


def download_metadata(connection: Connection, study: str, imprint: Imprint, ledger: str) -> dict[str, Any]:
    """Return the metadata of a download: imprint, study, ledger, digest, date, version."""
    study_imprint = imprint.of_study(study)
    imprint_fields = {name: value for name in FIELD_NAMES if name != "logo" and (value := getattr(study_imprint, name))}
    edition = ledger_edition.edition_of(connection, study)
    source = {"ledger": ledger, "digest": edition.digest, "last_verdict": edition.date, "fullbench": __version__}
    return {**imprint_fields, "title": study_imprint.title or imprint.title, "study": study, **source}


def as_json(table: Table, about: Mapping[str, Any]) -> bytes:
    table_json = orjson.loads(render_table(table, "json"))
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in table_json["rows"]]
    return orjson.dumps({**about, "results": rows}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
