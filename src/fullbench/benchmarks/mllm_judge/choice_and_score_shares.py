"""Shares of choices and scores by judge and contestant, people included (Figures 4, 19 and 20)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from fullbench.analysis.agreement.judges_with_people import winner_index
from fullbench.analysis.item_clustered_means_and_shares import share_estimate
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, word_note
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record

_PLACES: Mapping[int | None, str] = {0: "first shown", None: "tie", 1: "second shown"}
_SCORES = range(1, 6)


def share_tables(record: Record) -> list[Table]:
    """Return the three tables, without empty ones."""
    all_tables = (choice_share_table(record), score_share_table(record), chosen_share_table(record))
    return [table for table in all_tables if table.rows]


def _pairs(record: Record, judge: str) -> list[tuple[Verdict, int | None]]:
    """Return each choice between two responses with the place of the winner, or None for a tie."""
    return [
        (verdict, winner_index(verdict.marks))
        for verdict in record.where(judge=judge)
        if verdict.marks is not None and len(verdict.marks) == 2
    ]


def _share(hits: Sequence[tuple[bool, str]]) -> Estimate:
    """Return the share of hits, each with its item."""
    items = np.unique([item for _, item in hits], return_inverse=True)[1]
    return share_estimate(np.array([float(hit) for hit, _ in hits]), items)


def choice_share_table(record: Record) -> Table:
    """Return how often each judge chooses the first one shown, the second, or neither (Figure 4, left)."""
    rows: list[list[Cell]] = []
    for judge in record.judges:
        pairs = _pairs(record, judge)
        for place, name in _PLACES.items() if pairs else ():
            hits = [(winner == place, verdict.item) for verdict, winner in pairs]
            rows.append([judge, word_note(name), _share(hits)])
    hint = {"kind": "bars", "label": "place", "value": "share", "group": "judge"}
    title = Note("mllm-judge.drawings.title.choices")
    return Table("choice shares", title, table_columns("judge", "place", "share"), rows, (), {}, hint)


def score_share_table(record: Record) -> Table:
    """Return how often each judge gives each score to each contestant (Figure 19)."""
    rows: list[list[Cell]] = []
    for judge in record.judges:
        scores: dict[str, list[tuple[float, str]]] = defaultdict(list)
        for verdict in record.where(judge=judge):
            if verdict.marks is not None and verdict.ballot == "score:1-5":
                scores[verdict.contestants[0]].append((verdict.marks[0], verdict.item))
        for contestant, marks in sorted(scores.items()):
            rows += [
                [judge, contestant, score, _share([(mark == score, item) for mark, item in marks])] for score in _SCORES
            ]
    hint = {"kind": "heat", "row": "judge", "within": "contestant", "column": "mark", "value": "share"}
    title = Note("mllm-judge.drawings.title.scores-by-contestant")
    columns = table_columns("judge", "contestant", "mark", "share")
    return Table("score shares by contestant", title, columns, rows, (), {}, hint)


def chosen_share_table(record: Record) -> Table:
    """Return how often each judge chooses each contestant in pairs, ties counted and left out (Figure 20)."""
    rows: list[list[Cell]] = []
    for judge in record.judges:
        choices_by_judge: dict[str, list[tuple[bool | None, str]]] = defaultdict(list)
        for verdict, winner in _pairs(record, judge):
            for place, contestant in enumerate(verdict.contestants):
                choices_by_judge[contestant].append((None if winner is None else winner == place, verdict.item))
        for contestant, entries in sorted(choices_by_judge.items()):
            decided = [(bool(hit), item) for hit, item in entries if hit is not None]
            rows.append(
                [
                    judge,
                    contestant,
                    _share([(bool(hit), item) for hit, item in entries]),
                    _share(decided) if decided else None,
                    len(entries) - len(decided),
                ]
            )
    hint = {"kind": "bars", "label": "contestant", "value": "chosen, ties left out", "group": "judge"}
    title = Note("mllm-judge.drawings.title.chosen")
    columns = table_columns("judge", "contestant", "chosen, ties counted", "chosen, ties left out", "ties")
    return Table("chosen by contestant", title, columns, rows, (), {}, hint)
