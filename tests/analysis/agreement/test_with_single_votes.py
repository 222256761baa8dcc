"""A judge beside one person, and people beside each other: splits count, nothing is dropped."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from fullbench import Choice, Item, Record, Response, Verdict
from fullbench.analysis import standard_verdict_tables
from fullbench.analysis.agreement.judges_with_people import compare_with_people
from fullbench.analysis.agreement.with_single_votes import single_vote_table
from fullbench.core.case import Case


def record(seed: int = 1, items: int = 12, people: int = 4) -> tuple[Record, dict[str, tuple[str, list[str]]]]:
    """Pairs with several votes each, splits among them, shown to judge and people in different orders."""
    draw = random.Random(seed)
    verdicts, said = [], {}
    for number in range(items):
        item = Item.ask(f"题{number}", "?")
        pair = tuple(Response.say(item.id, name, name) for name in ("甲", "乙"))
        votes = []
        for person in range(people):
            best = draw.choice(("甲", "乙"))
            shown = pair if draw.random() < 0.5 else pair[::-1]
            case = Case(item, shown, Choice(tie=False))
            marks = [float(response.contestant == best) for response in shown]
            verdicts.append(Verdict.from_case(case, "human", marks, rater=f"p{person}"))
            votes.append(best)
        best = draw.choice(("甲", "乙"))
        marks = [float(response.contestant == best) for response in pair]
        verdicts.append(Verdict.from_case(Case(item, pair, Choice(tie=False)), "judge", marks))
        said[item.id] = (best, votes)
    return Record(tuple(verdicts)), said


@pytest.mark.parametrize("seed", range(3))
def test_both_shares_are_those_counted_by_hand(seed):
    heard, said = record(seed)
    (row,) = single_vote_table(compare_with_people(heard)).rows
    with_one = [sum(vote == best for vote in votes) / len(votes) for best, votes in said.values()]
    together = [sum(a == b for a, b in combinations(votes, 2)) / 6 for _, votes in said.values()]
    assert row[:2] == ["judge", "pairs"]
    assert row[2].value == pytest.approx(sum(with_one) / len(with_one))
    assert row[3].value == pytest.approx(sum(together) / len(together))
    assert row[4].value == pytest.approx(row[2].value - row[3].value)
    assert (row[5], row[2].units) == (12, 12)


def test_the_report_has_the_table_and_counts_the_splits():
    heard, said = record()
    (table,) = (table for table in standard_verdict_tables.verdict_tables(heard) if table.name == "votes")
    split = sum(len(set(votes)) > 1 for _, votes in said.values())
    assert table.notes[-1].startswith(f"{split} of 12 such responses have different votes")


def test_one_vote_each_says_nothing_of_people():
    heard, _ = record(people=1)
    assert single_vote_table(compare_with_people(heard)).rows == []
