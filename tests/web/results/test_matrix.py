"""The first page's matrix and the judges' own leaderboard, against the boards and cards that they stand for."""

from __future__ import annotations

import re

import pytest

from fullbench.nouns.table import EstimateLike
from fullbench.web.database import reading
from fullbench.web.results import boards, cards, judges_board, updater
from fullbench.web.results.matrix import matrices
from fullbench.web.results.wording import placing


@pytest.fixture(scope="module")
def updated(new_engine, ledger):
    engine = new_engine()
    updater.update(engine, ledger)
    return engine


def test_every_cell_is_what_the_judges_own_board_says(updated):
    with reading(updated) as connection:
        every = [boards.find(connection, heading.name) for heading in boards.headings(connection)]
    found = matrices(board for board in every if board)
    assert {(one.criterion, one.family) for one in found} == {
        ("overall", "pair"), ("overall", "score"), ("style", "ranking")
    }  # fmt: skip
    (pairs,) = [one for one in found if one.family == "pair"]
    assert pairs.columns[0].people
    assert pairs.by_people
    assert len(pairs.columns) == 4
    seen = 0
    for place, column in enumerate(pairs.columns):
        (board,) = [board for board in every if board and board.name == column.board]
        (table,) = [one.table for one in board.tables if one.table.name == "leaderboard, pair"]
        rows = {str(row[1]): row for row in table.rows}
        for name, cells in pairs.rows:
            cell = cells[place]
            assert (cell is None) == (name not in rows)
            if cell is not None:
                (figure,) = [one for one in rows[name] if isinstance(one, EstimateLike) and one.value == cell.sort]
                assert cell.n == figure.n
                assert cell.rank == str(rows[name][0])
                seen += 1
    assert seen == 16
    # people's own order, best first
    (human,) = [board for board in every if board and board.name == pairs.columns[0].board]
    (table,) = [one.table for one in human.tables if one.table.name == "leaderboard, pair"]
    assert [name for name, _ in pairs.rows][:2] == [str(row[1]) for row in table.rows][:2]


def test_judges_stand_by_their_agreement_with_people(updated):
    with reading(updated) as connection:
        known = [cards.find(connection, "default", name) for name in ("steady", "first-lover")]
    table, standings = judges_board.board([card for card, _ in filter(None, known)], "")
    assert [one.judge for one in standings] == ["steady", "first-lover"]
    place = table.table.place("agreement on pairs")
    steady, lover = (row[place] for row in table.table.rows)
    assert steady.value > lover.value
    for (card, _), row in zip(filter(None, known), table.table.rows, strict=True):
        agreement = {linked.table.name: linked.table for _, some in card.sections for linked in some}["agreement"]
        (estimate,) = [
            one[2] for one in agreement.rows if list(map(str, one[:2])) == ["pairs", "accuracy, ties a class"]
        ]
        assert row[place] == estimate
    assert re.search(r"Prefers what is shown first: 8\d% of its choices", standings[1].sentence)
    assert "Prefers" not in standings[0].sentence


def test_a_ranking_is_told_from_first_to_last():
    assert placing("ranking", ["a", "b", "c"], [1.0, 3.0, 2.0]) == [["b"], ["c"], ["a"]]
    assert placing("choice+tie", ["a", "b"], [0.5, 0.5]) == [["a", "b"]]
    assert placing("choice", ["a", "b"], [None, None]) == []
