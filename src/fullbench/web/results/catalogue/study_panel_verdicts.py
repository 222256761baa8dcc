"""Verdicts of panels and cascades that studies define, inserted into the catalogue so that pages can list them.

Their metrics are computed from the ledger, as for all judges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
from sqlalchemy import Connection, Engine, func, select

from fullbench.analysis.views.panel_cascade_and_rubric_verdicts import view_verdicts
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.panel_and_cascade import View
from fullbench.core.verdict import FAULTS, Verdict
from fullbench.ledger.ledger import Ledger
from fullbench.web.database import read_transaction
from fullbench.web.results.catalogue import catalogue_tables, fill_catalogue
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import (
    get_state,
    judge_names_by_id,
    set_state,
    study_ids_by_name,
)
from fullbench.web.results.catalogue.insert_verdicts import Batch


def enter_study_panels(engine: Engine, ledger: Ledger, *, should_continue: Callable[[], bool] = lambda: True) -> int:
    """Insert verdicts of study panels whose members have new verdicts. Return the number of new or changed ones."""
    entered_count = 0
    for view in ledger.views():
        with read_transaction(engine) as connection:
            study_ids = study_ids_by_name(connection)
        for study in study_ids:
            if not should_continue():
                return entered_count
            with fill_catalogue.exclusive_transaction(engine) as connection:
                entered_count += _enter_panel(connection, ledger, view, study)
    return entered_count


def _enter_panel(connection: Connection, ledger: Ledger, view: View, study: str) -> int:
    stamp, state = _panel_stamp(connection, view, study), f"panel {digest([view.name, study])[:16]}"
    if get_state(connection, state) == stamp:
        return 0
    stored_verdicts = _stored_verdicts(connection, view, study)
    new_verdicts: list[Verdict] = []
    for verdict in view_verdicts(view, ledger.record(list(view.source_judges), study=study, texts=False).verdicts):
        stored_verdict = stored_verdicts.get((verdict.case, verdict.trial))
        if stored_verdict is None:
            new_verdicts.append(verdict)
        elif stored_verdict[1:] != (verdict.marks, verdict.fault):
            new_verdicts.append(
                replace(verdict, revision=stored_verdict[0] + 1)
            )  # replaces the panel's earlier verdict
    if new_verdicts:
        cases_by_key = {case.key: case for case in ledger.cases({verdict.case for verdict in new_verdicts})}
        Batch(connection).enter(study, new_verdicts, cases_by_key)
    set_state(connection, state, stamp)
    return len(new_verdicts)


def _panel_stamp(connection: Connection, view: View, study: str) -> str:
    """Digest of the number and the last of its members' verdicts."""
    c, names = catalogue_tables.counts.c, judge_names_by_id(connection)
    members = [id_ for id_, name in names.items() if name in view.source_judges]
    rows = connection.execute(
        select(c.judge_id, func.sum(c.n), func.max(c.last))
        .where(c.contestant_id == 0, c.study_id == study_ids_by_name(connection)[study], c.judge_id.in_(members))
        .group_by(c.judge_id)
        .order_by(c.judge_id)
    )
    return digest([[names[judge], int(n), last] for judge, n, last in rows])[:16]


def _stored_verdicts(connection: Connection, view: View, study: str) -> dict[tuple[str, int], tuple[int, Any, Any]]:
    """Return revision, marks and fault of each stored verdict, by case key and trial."""
    v, c = catalogue_tables.verdicts.c, catalogue_tables.cases.c
    number = next((id_ for id_, name in judge_names_by_id(connection).items() if name == view.name), None)
    if number is None:
        return {}
    rows = connection.execute(
        select(c.key, v.trial, v.revision, v.marks, v.fault)
        .join_from(catalogue_tables.verdicts, catalogue_tables.cases, c.id == v.case_id)
        .where(v.judge_id == number, v.study_id == study_ids_by_name(connection)[study])
    )
    return {
        (row.key, row.trial): (
            row.revision,
            None if row.marks is None else tuple(orjson.loads(row.marks)),
            FAULTS[row.fault - 1] if row.fault else None,
        )
        for row in rows
    }
