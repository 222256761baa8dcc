"""The first page's matrix and the judges' own leaderboard, against the boards and cards that they stand for."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from fullbench.core.ballot import Choice
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.case import Case
from fullbench.core.estimate import Estimate
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.table import Table
from fullbench.core.verdict import Verdict
from fullbench.ledger.ledger import Ledger
from fullbench.web.database import engine_for, read_transaction, upgrade_schema
from fullbench.web.results.boards import board_store, judge_cards, judge_leaderboard
from fullbench.web.results.boards.board_store import Board, LinkedTable
from fullbench.web.results.boards.contestants_by_judges_matrix import build_matrices
from fullbench.web.results.catalogue import catalogue_board_and_page_updater
from fullbench.web.results.pages.marks_and_rankings_in_words import ranked_groups
from fullbench.web.results.pages.study_summary import outcome_sentences


@pytest.fixture(scope="module")
def updated(new_engine, ledger):
    engine = new_engine()
    catalogue_board_and_page_updater.update_catalogue(engine, ledger)
    return engine


def test_every_cell_is_what_the_judges_own_board_says(updated):
    with read_transaction(updated) as connection:
        every = [board_store.find_board(connection, heading.name) for heading in board_store.board_headings(connection)]
    found = build_matrices(board for board in every if board)
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
    with read_transaction(updated) as connection:
        known = [judge_cards.find_card(connection, "default", name) for name in ("steady", "first-lover")]
    table, standings = judge_leaderboard.judge_board([card for card, _ in filter(None, known)], "")
    placed = [(row.judge, row.criterion) for row in standings]
    assert placed[:2] == [("steady", "overall"), ("first-lover", "overall")]
    assert set(placed[2:]) == {("steady", "style"), ("first-lover", "style")}
    agreement, verdicts = table.table.place("agreement on pairs"), table.table.place("verdicts")
    steady, lover, *unvoted = table.table.rows
    assert steady[agreement].value > lover[agreement].value
    for (card, _), row in zip(filter(None, known), (steady, lover), strict=True):
        own = {linked.table.name: linked.table for _, some in card.sections for linked in some}["agreement"]
        (estimate,) = [one[2] for one in own.rows if list(map(str, one[:2])) == ["pairs", "accuracy with ties"]]
        assert row[agreement] == estimate
        biases = next(linked.table for _, some in card.sections for linked in some if linked.table.name == "biases")
        (length,) = [one[3] for one in biases.rows if str(one[2]) == "marks for twice the words"]
        assert row[table.table.place("length bias")] == length
        (won,) = [one[3] for one in biases.rows if str(one[2]) == "pairs won for twice the words"]
        assert row[table.table.place("length bias on pairs")] == won
        # one call of half a second and $0.002 each, whatever the item: there is nothing to take an interval from
        price, seconds = (row[table.table.place(key)] for key in ("dollars per 1,000", "s a call"))
        assert (price.value, seconds.value, price.n) == (pytest.approx(2.0), pytest.approx(0.5), row[verdicts])
        assert price.why
    # people voted on nothing under `style`: a dozen rulings of each judge stand there by themselves
    assert [(row[agreement], row[verdicts]) for row in unvoted] == [(None, 12), (None, 12)]
    assert all("agreement is unknown" in row.sentence for row in standings[2:])
    assert all("agreement is unknown" not in row.sentence for row in standings[:2])
    assert re.search(r"Prefers the first shown: 8\d% of its choices", standings[1].sentence)
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
                people = replace(Verdict.from_case(case, "human", best), rater="r1")
                ledger.add(case, Verdict.from_case(case, "j", judged), people)
    with Ledger(tmp_path / "l", read_only=True) as ledger:
        engine = engine_for(f"sqlite:///{tmp_path / 'web.sqlite'}")
        upgrade_schema(engine)
        catalogue_board_and_page_updater.update_catalogue(engine, ledger)
        with read_transaction(engine) as connection:
            card, _ = judge_cards.find_card(connection, "default", "j")
        engine.dispose()
    table, standings = judge_leaderboard.judge_board([card], "")
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
        (
            "not enough data",
            "no",
            "Not usable for single marks by the alternative annotator test. Not enough data for choices",
            "not enough data",
        ),
    ],
)
def test_a_judge_has_a_plain_verdict_for_each_way_of_ruling(choices, marks, says, cell):
    rows = [["j", "choices", "all", choices], ["j", "single marks", "all", marks], ["j", "choices", "task: a", "no"]]
    tested = Table("replacement", "", table_columns("judge", "verdict", "slice", "may replace people"), rows)
    (row,) = judge_leaderboard.standings_of(judge_cards.Card("j", "", 0, 0, [("Replacement", [LinkedTable(tested)])]))
    assert row.sentence.startswith(says)
    assert str(row.cells["may replace people"]) == cell


def ranked(rows, judge="j"):
    """A board of one judge: rank sets, names and ratings, the best first."""
    cells = [[rank, name, Estimate(value, value - 9, value + 9, 50)] for rank, name, value in rows]
    table = Table(
        "leaderboard, pair", "", table_columns("rank", "contestant", "rating"), cells, source={"family": "pair"}
    )
    return Board("default", judge, "overall", 9, [LinkedTable(table)], "")


def test_rows_are_in_the_order_of_peoples_own_board_however_rank_sets_overlap():
    people = ranked([("1-3", "zeta", 1500.0), ("1-3", "alpha", 1400.0), ("4-7", "mid", 1100.0), ("3-7", "low", 1090.0)],
                    "human")  # fmt: skip
    judge = ranked([("1", "low", 1600.0), ("2", "mid", 1500.0), ("3", "alpha", 900.0), ("4", "zeta", 800.0)])
    (shown,) = build_matrices([judge, people])
    assert [name for name, _ in shown.rows] == ["zeta", "alpha", "mid", "low"]
    (alone,) = build_matrices([ranked([("1-2", "zeta", 1140.0), ("1-2", "alpha", 860.0)])])
    assert [name for name, _ in alone.rows] == ["zeta", "alpha"]


@pytest.mark.parametrize(
    ("boards", "says"),
    [
        ([[("1", "b", 9.0), ("2", "a", 1.0)]], "The judge puts b first."),
        ([[("1-2", "b", 9.0), ("1-2", "a", 8.0)]], "The judge's verdicts do not distinguish the contestants."),
        ([[("1-2", "b", 9.0), ("1-3", "a", 8.0), ("3", "c", 1.0)]], "For the judge b, a share the first place."),
        (
            [
                [("1", "b", 9.0), ("2", "a", 1.0)],
                [("1", "b", 9.0), ("2", "a", 1.0)],
                [("1", "a", 9.0), ("2", "b", 1.0)],
            ],
            "For 2 of 3 judges b is first, alone or with others.",
        ),
        (
            [[("1-2", "b", 9.0), ("1-2", "a", 8.0), ("3", "c", 1.0)]] * 2,
            "For 2 of 2 judges each of b, a is first, alone or with others.",
        ),
        (
            [[("1-5", name, 9.0) for name in "bacde"] + [("6", "f", 1.0)]] * 2,
            "For 2 of 2 judges each of b, a, c and 2 more is first, alone or with others.",
        ),
    ],
)
def test_what_came_out_names_everybody_who_is_first_as_often(boards, says):
    shown = build_matrices([ranked(rows, f"j{number}") for number, rows in enumerate(boards)])
    (sentence,) = outcome_sentences(shown)
    assert sentence.words.format(**sentence.values) == says


def test_a_ranking_is_told_from_first_to_last():
    assert ranked_groups("ranking", ["a", "b", "c"], [1.0, 3.0, 2.0]) == [["b"], ["c"], ["a"]]
    assert ranked_groups("choice+tie", ["a", "b"], [0.5, 0.5]) == [["a", "b"]]
    assert ranked_groups("choice", ["a", "b"], [None, None]) == []
