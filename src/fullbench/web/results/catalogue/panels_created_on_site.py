"""Panels created on the site: several judges combined by a rule, with their own leaderboard.

A panel's verdict combines the marks of its judges on a case; judges without a mark are ignored. It is a verdict of the
judge `panel:NAME (RULE)` in the catalogue, never in the ledger. Each person who voted counts as one vote. A panel
belongs to the ledger that was shown when it was created. A closed panel uses only verdicts that were in the ledger when
it was closed, also after the catalogue is refilled.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import orjson
from sqlalchemy import ColumnElement, Connection, Engine, and_, delete, func, or_, select, text, true, update

from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.columns.verdict_columns import Columns
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.panel_and_cascade import PANEL, Marks, combine_marks
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.web.database import read_transaction
from fullbench.web.results.catalogue import catalogue_tables, fill_catalogue, study_panel_verdicts
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import (
    catalogue_version,
    get_state,
    judge_names_by_id,
    set_state,
    split_into_chunks,
    study_ids_by_name,
    upsert_rows,
)
from fullbench.web.results.catalogue.disagreement_flags import is_panel
from fullbench.web.results.catalogue.insert_verdicts import Batch
from fullbench.web.words import key

Rule = Literal["majority", "mean"]
RULES: tuple[Rule, ...] = get_args(Rule)
MAX_NAME_LENGTH = 60


@dataclass(frozen=True)
class Panel:
    """Several judges and the rule that combines their marks."""

    name: str
    rule: Rule
    judges: tuple[str, ...]
    closed_at: float | None = None
    closed_place: int | None = None
    """Place in the ledger of the last verdict that counts, if the panel is closed."""

    @property
    def judge(self) -> str:
        """Return the panel's name as a judge."""
        return f"{PANEL}{self.name} ({self.rule})"

    @property
    def place(self) -> str:
        """Return the name of the state row that stores the panel's progress."""
        return f"panel {digest([self.name, self.rule, list(self.judges)])[:16]}"


def add_panel(connection: Connection, name: str, rule: str, members: Sequence[str]) -> Panel:
    """Create a panel. Its name must be unused."""
    judge_names = {judge for judge in judge_names_by_id(connection).values() if not is_panel(judge)}
    panel_members = tuple(sorted(dict.fromkeys(members)))
    if not name or len(name) > MAX_NAME_LENGTH:
        raise InputError(key("A panel needs a name of at most 60 characters that is not taken."))
    if rule not in RULES or len(panel_members) < 2 or not judge_names.issuperset(panel_members):
        raise InputError(key("A panel needs at least two judges and a rule."))
    if any(panel.name == name for panel in list_panels(connection)):
        raise InputError(key("A panel needs a name of at most 60 characters that is not taken."))
    row = {
        "name": name,
        "rule": rule,
        "judges": json.dumps(panel_members, ensure_ascii=False),
        "ledger": _shown_ledger(connection),
    }
    upsert_rows(connection, catalogue_tables.panels, [row], ["ledger", "name"], ["rule", "judges"])
    return Panel(name, RULES[RULES.index(rule)], panel_members)


def list_panels(connection: Connection) -> list[Panel]:
    """Return all panels created on the current ledger."""
    p = catalogue_tables.panels.c
    rows = connection.execute(
        select(catalogue_tables.panels).where(p.ledger == _shown_ledger(connection)).order_by(p.name)
    )
    return [
        Panel(row.name, RULES[RULES.index(row.rule)], tuple(json.loads(row.judges)), row.closed_at, row.closed_place)
        for row in rows
    ]


def _shown_ledger(connection: Connection) -> str:
    return get_state(connection, "ledger") or ""


def find_panel_by_judge(connection: Connection, judge: str) -> Panel | None:
    """Return the panel with this judge name, or None."""
    return next((panel for panel in list_panels(connection) if panel.judge == judge), None) if is_panel(judge) else None


def verdict_counts(connection: Connection) -> dict[str, int]:
    """Return the number of verdicts of each panel that has any, by judge name."""
    c, n = catalogue_tables.counts.c, catalogue_tables.names.c
    rows = connection.execute(
        select(n.name, func.sum(c.n))
        .join(catalogue_tables.names, n.id == c.judge_id)
        .where(c.contestant_id == 0, n.name.startswith(PANEL))
        .group_by(n.name)
    )
    return {name: int(count) for name, count in rows}


def close_panel(connection: Connection, name: str) -> Panel:
    """Close a panel: it keeps its verdicts and judges nothing new."""
    panel = _require_panel(connection, name)
    if panel.closed_at is not None:
        raise InputError(key("The panel is closed already."))
    row = {"closed_at": time.time(), "closed_place": int(get_state(connection, "place") or 0)}
    connection.execute(update(catalogue_tables.panels).where(_is_named_panel(connection, name)).values(**row))
    return panel


def remove_panel(connection: Connection, name: str) -> Panel:
    """Delete a panel that has no verdicts."""
    panel = _require_panel(connection, name)
    if verdict_counts(connection).get(panel.judge):
        raise InputError(key("The panel has verdicts. It can be closed, and keeps them."))
    connection.execute(delete(catalogue_tables.panels).where(_is_named_panel(connection, name)))
    return panel


def _is_named_panel(connection: Connection, name: str) -> ColumnElement[bool]:
    return and_(catalogue_tables.panels.c.name == name, catalogue_tables.panels.c.ledger == _shown_ledger(connection))


def _require_panel(connection: Connection, name: str) -> Panel:
    """No other process updates the panel's verdicts while this transaction lasts."""
    fill_catalogue.wait_for_turn(connection)
    panel = next((candidate for candidate in list_panels(connection) if candidate.name == name), None)
    if panel is None:
        raise InputError(key("There is no such panel."))
    return panel


def update_panel_verdicts(engine: Engine, ledger: Ledger, *, should_continue: Callable[[], bool] = lambda: True) -> int:
    """Judge the cases with new verdicts of panel members. Return the number of new or changed verdicts."""
    with read_transaction(engine) as connection:
        panels = list_panels(connection)
    changed_count = study_panel_verdicts.enter_study_panels(engine, ledger, should_continue=should_continue)
    for panel in panels:
        while should_continue():
            with fill_catalogue.exclusive_transaction(engine) as connection:
                current_panel = find_panel_by_judge(connection, panel.judge)
                count, has_more = (
                    (0, False) if current_panel is None else _update_batch(connection, ledger, current_panel)
                )
            changed_count += count
            if not has_more:
                break
    return changed_count


def _update_batch(connection: Connection, ledger: Ledger, panel: Panel) -> tuple[int, bool]:
    """Return the number of new or changed verdicts, and True if there may be more."""
    members = [id_ for id_, name in judge_names_by_id(connection).items() if name in panel.judges]
    v = catalogue_tables.verdicts.c
    place = int(get_state(connection, panel.place) or 0)
    query = select(v.id, v.case_id).where(
        v.judge_id.in_(members), v.marks.is_not(None), v.id > place, _is_counted(panel)
    )
    new_rows = connection.execute(query.order_by(v.id).limit(fill_catalogue.BATCH_SIZE)).all()
    if not new_rows:
        return 0, False
    count = 0
    for case_ids in split_into_chunks(dict.fromkeys(row.case_id for row in new_rows)):
        count += _judge_cases(connection, ledger, panel, members, case_ids)
    set_state(connection, panel.place, new_rows[-1].id)
    set_state(connection, "version", catalogue_version(connection) + 1)
    return count, len(new_rows) == fill_catalogue.BATCH_SIZE


def _judge_cases(
    connection: Connection, ledger: Ledger, panel: Panel, members: Sequence[int], cases: Sequence[int]
) -> int:
    v, c = catalogue_tables.verdicts.c, catalogue_tables.cases.c
    votes: dict[tuple[int, int], list[Marks]] = defaultdict(list)
    rows_by_trial: dict[tuple[int, int], Any] = {}
    rows = connection.execute(
        select(
            v.case_id,
            v.study_id,
            v.trial,
            v.shown,
            v.samples,
            v.marks,
            v.ballot_id,
            v.criterion_id,
            c.key,
            catalogue_tables.items.c.name,
        )
        .join_from(catalogue_tables.verdicts, catalogue_tables.cases, c.id == v.case_id)
        .join(catalogue_tables.items, catalogue_tables.items.c.id == v.item_id)
        .where(v.case_id.in_(cases), v.judge_id.in_(members), v.marks.is_not(None), _is_counted(panel))
        .order_by(v.id)
    )
    for row in rows:
        votes[row.case_id, row.trial].append(tuple(orjson.loads(row.marks)))
        rows_by_trial[row.case_id, row.trial] = row
    stored_ids = _stored_verdict_ids(connection, panel, cases)
    joint = {place: combine_marks(marks, panel.rule) for place, marks in votes.items()}
    names = {
        row.id: row.name
        for row in connection.execute(select(catalogue_tables.names.c.id, catalogue_tables.names.c.name))
    }
    new_verdicts: dict[str, list[Verdict]] = {}
    for place, marks in joint.items():
        if place not in stored_ids:
            row = rows_by_trial[place]
            new_verdicts.setdefault(names[row.study_id], []).append(_panel_verdict(panel.judge, row, marks, names))
    for study, verdicts in new_verdicts.items():
        cases_by_key = {case.key: case for case in ledger.cases({verdict.case for verdict in verdicts})}
        Batch(connection).enter(study, verdicts, cases_by_key)
    changed_marks = [(stored_ids[place], marks) for place, marks in joint.items() if place in stored_ids]
    _update_marks(connection, changed_marks)
    return len(joint)


def _is_counted(panel: Panel) -> ColumnElement[bool]:
    """Verdicts added after the panel was closed do not count."""
    # Rows entered before places were stored have none; they count.
    place = catalogue_tables.verdicts.c.place
    return true() if panel.closed_place is None else or_(place.is_(None), place <= panel.closed_place)


def _stored_verdict_ids(connection: Connection, panel: Panel, cases: Sequence[int]) -> dict[tuple[int, int], int]:
    v = catalogue_tables.verdicts.c
    judge_id = next((id_ for id_, name in judge_names_by_id(connection).items() if name == panel.judge), None)
    if judge_id is None:
        return {}
    rows = connection.execute(select(v.case_id, v.trial, v.id).where(v.judge_id == judge_id, v.case_id.in_(cases)))
    return {(case, trial): id_ for case, trial, id_ in rows}


def _panel_verdict(judge: str, row: Any, marks: Marks, names: Mapping[int, str]) -> Verdict:
    contestants = tuple(names[number] for number in orjson.loads(row.shown))
    spec, criterion = names[row.ballot_id], names[row.criterion_id]
    samples = tuple(orjson.loads(row.samples)) if row.samples else ()
    return Verdict(row.key, judge, row.name, contestants, spec, criterion, row.trial, marks, samples=samples)


def panel_columns(connection: Connection, study: str, judge: str) -> Columns:
    """Return a panel's verdicts in a study as `Columns` for the analysis."""
    v, c, n = catalogue_tables.verdicts.c, catalogue_tables.cases.c, catalogue_tables.names.c
    names = {row.id: row.name for row in connection.execute(select(n.id, n.name))}
    number = next(id_ for id_, name in judge_names_by_id(connection).items() if name == judge)
    rows = connection.execute(
        select(v.trial, v.shown, v.samples, v.marks, v.ballot_id, v.criterion_id, c.key, catalogue_tables.items.c.name)
        .join_from(catalogue_tables.verdicts, catalogue_tables.cases, c.id == v.case_id)
        .join(catalogue_tables.items, catalogue_tables.items.c.id == v.item_id)
        .where(v.judge_id == number, v.study_id == study_ids_by_name(connection)[study])
    )
    return columns_from_verdicts(
        (_panel_verdict(judge, row, tuple(orjson.loads(row.marks)), names) for row in rows), study
    )


def _update_marks(connection: Connection, changed_marks: Sequence[tuple[int, Marks]]) -> None:
    rows = [{"of": id_, "marks": orjson.dumps(marks).decode()} for id_, marks in changed_marks]
    if rows:
        connection.execute(text("UPDATE public_verdicts SET marks = :marks WHERE id = :of"), rows)
