"""The board shown first, and what a corrected board says of its votes: journeys over records made for the test."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations

import pytest

from fullbench.analysis.boards.choice_of_first_board import choose_first_board
from fullbench.analysis.boards.leaderboard import build_boards
from fullbench.analysis.boards.mean_leaderboards import mean_tables
from fullbench.analysis.people.corrected_leaderboards import corrected_boards, corrected_tables
from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.core.verdict import Circumstances, Verdict
from fullbench.core.verdict_record import Record

NAMES = ("a", "b", "c")


def verdict(judge, number, pair, marks, **more):
    return Verdict(f"{number}{pair}", judge, f"i{number}", pair, "choice+tie",
                   **({"fault": marks} if isinstance(marks, str) else {"marks": marks}), **more)  # fmt: skip


def votes_and_verdicts(share, chance=None, *, seed=1, items=40, raters=1, judges=("good", "poor")):
    """Judges on all pairs; people on a share of them, each vote with a chance; with several raters they disagree."""
    draw, verdicts = random.Random(seed), []
    for number in range(items):
        for pair in combinations(NAMES, 2):
            best = pair[0] if draw.random() < 0.65 else pair[1]
            for judge in judges:
                follows = draw.random() < (0.9 if judge == "good" else 0.5)
                says = best if follows else pair[best == pair[0]]
                verdicts.append(verdict(judge, number, pair, tuple(float(name == says) for name in pair)))
            if draw.random() < share:
                for rater in range(raters):
                    says = best if draw.random() < 0.8 else pair[best == pair[0]]
                    marks = tuple(float(name == says) for name in pair)
                    how = Circumstances(probability=chance)
                    verdicts.append(verdict("human", number, pair, marks, rater=f"r{rater}", circumstances=how))
    return verdicts


def first_of(verdicts):
    return choose_first_board(columns_from_verdicts(Record(tuple(verdicts))))


def test_the_first_board_is_the_best_that_votes_allow():
    drawn = first_of(votes_and_verdicts(0.5, 0.5))
    assert (drawn.kind, drawn.judge, drawn.family) == ("corrected", "all judges together", "pair")
    alone = first_of(votes_and_verdicts(0.5, 0.5, judges=("good",)))
    assert (alone.kind, alone.judge) == ("corrected", "good")
    unknown = first_of(votes_and_verdicts(0.5))
    assert (unknown.kind, unknown.judge) == ("people", "human")
    complete = first_of(votes_and_verdicts(1.0, 1.0))
    assert (complete.kind, complete.judge) == ("people", "human")
    few = first_of(votes_and_verdicts(0.1, 0.1, items=45))
    assert (few.kind, few.judge) == ("judge", "good")
    assert "agrees best with people" in few.reason
    none = first_of(votes_and_verdicts(0))
    assert none.kind == "judge"
    assert none.reason == f"Based on judge {none.judge} only; people may rank differently."
    people = [one for one in votes_and_verdicts(0.02, seed=4) if one.judge == "human"]
    assert first_of(people).kind == "people"
    assert first_of([verdict("good", 0, ("a", "b"), "refused")]) is None


def test_a_judge_that_always_ties_is_not_the_one_that_agrees_best():
    """It is half a point from every vote, nearer than a judge that names the winner of 5 in 12."""
    verdicts = []
    for number in range(12):
        won, lost = (1.0, 0.0), (0.0, 1.0)
        for judge, marks in (("tied", (0.5, 0.5)), ("weak", won if number < 5 else lost), ("human", won)):
            verdicts.append(verdict(judge, number, ("a", "b"), marks, rater="r" if judge == "human" else ""))
        verdicts.append(verdict("weak", number, ("b", "c"), won))
    few = first_of(verdicts)
    assert (few.kind, few.judge) == ("judge", "weak")


def test_one_contestant_without_votes_is_enough_for_another_first_board():
    verdicts = [one for one in votes_and_verdicts(0.5, 0.5) if one.judge != "human" or "c" not in one.contestants]
    assert first_of(verdicts).kind == "judge"


@pytest.mark.parametrize(
    ("chance", "said"), [(0.5, "a random sample, as recorded"), (None, "How it was drawn is not recorded")]
)
def test_every_corrected_board_says_how_its_pairs_were_chosen(chance, said):
    for board in corrected_boards(Record(tuple(votes_and_verdicts(0.5, chance)))):
        (note,) = (note for note in board.notes if note.startswith("Assumption"))
        assert said in note


def test_people_have_one_rule_on_all_boards():
    """Three people who disagree: people alone on a corrected board is people's own board, in value and interval."""
    record = Record(tuple(votes_and_verdicts(1.0, raters=3, seed=7)))
    (board,) = (one for one in build_boards(record) if one.key.judge == "human")
    for corrected in corrected_boards(record):
        alone = {line.contestant: line.people for line in corrected.lines_for("rating")}
        won = {line.contestant: line.people for line in corrected.lines_for("matches won")}
        for name in NAMES:
            row = next(row for row in board.standings.rows if row[1] == name)
            assert (alone[name], won[name]) == (board.rating_of(name), row[3])
        assert any("Several votes count as one: the majority" in note for note in corrected.notes)
    means = list(corrected_boards(record, rule="mean"))
    assert any("the mean" in note for note in means[0].notes)
    assert "(rule for several votes: mean)" in means[0].tables()[0].title


def test_a_board_of_votes_on_all_pairs_has_no_corrected_column():
    for table in corrected_tables(Record(tuple(votes_and_verdicts(1.0, judges=("good",)))))[:2]:
        assert [str(column) for column in table.columns][2:6] == [
            "people alone", "judge alone", "judge minus people", "votes",
        ]  # fmt: skip
        assert "corrected" not in [str(column) for column in table.columns]
    notes = corrected_tables(Record(tuple(votes_and_verdicts(1.0, judges=("good",)))))[0].notes
    assert any("nothing to correct" in note for note in notes)
    assert not any("narrower" in note for note in notes)


def test_a_contestant_with_few_votes_has_a_reason_instead_of_a_rating():
    kept, verdicts = 0, []
    for one in votes_and_verdicts(0.6, 0.6, judges=("good",)):
        if one.judge == "human" and "c" in one.contestants:
            kept += 1
            if kept > 6:
                continue
        verdicts.append(one)
    table = corrected_tables(Record(tuple(verdicts)))[0]
    (row,) = (row for row in table.rows if row[1] == "c")
    assert row[:2] == ["-", "c"]
    cells = dict(zip(map(str, table.columns[2:]), row[2:], strict=True))
    assert cells.pop("votes") == 6
    assert set(cells.values()) == {None}
    assert any("No corrected numbers for c (6): fewer than 10 votes each" in note for note in table.notes)
    assert all(row[2].high > row[2].low for row in table.rows if row[1] != "c")


def test_votes_on_the_pairs_of_one_contestant_are_warned_about_and_reweighted():
    draw = random.Random(3)
    every = votes_and_verdicts(1.0, judges=("good",), items=60)
    verdicts = [
        one for one in every
        if one.judge != "human" or draw.random() < (0.75 if "a" in one.contestants else 0.2)
    ]  # fmt: skip
    table = corrected_tables(Record(tuple(verdicts)))[0]
    (warning,) = (note for note in table.notes if note.startswith("WARNING"))
    assert "pairs with a (" in warning
    assert "reweighted" in [str(column) for column in table.columns]
    draw = random.Random(1)
    fair = [one for one in every if one.judge != "human" or draw.random() < 0.5]
    assert not any(note.startswith("WARNING") for note in corrected_tables(Record(tuple(fair)))[0].notes)


def test_unusable_verdicts_are_counted_by_contestant_and_bounded():
    """A judge refuses half of c's pairs: shares, and bounds from plain counts."""
    draw = random.Random(5)
    verdicts = [
        replace(one, marks=None, fault="refused") if "c" in one.contestants and draw.random() < 0.5 else one
        for one in votes_and_verdicts(0, judges=("good",))
    ]
    (board,) = build_boards(Record(tuple(verdicts)))
    mine = [one for one in verdicts if "c" in one.contestants]
    lost = sum(one.fault is not None for one in mine)
    won = sum(one.marks[one.contestants.index("c")] for one in mine if one.marks)
    counts = dict(zip(board.standings.column("contestant"), board.standings.column("unusable"), strict=True))
    assert counts["c"] == lost
    (note,) = (note for note in board.standings.notes if note.startswith("Unusable verdicts are not spread"))
    assert f"c {lost / len(mine):.0%} of {len(mine)}" in note
    assert f"between {won / len(mine):.2f} and {(won + lost) / len(mine):.2f}" in note
    voted = [*verdicts, *(one for one in votes_and_verdicts(0.5, judges=()) if one.judge == "human")]
    ratings, shares = corrected_tables(Record(tuple(voted)))[:2]
    for table in (ratings, shares):
        assert dict(zip(table.column("contestant"), table.column("unusable"), strict=True)) == counts
    (note,) = (note for note in ratings.notes if note.startswith("Unusable verdicts are not spread"))
    assert f"c {lost / len(mine):.0%} of {len(mine)}" in note
    spread = [
        replace(one, marks=None, fault="refused") if draw.random() < 0.2 else one
        for one in votes_and_verdicts(0, judges=("good",))
    ]
    (board,) = build_boards(Record(tuple(spread)))
    assert sum(board.standings.column("unusable")) == 2 * sum(one.fault is not None for one in spread)
    assert not any(note.startswith("Unusable verdicts are not spread") for note in board.standings.notes)


def test_refused_marks_are_bounded_by_the_scale():
    draw = random.Random(6)
    verdicts = [
        Verdict(f"{n}{name}", "j", f"i{n}", (name,), "score:1-5",
                **({"fault": "refused"} if name == "c" and draw.random() < 0.5 else {"marks": (float(1 + n % 5),)}))
        for n in range(40) for name in NAMES
    ]  # fmt: skip
    (table,) = mean_tables(columns_from_verdicts(Record(tuple(verdicts))))
    marks = [one.marks[0] for one in verdicts if one.contestants == ("c",) and one.marks]
    lost = 40 - len(marks)
    (note,) = (note for note in table.notes if note.startswith("Unusable verdicts are not spread"))
    assert f"between {(sum(marks) + lost) / 40:.2f} and {(sum(marks) + 5 * lost) / 40:.2f}" in note
    assert dict(zip(table.column("contestant"), table.column("unusable"), strict=True)) == {"a": 0, "b": 0, "c": lost}
