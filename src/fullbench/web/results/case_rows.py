"""Cases as rows of a list: what was asked, who is ahead, and a dot for everybody who ruled.

A row is a meeting: one item, criterion and ballot, the same answers, over all judges and orders.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson
from sqlalchemy import Connection, func, select

from fullbench.core.verdict import FAULTS
from fullbench.web.results import tables
from fullbench.web.results.places import voice_name
from fullbench.web.results.rows import contestants_in
from fullbench.web.results.rulings import combined, is_panel, is_person
from fullbench.web.results.wording import answer_name, mark_in_words, placing, seats

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
    v, c, i = tables.verdicts.c, tables.cases.c, tables.items.c
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
    n = tables.names.c
    numbers = {number for row in every for number in (row.judge_id, row.rater_id, row.ballot_id, row.criterion_id)}
    numbers |= {number for row in every for number in orjson.loads(row.shown)}
    names: dict[int, str] = dict(_all(connection, n.id, n.name, numbers))
    everybody = {study: contestants_in(connection, study) for study in {row.study_id for row in every}}
    doubts: dict[int, int] = dict(_all(connection, tables.meetings.c.id, tables.meetings.c.doubt, meetings))
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
