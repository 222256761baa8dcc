"""Ways into the list of cases: what there is to choose, with counts, and a small picture of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, func, select

from fullbench.core.verdict import FAULTS
from fullbench.ledger.ledger import Ledger
from fullbench.web.results.catalogue import catalogue_tables
from fullbench.web.results.lists import verdict_list
from fullbench.web.results.lists.case_list import CaseRow
from fullbench.web.results.lists.verdict_filters import Filter, Numbered
from fullbench.web.results.site.static_site_data import first_picture
from fullbench.web.words import key

MOST = 100
"""Up to so many judges, contestants, criteria or ballots are offered by name; the form has them all."""
AT_ONCE = 8
"""So many of a group are seen at first."""
MARKS = {
    "split": key("judges disagree"),
    "opposed": key("against people"),
    "swapped": key("turns with the order"),
    "met": key("people ruled too"),
}
NAMED = {
    "judge": key("Judge"),
    "contestant": key("Contestant"),
    "criterion": key("Criterion"),
    "ballot": key("Ballot"),
}
Counter = Callable[[Filter], verdict_list.Count]


@dataclass(frozen=True)
class Facet:
    """One thing to choose: its words (translated where they are ours), how many verdicts, and where it leads.

    `n` is None where the count is not kept ready: a page does not wait for it. Chosen ones lead back to the list
    without them.
    """

    words: str
    n: int | None
    link: Filter
    chosen: bool
    ours: bool = True


@dataclass(frozen=True)
class Group:
    """Facets of one kind under a title; those beyond `AT_ONCE` that nobody chose are seen when somebody asks."""

    title: str
    facets: Sequence[Facet]

    @property
    def first(self) -> Sequence[Facet]:
        return [facet for place, facet in enumerate(self.facets) if place < AT_ONCE or facet.chosen]

    @property
    def rest(self) -> Sequence[Facet]:
        return [facet for facet in self.facets[AT_ONCE:] if not facet.chosen]


def facets(connection: Connection, wanted: Filter, count: Counter, *, counting: bool = True) -> list[Group]:
    """What the list can be narrowed to from here, group by group; nothing that no verdict has.

    Without `counting` no facet has a count: what is withheld is not counted with the rest.
    """

    def facet(words: str, name: str, value: str | bool, n: int | None, *, ours: bool = True) -> Facet:
        chosen = getattr(wanted, name) == value
        link = _changed(wanted, name, type(value)() if chosen else value)
        return Facet(words, n if counting else None, link, chosen, ours)

    def counted(name: str, value: str | bool) -> int | None:
        narrowed = _changed(wanted, name, value)
        return count(narrowed).n if narrowed.counted or narrowed.flagged else None

    groups = [
        Group(
            key("What rulings say"), [facet(words, name, True, counted(name, True)) for name, words in MARKS.items()]
        ),
        Group(key("Fault"), [facet(name, "fault", name, counted("fault", name)) for name in FAULTS]),
    ]
    for kind, title in NAMED.items():
        names = _names(connection, wanted, kind)
        if 1 < len(names) <= MOST or getattr(wanted, kind) in names:
            exact = wanted.without(kind).counted
            some = [facet(name, kind, name, n if exact else None, ours=False) for name, n in names.items()]
            groups.append(Group(title, some))
    shown = [replace(group, facets=[one for one in group.facets if one.n != 0 or one.chosen]) for group in groups]
    return [group for group in shown if group.facets]


def _names(connection: Connection, wanted: Filter, kind: str) -> dict[str, int]:
    """The judges, contestants, criteria or ballots that verdicts have, the commonest first: of those that are asked
    for, as far as counts know them, and whichever of the kind itself is asked for."""
    rest = wanted.without(kind)
    countable = {name: getattr(rest, name) for name in ("study", *NAMED, "fault", "shown")}
    numbered = Numbered.of(connection, rest if rest.counted else Filter(**countable))
    if numbered.impossible:
        return {}
    c, n = catalogue_tables.counts.c, catalogue_tables.names.c
    total = func.sum(c.n)
    rows = connection.execute(
        select(n.name, total)
        .join(catalogue_tables.names, n.id == c[f"{kind}_id"])
        .where(numbered.counts(of_contestants=kind == "contestant"))
        .group_by(n.name)
        .having(total > 0)
        .order_by(total.desc(), n.name)
    )
    return {name: int(found) for name, found in rows}


def _changed(wanted: Filter, name: str, value: str | bool) -> Filter:
    options: dict[str, Any] = {name: value}
    return replace(wanted, **options)


def thumbs(ledger: Ledger, rows: Sequence[CaseRow]) -> dict[str, tuple[str, Mapping[str, str]]]:
    """The first picture of each case in a list, and the tags that say whether it is veiled."""
    first_ones: dict[str, tuple[str, Mapping[str, str]]] = {}
    for case in ledger.cases([row.case for row in rows]):
        if (first := first_picture(case)) is not None:
            first_ones[case.key] = first
    return first_ones
