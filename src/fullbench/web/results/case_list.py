"""Pages of cases: one row a meeting that has a verdict with all of what a filter asks for, turned by key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from sqlalchemy import ColumnElement, Connection, Select, and_, or_, select, true

from fullbench.web.results import listing, search, tables
from fullbench.web.results.filters import Filter, Numbered
from fullbench.web.results.rows import studies

PAGE = 30
FEW = 20_000
"""Up to so many verdicts are looked up and their meetings put in order; meetings with more of them are walked through
in order, since the next one that has such a verdict is never far."""
Order = Literal["newest", "doubt"]
"""The latest cases first, or those on which judges and people differ most."""
ORDERS: tuple[Order, ...] = get_args(Order)
_ID = 2**32
"""A cursor has the doubt of a meeting above its id."""


@dataclass(frozen=True)
class Chosen:
    """Some meetings in order, by meeting the verdicts that were asked for, and where older and newer pages begin."""

    meetings: Sequence[int]
    matched: Mapping[int, Sequence[int]]
    older: int | None
    newer: int | None


def page(
    connection: Connection,
    wanted: Filter,
    found: listing.Count,
    *,
    order: Order = "newest",
    before: int | None = None,
    after: int | None = None,
    size: int = PAGE,
    withheld: Select[Any] | None = None,
) -> Chosen:
    """The meetings that come behind `before` in an order, or the next ones ahead of `after`.

    `found` is how many verdicts the filter finds. Meetings on the items `withheld` are not among them.
    """
    numbered = Numbered.of(connection, wanted)
    if numbered.impossible or not found.n:
        return Chosen((), {}, None, None)
    m = tables.meetings.c
    asked = _having(connection, numbered, few=found.exact and found.n <= FEW)
    there = studies(connection)
    asked = asked.where(m.study_id == there[wanted.study or next(iter(there))])
    if withheld is not None:
        asked = asked.where(m.item_id.not_in(withheld))
    keys = (m.id,) if order == "newest" else (m.doubt, m.id)
    cursor = before if after is None else after
    if cursor is not None:
        asked = asked.where(_beyond(order, cursor, ahead=after is not None))
    ordered = asked.order_by(*(key if after is not None else key.desc() for key in keys)).limit(size + 1)
    rows = list(connection.execute(ordered))
    more, rows = len(rows) > size, rows[:size]
    if after is not None:
        rows.reverse()
    ends = [row.id if order == "newest" else row.doubt * _ID + row.id for row in (*rows[:1], *rows[-1:])]
    older = ends[1] if rows and (more or after is not None) else None
    newer = ends[0] if rows and (before is not None or (after is not None and more)) else None
    ids = [row.id for row in rows]
    return Chosen(ids, _matched(connection, numbered, ids), older, newer)


def _matched(connection: Connection, numbered: Numbered, meetings: Sequence[int]) -> dict[int, list[int]]:
    """By meeting the verdicts that were asked for."""
    v = tables.verdicts.c
    rest = numbered.less("contestant").less("other").conditions(inside=True)
    rows = list(connection.execute(select(v.meeting_id, v.id).where(v.meeting_id.in_(meetings), rest)))
    if numbered.filter.q:
        hits = search.among(connection, numbered.filter.q, [id_ for _, id_ in rows])
        rows = [row for row in rows if row.id in hits]
    matched: dict[int, list[int]] = {}
    for meeting, id_ in rows:
        matched.setdefault(meeting, []).append(id_)
    return matched


def _beyond(order: Order, cursor: int, *, ahead: bool) -> ColumnElement[bool]:
    m = tables.meetings.c
    if order == "newest":
        return m.id > cursor if ahead else m.id < cursor
    doubt, id_ = divmod(cursor, _ID)
    same = and_(m.doubt == doubt, m.id > id_ if ahead else m.id < id_)
    return or_(m.doubt > doubt if ahead else m.doubt < doubt, same)


def _having(connection: Connection, numbered: Numbered, *, few: bool) -> Select[Any]:
    """The meetings that have a verdict of those asked for."""
    m, v = tables.meetings.c, tables.verdicts.c
    asked = select(m.id, m.doubt)
    if few:
        matching = listing.matching(connection, numbered)
        return asked.where(true() if matching is None else m.id.in_(select(v.meeting_id).where(v.id.in_(matching[0]))))
    for name in ("contestant", "other"):
        if name in numbered.ids:
            shown = tables.compared.alias(name)
            asked = asked.join(shown, and_(shown.c.meeting_id == m.id, shown.c.contestant_id == numbered.ids[name]))
    inside = select(v.id).where(v.meeting_id == m.id).correlate(tables.meetings)
    return asked.where(numbered.meetings(), _verdicts(numbered, inside).exists())


def _verdicts(numbered: Numbered, asked: Select[Any]) -> Select[Any]:
    """Verdicts of meetings that show the right contestants, cut down to those that have the rest of what is asked."""
    asked = asked.where(numbered.less("contestant").less("other").conditions(inside=True))
    hits = search.matching(numbered.dialect, numbered.filter.q) if numbered.filter.q else None
    if hits is None:
        return asked
    index, id_, match = hits
    return asked.where(select(id_).select_from(index).where(match, id_ == tables.verdicts.c.id).exists())
