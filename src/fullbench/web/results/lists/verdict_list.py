"""Pages and counts of verdicts that match a filter or a search. Pages use keyset cursors, never offsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, Select, func, select

from fullbench.core.verdict import FAULTS
from fullbench.web.results.catalogue import catalogue_tables, flag_counts, full_text_search
from fullbench.web.results.catalogue.verdict_flag_definitions import FLAGS, Flags
from fullbench.web.results.lists.verdict_filters import Filter, ResolvedFilter

PAGE_SIZE = 50
MAX_COUNTED_HITS = 10_000
"""A search is counted up to this many hits."""


@dataclass(frozen=True)
class ShownResponse:
    """One response of a verdict: its contestant and its mark."""

    contestant: str
    mark: float | None
    sample: int = 0


@dataclass(frozen=True, kw_only=True)
class VerdictLine(Flags):
    """One verdict as a line of the list."""

    id: int
    study: str
    case: str
    judge: str
    rater: str
    revision: int
    item: str
    title: str
    ballot: str
    criterion: str
    trial: int
    fault: str | None
    responses: Sequence[ShownResponse]


@dataclass(frozen=True)
class VerdictListPage:
    """Lines, newest first, and the ids from which the older and newer page continue."""

    lines: Sequence[VerdictLine]
    older: int | None
    newer: int | None


@dataclass(frozen=True)
class VerdictCount:
    """Number of verdicts that match a filter. If not `exact`, a search found at least `n`."""

    n: int
    exact: bool = True


def find_verdicts(
    connection: Connection,
    verdict_filter: Filter,
    *,
    before: int | None = None,
    after: int | None = None,
    size: int = PAGE_SIZE,
    withheld_items: Select[Any] | None = None,
) -> VerdictListPage:
    """Find one page of matching verdicts, newest first.

    Args:
        connection: Connection for reading.
        verdict_filter: Filter of verdicts.
        before: Only verdicts with a smaller id.
        after: Only verdicts with a larger id.
        size: Verdicts on the page.
        withheld_items: Items whose verdicts are left out.
    """
    resolved_filter = ResolvedFilter.from_filter(connection, verdict_filter)
    if resolved_filter.impossible:
        return VerdictListPage((), None, None)
    v, n, i, c = catalogue_tables.verdicts.c, catalogue_tables.names, catalogue_tables.items.c, catalogue_tables.cases.c
    ids = _find_ids(connection, resolved_filter, _IdRange(before, after), size + 1, withheld_items)
    has_more, ids = len(ids) > size, ids[:size]
    if after is not None:
        ids.reverse()
    columns = (
        *(v.id, c.key, i.name, i.title, v.judge_id, v.ballot_id, v.criterion_id, v.trial, v.fault, v.shown, v.marks),
        *(v.study_id, v.rater_id, v.revision, v.samples),
        *(v[flag] for flag in FLAGS),
    )
    rows = connection.execute(
        select(*columns)
        .select_from(catalogue_tables.verdicts)
        .join(catalogue_tables.items, i.id == v.item_id)
        .join(catalogue_tables.cases, c.id == v.case_id)
        .where(v.id.in_(ids))
        .order_by(v.id.desc())
    ).all()
    id_columns = ("judge_id", "ballot_id", "criterion_id", "study_id", "rater_id")
    numbers = {getattr(row, name) for row in rows for name in id_columns}
    numbers |= {number for row in rows for number in orjson.loads(row.shown)}
    names_by_id = {row.id: row.name for row in connection.execute(select(n.c.id, n.c.name).where(n.c.id.in_(numbers)))}
    lines = [_line_from_row(row, names_by_id) for row in rows]
    older = ids[-1] if ids and (has_more or after is not None) else None
    newer = ids[0] if ids and (before is not None or (after is not None and has_more)) else None
    return VerdictListPage(lines, older, newer)


@dataclass(frozen=True)
class _IdRange:
    before: int | None = None
    after: int | None = None

    def bounds(self, id_: Any) -> list[ColumnElement[bool]]:
        if self.after is not None:
            return [id_ > self.after]
        return [] if self.before is None else [id_ < self.before]

    def order(self, *columns: Any) -> list[Any]:
        return [column if self.after is not None else column.desc() for column in columns]


_ALL = _IdRange()


def _find_ids(
    connection: Connection,
    resolved_filter: ResolvedFilter,
    id_range: _IdRange,
    max_ids: int,
    withheld_items: Select[Any] | None,
) -> list[int]:
    def query_ids(within: int | None) -> list[int]:
        selection = matching_query(connection, resolved_filter, within, id_range)
        if selection is None:
            return []
        query, id_ = selection
        if withheld_items is not None:
            query = query.where(id_.not_in(_verdicts_on_items(withheld_items)))
        v = catalogue_tables.verdicts.c
        judge_columns = (v.judge_id,) if resolved_filter.uses_judge_index and id_ is v.id else ()
        ordered_query = query.where(*id_range.bounds(id_)).order_by(*id_range.order(*judge_columns, id_))
        return list(connection.execute(ordered_query.limit(max_ids)).scalars())

    # For a few newest hits of a rare word, PostgreSQL scans all verdicts. For the newest thousands it uses the index.
    # Query all hits only if those do not fill a page.
    if resolved_filter.filter.q and connection.dialect.name == "postgresql":
        ids = query_ids(MAX_COUNTED_HITS + 1)
        hits = _search_hits(connection, resolved_filter, MAX_COUNTED_HITS + 1, id_range)
        if len(ids) == max_ids or hits is None or _count_rows(connection, hits[0]) <= MAX_COUNTED_HITS:
            return ids
    return query_ids(None)


def _verdicts_on_items(items: Select[Any]) -> Select[Any]:
    return select(catalogue_tables.verdicts.c.id).where(catalogue_tables.verdicts.c.item_id.in_(items))


def _line_from_row(row: Any, names_by_id: dict[int, str]) -> VerdictLine:
    contestant_ids = orjson.loads(row.shown)
    marks = [None] * len(contestant_ids) if row.marks is None else orjson.loads(row.marks)
    samples = orjson.loads(row.samples) if row.samples else [0] * len(contestant_ids)
    flags: dict[str, Any] = {flag: bool(getattr(row, flag)) for flag in FLAGS}
    return VerdictLine(
        id=row.id,
        study=names_by_id[row.study_id],
        case=row.key,
        judge=names_by_id[row.judge_id],
        rater=names_by_id[row.rater_id],
        revision=row.revision,
        item=row.name,
        title=row.title,
        ballot=names_by_id[row.ballot_id],
        criterion=names_by_id[row.criterion_id],
        trial=row.trial,
        fault=FAULTS[row.fault - 1] if row.fault else None,
        responses=[
            ShownResponse(names_by_id[contestant], mark, sample)
            for contestant, mark, sample in zip(contestant_ids, marks, samples, strict=True)
        ],
        **flags,
    )


def matching_query(
    connection: Connection, resolved_filter: ResolvedFilter, max_hits: int | None = None, id_range: _IdRange = _ALL
) -> tuple[Select[Any], Any] | None:
    """Return a SELECT of the matching ids and its id column. None if the search text has no words.

    It starts from the smallest ordered set of ids: search hits, else a contestant's verdicts, else all verdicts.
    `max_hits` limits a search to its first hits in `id_range`.
    """
    v, s, verdict_filter = catalogue_tables.verdicts.c, catalogue_tables.shown_contestants.c, resolved_filter.filter
    if verdict_filter.q:
        hits = _search_hits(connection, resolved_filter, max_hits, id_range)
        if hits is None:
            return None
        query, id_ = hits
        return query.join(catalogue_tables.verdicts, v.id == id_).where(
            resolved_filter.conditions(has_known_ids=True)
        ), id_
    if "contestant" not in resolved_filter.ids:
        return select(v.id).where(resolved_filter.conditions()), v.id
    query = select(s.verdict_id).where(s.contestant_id == resolved_filter.ids["contestant"])
    if "judge" in resolved_filter.ids:
        query = query.where(s.judge_id == resolved_filter.ids["judge"])
    remaining_filter = resolved_filter.without("contestant")
    if "study" in remaining_filter.ids or remaining_filter.filter.without("judge") != Filter(
        study=remaining_filter.filter.study
    ):
        query = query.join(catalogue_tables.verdicts, v.id == s.verdict_id).where(
            remaining_filter.conditions(has_known_ids=True)
        )
    return query, s.verdict_id


def _search_hits(
    connection: Connection, resolved_filter: ResolvedFilter, max_hits: int | None, id_range: _IdRange = _ALL
) -> tuple[Select[Any], Any] | None:
    """Search hits within the id range of the filter's study and judge."""
    hits = full_text_search.match_condition(connection.dialect.name, resolved_filter.filter.q)
    if hits is None:
        return None
    index, id_, match = hits
    v = catalogue_tables.verdicts.c
    query = select(id_).select_from(index).where(match)
    scope_conditions = [v.judge_id == resolved_filter.ids["judge"]] if "judge" in resolved_filter.ids else []
    if "study" in resolved_filter.ids:
        # `+ 0` keeps SQLite from the study index: the judge index is the better one.
        scope_conditions.append((v.study_id + 0 if scope_conditions else v.study_id) == resolved_filter.ids["study"])
    if scope_conditions:
        first, last = (
            connection.execute(select(end(v.id)).where(*scope_conditions)).scalar() or 0 for end in (func.min, func.max)
        )
        query = query.where(id_ >= first, id_ <= last)
    if max_hits is not None:
        inner = query.where(*id_range.bounds(id_)).order_by(*id_range.order(id_)).limit(max_hits).subquery()
        id_ = inner.c[0]
        query = select(id_)
    return query, id_


def count_verdicts(
    connection: Connection, verdict_filter: Filter, withheld_items: Select[Any] | None = None
) -> VerdictCount:
    """Count the verdicts that match a filter, without those on `withheld_items`."""
    resolved_filter = ResolvedFilter.from_filter(connection, verdict_filter)
    if resolved_filter.impossible:
        return VerdictCount(0)
    if withheld_items is not None:
        selection = matching_query(connection, resolved_filter, MAX_COUNTED_HITS + 1 if verdict_filter.q else None)
        n = (
            0
            if selection is None
            else _count_rows(connection, selection[0].where(selection[1].not_in(_verdicts_on_items(withheld_items))))
        )
        return VerdictCount(n, not verdict_filter.q or n <= MAX_COUNTED_HITS)
    if verdict_filter.has_ready_count:
        total = select(func.coalesce(func.sum(catalogue_tables.counts.c.n), 0)).where(
            resolved_filter.count_conditions()
        )
        return VerdictCount(int(connection.execute(total).scalar_one()))
    if verdict_filter.single_flag:
        ready_count = flag_counts.flag_total(
            connection, verdict_filter.single_flag, resolved_filter.ids.get("study"), resolved_filter.ids.get("judge")
        )
        if ready_count is not None:
            return VerdictCount(ready_count)
    selection = matching_query(connection, resolved_filter, MAX_COUNTED_HITS + 1)
    hits = _search_hits(connection, resolved_filter, MAX_COUNTED_HITS + 1) if verdict_filter.q else None
    if selection is None:
        return VerdictCount(0)
    n = _count_rows(connection, selection[0])
    if hits is None:
        return VerdictCount(n)
    exact = _count_rows(connection, hits[0]) <= MAX_COUNTED_HITS
    if not n and not exact:  # matches may come after the hits that were counted
        all_matches = matching_query(connection, resolved_filter)
        n = 0 if all_matches is None else _count_rows(connection, all_matches[0].limit(1))
        exact = not n
    return VerdictCount(min(n, MAX_COUNTED_HITS), exact)


def _count_rows(connection: Connection, query: Select[Any]) -> int:
    return int(connection.execute(select(func.count()).select_from(query.subquery())).scalar_one())


def filter_choices(connection: Connection) -> dict[str, list[str]]:
    """Return the choices of the filter form: studies, judges, contestants, criteria, ballots, raters, tags."""
    n, t = catalogue_tables.names.c, catalogue_tables.tags.c
    by_kind: dict[str, list[str]] = {
        "study": [],
        "judge": [],
        "contestant": [],
        "criterion": [],
        "ballot": [],
        "rater": [],
    }
    for kind, name in connection.execute(select(n.kind, n.name).order_by(n.name)):
        by_kind[kind].append(name)
    by_kind["tag"] = list(connection.execute(select(t.name).distinct().order_by(t.name)).scalars())
    return by_kind
