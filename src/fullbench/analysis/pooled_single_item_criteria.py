"""Criteria of items' own rubrics, as in released ones: they get a row in one table and no tables of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fullbench.analysis.item_clustered_means_and_shares import share_estimate
from fullbench.analysis.scope_suffixes_of_table_titles import OVERALL
from fullbench.columns.verdict_columns import Columns
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.dialogue_turn_answers_and_criteria import split_criterion
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict_record import Record
from fullbench.stats.array_checks import Bools

POOLED = "criteria of items"
"""Name under which verdicts on such criteria are counted."""


def single_item_criteria_mask(columns: Columns) -> Bools:
    """Return a mask of verdicts on criteria of items' own rubrics, in studies where several items have such.

    A criterion that one item alone has belongs to its rubric. So does one that only some of these items have, as in
    HealthBench, where rubrics share a few texts. Turns of a dialogue are no such criteria.
    """
    mask = np.zeros(len(columns), dtype=np.bool_)
    names = columns.names["criterion"]
    if len(names) < 2 or not len(columns):
        return mask
    scope = columns.study.astype(np.int64) * len(names) + columns.criterion
    scopes, first, group = np.unique(scope, return_index=True, return_inverse=True)
    is_single = np.ones(len(scopes), dtype=np.bool_)
    is_single[group[columns.item != columns.item[first][group]]] = False
    mask = is_single[group]
    for study in np.unique(columns.study[mask]):
        is_of_study = columns.study == study
        own_items = np.unique(columns.item[mask & is_of_study])
        if len(own_items) < 2:
            mask &= ~is_of_study
            continue
        item_count = len(np.unique(columns.item[is_of_study]))
        for criterion in np.unique(columns.criterion[is_of_study & ~mask]):
            is_of_criterion = is_of_study & (columns.criterion == criterion)
            items = np.unique(columns.item[is_of_criterion])
            is_of_some = len(items) < item_count and split_criterion(names[criterion])[1] is None
            if is_of_some and names[criterion] != OVERALL and np.isin(items, own_items).any():
                mask |= is_of_criterion
    return mask


def pool_criteria(columns: Columns, mask: Bools) -> Columns:
    """Return the verdicts with one name for all masked criteria, for tables that only count."""
    names = columns.names["criterion"]
    pooled_names = {names[code] for code in np.unique(columns.criterion[mask])}
    criterion = np.where(mask, len(names), columns.criterion).astype(np.int64)
    due = tuple(replace(entry, criterion=POOLED) if entry.criterion in pooled_names else entry for entry in columns.due)
    all_names = {**columns.names, "criterion": (*names, POOLED)}
    return replace(columns, criterion=criterion, names=all_names, due=due)


def single_item_criteria_table(columns: Columns, mask: Bools) -> Table:
    """Return the number of such criteria, of their items and of verdicts on them, for each judge."""
    rows: list[list[Cell]] = [
        [judge, len(np.unique(part.criterion)), len(np.unique(part.item)), len(part)]
        for (judge,), part in columns.rows(mask).by("judge")
    ]
    title, note = Note("single-item-criteria.title"), Note("single-item-criteria.note")
    return Table(POOLED, title, table_columns("judge", "criteria", "items", "verdicts"), rows, [note])


def item_criteria_table(
    columns: Columns, mask: Bools, record: Record, judge: str, people: str
) -> tuple[Table, Note | None]:
    """Return a row for each masked criterion of a judge, and the agreement with people's single votes on all of them.

    Args:
        columns: The judge's verdicts.
        mask: The verdicts on criteria of items' own rubrics.
        record: Counted verdicts of the judge and of people, for the agreement.
        judge: Name of the judge.
        people: Name under which people's votes are stored.
    """
    item_columns = columns.rows(mask)
    rows: list[list[Cell]] = []
    for (criterion,), part in item_columns.by("criterion"):
        marks = part.mark[np.isfinite(part.mark)]
        mean = float(marks.mean()) if len(marks) else None
        rows.append([criterion, len(np.unique(part.item)), len(part), int((part.fault >= 0).sum()), mean])
    equal, items = _equal_marks(record, set(map(str, (row[0] for row in rows))), judge, people)
    agreement = None
    if equal:
        share = share_estimate(np.array(equal), np.unique(items, return_inverse=True)[1])
        agreement = Note("single-item-criteria.agreement", share=str(share))
    heads = table_columns("criterion", "items", "verdicts", "unusable", "mean mark")
    notes = [Note("single-item-criteria.note"), *([agreement] if agreement else [])]
    return Table(POOLED, Note("single-item-criteria.title"), heads, rows, notes), agreement


def _equal_marks(record: Record, criteria: set[str], judge: str, people: str) -> tuple[list[float], list[str]]:
    """Return whether each vote equals the judge's marks on the same responses and criterion, and the vote's item."""
    place = {}
    for verdict in record.where(judge=judge, fault=None):
        if verdict.criterion in criteria:
            place[verdict.item, verdict.criterion, verdict.ballot, verdict.shown_responses] = verdict.marks
    equal, items = [], []
    for vote in record.where(judge=people, fault=None):
        marks = place.get((vote.item, vote.criterion, vote.ballot, vote.shown_responses))
        if marks is not None:
            equal.append(float(marks == vote.marks))
            items.append(vote.item)
    return equal, items
