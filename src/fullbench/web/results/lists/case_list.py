"""Pages of cases: one row a meeting that has a verdict with all of what a filter asks for, turned by key."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import orjson
from sqlalchemy import ColumnElement, Connection, Select, and_, func, or_, select, true

from fullbench.core.verdict import FAULTS
from fullbench.web.results.catalogue import catalogue_tables, full_text_search
from fullbench.web.results.catalogue.disagreement import combined, is_panel, is_person
from fullbench.web.results.catalogue.row_helpers import contestants_in, studies
from fullbench.web.results.lists import verdict_list
from fullbench.web.results.lists.verdict_filters import Filter, Numbered
from fullbench.web.results.pages.verdict_text import answer_name, mark_in_words, placing, seats
from fullbench.web.results.site.page_urls import voice_name

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
    found: verdict_list.Count,
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
    m = catalogue_tables.meetings.c
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
    v = catalogue_tables.verdicts.c
    rest = numbered.less("contestant").less("other").conditions(inside=True)
    rows = list(connection.execute(select(v.meeting_id, v.id).where(v.meeting_id.in_(meetings), rest)))
    if numbered.filter.q:
        hits = full_text_search.among(connection, numbered.filter.q, [id_ for _, id_ in rows])
        rows = [row for row in rows if row.id in hits]
    matched: dict[int, list[int]] = {}
    for meeting, id_ in rows:
        matched.setdefault(meeting, []).append(id_)
    return matched


def _beyond(order: Order, cursor: int, *, ahead: bool) -> ColumnElement[bool]:
    m = catalogue_tables.meetings.c
    if order == "newest":
        return m.id > cursor if ahead else m.id < cursor
    doubt, id_ = divmod(cursor, _ID)
    same = and_(m.doubt == doubt, m.id > id_ if ahead else m.id < id_)
    return or_(m.doubt > doubt if ahead else m.doubt < doubt, same)


def _having(connection: Connection, numbered: Numbered, *, few: bool) -> Select[Any]:
    """The meetings that have a verdict of those asked for."""
    m, v = catalogue_tables.meetings.c, catalogue_tables.verdicts.c
    asked = select(m.id, m.doubt)
    if few:
        matching = verdict_list.matching(connection, numbered)
        return asked.where(true() if matching is None else m.id.in_(select(v.meeting_id).where(v.id.in_(matching[0]))))
    for name in ("contestant", "other"):
        if name in numbered.ids:
            shown = catalogue_tables.compared.alias(name)
            asked = asked.join(shown, and_(shown.c.meeting_id == m.id, shown.c.contestant_id == numbered.ids[name]))
    inside = select(v.id).where(v.meeting_id == m.id).correlate(catalogue_tables.meetings)
    return asked.where(numbered.meetings(), _verdicts(numbered, inside).exists())


def _verdicts(numbered: Numbered, asked: Select[Any]) -> Select[Any]:
    """Verdicts of meetings that show the right contestants, cut down to those that have the rest of what is asked."""
    asked = asked.where(numbered.less("contestant").less("other").conditions(inside=True))
    hits = full_text_search.matching(numbered.dialect, numbered.filter.q) if numbered.filter.q else None
    if hits is None:
        return asked
    index, id_, match = hits
    return asked.where(select(id_).select_from(index).where(match, id_ == catalogue_tables.verdicts.c.id).exists())


# Cases as rows of a list: what was asked, who is ahead, and a dot for everybody who ruled.
#
# A row is a meeting: one item, criterion and ballot, the same answers, over all judges and orders.

DOTS = 40
"""So many dots stand in a row at most."""
MOST = 400
"""So many verdicts of a meeting are looked at for its row."""


@dataclass(frozen=True)
class Outcome:
    """What a ruling says: who is first, by the number of its colour, that there is a tie, a fault, or a mark."""

    kind: Literal["won", "tie", "fault", "mark"]
    words: str
    seat: int = 0


@dataclass(frozen=True)
class Dot:
    """A judge or one of the people: what they ruled, each outcome once; several where orders or trials differ."""

    judge: str
    rater: str
    people: bool
    outcomes: Sequence[Outcome]
    turned: bool
    """Whether another order brought another winner."""
    matched: bool
    """Whether one of the rulings is what was asked for."""

    @property
    def anchor(self) -> str:
        return voice_name(self.judge, self.rater)


@dataclass(frozen=True)
class CaseRow:
    """One row. `placing` says who is ahead of whom, `joint` the mean of marks on one answer; both of people's votes
    where there are some, else of all judges."""

    meeting: int
    cases: Sequence[str]
    """The orders in which its answers were shown, the latest first."""
    item: str
    title: str
    ballot: str
    criterion: str
    contestants: Sequence[str]
    seats: Mapping[str, int]
    """The number of each answer's colour."""
    by_people: bool
    placing: Sequence[Sequence[str]]
    joint: Sequence[tuple[str, str]]
    dots: Sequence[Dot]
    verdicts: int
    matched: int
    split: bool
    opposed: bool
    doubt: int

    @property
    def case(self) -> str:
        return self.cases[0]


def case_rows(
    connection: Connection,
    meetings: Sequence[int],
    matched: Mapping[int, Collection[int]] | None = None,
    shown: Callable[[str], str] = str,
) -> list[CaseRow]:
    """The rows of meetings, in their order; `matched` has by meeting the verdicts that were asked for (None: all).

    `shown` gives the name that pages show a contestant by, for sentences about a ruling.
    """
    v, c, i = catalogue_tables.verdicts.c, catalogue_tables.cases.c, catalogue_tables.items.c
    place = func.row_number().over(partition_by=v.meeting_id, order_by=v.id.desc()).label("place")
    whole = func.count().over(partition_by=v.meeting_id).label("whole")
    columns = (
        v.id,
        v.study_id,
        v.meeting_id,
        v.case_id,
        v.item_id,
        v.judge_id,
        v.rater_id,
        v.ballot_id,
        v.criterion_id,
    )
    more = (v.fault, v.shown, v.samples, v.marks, v.split, v.swapped, v.opposed)
    inner = select(*columns, *more, place, whole).where(v.meeting_id.in_(meetings)).subquery()
    by_meeting: dict[int, list[Any]] = {}
    for row in connection.execute(select(inner).where(inner.c.place <= MOST).order_by(inner.c.id.desc())):
        by_meeting.setdefault(row.meeting_id, []).append(row)
    every = [row for rows in by_meeting.values() for row in rows]
    keys = dict(_all(connection, c.id, c.key, {row.case_id for row in every}))
    items = {row[0]: row[1:] for row in _all(connection, i.id, i.name, {row.item_id for row in every}, i.title)}
    n = catalogue_tables.names.c
    numbers = {number for row in every for number in (row.judge_id, row.rater_id, row.ballot_id, row.criterion_id)}
    numbers |= {number for row in every for number in orjson.loads(row.shown)}
    names: dict[int, str] = dict(_all(connection, n.id, n.name, numbers))
    everybody = {study: contestants_in(connection, study) for study in {row.study_id for row in every}}
    doubts: dict[int, int] = dict(
        _all(connection, catalogue_tables.meetings.c.id, catalogue_tables.meetings.c.doubt, meetings)
    )
    return [
        _row(
            [_Ruling.of(row, names, keys) for row in by_meeting[id_]],
            by_meeting[id_][0],
            (*items[by_meeting[id_][0].item_id], names[by_meeting[id_][0].criterion_id]),
            everybody=everybody[by_meeting[id_][0].study_id],
            doubt=doubts[id_],
            matched=None if matched is None else matched.get(id_, ()),
            shown=shown,
        )
        for id_ in meetings
        if id_ in by_meeting
    ]


def _all(connection: Connection, key: Any, value: Any, ids: Collection[int], *more: Any) -> list[Any]:
    return [tuple(row) for row in connection.execute(select(key, value, *more).where(key.in_(ids)))]


@dataclass(frozen=True)
class _Ruling:
    """One verdict of a meeting, by names."""

    id: int
    case: str
    judge: str
    rater: str
    spec: str
    fault: int
    marks: dict[str, float]
    names: tuple[str, ...]
    swapped: bool
    opposed: bool

    @classmethod
    def of(cls, row: Any, known: dict[int, str], keys: dict[int, str]) -> _Ruling:
        shown = orjson.loads(row.shown)
        samples = orjson.loads(row.samples) if row.samples else [0] * len(shown)
        names = tuple(answer_name(known[who], sample) for who, sample in zip(shown, samples, strict=True))
        marks = {} if row.marks is None else dict(zip(names, orjson.loads(row.marks), strict=True))
        spec = known[row.ballot_id]
        judge, rater = known[row.judge_id], known[row.rater_id]
        flags = bool(row.swapped), bool(row.opposed)
        return cls(row.id, keys[row.case_id], judge, rater, spec, row.fault, marks, names, *flags)

    def outcome(self, colours: Mapping[str, int], shown: Callable[[str], str]) -> Outcome:
        if not self.marks:
            return Outcome("fault", str(FAULTS[self.fault - 1]))
        order = sorted(self.marks)
        said = placing(self.spec, order, [self.marks[name] for name in order])
        if said:
            words = " > ".join(" = ".join(shown(name) for name in group) for group in said)
            return Outcome("won", words, colours[said[0][0]]) if len(said[0]) == 1 else Outcome("tie", words)
        if len(order) == 1:
            return Outcome("mark", mark_in_words(self.spec, self.marks[order[0]]))
        words = ", ".join(f"{shown(name)} {mark_in_words(self.spec, self.marks[name])}" for name in order)
        top = max(self.marks.values())
        best = [name for name in order if self.marks[name] == top]
        return Outcome("won", words, colours[best[0]]) if len(best) == 1 else Outcome("tie", words)


def _row(
    rulings: Sequence[_Ruling],
    newest: Any,
    about: tuple[str, str, str],
    *,
    everybody: Sequence[str],
    doubt: int,
    matched: Collection[int] | None,
    shown: Callable[[str], str],
) -> CaseRow:
    contestants = sorted(rulings[0].names)
    colours = seats(contestants, everybody)
    spec = rulings[0].spec
    voting = [ruling for ruling in rulings if ruling.marks]
    people = [ruling.marks for ruling in voting if is_person(ruling.judge)]
    judges = [ruling.marks for ruling in voting if not is_person(ruling.judge) and not is_panel(ruling.judge)]
    joint = combined(people or judges or [ruling.marks for ruling in voting], spec) or {}
    said = placing(spec, contestants, [joint[name] for name in contestants]) if joint else []
    voices: dict[tuple[bool, bool, str, str], list[_Ruling]] = {}
    for ruling in rulings:
        person = is_person(ruling.judge)
        voices.setdefault((not person, is_panel(ruling.judge), ruling.judge, ruling.rater), []).append(ruling)
    dots = [
        Dot(
            judge,
            rater,
            not machine,
            list(dict.fromkeys(ruling.outcome(colours, shown) for ruling in reversed(some))),
            any(ruling.swapped for ruling in some),
            matched is None or any(ruling.id in matched for ruling in some),
        )
        for (machine, _, judge, rater), some in sorted(voices.items())
    ]
    item, title, criterion = about
    return CaseRow(
        meeting=newest.meeting_id,
        cases=list(dict.fromkeys(ruling.case for ruling in rulings)),
        item=item,
        title=title,
        ballot=spec,
        criterion=criterion,
        contestants=contestants,
        seats=colours,
        by_people=bool(people),
        placing=said,
        joint=[] if said else [(name, mark_in_words(spec, joint[name])) for name in contestants if name in joint],
        dots=dots,
        verdicts=newest.whole,
        matched=newest.whole if matched is None else len(matched),
        split=bool(newest.split),
        opposed=any(ruling.opposed for ruling in rulings),
        doubt=doubt,
    )
