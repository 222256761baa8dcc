"""Facets of the list of cases: values to filter by, with counts; thumbnails of cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, func, select

from fullbench.core.media import Media
from fullbench.core.verdict import FAULTS
from fullbench.ledger.ledger import Ledger
from fullbench.web.results.catalogue import catalogue_tables
from fullbench.web.results.lists import verdict_list
from fullbench.web.results.lists.case_list import CaseRow
from fullbench.web.results.lists.verdict_filters import Filter, ResolvedFilter
from fullbench.web.results.site.static_verdict_list_data import first_picture
from fullbench.web.words import key

MAX_NAMES = 100
"""Maximum number of judges, contestants, criteria or ballots offered as facets; the form has them all."""
SHOWN_AT_FIRST = 8
FLAG_LABELS = {
    "split": key("judges disagree"),
    "opposed": key("against people"),
    "swapped": key("turns with the order"),
    "met": key("people voted too"),
}
KIND_TITLES = {
    "judge": key("Judge"),
    "contestant": key("Contestant"),
    "criterion": key("Criterion"),
    "ballot": key("Ballot"),
}
Counter = Callable[[Filter], verdict_list.VerdictCount]


@dataclass(frozen=True)
class Facet:
    """One value to filter by: its label, its number of verdicts, and the filter it links to.

    `ours` means that the label is translated. `n` is None if no count is stored, because a page must not wait for it. A
    chosen facet links to the list without it.
    """

    words: str
    n: int | None
    link: Filter
    is_chosen: bool
    ours: bool = True


@dataclass(frozen=True)
class FacetGroup:
    """Facets of one kind under a title. Facets beyond `SHOWN_AT_FIRST` are collapsed unless chosen."""

    title: str
    facets: Sequence[Facet]

    @property
    def first(self) -> Sequence[Facet]:
        return [facet for place, facet in enumerate(self.facets) if place < SHOWN_AT_FIRST or facet.is_chosen]

    @property
    def more_facets(self) -> Sequence[Facet]:
        return [facet for facet in self.facets[SHOWN_AT_FIRST:] if not facet.is_chosen]


def build_facets(
    connection: Connection, verdict_filter: Filter, count: Counter, *, counting: bool = True
) -> list[FacetGroup]:
    """Build the facets that narrow a filter. Without `counting` they have no counts, which include hidden verdicts."""

    def facet(words: str, name: str, value: str | bool, n: int | None, *, ours: bool = True) -> Facet:
        is_chosen = getattr(verdict_filter, name) == value
        link = _with_value(verdict_filter, name, type(value)() if is_chosen else value)
        return Facet(words, n if counting else None, link, is_chosen, ours)

    def count_facet(name: str, value: str | bool) -> int | None:
        narrowed_filter = _with_value(verdict_filter, name, value)
        return count(narrowed_filter).n if narrowed_filter.has_ready_count or narrowed_filter.single_flag else None

    groups = [
        FacetGroup(
            key("What verdicts say"),
            [facet(words, name, True, count_facet(name, True)) for name, words in FLAG_LABELS.items()],
        ),
        FacetGroup(
            key("Unusable verdict"), [facet(name, "fault", name, count_facet("fault", name)) for name in FAULTS]
        ),
    ]
    for kind, title in KIND_TITLES.items():
        names = _name_counts(connection, verdict_filter, kind)
        if 1 < len(names) <= MAX_NAMES or getattr(verdict_filter, kind) in names:
            exact = verdict_filter.without(kind).has_ready_count
            kind_facets = [facet(name, kind, name, n if exact else None, ours=False) for name, n in names.items()]
            groups.append(FacetGroup(title, kind_facets))
    shown_groups = [
        replace(
            group, facets=[group_facet for group_facet in group.facets if group_facet.n != 0 or group_facet.is_chosen]
        )
        for group in groups
    ]
    return [group for group in shown_groups if group.facets]


def _name_counts(connection: Connection, verdict_filter: Filter, kind: str) -> dict[str, int]:
    """Count as far as stored counts support the filter."""
    remaining_filter = verdict_filter.without(kind)
    countable = {name: getattr(remaining_filter, name) for name in ("study", *KIND_TITLES, "fault", "shown")}
    resolved_filter = ResolvedFilter.from_filter(
        connection, remaining_filter if remaining_filter.has_ready_count else Filter(**countable)
    )
    if resolved_filter.impossible:
        return {}
    c, n = catalogue_tables.counts.c, catalogue_tables.names.c
    total = func.sum(c.n)
    rows = connection.execute(
        select(n.name, total)
        .join(catalogue_tables.names, n.id == c[f"{kind}_id"])
        .where(resolved_filter.count_conditions(of_contestants=kind == "contestant"))
        .group_by(n.name)
        .having(total > 0)
        .order_by(total.desc(), n.name)
    )
    return {name: int(verdict_count) for name, verdict_count in rows}


def _with_value(verdict_filter: Filter, name: str, value: str | bool) -> Filter:
    options: dict[str, Any] = {name: value}
    return replace(verdict_filter, **options)


def case_thumbnails(ledger: Ledger, rows: Sequence[CaseRow]) -> dict[str, tuple[Media, Mapping[str, str]]]:
    """Return the first picture, video or document of each case, and the tags that say whether it is veiled."""
    thumbnails: dict[str, tuple[Media, Mapping[str, str]]] = {}
    for case in ledger.cases([row.case for row in rows]):
        if (first := first_picture(case)) is not None:
            thumbnails[case.key] = first
    return thumbnails
