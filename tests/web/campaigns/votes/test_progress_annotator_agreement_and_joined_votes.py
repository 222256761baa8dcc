"""How far people agree and how careful each is: against figures that can be counted by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from fullbench.analysis.agreement.among_people import people_agreement_table
from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Table
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record
from fullbench.web.campaigns.campaigns import Campaign
from fullbench.web.campaigns.tasks.task_kind_base import Rules
from fullbench.web.campaigns.votes import leaderboard_and_task_list, progress_annotator_agreement_and_joined_votes
from fullbench.web.campaigns.votes.counted_vote_loader import Vote
from fullbench.web.campaigns.votes.progress_annotator_agreement_and_joined_votes import agreement_table

STUDY = Campaign("s", "s", "pair", Rules("choice+tie"), "", 2, 2, "majority", 60, 0, 0.7, False, 0, 0, 0, "open", 0.0)


def votes(**said):
    """One vote a letter: A, B or T for a tie; a dot where somebody could not judge, a space where nobody asked."""
    codes = {"A": "0", "B": "1", "T": "tie", ".": None}
    return [
        Vote(task, task, "work", who, {}, (0, 1), codes[letter], None, 10.0, 0.0)
        for who, letters in said.items()
        for task, letter in enumerate(letters)
        if letter != " "
    ]


def figures(table):
    return dict(table.rows)


def test_two_people_meet_cohen():
    ann, bob = "AABBATABBA", "AABAATABBB"
    table = figures(agreement_table(STUDY, votes(ann=ann, bob=bob)))
    same = table["pairs of votes that say the same"]
    assert (same.value, same.n) == (0.8, 10)
    fleiss = table["Fleiss' kappa (first 2 votes of each task)"]
    assert fleiss.value == pytest.approx(cohen_kappa_score(list(ann), list(bob)), abs=0.02)


def test_a_campaign_and_a_report_of_its_votes_agree():
    """Four tasks on each of nine items, easy or hopeless: one alpha and one share, with one interval each."""
    rng = np.random.default_rng(8)
    pairs, marks = list(combinations("pqrs", 2))[:4], {"A": (1.0, 0.0), "B": (0.0, 1.0), "T": (0.5, 0.5)}
    chances = [[0.9, 0.05, 0.05] if item % 2 else [0.4, 0.4, 0.2] for item in range(9) for _ in pairs]
    said = {who: "".join(rng.choice(list("ABT"), p=chance) for chance in chances) for who in ("ann", "bob", "eve")}
    items = {task: f"i{task // len(pairs)}" for task in range(len(chances))}
    shown = figures(agreement_table(STUDY, votes(**said), items))
    verdicts = [
        Verdict(f"c{task}", PEOPLE, items[task], pairs[task % len(pairs)], "choice+tie", marks=marks[letter], rater=who)
        for who, letters in said.items() for task, letter in enumerate(letters)
    ]  # fmt: skip
    (row,) = people_agreement_table(columns_from_verdicts(Record(tuple(verdicts)))).rows
    assert shown["Krippendorff's alpha (nominal)"] == row[-2]
    assert shown["pairs of votes that say the same"] == row[-1]
    assert (row[-1].units, row[-1].n) == (9, 36)
    assert shown["Fleiss' kappa (first 2 votes of each task)"].units == 9


def test_no_agreement_is_said_not_made_up():
    table = agreement_table(STUDY, votes(ann="AAA"))
    assert [value for _, value in table.rows] == [None, None, None]
    assert len(table.notes) == 3 or len(table.notes) == 2


def test_each_person_beside_the_majority_of_the_others():
    given = votes(ann="AAAA", bob="AAAA", eve="AABB", dan="A.  ")
    rows = {row[0]: row for row in progress_annotator_agreement_and_joined_votes.annotator_table(given, [], {}).rows}
    assert rows["eve"][3].value == 0.5
    assert rows["ann"][3].n == 2
    assert rows["ann"][3].value == 1.0
    assert isinstance(rows["bob"][3], Estimate)


def test_haste_is_seen():
    slow = [Vote(n, n, "work", "ann", {}, (0, 1), "0", None, 10.0, 0.0) for n in range(8)]
    quick = [Vote(n, n, "work", "bob", {}, (0, 1), "0", None, 1.0, 0.0) for n in range(4)]
    rows = {
        row[0]: row
        for row in progress_annotator_agreement_and_joined_votes.annotator_table([*slow, *quick], [], {}).rows
    }
    assert (rows["ann"][-1], rows["bob"][-1], rows["bob"][-2]) == ("", "look", 100)


def test_known_answers_are_counted():
    known = [Vote(n, n, "gold", "ann", {}, (0, 1), "0", n != 0, 5.0, 0.0) for n in range(4)]
    assert (
        progress_annotator_agreement_and_joined_votes.annotator_table([], known, {"ann": "Ann"}).rows[0][2].value
        == 0.75
    )


def test_together_counts_draws_as_draws():
    said = progress_annotator_agreement_and_joined_votes.join_votes(votes(ann="AAB", bob="ABB", eve="A  "))
    assert said.majority == {0: "0", 1: None, 2: "1"}
    assert said.weighted(0)[0] == "0"


def test_a_rating_is_brought_to_points_and_a_mean_to_tenths():
    """Four times the votes halve an interval; rankings have ratings too."""
    rows = [["x", Estimate(1050.0, 1000.0, 1100.0, 10)], ["y", Estimate(950.0, 930.0, 970.0, 10)]]
    rated = Table("board", "Leaderboard", table_columns("contestant", "rating"), rows)
    assert "300 more votes" in str(leaderboard_and_task_list.votes_needed_note([rated], 100))  # ±50 to ±25
    marked = Table("board", "Leaderboard", table_columns("contestant", "mean"), [["x", Estimate(3, 2.5, 3.5, 9)]])
    assert "2,400 more votes" in str(leaderboard_and_task_list.votes_needed_note([marked], 100))  # ±0.5 to ±0.1
    assert "is ±0.25 or narrower" in str(leaderboard_and_task_list.votes_needed_note([marked], 100, 0.25))
