"""Ways into the list of verdicts: what there is to choose, with counts, and the cases on which judges disagree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson
from sqlalchemy import Connection, Engine, Select, func, select

from fullbench.ledger.store import Ledger
from fullbench.nouns.verdict import FAULTS
from fullbench.web.database import reading
from fullbench.web.results import catalogue, listing, tables
from fullbench.web.results.filters import Filter
from fullbench.web.results.rows import get_state, judges_in, set_state, studies, version
from fullbench.web.results.site_data import first_picture
from fullbench.web.words import key

CASES = 5
"""So many cases stand before the list."""
PAGES = 8
"""So many pages of the list are looked through for them at most: many verdicts may be on one item."""
MOST = 20
"""Up to so many judges are offered by name; the form has them all."""
MARKS = {
    "split": key("judges disagree"),
    "opposed": key("against people"),
    "swapped": key("turns with the order"),
    "met": key("people ruled too"),
}
Counter = Callable[[Filter], listing.Count]
STATE = "marks"
"""Where the totals of all marks are kept, and the version of the catalogue that they are of."""


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


def count_marks(engine: Engine) -> None:
    """Keep ready how many verdicts of each study bear each mark, where the catalogue has changed since."""
    v = tables.verdicts.c
    with reading(engine) as connection:
        now = version(connection)
        if orjson.loads(get_state(connection, STATE) or "{}").get("version") == now:
            return
        asked = select(v.study_id, *(func.sum(v[name]) for name in MARKS)).group_by(v.study_id)
        totals = {
            str(study): dict(zip(MARKS, map(int, sums), strict=True)) for study, *sums in connection.execute(asked)
        }
    with catalogue.sole(engine) as connection:
        set_state(connection, STATE, orjson.dumps({"version": now, "studies": totals}).decode())


def facets(connection: Connection, wanted: Filter, count: Counter) -> list[list[Facet]]:
    """What the list can be narrowed to from here, group by group; nothing that no verdict has."""
    there = studies(connection)
    number = there.get(wanted.study or next(iter(there), ""), 0)
    kept = orjson.loads(get_state(connection, STATE) or "{}")
    totals = kept.get("studies", {}).get(str(number), {}) if wanted == Filter(study=wanted.study) else {}

    def facet(words: str, name: str, value: str | bool, *, ours: bool = True) -> Facet:
        chosen = getattr(wanted, name) == value
        narrowed, wider = _changed(wanted, name, value), _changed(wanted, name, type(value)())
        n = count(narrowed).n if narrowed.counted else totals.get(name)
        return Facet(words, n, wider if chosen else narrowed, chosen, ours)

    judges = sorted(judges_in(connection, number).values())
    groups = [
        [facet(words, name, True) for name, words in MARKS.items()],
        [facet(name, "fault", name) for name in FAULTS],
        [facet(judge, "judge", judge, ours=False) for judge in judges] if len(judges) <= MOST else [],
    ]
    shown = [[one for one in group if one.n != 0 or one.chosen] for group in groups]
    return [group for group in shown if group]


def _changed(wanted: Filter, name: str, value: str | bool) -> Filter:
    options: dict[str, Any] = {name: value}
    return replace(wanted, **options)


def disagreements(connection: Connection, study: str, withheld: Select[Any] | None) -> list[listing.Line]:
    """A few cases on which judges rule against each other, each on another item, the latest first: one line each."""
    by_item: dict[str, listing.Line] = {}
    before = None
    for _ in range(PAGES):
        page = listing.page(connection, Filter(study=study, split=True), before=before, withheld=withheld)
        for line in page.lines:
            by_item.setdefault(line.item, line)
        before = page.older
        if before is None or len(by_item) >= CASES:
            break
    return list(by_item.values())[:CASES]


def thumbs(ledger: Ledger, lines: Sequence[listing.Line]) -> dict[str, tuple[str, Mapping[str, str]]]:
    """The first picture of each case in a list, and the tags that say whether it is veiled."""
    first_ones: dict[str, tuple[str, Mapping[str, str]]] = {}
    for case in ledger.cases(list({line.case for line in lines})):
        if (first := first_picture(case)) is not None:
            first_ones[case.key] = first
    return first_ones
