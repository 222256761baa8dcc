"""People beside reviewers: votes settled, and the two shares."""

from __future__ import annotations

import pytest

from fullbench.analysis.peer_review.reviewers_with_people import reviewers_with_people_table, settle_votes
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.rubric import CORRECTNESS
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.judges.peer_review.review_items_and_cases import BALLOT


@pytest.mark.parametrize(
    ("votes", "wanted"),
    [([], None), (["A"], None), (["A", "A", "B", "B", "B"], "B"), (["A", "B", "C"], None), (["A", "B", "C", "B"], "B")],
)
def test_votes_settle_by_majority(votes, wanted):
    assert settle_votes(votes) == wanted


def test_agreement_and_consistency_are_two_shares():
    item = Item("q", Item.ask("x", "?").turns, tags={"image": "p", "reviewer": "r"})
    answers = {name: Response.say("q", name, name) for name in "abc"}
    ruled, people = [], []
    for (one, two), choices, told in (
        ("ab", ("a", "a"), (1, 1)),
        ("ac", ("c", "a", "c"), (0, 1, 1)),
        ("bc", ("b", "c"), ()),
    ):
        case = Case(item, (answers[one], answers[two]), BALLOT, CORRECTNESS)
        ruled.append(Verdict.from_case(case, "r+judge", (1, 0)))
        for trial, choice in enumerate(choices):
            people.append(Verdict.from_case(case.at(trial), "human", (float(choice == one), float(choice == two))))
        for trial, yes in enumerate(told):
            people.append(
                Verdict(f"on {case.key}", "human", case.key, ("r+judge",), "likert:no|yes", "agrees", trial, (1 + yes,))
            )
    (row,) = reviewers_with_people_table(Record((*ruled, *people), {"q": item})).rows
    assert row[0] == CORRECTNESS
    assert (row[1].value, row[1].n) == (1.0, 2)
    assert (row[2].value, row[2].n) == (0.5, 2)
    assert row[3] == 1
