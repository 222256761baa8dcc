"""Notes and common scales on the boards of a judge that replaced another, and of the replaced judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from fullbench.core.table import Table
from fullbench.ledger.judge_replacements import JudgeReplacement
from fullbench.ledger.ledger import Ledger
from fullbench.studies.leaderboards.common_scale_after_judge_replacement import with_judge_changes
from fullbench.web.results.boards.board_store import Board, LinkedTable
from fullbench.web.results.lists.verdict_filters import Filter

Subject = tuple[str, str, str]


def replacement_inputs(
    subject: Subject, replacements: Sequence[JudgeReplacement], totals: Mapping[Subject, object]
) -> list[object]:
    """Return the inputs of a board's replacement notes besides its own verdicts. Empty without a replacement."""
    study, judge, criterion = subject
    board_replacements = [
        replacement
        for replacement in replacements
        if replacement.study == study and judge in {replacement.old, replacement.new}
    ]
    return [
        [
            replacement.old,
            replacement.new,
            *(totals.get((study, name, criterion)) for name in (replacement.old, replacement.new)),
        ]
        for replacement in board_replacements
    ]


def with_replacement_notes(board: Board, ledger: Ledger, link: str) -> Board:
    """Add replacement notes and common scales to a board. `link` is the study's name in filters."""
    tables = [linked_table.table for linked_table in board.tables]
    annotated_tables = with_judge_changes(tables, ledger, board.study, judges=[board.judge])
    common_scales, noted_tables = (
        annotated_tables[: len(annotated_tables) - len(tables)],
        annotated_tables[len(annotated_tables) - len(tables) :],
    )
    linked_scales = [
        _link_common_scale(table, link) for table in common_scales if table.source["criterion"] == board.criterion
    ]
    linked_tables = [
        replace(linked_table, table=table) for linked_table, table in zip(board.tables, noted_tables, strict=True)
    ]
    leaderboards = [linked_table for linked_table in linked_tables if linked_table.table.name.startswith("leaderboard")]
    other_tables = [
        linked_table for linked_table in linked_tables if not linked_table.table.name.startswith("leaderboard")
    ]
    return replace(board, tables=[*leaderboards, *linked_scales, *other_tables])


def _link_common_scale(table: Table, link: str) -> LinkedTable:
    old, new, criterion = (str(table.source[name]) for name in ("old", "new", "criterion"))
    links = []
    for row in table.rows:
        of_judge = partial(Filter, study=link, criterion=criterion, contestant=str(row[0]))
        links.append([None, None, None, *(of_judge(judge=name, fault="none") for name in (old, new))])
    return LinkedTable(table, links)
