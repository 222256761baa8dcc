"""Judge cards, kept ready like boards: agreement with people, standing, steadiness, biases, faults, cost.

They are computed from the verdicts themselves. Where these are very many, from those on items drawn at random.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import orjson
from sqlalchemy import Connection, Engine, func, select

from fullbench.figures import standard
from fullbench.figures.card import card as judge_card
from fullbench.figures.probes import LENGTHENS
from fullbench.ledger.store import Ledger
from fullbench.nouns.digests import digest
from fullbench.nouns.item import Item
from fullbench.nouns.record import Record
from fullbench.nouns.response import Response
from fullbench.nouns.table import Table
from fullbench.nouns.verdict import FAULTS, PEOPLE, Verdict
from fullbench.stats.shares import wilson
from fullbench.web.database import reading
from fullbench.web.results import boards, evidence, listing, tables
from fullbench.web.results.boards import Grid, Linked
from fullbench.web.results.filters import Filter
from fullbench.web.results.places import judge_name
from fullbench.web.results.rows import chunks, judges
from fullbench.web.results.rulings import is_panel, is_person

MOST = 40_000
GROUPS = 12
"""Agreement is split by tags with at most so many values."""


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
    made = judge_card(record, judge, tags=tags)
    lengthened = {name for (_, name, _), said in record.responses.items() if LENGTHENS in said.tags}
    count = None if sampled else partial(_count, connection)

    def linked(table: Table) -> Linked:
        if table.name == "faults":
            return _faults(connection, [judge])
        behind = evidence.links(table, judge, lengthened=lengthened, count=count)
        return Linked(table, behind, [] if table.chart is None else [table.chart])

    sections = [(title, [linked(one) for one in some]) for title, some in made.sections.items()]
    orders = standard.orders(record.where(judge=judge))
    if orders.rows:
        sections.append(("Orders", [linked(orders)]))
    return Card(judge, made.lead, sampled, total, sections)


def _count(connection: Connection, wanted: Filter) -> int:
    return listing.count(connection, wanted).n


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
