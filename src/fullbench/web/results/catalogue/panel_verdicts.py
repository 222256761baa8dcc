"""Panels: judges that rule together under one name, by a named rule, so that they have a leaderboard like anybody.

A panel's ruling on a case is made from the marks that its judges gave in it; where one gave none, the others decide.
It is a verdict of the judge `panel:NAME (RULE)` in the catalogue, never in the ledger; each person who voted is a
voice. A panel belongs to the ledger that was shown when it was made. One that is closed rules on what came into the
ledger until then, and on nothing else, also when the catalogue is filled anew.
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

from fullbench.columns.column_builder import columns_of
from fullbench.columns.verdict_columns import Columns
from fullbench.core.digests import digest
from fullbench.core.panel import PANEL, Marks, combined
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.web.database import reading
from fullbench.web.results.catalogue import catalogue_tables, fill_catalogue, study_panels
from fullbench.web.results.catalogue.disagreement import is_panel
from fullbench.web.results.catalogue.insert_verdicts import Batch
from fullbench.web.results.catalogue.row_helpers import chunks, get_state, judges, put, set_state, studies, version
from fullbench.web.words import key

Rule = Literal["majority", "mean"]
RULES: tuple[Rule, ...] = get_args(Rule)
LONGEST = 60


@dataclass(frozen=True)
class Panel:
    """Some judges and the rule by which they rule together."""

    name: str
    rule: Rule
    judges: tuple[str, ...]
    closed_at: float | None = None
    closed_place: int | None = None
    """The place in the ledger of the last verdict that counts, where the panel is closed."""

    @property
    def judge(self) -> str:
        """The judge that the panel is."""
        return f"{PANEL}{self.name} ({self.rule})"

    @property
    def place(self) -> str:
        """The name under which the catalogue keeps how far this panel has come."""
        return f"panel {digest([self.name, self.rule, list(self.judges)])[:16]}"


def add(connection: Connection, name: str, rule: str, members: Sequence[str]) -> Panel:
    """Make a panel; a name is given once."""
    known = {judge for judge in judges(connection).values() if not is_panel(judge)}
    wanted = tuple(sorted(dict.fromkeys(members)))
    if not name or len(name) > LONGEST:
        raise InputError(key("A panel needs a name of at most 60 characters that is not taken."))
    if rule not in RULES or len(wanted) < 2 or not known.issuperset(wanted):
        raise InputError(key("A panel needs two judges or more, and a rule."))
    if any(panel.name == name for panel in found(connection)):
        raise InputError(key("A panel needs a name of at most 60 characters that is not taken."))
    row = {"name": name, "rule": rule, "judges": json.dumps(wanted, ensure_ascii=False), "ledger": _bound(connection)}
    put(connection, catalogue_tables.panels, [row], ["ledger", "name"], ["rule", "judges"])
    return Panel(name, RULES[RULES.index(rule)], wanted)


def found(connection: Connection) -> list[Panel]:
    """All panels that were made on the ledger that is shown."""
    p = catalogue_tables.panels.c
    rows = connection.execute(select(catalogue_tables.panels).where(p.ledger == _bound(connection)).order_by(p.name))
    return [
        Panel(row.name, RULES[RULES.index(row.rule)], tuple(json.loads(row.judges)), row.closed_at, row.closed_place)
        for row in rows
    ]


def _bound(connection: Connection) -> str:
    """The identity of the ledger that is shown."""
    return get_state(connection, "ledger") or ""


def of(connection: Connection, judge: str) -> Panel | None:
    """The panel that a judge is, if it is one."""
    return next((panel for panel in found(connection) if panel.judge == judge), None) if is_panel(judge) else None


def rulings(connection: Connection) -> dict[str, int]:
    """How many rulings each panel made that made any, by the judge that it is."""
    c, n = catalogue_tables.counts.c, catalogue_tables.names.c
    rows = connection.execute(
        select(n.name, func.sum(c.n))
        .join(catalogue_tables.names, n.id == c.judge_id)
        .where(c.contestant_id == 0, n.name.startswith(PANEL))
        .group_by(n.name)
    )
    return {name: int(count) for name, count in rows}


def close(connection: Connection, name: str) -> Panel:
    """Let a panel rule on nothing that comes from now on; it keeps what it ruled."""
    panel = _made(connection, name)
    if panel.closed_at is not None:
        raise InputError(key("The panel is closed already."))
    row = {"closed_at": time.time(), "closed_place": int(get_state(connection, "place") or 0)}
    connection.execute(update(catalogue_tables.panels).where(_called(connection, name)).values(**row))
    return panel


def remove(connection: Connection, name: str) -> Panel:
    """Take a panel away that has not ruled on anything."""
    panel = _made(connection, name)
    if rulings(connection).get(panel.judge):
        raise InputError(key("The panel has ruled; it can be closed, and keeps its rulings."))
    connection.execute(delete(catalogue_tables.panels).where(_called(connection, name)))
    return panel


def _called(connection: Connection, name: str) -> ColumnElement[bool]:
    return and_(catalogue_tables.panels.c.name == name, catalogue_tables.panels.c.ledger == _bound(connection))


def _made(connection: Connection, name: str) -> Panel:
    """A panel that somebody made; no filler is half-way through its rulings while this transaction lasts."""
    fill_catalogue.turn(connection)
    panel = next((candidate for candidate in found(connection) if candidate.name == name), None)
    if panel is None:
        raise InputError(key("There is no such panel."))
    return panel


def derive(engine: Engine, ledger: Ledger, *, going: Callable[[], bool] = lambda: True) -> int:
    """Let all panels rule on the cases on which their judges ruled anew; say how many rulings were made or changed."""
    with reading(engine) as connection:
        waiting = found(connection)
    changed = study_panels.enter(engine, ledger, going=going)
    for panel in waiting:
        while going():
            with fill_catalogue.sole(engine) as connection:
                now = of(connection, panel.judge)
                count, more = (0, False) if now is None else _derive(connection, ledger, now)
            changed += count
            if not more:
                break
    return changed


def _derive(connection: Connection, ledger: Ledger, panel: Panel) -> tuple[int, bool]:
    """One batch: how many rulings were made or changed, and whether there may be more."""
    members = [id_ for id_, name in judges(connection).items() if name in panel.judges]
    v = catalogue_tables.verdicts.c
    place = int(get_state(connection, panel.place) or 0)
    asked = select(v.id, v.case_id).where(v.judge_id.in_(members), v.marks.is_not(None), v.id > place, _counts(panel))
    fresh = connection.execute(asked.order_by(v.id).limit(fill_catalogue.BATCH)).all()
    if not fresh:
        return 0, False
    count = 0
    for some in chunks(dict.fromkeys(row.case_id for row in fresh)):
        count += _rule(connection, ledger, panel, members, some)
    set_state(connection, panel.place, fresh[-1].id)
    set_state(connection, "version", version(connection) + 1)
    return count, len(fresh) == fill_catalogue.BATCH


def _rule(connection: Connection, ledger: Ledger, panel: Panel, members: Sequence[int], cases: Sequence[int]) -> int:
    v, c = catalogue_tables.verdicts.c, catalogue_tables.cases.c
    votes: dict[tuple[int, int], list[Marks]] = defaultdict(list)
    shown: dict[tuple[int, int], Any] = {}
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
        .where(v.case_id.in_(cases), v.judge_id.in_(members), v.marks.is_not(None), _counts(panel))
        .order_by(v.id)
    )
    for row in rows:
        votes[row.case_id, row.trial].append(tuple(orjson.loads(row.marks)))
        shown[row.case_id, row.trial] = row
    known = _there(connection, panel, cases)
    joint = {place: combined(marks, panel.rule) for place, marks in votes.items()}
    names = {
        row.id: row.name
        for row in connection.execute(select(catalogue_tables.names.c.id, catalogue_tables.names.c.name))
    }
    fresh: dict[str, list[Verdict]] = {}
    for place, marks in joint.items():
        if place not in known:
            row = shown[place]
            fresh.setdefault(names[row.study_id], []).append(_verdict(panel.judge, row, marks, names))
    for study, some in fresh.items():
        heard = {case.key: case for case in ledger.cases({verdict.case for verdict in some})}
        Batch(connection).enter(study, some, heard)
    changed = [(known[place], marks) for place, marks in joint.items() if place in known]
    _change(connection, changed)
    return len(joint)


def _counts(panel: Panel) -> ColumnElement[bool]:
    """Whether a verdict counts: what came after a panel was closed does not."""
    place = catalogue_tables.verdicts.c.place
    return true() if panel.closed_place is None else or_(place.is_(None), place <= panel.closed_place)


def _there(connection: Connection, panel: Panel, cases: Sequence[int]) -> dict[tuple[int, int], int]:
    """The panel's rulings on these cases that are there already."""
    v = catalogue_tables.verdicts.c
    own = next((id_ for id_, name in judges(connection).items() if name == panel.judge), None)
    if own is None:
        return {}
    rows = connection.execute(select(v.case_id, v.trial, v.id).where(v.judge_id == own, v.case_id.in_(cases)))
    return {(case, trial): id_ for case, trial, id_ in rows}


def _verdict(judge: str, row: Any, marks: Marks, names: Mapping[int, str]) -> Verdict:
    contestants = tuple(names[number] for number in orjson.loads(row.shown))
    spec, criterion = names[row.ballot_id], names[row.criterion_id]
    samples = tuple(orjson.loads(row.samples)) if row.samples else ()
    return Verdict(row.key, judge, row.name, contestants, spec, criterion, row.trial, marks, samples=samples)


def columns(connection: Connection, study: str, judge: str) -> Columns:
    """A panel's rulings in a study, as the columns that figures read."""
    v, c, n = catalogue_tables.verdicts.c, catalogue_tables.cases.c, catalogue_tables.names.c
    names = {row.id: row.name for row in connection.execute(select(n.id, n.name))}
    number = next(id_ for id_, name in judges(connection).items() if name == judge)
    rows = connection.execute(
        select(v.trial, v.shown, v.samples, v.marks, v.ballot_id, v.criterion_id, c.key, catalogue_tables.items.c.name)
        .join_from(catalogue_tables.verdicts, catalogue_tables.cases, c.id == v.case_id)
        .join(catalogue_tables.items, catalogue_tables.items.c.id == v.item_id)
        .where(v.judge_id == number, v.study_id == studies(connection)[study])
    )
    return columns_of((_verdict(judge, row, tuple(orjson.loads(row.marks)), names) for row in rows), study)


def _change(connection: Connection, changed: Sequence[tuple[int, Marks]]) -> None:
    rows = [{"of": id_, "marks": orjson.dumps(marks).decode()} for id_, marks in changed]
    if rows:
        connection.execute(text("UPDATE public_verdicts SET marks = :marks WHERE id = :of"), rows)
