"""Number of verdicts behind each cell of a board, in a few grouped queries.

A cell's n counts matches, responses or items; its link leads to the verdicts behind them, which are often more: both
orders, several trials, several people. Pages show both numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Select, and_, func, literal, select

from fullbench.web.results.boards.board_store import LinkedTable
from fullbench.web.results.catalogue import catalogue_tables
from fullbench.web.results.lists.verdict_filters import FAULT_WORDS, Filter, ResolvedFilter, fault_code, shape_codes

Counts = dict[Filter, int]


def with_verdict_counts(connection: Connection, tables: Sequence[LinkedTable]) -> list[LinkedTable]:
    """Return the tables with the number of verdicts behind each link, as far as it is counted quickly."""
    filters = {link for table in tables for row in table.links for link in row if link is not None}
    counts = count_cells(connection, filters)
    return [replace(table, verdict_counts=counts) for table in tables]


def count_cells(connection: Connection, filters: Iterable[Filter]) -> Counts:
    """Count the verdicts of filters by contestant, also with an opponent or a tag; leave out all other filters."""
    groups: dict[Filter, list[Filter]] = defaultdict(list)
    for wanted in filters:
        has_other = bool(wanted.other)
        common = replace(wanted, contestant="", other="*" if has_other else "", value="", ballot="", fault="", shown="")
        plain = replace(common, other="", tag="")
        if plain.has_ready_count and not (has_other and wanted.tag):
            groups[common].append(wanted)
    counts: Counts = {}
    for common, group in groups.items():
        counts |= _count_group(connection, common, group)
    return counts


def _count_group(connection: Connection, common: Filter, group: Sequence[Filter]) -> Counts:
    """Count all filters of one judge and criterion (and tag, or opponents) from one grouped query."""
    resolved = ResolvedFilter.from_filter(connection, replace(common, other="", tag=""))
    if resolved.impossible:
        return dict.fromkeys(group, 0)
    n = catalogue_tables.names.c
    wanted_names = {name for cell in group for name in (cell.contestant, cell.other, cell.ballot) if name}
    rows = connection.execute(select(n.kind, n.name, n.id).where(n.name.in_(wanted_names))).all()
    ids = {(row.kind, row.name): row.id for row in rows}
    contestants = {ids.get(("contestant", cell.contestant), -1) for cell in group if cell.contestant}
    totals: dict[tuple[Any, ...], list[tuple[int, int, int, int]]] = defaultdict(list)
    query = _grouped_query(
        resolved, common, [*sorted(contestants), *([] if all(cell.contestant for cell in group) else [0])]
    )
    for contestant, other, value, ballot, fault, shape, count in connection.execute(query):
        totals[contestant, other, value].append((ballot, fault, shape, int(count)))
    counts: Counts = {}
    for cell in group:
        contestant = ids.get(("contestant", cell.contestant), -1) if cell.contestant else 0
        other = ids.get(("contestant", cell.other), -1) if cell.other else 0
        ballot = ids.get(("ballot", cell.ballot), -1) if cell.ballot else None
        faults = _fault_codes(cell.fault)
        shapes = set(shape_codes(cell.shown)) if cell.shown else None
        values = [cell.value] if cell.tag and cell.value else {key[2] for key in totals} if cell.tag else [""]
        counts[cell] = sum(
            count
            for value in values
            for ballot_id, fault, shape, count in totals.get((contestant, other, value), ())
            if ballot in {None, ballot_id}
            and (faults is None or fault in faults)
            and (shapes is None or shape in shapes)
        )
    return counts


def _fault_codes(word: str) -> set[int] | None:
    if not word:
        return None
    return set(range(1, len(FAULT_WORDS) - 1)) if word == "any" else {fault_code(word)}


def _grouped_query(resolved: ResolvedFilter, common: Filter, contestants: Sequence[int]) -> Select[Any]:
    """Return a query for rows of contestant (0 for all), opponent, tag value, ballot, fault, shape and count."""
    c, v, t = catalogue_tables.counts.c, catalogue_tables.verdicts.c, catalogue_tables.tags.c
    if not common.other and not common.tag:
        within = [c[f"{name}_id"] == id_ for name, id_ in resolved.ids.items()]
        ready = select(c.contestant_id, literal(0), literal(""), c.ballot_id, c.fault, c.shape, func.sum(c.n))
        of_contestants = ready.where(c.contestant_id.in_(contestants), *within)
        return of_contestants.group_by(c.contestant_id, c.ballot_id, c.fault, c.shape)
    shown, other = catalogue_tables.shown_contestants.alias("one"), catalogue_tables.shown_contestants.alias("other")
    in_judge = (
        [alias.c.judge_id == resolved.ids["judge"] for alias in (shown, other)] if "judge" in resolved.ids else []
    )
    conditions = resolved.conditions(has_known_ids=True)
    of_contestant = and_(shown.c.verdict_id == v.id, shown.c.contestant_id.in_(contestants), *in_judge[:1])
    kinds = (v.ballot_id, v.fault, v.shape)
    if common.other:
        query = (
            select(shown.c.contestant_id, other.c.contestant_id, literal(""), *kinds, func.count())
            .select_from(catalogue_tables.verdicts)
            .join(shown, of_contestant)
            .join(
                other, and_(other.c.verdict_id == v.id, other.c.contestant_id != shown.c.contestant_id, *in_judge[1:])
            )
        )
        return query.where(conditions).group_by(shown.c.contestant_id, other.c.contestant_id, *kinds)
    of_tag = and_(t.item_id == v.item_id, t.name == common.tag)
    query = (
        select(shown.c.contestant_id, literal(0), t.value, *kinds, func.count())
        .select_from(catalogue_tables.verdicts)
        .join(shown, of_contestant)
        .join(catalogue_tables.tags, of_tag)
    )
    return query.where(conditions).group_by(shown.c.contestant_id, t.value, *kinds)
