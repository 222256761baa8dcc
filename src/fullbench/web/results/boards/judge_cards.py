"""Judge cards, stored like boards: agreement, other judges, consistency, biases, unusable verdicts, cost.

Cards are computed from all verdicts. If too many of them have people's votes (`MAX_VERDICTS`), agreement is computed
from a random sample of items.
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

from fullbench.analysis import pooled_single_item_criteria, record_from_verdict_columns, standard_verdict_tables
from fullbench.analysis.judge_card import build_card as judge_card
from fullbench.analysis.people.voted_rows_check import CaseFacts
from fullbench.columns.verdict_columns import Columns
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.response import LENGTHENS
from fullbench.core.table import Table
from fullbench.core.translatable_note import pack_note, unpack_note
from fullbench.core.verdict import PEOPLE
from fullbench.core.verdict_record import Record
from fullbench.ledger.ledger import Ledger
from fullbench.studies import ledger_verdicts_with_panels
from fullbench.web.database import read_transaction
from fullbench.web.results import hidden_cases_and_results
from fullbench.web.results.boards import (
    audit_results_on_cards_and_board,
    board_store,
    contestant_board_under_one_judge,
    judge_card_evidence_links,
    stored_study_summary,
)
from fullbench.web.results.boards.board_store import LinkedTable
from fullbench.web.results.catalogue import catalogue_tables
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import judge_names_by_id, study_ids_by_name
from fullbench.web.results.catalogue.disagreement_flags import is_panel, is_person
from fullbench.web.results.catalogue.rater_pseudonyms import load_rater_names
from fullbench.web.results.lists import verdict_list
from fullbench.web.results.lists.verdict_filters import Filter

MAX_VERDICTS = 40_000
MAX_TAG_VALUES = 12
"""Agreement is split by tags with at most this many values."""


@dataclass(frozen=True)
class Card:
    """Card of a judge. `sampled` of `total` verdicts with people's votes were used; 0 means all."""

    judge: str
    lead: str
    sampled: int
    total: int
    sections: Sequence[tuple[str, Sequence[LinkedTable]]]
    badge: str = ""
    """SVG badge of an audited judge."""


def card_name(study: str, judge: str) -> str:
    """Return a card's name in the table of boards."""
    return f"card-{digest([study, judge])[:16]}"


def faults_name(study: str) -> str:
    """Return the name of a study's table of unusable verdicts in the table of boards."""
    return f"unusable-{digest([study])[:16]}"


def refresh_cards(engine: Engine, ledger: Ledger, *, should_continue: Callable[[], bool] = lambda: True) -> int:
    """Recompute the cards of judges with new verdicts or new votes of people. Return their number."""
    computed_count, failed_calls = 0, ledger.failed_call_counts()
    panel_names = {view.name for view in ledger.views()}
    with read_transaction(engine) as connection:
        study_ids = study_ids_by_name(connection)
    for place, study in enumerate(study_ids):
        with read_transaction(engine) as connection:
            stored_stamps = board_store.stamps_by_name(connection)
            current_stamps = _card_stamps(connection, study_ids[study], failed_calls, panel_names)
            campaign_stamps = hidden_cases_and_results.open_campaign_stamps(connection)
        due_stamps = {
            name: stamp
            for name, stamp in current_stamps.items()
            if not is_person(name) and stored_stamps.get(card_name(study, name)) != stamp
        }
        study_stamp = digest(sorted(current_stamps.items()))[:16]
        study_stamp = hidden_cases_and_results.stamp_with_campaigns(study_stamp, campaign_stamps)
        if not should_continue() or (not due_stamps and stored_stamps.get(faults_name(study)) == study_stamp):
            continue
        with read_transaction(engine) as connection:
            rename_columns = load_rater_names(connection).rename_columns
        columns = rename_columns(ledger_verdicts_with_panels.load_columns(ledger, study=study))
        link = study if place else ""
        of_items = pooled_single_item_criteria.single_item_criteria_mask(columns)
        counted = pooled_single_item_criteria.pool_criteria(columns, of_items) if of_items.any() else columns
        table = board_store.pack_table(
            contestant_board_under_one_judge.link_faults(standard_verdict_tables.fault_table(counted), link)
        )
        board_store.store_body(engine, "unusable", faults_name(study), study_stamp, orjson.dumps(table).decode())
        stored_study_summary.store_summary(engine, ledger, study, columns, study_stamp)
        if side_by_side := audit_results_on_cards_and_board.audited_judge_tables(ledger, study, link):
            body = orjson.dumps([board_store.pack_table(linked_table) for linked_table in side_by_side]).decode()
            board_store.store_body(
                engine, "audited", audit_results_on_cards_and_board.board_name(study), study_stamp, body
            )
        with read_transaction(engine) as connection:
            source = load_card_source(connection, ledger, study, columns)
        active_judges = set(columns.judges())
        for judge, stamp in due_stamps.items():
            if judge in active_judges and should_continue():
                with read_transaction(engine) as connection:
                    card = compute_card(connection, source, columns, judge, link)
                if (audit := audit_results_on_cards_and_board.audit_card_and_badge(ledger, study, judge)) is not None:
                    report, badge = audit
                    all_sections = [*audit_results_on_cards_and_board.card_sections(report, link), *card.sections]
                    card = replace(card, lead=report.lead, sections=all_sections, badge=badge)
                board_store.store_body(engine, "card", card_name(study, judge), stamp, card_to_json(card))
                computed_count += 1
    return computed_count


def _card_stamps(
    connection: Connection, study: int, failed_calls: Mapping[str, int], panel_names: Collection[str]
) -> dict[str, str]:
    """Panels of studies (`panel_names`) have cards like other judges."""
    c = catalogue_tables.counts.c
    counts = connection.execute(
        select(c.judge_id, func.sum(c.n), func.max(c.last))
        .where(c.contestant_id == 0, c.study_id == study)
        .group_by(c.judge_id)
        .order_by(c.judge_id)
    )
    names = judge_names_by_id(connection)
    totals = {names[judge]: (int(n), last) for judge, n, last in counts}
    # Open campaigns are part of the stamp because tags of their items are left out of all numbers.
    campaign_stamps = hidden_cases_and_results.open_campaign_stamps(connection)
    return {
        name: hidden_cases_and_results.stamp_with_campaigns(
            digest(
                [
                    board_store.code_of_metrics(),
                    judge_totals,
                    totals.get(PEOPLE),
                    *([failed_calls[name]] if name in failed_calls else []),
                ]
            )[:16],
            campaign_stamps,
        )
        for name, judge_totals in totals.items()
        if not is_panel(name) or name in panel_names
    }


@dataclass(frozen=True)
class CardSource:
    """Verdicts of a study on responses that people voted on; `sampled` of `total`, 0 if all are used."""

    study: str
    record: Record
    sampled: int
    total: int
    tags: Sequence[str]
    facts: CaseFacts | None = None


def load_card_source(connection: Connection, ledger: Ledger, study: str, columns: Columns) -> CardSource:
    """Load the verdicts with people's votes. If there are too many, sample items at random."""
    tags = list(board_store.item_tags(connection, study_ids_by_name(connection)[study], MAX_TAG_VALUES))
    voted_columns = record_from_verdict_columns.comparable_rows(columns, PEOPLE, ledger.items_of_tagged(LENGTHENS))
    total, sampled_columns = len(voted_columns), voted_columns
    if total > MAX_VERDICTS:
        items = np.unique(voted_columns.item).tolist()
        item_mask = np.zeros(len(voted_columns.names["item"]), dtype=np.bool_)
        # A fixed seed: the same verdicts must give the same card.
        item_mask[random.Random(0).sample(items, max(1, len(items) * MAX_VERDICTS // total))] = True
        sampled_columns = voted_columns.rows(item_mask[voted_columns.item.astype(np.int64)])
    record = ledger.record_of_verdicts(
        record_from_verdict_columns.record_from_columns(sampled_columns), study=study
    ).in_canonical_order()
    if (hidden_items := hidden_cases_and_results.withheld_items(connection, None)) is not None:
        i = catalogue_tables.items.c
        names = set(connection.execute(select(i.name).where(i.id.in_(hidden_items))).scalars())
        items = {name: replace(item, tags={}) if name in names else item for name, item in record.items.items()}
        record = replace(record, items=items)
    facts = ledger_verdicts_with_panels.load_case_facts(ledger, columns, study=study)
    return CardSource(study, record, len(record) if total > MAX_VERDICTS else 0, total, tags, facts)


def compute_card(connection: Connection, source: CardSource, columns: Columns, judge: str, link: str) -> Card:
    """Compute the card of one judge with links to verdicts. `link` is the study's name in filters."""
    report = judge_card(source.record, judge, tags=source.tags, columns=columns, facts=source.facts)
    lengthened_contestants = {
        name for (_, name, _), response in source.record.responses.items() if LENGTHENS in response.tags
    }
    count = None if source.sampled else partial(_count_verdicts, connection)

    def link_table(table: Table) -> LinkedTable:
        if table.name == "unusable":
            return contestant_board_under_one_judge.link_faults(table, link)
        cell_links = judge_card_evidence_links.table_links(
            table, judge, link, lengthened_contestants=lengthened_contestants, count=count
        )
        return LinkedTable(table, cell_links, [] if table.chart is None else [table.chart])

    sections = [
        (title, [link_table(table) for table in tables])
        for title, tables in report.sections.items()
        if title != "Leaderboard"
    ]
    orders = standard_verdict_tables.order_effect_table(columns.where(judge=judge))
    if orders.rows:
        sections.append(("Orders", [link_table(orders)]))
    return Card(judge, report.lead, source.sampled, source.total, sections)


def _count_verdicts(connection: Connection, verdict_filter: Filter) -> int:
    return verdict_list.count_verdicts(connection, verdict_filter).n


def load_faults(connection: Connection, study: str) -> LinkedTable | None:
    """Return the table of unusable verdicts of all judges of a study, or None if not computed yet."""
    b = catalogue_tables.boards.c
    body = connection.execute(select(b.body).where(b.name == faults_name(study))).scalar()
    return None if body is None else board_store.unpack_table(orjson.loads(body))


def load_audited_judge_tables(connection: Connection, study: str) -> list[LinkedTable]:
    """Return the tables of a study's audited judges. Empty if the study is no audit."""
    b = catalogue_tables.boards.c
    body = connection.execute(
        select(b.body).where(b.name == audit_results_on_cards_and_board.board_name(study))
    ).scalar()
    return [] if body is None else [board_store.unpack_table(packed_table) for packed_table in orjson.loads(body)]


def card_to_json(card: Card) -> str:
    """Serialize a card as JSON."""
    value: dict[str, Any] = {name: getattr(card, name) for name in ("judge", "lead", "sampled", "total", "badge")}
    # JSON keeps only the text of `lead`; pages need the note to translate it.
    value["said"] = pack_note(card.lead)
    value["sections"] = [
        [title, [board_store.pack_table(linked_table) for linked_table in linked_tables]]
        for title, linked_tables in card.sections
    ]
    return orjson.dumps(value).decode()


def find_card(connection: Connection, study: str, judge: str) -> tuple[Card, str] | None:
    """Return a judge's card and its stamp, or None if it is not computed yet."""
    b = catalogue_tables.boards.c
    row = connection.execute(select(b.body, b.stamp).where(b.name == card_name(study, judge))).first()
    if row is None or hidden_cases_and_results.is_outdated(
        row.stamp, hidden_cases_and_results.open_campaign_stamps(connection)
    ):
        return None
    value = orjson.loads(row.body)
    value["lead"] = unpack_note(value["lead"], value.pop("said", None))
    value["sections"] = [
        (title, [board_store.unpack_table(packed_table) for packed_table in packed_tables])
        for title, packed_tables in value["sections"]
    ]
    return Card(**value), row.stamp
