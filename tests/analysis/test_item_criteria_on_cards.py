"""A judge with criteria of the items' own rubrics has a short card: one table has a row for each criterion."""

from __future__ import annotations

import random
from collections import defaultdict
from statistics import fmean

import pytest

from fullbench.analysis.judge_card import build_card
from fullbench.analysis.pooled_single_item_criteria import POOLED
from fullbench.core.ballot import ballot
from fullbench.core.case import Case
from fullbench.core.estimate import Estimate
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record

ITEMS, OWN = 30, 11
CONTESTANTS = ("ada", "伯特")
YES_NO = ballot("likert:no|yes")


def record_with_own_criteria(*, shared: bool) -> Record:
    """Marks of two judges and of a person on some items, by criteria that one item alone has, or all have."""
    draw = random.Random(3)
    items, responses, verdicts = {}, {}, []
    for number in range(ITEMS):
        item = items[f"i{number}"] = Item.ask(f"i{number}", f"问题 {number}?")
        criteria = [f"Names fact {number}.{place}." for place in range(OWN)] + ["clarity"] * shared
        for who in CONTESTANTS:
            response = responses[item.id, who] = Response.say(item.id, who, f"{who} on {number}")
            for criterion in criteria:
                case = Case(item, (response,), YES_NO, criterion)
                marks = {name: (float(draw.randint(1, 2)),) for name in ("sharp", "other", "human")}
                for name in ("sharp", "other"):
                    fault = name == "sharp" and draw.random() < 0.1
                    verdicts.append(Verdict.from_case(case, name, "unreadable" if fault else marks[name]))
                if number % 3 == 0:
                    verdicts.append(Verdict.from_case(case, "human", marks["human"], rater="eve"))
    return Record(tuple(verdicts), items, responses)


@pytest.mark.parametrize("shared", [False, True])
def test_the_card_has_a_row_for_each_criterion_and_few_tables(shared: bool):
    record = record_with_own_criteria(shared=shared)
    card = build_card(record, "sharp")
    assert len(card.tables) <= (15 if shared else 6), [table.name for table in card.tables]
    (table,) = [one for one in card.tables if one.name == POOLED]
    marks, counts, unusable = defaultdict(list), defaultdict(int), defaultdict(int)
    for verdict in record.where(judge="sharp"):
        if verdict.criterion != "clarity":
            counts[verdict.criterion] += 1
            if verdict.marks is None:
                unusable[verdict.criterion] += 1
            else:
                marks[verdict.criterion].append(verdict.marks[0])
    expected = {
        name: (1, count, unusable[name], fmean(marks[name]) if marks[name] else None) for name, count in counts.items()
    }
    assert len(expected) == ITEMS * OWN
    assert {row[0]: tuple(row[1:4]) for row in table.rows} == {name: row[:3] for name, row in expected.items()}
    for row in table.rows:
        mean = row[4].value if isinstance(row[4], Estimate) else row[4]
        assert mean == (None if (wanted := expected[str(row[0])][3]) is None else pytest.approx(wanted))


def test_agreement_on_these_criteria_is_one_share_with_its_interval():
    record = record_with_own_criteria(shared=False)
    card = build_card(record, "sharp")
    (table,) = [one for one in card.tables if one.name == POOLED]
    ours = {(v.item, v.criterion, v.contestants): v.marks for v in record.where(judge="sharp", fault=None)}
    equal = [
        ours[key] == vote.marks
        for vote in record.where(judge="human")
        if (key := (vote.item, vote.criterion, vote.contestants)) in ours
    ]
    assert len(equal) > 150
    (sentence,) = [note for note in table.notes if getattr(note, "id", "") == "single-item-criteria.agreement"]
    assert f": {fmean(equal):.3f} [" in sentence
    assert sentence in card.lead
    assert "No human votes" not in card.lead
