"""Judge cards, kept ready like boards: agreement with people, standing, steadiness, biases, faults, cost.

They are computed from the verdicts themselves. Where these are very many, from those on items drawn at random.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson
from sqlalchemy import Connection, Engine, func, select

from fullbench.core.cases import FAULTS, Verdict
from fullbench.core.items import Item, Response, digest
from fullbench.core.record import Record
from fullbench.core.results import Cell, EstimateLike, Table
from fullbench.ledger.store import Ledger
from fullbench.reports import card as reports_card
from fullbench.reports import standard
from fullbench.reports.judging import PEOPLE
from fullbench.stats.shares import wilson
from fullbench.web.database import reading
from fullbench.web.public import boards, listing, tables
from fullbench.web.public.boards import Grid, Linked
from fullbench.web.public.filters import Filter
from fullbench.web.public.places import judge_name
from fullbench.web.public.rows import chunks, judges
from fullbench.web.public.rulings import is_panel, is_person

MOST = 40_000
GROUPS = 12
"""Agreement is split by tags with at most so many values."""
SHAPES = {"scores": "one", "pairs": "choice", "rankings": "ranking"}


@dataclass(frozen=True)
class Card:
    """What is known about a judge. `sampled` verdicts of all judges of `total` were looked at; 0: all of them."""

    judge: str
    lead: str
    sampled: int
    total: int
    sections: Sequence[tuple[str, Sequence[Linked]]]


def card_name(judge: str) -> str:
    """A card's name among what was computed."""
    return f"card-{judge_name(judge)}"


def refresh(engine: Engine, ledger: Ledger, *, going: Callable[[], bool] = lambda: True) -> int:
    """Compute the cards of judges of which verdicts came, or whom people met anew; say how many."""
    with reading(engine) as connection:
        known = boards.stamps(connection)
        wanted = {name: stamp for name, stamp in _stamps(connection).items() if known.get(card_name(name)) != stamp}
    if not wanted:
        return 0
    with reading(engine) as connection:
        record, sampled, total = sample(connection, ledger)
        tags = _tags(connection)
    made = 0
    for judge, stamp in wanted.items():
        if judge in record.judges and going():
            with reading(engine) as connection:
                card = compute(connection, record, judge, tags, (sampled, total))
            boards.keep(engine, "card", card_name(judge), stamp, dump(card))
            made += 1
    return made


def _stamps(connection: Connection) -> dict[str, str]:
    """What each judge's card would be computed from."""
    c = tables.counts.c
    counts = connection.execute(
        select(c.judge_id, func.sum(c.n)).where(c.contestant_id == 0).group_by(c.judge_id).order_by(c.judge_id)
    )
    names = judges(connection)
    found = {names[judge]: int(n) for judge, n in counts}
    people = [n for name, n in found.items() if is_person(name)]
    alone = {name: n for name, n in found.items() if not is_person(name) and not is_panel(name)}
    return {name: digest([n, people])[:16] for name, n in alone.items()}


def _tags(connection: Connection) -> list[str]:
    t = tables.tags.c
    rows = connection.execute(select(t.name, func.count(t.value.distinct())).group_by(t.name).order_by(t.name))
    return [name for name, values in rows if 1 < values <= GROUPS]


def sample(connection: Connection, ledger: Ledger) -> tuple[Record, int, int]:
    """The verdicts that cards are computed from, everybody's; people rule under one name. How many, of how many."""
    total = listing.count(connection, Filter()).n
    items = list(connection.execute(select(tables.items.c.id).order_by(tables.items.c.id)).scalars())
    if total > MOST:
        items = random.Random(0).sample(items, max(1, len(items) * MOST // total))
    keys: list[str] = []
    for chunk in chunks(items):
        keys += connection.execute(select(tables.cases.c.key).where(tables.cases.c.item_id.in_(chunk))).scalars()
    verdicts: list[Verdict] = []
    asked: dict[str, Item] = {}
    said: dict[tuple[str, str], Response] = {}
    for some in chunks(keys):
        verdicts += map(_together, ledger.verdicts(cases=some, texts=False))
        for case in ledger.cases(some):
            asked[case.item.id] = case.item
            said.update({(one.item, one.contestant): one for one in case.responses})
    return Record(tuple(verdicts), asked, said), len(verdicts) if total > MOST else 0, total


def _together(verdict: Verdict) -> Verdict:
    return replace(verdict, judge=PEOPLE) if is_person(verdict.judge) else verdict


def compute(connection: Connection, record: Record, judge: str, tags: Sequence[str], counted: tuple[int, int]) -> Card:
    """The card of one judge."""
    sampled, total = counted
    made = reports_card.card(record, judge, tags=tags)
    sections = []
    for title, some in made.sections.items():
        listed = [_faults(connection, [judge]) if one.name == "faults" else one for one in some]
        linked = [
            one if isinstance(one, Linked) else _linked(connection, one, judge, exact=not sampled) for one in listed
        ]
        sections.append((title, linked))
    orders = standard.orders(record.where(judge=judge))
    if orders.rows:
        sections.append(("Orders", [_linked(connection, orders, judge, exact=False)]))
    return Card(judge, made.lead, sampled, total, sections)


def _linked(connection: Connection, table: Table, judge: str, *, exact: bool) -> Linked:
    """The table with a link wherever the verdicts behind a figure can be named: as many as its n."""
    charts = [] if table.chart is None else [table.chart]
    if not exact:
        return Linked(table, (), charts)
    links = [
        [_link(connection, dict(zip(table.columns, row, strict=True)), cell, judge, table) for cell in row]
        for row in table.rows
    ]
    return Linked(table, links, charts)


def _link(connection: Connection, row: Mapping[str, Cell], cell: Cell, judge: str, table: Table) -> Filter | None:
    """The verdicts that met people's, of the shape (and group) that the row is about, if they are n."""
    if not isinstance(cell, EstimateLike):
        return None
    shape = row.get("ruling") if table.name == "agreement" else table.name.split(" by ")[0]
    if shape not in SHAPES:
        return None
    wanted = Filter(judge=judge, shown=SHAPES[str(shape)], fault="none", met=True)
    if " by " in table.name:
        tag = table.name.split(" by ", 1)[1].split(",")[0]
        wanted = replace(wanted, tag=tag, value=str(row.get(tag, "")))
    return wanted if listing.count(connection, wanted).n == cell.n else None


def _faults(connection: Connection, names: Sequence[str]) -> Linked:
    """What judges did not rule on, and why; every count leads to its verdicts."""
    grid = Grid(("judge", "verdicts", "ruled", *FAULTS, "faulty"))
    for name in names:
        wanted = [Filter(judge=name), *(Filter(judge=name, fault=word) for word in ("none", *FAULTS))]
        counts = [listing.count(connection, one).n for one in wanted]
        faulty = wilson(counts[0] - counts[1], counts[0])
        grid.add((name, None), *zip(counts, wanted, strict=True), (faulty, wanted[0]))
    hint = {"kind": "stacked", "label": "judge", "parts": ["ruled", *FAULTS]}
    return grid.linked("faults", "Faults", (), charts=[hint])


def faults(connection: Connection) -> Linked:
    """The faults of all judges, people among them."""
    return _faults(connection, sorted(judges(connection).values(), key=lambda name: (is_person(name), name)))


def dump(card: Card) -> str:
    """A card as JSON."""
    value: dict[str, Any] = {name: getattr(card, name) for name in ("judge", "lead", "sampled", "total")}
    value["sections"] = [[title, [boards.packed(one) for one in some]] for title, some in card.sections]
    return orjson.dumps(value).decode()


def find(connection: Connection, judge: str) -> tuple[Card, str] | None:
    """A judge's card and its stamp; None where it is not computed (yet)."""
    b = tables.boards.c
    row = connection.execute(select(b.body, b.stamp).where(b.name == card_name(judge))).first()
    if row is None:
        return None
    value = orjson.loads(row.body)
    value["sections"] = [(title, [boards.unpacked(one) for one in some]) for title, some in value["sections"]]
    return Card(**value), row.stamp
