"""The summary of a study on the site: computed like that of `fullbench report` and stored like a judge card."""

from __future__ import annotations

import orjson
from sqlalchemy import Connection, Engine, select

from fullbench.analysis import standard_verdict_tables
from fullbench.analysis.pooled_single_item_criteria import single_item_criteria_mask
from fullbench.analysis.summary.study_summary import summary_tables
from fullbench.columns.verdict_columns import Columns
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.table import Table
from fullbench.ledger.ledger import Ledger
from fullbench.reports.table_formats import render_table, table_from_json
from fullbench.studies import ledger_verdicts_with_panels
from fullbench.web.database import read_transaction
from fullbench.web.results import hidden_cases_and_results
from fullbench.web.results.boards import board_store
from fullbench.web.results.catalogue import catalogue_tables

KIND = "summary"


def summary_name(study: str) -> str:
    """Return the name of a study's summary in the table of boards."""
    return f"{KIND}-{digest([study])[:16]}"


def store_summary(engine: Engine, ledger: Ledger, study: str, columns: Columns, stamp: str) -> None:
    """Compute the summary from the stored leaderboards and these verdicts, and store it."""
    with read_transaction(engine) as connection:
        names = [heading.name for heading in board_store.board_headings(connection, study)]
        boards = [board_store.find_board(connection, name, leading=True) for name in names]
    tables = summary_tables(
        columns.rows(~single_item_criteria_mask(columns)),
        [linked_table.table for board in boards if board is not None for linked_table in board.tables],
        texts=ledger_verdicts_with_panels.load_voted_texts(ledger, columns, study=study),
        costs=standard_verdict_tables.cost_table(columns),
    )
    tables = ledger_verdicts_with_panels.add_ledger_notes(ledger, tables, columns, study=study)
    body = orjson.dumps([orjson.Fragment(render_table(table, "json")) for table in tables]).decode()
    board_store.store_body(engine, KIND, summary_name(study), stamp, body)


def find_summary(connection: Connection, study: str) -> list[Table]:
    """Return the tables of a study's summary; empty if it is not computed yet or outdated by a new campaign."""
    b = catalogue_tables.boards.c
    row = connection.execute(select(b.body, b.stamp).where(b.name == summary_name(study))).first()
    if row is None or hidden_cases_and_results.is_outdated(
        row.stamp, hidden_cases_and_results.open_campaign_stamps(connection)
    ):
        return []
    return [table_from_json(orjson.dumps(packed_table)) for packed_table in orjson.loads(row.body)]
