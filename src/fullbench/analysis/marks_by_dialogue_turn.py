"""Marks by turn of dialogues, and their aggregates over the turns, each named by its rule."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from statistics import fmean

import numpy as np

from fullbench.analysis.item_clustered_means_and_shares import SHARE, mean_estimate, scale_of
from fullbench.analysis.views.view_verdict_helpers import waiting_mask
from fullbench.columns.verdict_columns import Columns
from fullbench.core.built_in_table_columns import data_column, table_columns
from fullbench.core.dialogue_turn_answers_and_criteria import split_criterion
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note

RULES: Mapping[str, Callable[[list[float]], float]] = {
    "mean of turns": fmean,
    "worst turn": min,
    "last turn": lambda marks: marks[-1],
}
"""How the marks of a dialogue's turns are joined: the aggregate's name and its rule."""


def dialogue_turn_tables(columns: Columns) -> list[Table]:
    """Return a table for each base criterion and ballot with verdicts on two turns or more.

    The mark of a contestant on a turn of an item is the mean over trials, samples, orders and opponents. The
    aggregates are of dialogues whose turns all have marks; the others are counted.
    """
    columns = columns.latest()
    is_waiting = waiting_mask(columns)
    criteria = {name: split_criterion(name) for name in columns.names["criterion"]}
    groups: dict[tuple[str, str], dict[tuple[str, str], dict[str, dict[int, list[float]]]]] = {}
    unusable: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    turn_codes = [code for code, name in enumerate(columns.names["criterion"]) if criteria[name][1] is not None]
    for row in np.flatnonzero(np.isin(columns.criterion, turn_codes)).tolist():
        base, number = criteria[columns.names["criterion"][columns.criterion[row]]]
        if number is None:
            continue
        ballot = columns.names["ballot"][columns.ballot[row]]
        judge = columns.names["judge"][columns.judge[row]]
        item = columns.names["item"][columns.item[row]]
        is_unusable = bool(columns.fault[row] >= 0 and not is_waiting[row])
        for place in range(int(columns.start[row]), int(columns.start[row + 1])):
            mark = float(columns.mark[place])
            unusable[base, ballot, judge][columns.names["contestant"][columns.contestant[place]]] += is_unusable
            if columns.fault[row] < 0 and not np.isnan(mark):
                contestant = columns.names["contestant"][columns.contestant[place]]
                by_item = groups.setdefault((base, ballot), {}).setdefault((judge, contestant), {})
                by_item.setdefault(item, {}).setdefault(number, []).append(mark)
    return [
        _turn_table(base, ballot, by_contestant, unusable)
        for (base, ballot), by_contestant in sorted(groups.items())
        if max(number for by_item in by_contestant.values() for turns in by_item.values() for number in turns) > 1
    ]


def _turn_table(
    base: str,
    ballot: str,
    by_contestant: Mapping[tuple[str, str], Mapping[str, Mapping[int, list[float]]]],
    unusable: Mapping[tuple[str, str, str], Mapping[str, int]],
) -> Table:
    has_unusable = any(unusable[base, ballot, judge][contestant] for judge, contestant in by_contestant)
    every_item = [(item, turns) for by_item in by_contestant.values() for item, turns in by_item.items()]
    turn_count = max(number for _, turns in every_item for number in turns)
    length_by_item: dict[str, int] = {}
    for item, turns in every_item:
        length_by_item[item] = max(length_by_item.get(item, 0), *turns)
    scale = scale_of(ballot) or (SHARE if ballot.startswith("choice") else None)
    rows: list[list[Cell]] = []
    incomplete_count = 0
    for (judge, contestant), by_item in sorted(by_contestant.items()):
        means = {item: {number: fmean(marks) for number, marks in turns.items()} for item, turns in by_item.items()}
        complete = [
            [turns[number] for number in sorted(turns)]
            for item, turns in means.items()
            if len(turns) == length_by_item[item]
        ]
        incomplete_count += len(means) - len(complete)
        numbers = range(1, turn_count + 1)
        by_turn = [[turns[number] for turns in means.values() if number in turns] for number in numbers]
        aggregates = [[rule(marks) for marks in complete] for rule in RULES.values()]
        estimates = [
            mean_estimate(np.array(values), np.arange(len(values)), scale) if values else None
            for values in (*by_turn, *aggregates)
        ]
        lost = [unusable[base, ballot, judge][contestant]] if has_unusable else []
        rows.append([judge, contestant, *estimates, len(complete), *lost])
    notes = [Note("dialogue-turns.how", ballot=ballot)]
    if incomplete_count:
        notes.append(Note("dialogue-turns.incomplete", n=incomplete_count))
    unusable_column = ["unusable"] if has_unusable else []
    turn_columns = [data_column(f"turn {number}") for number in range(1, turn_count + 1)]
    return Table(
        "dialogue turns",
        Note("dialogue-turns.title") if base == "overall" else Note("dialogue-turns.title-of", criterion=base),
        table_columns("judge", "contestant", *turn_columns, *RULES, "dialogues", *unusable_column),
        rows,
        notes,
        {"criterion": base, "ballot": ballot},
    )
