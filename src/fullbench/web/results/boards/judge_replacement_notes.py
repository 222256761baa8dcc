"""Where one judge succeeded another: both judges' boards carry the seam, and the common scale beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from fullbench.core.table import Table
from fullbench.ledger.judge_replacements import Succession
from fullbench.ledger.ledger import Ledger
from fullbench.studies.leaderboards.judge_replacement import with_seams
from fullbench.web.results.boards.board_store import Board, Linked
from fullbench.web.results.lists.verdict_filters import Filter

Subject = tuple[str, str, str]
"""Study, judge and criterion of a board."""


def behind(subject: Subject, successions: Sequence[Succession], counted: Mapping[Subject, object]) -> list[object]:
    """What a board's seams would be computed from, beside the judge's own verdicts; nothing where there is no seam."""
    study, judge, criterion = subject
    ours = [each for each in successions if each.study == study and judge in {each.old, each.new}]
    return [
        [each.old, each.new, *(counted.get((study, name, criterion)) for name in (each.old, each.new))] for each in ours
    ]


def seamed(board: Board, ledger: Ledger, link: str) -> Board:
    """The board with its seams in view; `link` is how a filter names the study."""
    own = [linked.table for linked in board.tables]
    shown = with_seams(own, ledger, board.study, judges=[board.judge])
    common, noted = shown[: len(shown) - len(own)], shown[len(shown) - len(own) :]
    scales = [_linked(table, link) for table in common if table.source["criterion"] == board.criterion]
    kept = [replace(linked, table=table) for linked, table in zip(board.tables, noted, strict=True)]
    first = [linked for linked in kept if linked.table.name.startswith("leaderboard")]
    rest = [linked for linked in kept if not linked.table.name.startswith("leaderboard")]
    return replace(board, tables=[*first, *scales, *rest])


def _linked(table: Table, link: str) -> Linked:
    """Counts of matches lead to the verdicts of the judge that ruled them."""
    old, new, criterion = (str(table.source[name]) for name in ("old", "new", "criterion"))
    links = []
    for row in table.rows:
        of_judge = partial(Filter, study=link, criterion=criterion, contestant=str(row[0]))
        links.append([None, None, None, *(of_judge(judge=name, fault="none") for name in (old, new))])
    return Linked(table, links)
