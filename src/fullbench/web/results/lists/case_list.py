"""Pages of the list of cases: find the cases that match a filter, and build their rows.

A row is a response set: one item, criterion, ballot and set of answers, over all judges and orders. It shows the
question, the contestant that is ahead, and a dot for each judge or person. A response set is listed if one of its
verdicts matches the filter. Pages use keyset cursors.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import orjson
from sqlalchemy import ColumnElement, Connection, Select, and_, func, or_, select, true

from fullbench.core.verdict import FAULTS
from fullbench.web.results.catalogue import catalogue_tables, full_text_search
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import contestants_in, study_ids_by_name
from fullbench.web.results.catalogue.disagreement_flags import combine_votes, is_panel, is_person
from fullbench.web.results.lists import verdict_list
from fullbench.web.results.lists.verdict_filters import Filter, ResolvedFilter
from fullbench.web.results.pages.marks_and_rankings_in_words import (
    answer_colours,
    answer_name,
    mark_in_words,
    ranked_groups,
)
from fullbench.web.results.site.page_urls import voice_name

PAGE_SIZE = 30
MAX_LOOKUP = 20_000
"""With at most this many matching verdicts, their response sets are looked up and sorted. With more, response sets are
read in order: the next match is never far."""
Order = Literal["newest", "doubt"]
"""The latest cases first, or those on which judges and people differ most."""
ORDERS: tuple[Order, ...] = get_args(Order)
_ID_RANGE = 2**32
"""A cursor has the doubt of a response set above its id."""


@dataclass(frozen=True)
class CaseListPage:
    """Ordered response sets, the matching verdicts of each, and the cursors of the older and newer page."""

    response_sets: Sequence[int]
    verdicts_by_response_set: Mapping[int, Sequence[int]]
    older: int | None
    newer: int | None


def find_cases(
    connection: Connection,
    verdict_filter: Filter,
    verdict_count: verdict_list.VerdictCount,
    *,
    order: Order = "newest",
    before: int | None = None,
    after: int | None = None,
    size: int = PAGE_SIZE,
    withheld_items: Select[Any] | None = None,
) -> CaseListPage:
    """Find one page of the response sets with matching verdicts.

    Args:
        connection: Connection for reading.
        verdict_filter: Filter of verdicts.
        verdict_count: Number of verdicts that match it.
        order: Order of the list.
        before: Cursor: what follows it in the list.
        after: Cursor: what precedes it in the list.
        size: Response sets on the page.
        withheld_items: Items whose response sets are left out.
    """
    resolved_filter = ResolvedFilter.from_filter(connection, verdict_filter)
    if resolved_filter.impossible or not verdict_count.n:
        return CaseListPage((), {}, None, None)
    m = catalogue_tables.response_sets.c
    query = _response_sets_query(connection, resolved_filter, few=verdict_count.exact and verdict_count.n <= MAX_LOOKUP)
    study_ids = study_ids_by_name(connection)
    query = query.where(m.study_id == study_ids[verdict_filter.study or next(iter(study_ids))])
    if withheld_items is not None:
        query = query.where(m.item_id.not_in(withheld_items))
    # The id breaks ties of doubt, so that a cursor is unique.
    keys = (m.id,) if order == "newest" else (m.doubt, m.id)
    cursor = before if after is None else after
    if cursor is not None:
        query = query.where(_beyond_cursor(order, cursor, ahead=after is not None))
    ordered_query = query.order_by(*(key if after is not None else key.desc() for key in keys)).limit(size + 1)
    rows = list(connection.execute(ordered_query))
    has_more, rows = len(rows) > size, rows[:size]
    if after is not None:  # the query returned the rows nearest to the cursor first
        rows.reverse()
    ends = [row.id if order == "newest" else row.doubt * _ID_RANGE + row.id for row in (*rows[:1], *rows[-1:])]
    older = ends[1] if rows and (has_more or after is not None) else None
    newer = ends[0] if rows and (before is not None or (after is not None and has_more)) else None
    ids = [row.id for row in rows]
    return CaseListPage(ids, _verdicts_by_response_set(connection, resolved_filter, ids), older, newer)


def _verdicts_by_response_set(
    connection: Connection, resolved_filter: ResolvedFilter, response_sets: Sequence[int]
) -> dict[int, list[int]]:
    v = catalogue_tables.verdicts.c
    conditions = resolved_filter.without("contestant").without("other").conditions(in_known_response_sets=True)
    rows = list(
        connection.execute(select(v.response_set_id, v.id).where(v.response_set_id.in_(response_sets), conditions))
    )
    if resolved_filter.filter.q:
        hits = full_text_search.matching_verdicts(connection, resolved_filter.filter.q, [id_ for _, id_ in rows])
        rows = [row for row in rows if row.id in hits]
    verdicts_by_response_set: dict[int, list[int]] = {}
    for response_set, id_ in rows:
        verdicts_by_response_set.setdefault(response_set, []).append(id_)
    return verdicts_by_response_set


def _beyond_cursor(order: Order, cursor: int, *, ahead: bool) -> ColumnElement[bool]:
    m = catalogue_tables.response_sets.c
    if order == "newest":
        return m.id > cursor if ahead else m.id < cursor
    doubt, id_ = divmod(cursor, _ID_RANGE)
    same_doubt = and_(m.doubt == doubt, m.id > id_ if ahead else m.id < id_)
    return or_(m.doubt > doubt if ahead else m.doubt < doubt, same_doubt)


def _response_sets_query(connection: Connection, resolved_filter: ResolvedFilter, *, few: bool) -> Select[Any]:
    """`few` means that looking up all matches is cheap."""
    m, v = catalogue_tables.response_sets.c, catalogue_tables.verdicts.c
    query = select(m.id, m.doubt)
    if few:
        matching = verdict_list.matching_query(connection, resolved_filter)
        return query.where(
            true() if matching is None else m.id.in_(select(v.response_set_id).where(v.id.in_(matching[0])))
        )
    for name in ("contestant", "other"):
        if name in resolved_filter.ids:
            contestant_alias = catalogue_tables.compared_contestants.alias(name)
            query = query.join(
                contestant_alias,
                and_(
                    contestant_alias.c.response_set_id == m.id,
                    contestant_alias.c.contestant_id == resolved_filter.ids[name],
                ),
            )
    inside = select(v.id).where(v.response_set_id == m.id).correlate(catalogue_tables.response_sets)
    return query.where(resolved_filter.response_set_conditions(), _narrow_verdicts(resolved_filter, inside).exists())


def _narrow_verdicts(resolved_filter: ResolvedFilter, query: Select[Any]) -> Select[Any]:
    """The contestants of the response sets match already; apply the rest of the filter."""
    query = query.where(resolved_filter.without("contestant").without("other").conditions(in_known_response_sets=True))
    hits = (
        full_text_search.match_condition(resolved_filter.dialect, resolved_filter.filter.q)
        if resolved_filter.filter.q
        else None
    )
    if hits is None:
        return query
    index, id_, match = hits
    return query.where(select(id_).select_from(index).where(match, id_ == catalogue_tables.verdicts.c.id).exists())


# One dot per verdict; more do not fit on a phone.
MAX_DOTS = 40
MAX_ROW_VERDICTS = 400
"""Maximum number of verdicts of a response set that its row is built from."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of a verdict: a winner (with its colour number), a tie, a fault or a mark."""

    kind: Literal["won", "tie", "fault", "mark"]
    words: str
    colour: int = 0


@dataclass(frozen=True)
class Dot:
    """Distinct outcomes of one judge or person. There are several if orders or trials differ."""

    judge: str
    rater: str
    people: bool
    outcomes: Sequence[Outcome]
    is_swapped: bool
    """Another order gave another winner."""
    is_matched: bool
    """One of the verdicts matches the filter."""

    @property
    def anchor(self) -> str:
        return voice_name(self.judge, self.rater)


@dataclass(frozen=True)
class CaseRow:
    """One row of the list. `placing` (or `joint` marks) comes from people's votes, else from all judges."""

    response_set: int
    cases: Sequence[str]
    """Cases in the orders in which the answers were shown, the latest first."""
    item: str
    title: str
    ballot: str
    criterion: str
    contestants: Sequence[str]
    colours: Mapping[str, int]
    """Colour number of each answer."""
    by_people: bool
    placing: Sequence[Sequence[str]]
    joint: Sequence[tuple[str, str]]
    dots: Sequence[Dot]
    verdicts: int
    matched_count: int
    is_split: bool
    is_opposed: bool
    doubt: int

    @property
    def case(self) -> str:
        return self.cases[0]


def case_rows(
    connection: Connection,
    response_sets: Sequence[int],
    verdicts_by_response_set: Mapping[int, Collection[int]] | None = None,
    display_name: Callable[[str], str] = str,
) -> list[CaseRow]:
    """Build the rows of response sets, in the given order.

    `verdicts_by_response_set` has the matching verdicts of each response set (None: all match). `display_name` maps
    a contestant to the name that pages show.
    """
    v, c, i = catalogue_tables.verdicts.c, catalogue_tables.cases.c, catalogue_tables.items.c
    place = func.row_number().over(partition_by=v.response_set_id, order_by=v.id.desc()).label("place")
    verdict_total = func.count().over(partition_by=v.response_set_id).label("whole")
    columns = (
        v.id,
        v.study_id,
        v.response_set_id,
        v.case_id,
        v.item_id,
        v.judge_id,
        v.rater_id,
        v.ballot_id,
        v.criterion_id,
    )
    more_columns = (v.fault, v.shown, v.samples, v.marks, v.split, v.swapped, v.opposed)
    inner = select(*columns, *more_columns, place, verdict_total).where(v.response_set_id.in_(response_sets)).subquery()
    by_response_set: dict[int, list[Any]] = {}
    for row in connection.execute(select(inner).where(inner.c.place <= MAX_ROW_VERDICTS).order_by(inner.c.id.desc())):
        by_response_set.setdefault(row.response_set_id, []).append(row)
    verdict_rows = [row for rows in by_response_set.values() for row in rows]
    keys = dict(_select_rows(connection, c.id, c.key, {row.case_id for row in verdict_rows}))
    items = {
        row[0]: row[1:]
        for row in _select_rows(connection, i.id, i.name, {row.item_id for row in verdict_rows}, i.title)
    }
    n = catalogue_tables.names.c
    numbers = {
        number for row in verdict_rows for number in (row.judge_id, row.rater_id, row.ballot_id, row.criterion_id)
    }
    numbers |= {number for row in verdict_rows for number in orjson.loads(row.shown)}
    names: dict[int, str] = dict(_select_rows(connection, n.id, n.name, numbers))
    contestants_by_study = {
        study: contestants_in(connection, study) for study in {row.study_id for row in verdict_rows}
    }
    doubts: dict[int, int] = dict(
        _select_rows(
            connection, catalogue_tables.response_sets.c.id, catalogue_tables.response_sets.c.doubt, response_sets
        )
    )
    return [
        _case_row(
            [_NamedVerdict.from_row(row, names, keys) for row in by_response_set[id_]],
            by_response_set[id_][0],
            (*items[by_response_set[id_][0].item_id], names[by_response_set[id_][0].criterion_id]),
            all_contestants=contestants_by_study[by_response_set[id_][0].study_id],
            doubt=doubts[id_],
            matched_ids=None if verdicts_by_response_set is None else verdicts_by_response_set.get(id_, ()),
            display_name=display_name,
        )
        for id_ in response_sets
        if id_ in by_response_set
    ]


def _select_rows(connection: Connection, key: Any, value: Any, ids: Collection[int], *extra_columns: Any) -> list[Any]:
    return [tuple(row) for row in connection.execute(select(key, value, *extra_columns).where(key.in_(ids)))]


@dataclass(frozen=True)
class _NamedVerdict:
    id: int
    case: str
    judge: str
    rater: str
    spec: str
    fault: int
    marks: dict[str, float]
    names: tuple[str, ...]
    is_swapped: bool
    is_opposed: bool

    @classmethod
    def from_row(cls, row: Any, names_by_id: dict[int, str], keys: dict[int, str]) -> _NamedVerdict:
        contestant_ids = orjson.loads(row.shown)
        samples = orjson.loads(row.samples) if row.samples else [0] * len(contestant_ids)
        names = tuple(
            answer_name(names_by_id[contestant_id], sample)
            for contestant_id, sample in zip(contestant_ids, samples, strict=True)
        )
        marks = {} if row.marks is None else dict(zip(names, orjson.loads(row.marks), strict=True))
        spec = names_by_id[row.ballot_id]
        judge, rater = names_by_id[row.judge_id], names_by_id[row.rater_id]
        flags = bool(row.swapped), bool(row.opposed)
        return cls(row.id, keys[row.case_id], judge, rater, spec, row.fault, marks, names, *flags)

    def outcome(self, colours: Mapping[str, int], display_name: Callable[[str], str]) -> Outcome:
        if not self.marks:
            return Outcome("fault", str(FAULTS[self.fault - 1]))
        order = sorted(self.marks)
        name_groups = ranked_groups(self.spec, order, [self.marks[name] for name in order])
        if name_groups:
            words = " > ".join(" = ".join(display_name(name) for name in group) for group in name_groups)
            return (
                Outcome("won", words, colours[name_groups[0][0]]) if len(name_groups[0]) == 1 else Outcome("tie", words)
            )
        if len(order) == 1:
            return Outcome("mark", mark_in_words(self.spec, self.marks[order[0]]))
        words = ", ".join(f"{display_name(name)} {mark_in_words(self.spec, self.marks[name])}" for name in order)
        top = max(self.marks.values())
        best = [name for name in order if self.marks[name] == top]
        return Outcome("won", words, colours[best[0]]) if len(best) == 1 else Outcome("tie", words)


def _case_row(
    verdicts: Sequence[_NamedVerdict],
    newest: Any,
    about: tuple[str, str, str],
    *,
    all_contestants: Sequence[str],
    doubt: int,
    matched_ids: Collection[int] | None,
    display_name: Callable[[str], str],
) -> CaseRow:
    contestants = sorted(verdicts[0].names)
    colours = answer_colours(contestants, all_contestants)
    spec = verdicts[0].spec
    marked_verdicts = [verdict for verdict in verdicts if verdict.marks]
    people = [verdict.marks for verdict in marked_verdicts if is_person(verdict.judge)]
    judges = [
        verdict.marks for verdict in marked_verdicts if not is_person(verdict.judge) and not is_panel(verdict.judge)
    ]
    joint = combine_votes(people or judges or [verdict.marks for verdict in marked_verdicts], spec) or {}
    name_groups = ranked_groups(spec, contestants, [joint[name] for name in contestants]) if joint else []
    voices: dict[tuple[bool, bool, str, str], list[_NamedVerdict]] = {}
    for verdict in verdicts:
        person = is_person(verdict.judge)
        voices.setdefault((not person, is_panel(verdict.judge), verdict.judge, verdict.rater), []).append(verdict)
    dots = [
        Dot(
            judge,
            rater,
            not machine,
            list(dict.fromkeys(verdict.outcome(colours, display_name) for verdict in reversed(voice_verdicts))),
            any(verdict.is_swapped for verdict in voice_verdicts),
            matched_ids is None or any(verdict.id in matched_ids for verdict in voice_verdicts),
        )
        for (machine, _, judge, rater), voice_verdicts in sorted(voices.items())
    ]
    item, title, criterion = about
    return CaseRow(
        response_set=newest.response_set_id,
        cases=list(dict.fromkeys(verdict.case for verdict in verdicts)),
        item=item,
        title=title,
        ballot=spec,
        criterion=criterion,
        contestants=contestants,
        colours=colours,
        by_people=bool(people),
        placing=name_groups,
        joint=[]
        if name_groups
        else [(name, mark_in_words(spec, joint[name])) for name in contestants if name in joint],
        dots=dots,
        verdicts=newest.whole,
        matched_count=newest.whole if matched_ids is None else len(matched_ids),
        is_split=bool(newest.split),
        is_opposed=any(verdict.is_opposed for verdict in verdicts),
        doubt=doubt,
    )
