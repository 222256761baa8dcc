"""The first page's matrix and the judges' own leaderboard, against the boards and cards that they stand for."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from fullbench.ledger.store import Ledger
from fullbench.nouns.ballot import Choice
from fullbench.nouns.case import Case
from fullbench.nouns.estimate import Estimate
from fullbench.nouns.headings import headings
from fullbench.nouns.item import Item
from fullbench.nouns.response import Response
from fullbench.nouns.table import Table
from fullbench.nouns.verdict import Verdict
from fullbench.web.database import engine_for, reading, upgrade
from fullbench.web.results import boards, cards, judges_board, updater
from fullbench.web.results.boards import Linked
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
                (figure,) = [one for one in rows[name] if isinstance(one, Estimate) and one.value == cell.sort]
                assert cell.n == figure.n
                assert cell.rank == str(rows[name][0])
                seen += 1
    assert seen == 16
    # people's own order, best first
    (human,) = [board for board in every if board and board.name == pairs.columns[0].board]
    (table,) = [one.table for one in human.tables if one.table.name == "leaderboard, pair"]
    assert [name for name, _ in pairs.rows][:2] == [str(row[1]) for row in table.rows][:2]


def test_judges_stand_by_their_agreement_with_people_under_each_criterion(updated):
    with reading(updated) as connection:
        known = [cards.find(connection, "default", name) for name in ("steady", "first-lover")]
    table, standings = judges_board.board([card for card, _ in filter(None, known)], "")
    placed = [(row.judge, row.criterion) for row in standings]
    assert placed[:2] == [("steady", "overall"), ("first-lover", "overall")]
    assert set(placed[2:]) == {("steady", "style"), ("first-lover", "style")}
    agreement, verdicts = table.table.place("agreement on pairs"), table.table.place("verdicts")
    steady, lover, *unvoted = table.table.rows
    assert steady[agreement].value > lover[agreement].value
    for (card, _), row in zip(filter(None, known), (steady, lover), strict=True):
        own = {linked.table.name: linked.table for _, some in card.sections for linked in some}["agreement"]
        (estimate,) = [one[2] for one in own.rows if list(map(str, one[:2])) == ["pairs", "accuracy, ties a class"]]
        assert row[agreement] == estimate
        biases = next(linked.table for _, some in card.sections for linked in some if linked.table.name == "biases")
        (length,) = [one[3] for one in biases.rows if str(one[2]) == "marks for twice the words"]
        assert row[table.table.place("length bias")] == length
    # people voted on nothing under `style`: a dozen rulings of each judge stand there by themselves
    assert [(row[agreement], row[verdicts]) for row in unvoted] == [(None, 12), (None, 12)]
    assert all("agreement is not known" in row.sentence for row in standings[2:])
    assert all("agreement is not known" not in row.sentence for row in standings[:2])
    assert re.search(r"Prefers what is shown first: 8\d% of its choices", standings[1].sentence)
    assert "Prefers" not in standings[0].sentence


def test_agreement_under_a_criterion_of_another_name_is_agreement_all_the_same(tmp_path):
    with Ledger(tmp_path / "l") as ledger:
        for number in range(8):
            for criterion, turned in (("helpfulness", False), ("truth", True)):
                item = Item.ask(f"q{number}", "How many?")
                case = Case(
                    item, (Response.say(item.id, "a", "1"), Response.say(item.id, "b", "2")), Choice(), criterion
                )
                best = (1.0, 0.0) if number % 2 else (0.0, 1.0)
                judged = best[::-1] if turned and number < 6 else best
                people = replace(Verdict.of(case, "human", best), rater="r1")
                ledger.add(case, Verdict.of(case, "j", judged), people)
    with Ledger(tmp_path / "l", read_only=True) as ledger:
        engine = engine_for(f"sqlite:///{tmp_path / 'web.sqlite'}")
        upgrade(engine)
        updater.update(engine, ledger)
        with reading(engine) as connection:
            card, _ = cards.find(connection, "default", "j")
        engine.dispose()
    table, standings = judges_board.board([card], "")
    agreement = table.table.place("agreement on pairs")
    shown = {row.criterion: cells[agreement].value for row, cells in zip(standings, table.table.rows, strict=True)}
    assert shown == {"helpfulness": 1.0, "truth": 0.25}
    assert not any("not known" in row.sentence for row in standings)


@pytest.mark.parametrize(
    ("choices", "marks", "says", "cell"),
    [
        ("yes", "no", "Usable for choices, not for single marks, by the alternative annotator test.", "choices"),
        ("yes", "yes", "Usable for choices; single marks by the alternative annotator test.", "yes"),
        ("no", "no", "Not usable for choices; single marks by the alternative annotator test.", "no"),
    ],
)
def test_a_judge_has_a_plain_verdict_for_each_way_of_ruling(choices, marks, says, cell):
    rows = [["j", "choices", "all", choices], ["j", "single marks", "all", marks], ["j", "choices", "task: a", "no"]]
    tested = Table("replacement", "", headings("judge", "ruling", "slice", "may replace people"), rows)
    (row,) = judges_board.standings_of(cards.Card("j", "", 0, 0, [("Replacement", [Linked(tested)])]))
    assert row.sentence.startswith(says)
    assert str(row.cells["may replace people"]) == cell


def test_a_ranking_is_told_from_first_to_last():
    assert placing("ranking", ["a", "b", "c"], [1.0, 3.0, 2.0]) == [["b"], ["c"], ["a"]]
    assert placing("choice+tie", ["a", "b"], [0.5, 0.5]) == [["a", "b"]]
    assert placing("choice", ["a", "b"], [None, None]) == []
