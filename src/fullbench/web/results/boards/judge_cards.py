"""Judge cards, kept ready like boards: agreement with people, standing, steadiness, biases, faults, cost.

They are computed from all verdicts. Where those beside people's are very many, agreement is computed from those on
items drawn at random.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import orjson
from sqlalchemy import Connection, Engine, func, select

from fullbench.analysis import all_tables, verdicts_from_columns
from fullbench.analysis.judge_card import card as judge_card
from fullbench.columns.verdict_columns import Columns
from fullbench.core.digests import digest
from fullbench.core.note import pack, unpack
from fullbench.core.record import Record
from fullbench.core.response import LENGTHENS
from fullbench.core.table import Table
from fullbench.core.verdict import PEOPLE
from fullbench.ledger.ledger import Ledger
from fullbench.studies import ledger_columns
from fullbench.web.database import reading
from fullbench.web.results import hidden_cases
from fullbench.web.results.boards import audit_sections, board_store, board_tables, evidence_links
from fullbench.web.results.boards.board_store import Linked
from fullbench.web.results.catalogue import catalogue_tables
from fullbench.web.results.catalogue.disagreement import is_panel, is_person
from fullbench.web.results.catalogue.row_helpers import judges, studies
from fullbench.web.results.lists import verdict_list
from fullbench.web.results.lists.verdict_filters import Filter

EDITION = 2
"""Grows when cards are computed otherwise than before: those that an older version left are then computed anew."""
MOST = 40_000
GROUPS = 12
"""Agreement is split by tags with at most so many values."""


@dataclass(frozen=True)
class Card:
    """What is known about a judge. `sampled` verdicts of `total` beside people's were looked at; 0: all of them."""

    judge: str
    lead: str
    sampled: int
    total: int
    sections: Sequence[tuple[str, Sequence[Linked]]]
    badge: str = ""
    """Of an audited judge, its badge as SVG."""


def card_name(study: str, judge: str) -> str:
    """A card's name among what was computed."""
    return f"card-{digest([study, judge])[:16]}"


def faults_name(study: str) -> str:
    """The name of the table of all judges' faults among what was computed."""
    return f"faults-{digest([study])[:16]}"


def refresh(engine: Engine, ledger: Ledger, *, going: Callable[[], bool] = lambda: True) -> int:
    """Compute the cards of judges of which verdicts came, or whom people met anew; say how many."""
    computed, failed = 0, ledger.failed()
    named = {view.name for view in ledger.views()}
    with reading(engine) as connection:
        there = studies(connection)
    for place, study in enumerate(there):
        with reading(engine) as connection:
            known = board_store.stamps(connection)
            stamped = _stamps(connection, there[study], failed, named)
        wanted = {
            name: stamp
            for name, stamp in stamped.items()
            if not is_person(name) and known.get(card_name(study, name)) != stamp
        }
        everybody = digest(sorted(stamped.items()))[:16]
        if not going() or (not wanted and known.get(faults_name(study)) == everybody):
            continue
        columns, link = ledger_columns.columns(ledger, study=study), study if place else ""
        table = board_store.packed(board_tables.faults(all_tables.faults(columns), link))
        board_store.keep(engine, "faults", faults_name(study), everybody, orjson.dumps(table).decode())
        if side_by_side := audit_sections.audited_judges(ledger, study, link):
            body = orjson.dumps([board_store.packed(linked) for linked in side_by_side]).decode()
            board_store.keep(engine, "audited", audit_sections.board_name(study), everybody, body)
        with reading(engine) as connection:
            source = compared(connection, ledger, study, columns)
        ruling = set(columns.judges())
        for judge, stamp in wanted.items():
            if judge in ruling and going():
                with reading(engine) as connection:
                    card = compute(connection, source, columns, judge, link)
                if (audit := audit_sections.audited(ledger, study, judge)) is not None:
                    report, badge = audit
                    shown = [*audit_sections.sections(report, link), *card.sections]
                    card = replace(card, lead=report.lead, sections=shown, badge=badge)
                board_store.keep(engine, "card", card_name(study, judge), stamp, dump(card))
                computed += 1
    return computed


def _stamps(connection: Connection, study: int, failed: Mapping[str, int], named: Collection[str]) -> dict[str, str]:
    """What each judge's card would be computed from: its own verdicts and failed calls, and people's verdicts.

    `named` are the panels of studies, which have cards as other judges do.
    """
    c = catalogue_tables.counts.c
    counts = connection.execute(
        select(c.judge_id, func.sum(c.n), func.max(c.last))
        .where(c.contestant_id == 0, c.study_id == study)
        .group_by(c.judge_id)
        .order_by(c.judge_id)
    )
    names = judges(connection)
    totals = {names[judge]: (int(n), last) for judge, n, last in counts}
    # Where people judge items, their tags are left out of every figure.
    judged = hidden_cases.stamp(connection)
    return {
        name: hidden_cases.sealed(
            digest([EDITION, counted, totals.get(PEOPLE), *([failed[name]] if name in failed else [])])[:16], judged
        )
        for name, counted in totals.items()
        if not is_panel(name) or name in named
    }


@dataclass(frozen=True)
class Source:
    """The verdicts of a study beside people's; `sampled` of `total`, 0 where it is all of them."""

    study: str
    record: Record
    sampled: int
    total: int
    tags: Sequence[str]


def compared(connection: Connection, ledger: Ledger, study: str, columns: Columns) -> Source:
    """The verdicts of a study beside people's; where they are very many, those on items drawn at random."""
    tags = list(board_store.item_tags(connection, studies(connection)[study], GROUPS))
    there = verdicts_from_columns.rows_beside(columns, PEOPLE, ledger.items_of_tagged(LENGTHENS))
    total, drawn = len(there), there
    if total > MOST:
        items = np.unique(there.item).tolist()
        chosen = np.zeros(len(there.names["item"]), dtype=np.bool_)
        chosen[random.Random(0).sample(items, max(1, len(items) * MOST // total))] = True
        drawn = there.rows(chosen[there.item.astype(np.int64)])
    record = ledger.beside(verdicts_from_columns.narrow(drawn), study=study).ordered()
    if (judged := hidden_cases.withheld(connection, None)) is not None:
        i = catalogue_tables.items.c
        names = set(connection.execute(select(i.name).where(i.id.in_(judged))).scalars())
        items = {name: replace(item, tags={}) if name in names else item for name, item in record.items.items()}
        record = replace(record, items=items)
    return Source(study, record, len(record) if total > MOST else 0, total, tags)


def compute(connection: Connection, source: Source, columns: Columns, judge: str, link: str) -> Card:
    """The card of one judge, with the verdicts behind its figures; `link` is how filters name the study."""
    report = judge_card(source.record, judge, tags=source.tags, columns=columns)
    lengthened = {name for (_, name, _), response in source.record.responses.items() if LENGTHENS in response.tags}
    count = None if source.sampled else partial(_count, connection)

    def linked(table: Table) -> Linked:
        if table.name == "faults":
            return board_tables.faults(table, link)
        behind = evidence_links.links(table, judge, link, lengthened=lengthened, count=count)
        return Linked(table, behind, [] if table.chart is None else [table.chart])

    sections = [
        (title, [linked(table) for table in some]) for title, some in report.sections.items() if title != "Leaderboard"
    ]
    orders = all_tables.orders(columns.of(judge=judge))
    if orders.rows:
        sections.append(("Orders", [linked(orders)]))
    return Card(judge, report.lead, source.sampled, source.total, sections)


def _count(connection: Connection, wanted: Filter) -> int:
    return verdict_list.count(connection, wanted).n


def faults(connection: Connection, study: str) -> Linked | None:
    """The faults of all judges of a study, people among them; None where they are not computed (yet)."""
    b = catalogue_tables.boards.c
    body = connection.execute(select(b.body).where(b.name == faults_name(study))).scalar()
    return None if body is None else board_store.unpacked(orjson.loads(body))


def audited_judges(connection: Connection, study: str) -> list[Linked]:
    """The board of a study's audited judges and their cards side by side; nothing where it is no audit."""
    b = catalogue_tables.boards.c
    body = connection.execute(select(b.body).where(b.name == audit_sections.board_name(study))).scalar()
    return [] if body is None else [board_store.unpacked(packed_table) for packed_table in orjson.loads(body)]


def dump(card: Card) -> str:
    """A card as JSON."""
    value: dict[str, Any] = {name: getattr(card, name) for name in ("judge", "lead", "sampled", "total", "badge")}
    value["said"] = pack(card.lead)
    value["sections"] = [[title, [board_store.packed(linked) for linked in some]] for title, some in card.sections]
    return orjson.dumps(value).decode()


def find(connection: Connection, study: str, judge: str) -> tuple[Card, str] | None:
    """A judge's card and its stamp; None where it is not computed (yet)."""
    b = catalogue_tables.boards.c
    row = connection.execute(select(b.body, b.stamp).where(b.name == card_name(study, judge))).first()
    if row is None or hidden_cases.outdated(row.stamp, hidden_cases.stamp(connection)):
        return None
    value = orjson.loads(row.body)
    value["lead"] = unpack(value["lead"], value.pop("said", None))
    value["sections"] = [
        (title, [board_store.unpacked(packed_table) for packed_table in some]) for title, some in value["sections"]
    ]
    return Card(**value), row.stamp
