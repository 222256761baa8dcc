"""The summary of a paper's study, which begins with the paper's main table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from fullbench.analysis.boards.leaderboard import leaderboard_tables
from fullbench.analysis.standard_verdict_tables import cost_table
from fullbench.analysis.summary.leading_contestants_in_tiers import parse_rank, tiers_of_ranks
from fullbench.analysis.summary.study_summary import (
    CONTESTANTS,
    JUDGES,
    LEADS_BY,
    MAIN_TABLE,
    leaders_note,
    sentences_of,
    summary_tables,
)
from fullbench.columns.verdict_columns import Columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table, sort_value
from fullbench.core.translatable_note import Note, join_notes
from fullbench.core.verdict import PEOPLE
from fullbench.core.verdict_record import Record

_SETTING = "verdict"
"""Column that divides the rows of a main table into settings; the first setting decides who leads."""


def paper_source(paper: str, leads_by: str) -> dict[str, str]:
    """Return the source entries that mark a paper's main table, and the column by which its rows are compared."""
    return {MAIN_TABLE: paper, LEADS_BY: leads_by}


def spread_rows(
    values: Mapping[tuple[str, ...], Mapping[str, Cell]],
    columns: Sequence[str],
    averages: Mapping[tuple[str, ...], Cell],
) -> list[list[Cell]]:
    """Return a row per key: its parts, its average, then its cells by column.

    >>> spread_rows({("m",): {"a": 1, "b": 3}}, ["a", "b", "c"], {("m",): 2.0})
    [['m', 2.0, 1, 3, None]]
    """
    return [[*key, averages.get(key), *(cells.get(column) for column in columns)] for key, cells in values.items()]


def add_paper_summary(
    tables: Sequence[Table], columns: Columns, *, texts: Record | None = None, seed: int = 0
) -> list[Table]:
    """Return a benchmark's tables behind the summary; the main table comes right after it.

    Args:
        tables: The benchmark's tables.
        columns: The verdicts.
        texts: Items and responses, for tests of length bias.
        seed: Seed of resampled intervals.
    """
    counted = pool_criteria(columns)
    summary = summary_tables(counted, leaderboard_tables(counted), texts=texts, costs=cost_table(columns), seed=seed)
    main = _choose_main_table(tables, summary)
    if main is None or not summary:
        return [*summary, *tables]
    sentences = sentences_of(summary)
    lead = lead_sentence(main)
    # The papers' own labels are no votes: without votes, the main table alone says how good the judges are.
    has_votes = PEOPLE in columns.judges()
    kept = [lead, *sentences[1:]] if has_votes else [lead, sentences[-1]]
    first = replace(
        summary[0],
        notes=(*kept, *summary[0].notes[len(sentences) :]),
        source={**summary[0].source, "sentences": len(kept)},
    )
    other_tables = [_without_main_mark(table) for table in tables if table is not main]
    return [first, *(table for table in summary[1:] if has_votes or table.name == CONTESTANTS), main, *other_tables]


def replace_main_table(tables: Sequence[Table], own_tables: Sequence[Table]) -> list[Table]:
    """Return tables with those of an experiment behind the summary; the first of them becomes the main table.

    Args:
        tables: The tables of the study; the summary is first if there is one.
        own_tables: The experiment's tables. The first note of the first one becomes the first sentence.
    """
    if not own_tables:
        return list(tables)
    sentences = sentences_of(tables)
    summary = [table for table in tables if table.name in {CONTESTANTS, JUDGES}]
    if summary and sentences:
        summary[0] = replace(summary[0], notes=(own_tables[0].notes[0], *summary[0].notes[1:]))
    main = replace(own_tables[0], source={**own_tables[0].source, MAIN_TABLE: own_tables[0].name})
    other_tables = [_without_main_mark(table) for table in tables if table.name not in {CONTESTANTS, JUDGES}]
    return [*summary, main, *own_tables[1:], *other_tables]


def _without_main_mark(table: Table) -> Table:
    return replace(
        table, source={key: value for key, value in table.source.items() if key not in {MAIN_TABLE, LEADS_BY}}
    )


def _choose_main_table(tables: Sequence[Table], summary: Sequence[Table]) -> Table | None:
    """Return the main table; of several judges' main tables, the one of the judge to trust most."""
    candidates = [table for table in tables if MAIN_TABLE in table.source and table.rows]
    # The summary lists judges by trust, baselines last. Of several judges, people are trusted before all.
    judges = [PEOPLE, *(str(row[0]) for table in summary if table.name == JUDGES for row in table.rows)]
    places = {judge: place for place, judge in reversed(list(enumerate(judges)))}
    return min(candidates, key=lambda table: places.get(str(table.source.get("judge", "")), len(judges)), default=None)


def pool_criteria(columns: Columns) -> Columns:
    """Return the verdicts with one criterion: if each task has its own, trust is decided over all of them."""
    if len(np.unique(columns.criterion)) < 2:
        return columns
    names = {**columns.names, "criterion": ("overall",)}
    due = tuple(replace(entry, criterion="overall") for entry in columns.due)
    return replace(columns, names=names, criterion=np.zeros_like(columns.criterion), due=due)


def lead_sentence(main: Table) -> Note:
    """Return who leads in the main table; rows whose intervals overlap the best one's share the first place."""
    metric = str(main.source[LEADS_BY])
    place = main.place(metric)
    named = next(place for place, column in enumerate(main.typed_columns) if column.key in {"judge", "contestant"})
    setting = main.place(_SETTING)
    rows = [
        row for row in main.rows
        if place is not None and row[place] is not None and (setting is None or row[setting] == main.rows[0][setting])
    ]  # fmt: skip
    if place is None or not rows:
        return Note("summary.leads", text=Note("summary.main-empty", metric=metric))
    is_less = main.typed_columns[place].better == "less"
    best = sorted(rows, key=lambda row: (sort_value(row[place]) or 0.0) * (1 if is_less else -1))
    # Ranks such as 1-3 say what cannot be distinguished; places 1, 2, 3 are an order only.
    rank = main.place("rank")
    if rank is None or not isinstance(rows[0][rank], str):
        leaders = [str(row[named]) for row in best if _overlap(row[place], best[0][place])]
    else:
        tiers = tiers_of_ranks([parse_rank(str(row[rank])) for row in best])
        leaders = [str(row[named]) for row, tier in zip(best, tiers, strict=True) if tier == 1]
    value = sort_value(best[0][place]) or 0.0
    shown_value = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"
    best_value = Note("summary.main-best", metric=main.columns[place], value=shown_value)
    judge = str(main.source.get("judge", ""))
    scope = [
        *(
            [Note("summary.main-by-people") if judge == PEOPLE else Note("summary.main-by-judge", judge=judge)]
            if judge
            else []
        ),
        *([] if setting is None else [str(rows[0][setting])]),
        best_value,
    ]
    by = Note("summary.main-by", text=join_notes(scope))
    if len({row[named] for row in rows}) == 1:
        return Note("summary.leads", text=Note("summary.only-one", name=str(rows[0][named]), by=by))
    if len(leaders) == len(best) and len(best) > 1:
        n = len(set(leaders))
        if main.typed_columns[named].key == "judge":
            return Note("summary.leads", text=Note("summary.no-difference-judges", n=n, by=by))
        return Note("summary.leads", text=Note("summary.no-difference", n=n, by=by))
    return Note("summary.leads", text=leaders_note(list(dict.fromkeys(leaders)), by))


def _overlap(cell: Cell, best: Cell) -> bool:
    if isinstance(cell, Estimate) and isinstance(best, Estimate) and not (cell.why or best.why):
        return cell.low <= best.high and best.low <= cell.high
    return sort_value(cell) == sort_value(best)
