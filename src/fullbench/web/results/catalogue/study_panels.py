"""The panels and cascades that studies name, entered into the catalogue so that their rulings can be listed.

Their figures are computed from the ledger, like everybody's; here are only the rows behind them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
from sqlalchemy import Connection, Engine, func, select

from fullbench.analysis.views.panel_verdicts import rulings
from fullbench.core.digests import digest
from fullbench.core.panel import View
from fullbench.core.verdict import FAULTS, Verdict
from fullbench.ledger.ledger import Ledger
from fullbench.web.database import reading
from fullbench.web.results.catalogue import catalogue_tables, fill_catalogue
from fullbench.web.results.catalogue.insert_verdicts import Batch
from fullbench.web.results.catalogue.row_helpers import get_state, judges, set_state, studies


def enter(engine: Engine, ledger: Ledger, *, going: Callable[[], bool] = lambda: True) -> int:
    """Enter what the panels of studies rule, where their members ruled anew; say how many rulings came or changed."""
    entered = 0
    for view in ledger.views():
        with reading(engine) as connection:
            there = studies(connection)
        for study in there:
            if not going():
                return entered
            with fill_catalogue.sole(engine) as connection:
                entered += _enter(connection, ledger, view, study)
    return entered


def _enter(connection: Connection, ledger: Ledger, view: View, study: str) -> int:
    stamp, state = _stamp(connection, view, study), f"panel {digest([view.name, study])[:16]}"
    if get_state(connection, state) == stamp:
        return 0
    known = _known(connection, view, study)
    fresh: list[Verdict] = []
    for ruling in rulings(view, ledger.record(list(view.heard), study=study, texts=False).verdicts):
        before = known.get((ruling.case, ruling.trial))
        if before is None:
            fresh.append(ruling)
        elif before[1:] != (ruling.marks, ruling.fault):
            fresh.append(replace(ruling, revision=before[0] + 1))  # takes the place of what the panel ruled before
    if fresh:
        heard = {case.key: case for case in ledger.cases({ruling.case for ruling in fresh})}
        Batch(connection).enter(study, fresh, heard)
    set_state(connection, state, stamp)
    return len(fresh)


def _stamp(connection: Connection, view: View, study: str) -> str:
    """What the rulings of a view depend on: how many verdicts its members have, and which came last."""
    c, names = catalogue_tables.counts.c, judges(connection)
    members = [id_ for id_, name in names.items() if name in view.heard]
    rows = connection.execute(
        select(c.judge_id, func.sum(c.n), func.max(c.last))
        .where(c.contestant_id == 0, c.study_id == studies(connection)[study], c.judge_id.in_(members))
        .group_by(c.judge_id)
        .order_by(c.judge_id)
    )
    return digest([[names[judge], int(n), last] for judge, n, last in rows])[:16]


def _known(connection: Connection, view: View, study: str) -> dict[tuple[str, int], tuple[int, Any, Any]]:
    """The revision, marks and fault of each ruling that is in the catalogue."""
    v, c = catalogue_tables.verdicts.c, catalogue_tables.cases.c
    number = next((id_ for id_, name in judges(connection).items() if name == view.name), None)
    if number is None:
        return {}
    rows = connection.execute(
        select(c.key, v.trial, v.revision, v.marks, v.fault)
        .join_from(catalogue_tables.verdicts, catalogue_tables.cases, c.id == v.case_id)
        .where(v.judge_id == number, v.study_id == studies(connection)[study])
    )
    return {
        (row.key, row.trial): (
            row.revision,
            None if row.marks is None else tuple(orjson.loads(row.marks)),
            FAULTS[row.fault - 1] if row.fault else None,
        )
        for row in rows
    }
