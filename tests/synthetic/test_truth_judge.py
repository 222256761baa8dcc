"""The truth: credit worked out by hand, whatever the wording, the place or the name."""

from __future__ import annotations

import pytest

from fullbench.core.ballot import Choice, Ranking, Score
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.judge import Judge
from fullbench.core.response import Response
from fullbench.synthetic.answer_quality_measure import measure_quality
from fullbench.synthetic.parsed_question_and_answer_types import Kind, Query
from fullbench.synthetic.truth_judge import TruthJudge
from tests.synthetic.test_question_wording_parsing_and_solving import CHART, SCENE

CIRCLES = Query("count", "en", (Kind(None, "circle"),))
STAR = Query("colour", "en", (Kind(None, "star"),))
LEFT = Query("position", "en", (Kind("blue", "star"), Kind("blue", "circle")), "across")
FEWER = Query("comparison", "en", (Kind(None, "star"), Kind(None, "circle")))
THERE = Query("existence", "en", (Kind("blue", "star"),))
VALUE = Query("chart", "en", (), "B")
TALLEST = Query("chart", "en", (), "")
ALL = Query("description", "en")


@pytest.mark.parametrize(
    ("query", "text", "credit"),
    [
        (CIRCLES, "There are three circles.", 1.0),
        (CIRCLES, "3", 1.0),
        (CIRCLES, "I first thought 5, but there are 3.", 1.0),
        (CIRCLES, "图中有三个圆形。", 1.0),
        (CIRCLES, "4 circles", 0.5),
        (CIRCLES, "Five.", 0.25),
        (CIRCLES, "十三个", 0.0),
        (CIRCLES, "Many circles.", 0.0),
        (STAR, "The star is blue.", 1.0),
        (STAR, "它是蓝色的。", 1.0),
        (STAR, "Either red or blue.", 0.5),
        (STAR, "The star is red.", 0.0),
        (STAR, "It is coloured.", 0.0),
        (LEFT, "To the left.", 1.0),
        (LEFT, "在左边。", 1.0),
        (LEFT, "It is right of it.", 0.0),
        (FEWER, "There are fewer stars than circles.", 1.0),
        (FEWER, "Less.", 1.0),
        (FEWER, "星形比圆形少。", 1.0),
        (FEWER, "一样多", 0.0),
        (FEWER, "Equally many.", 0.0),
        (THERE, "Yes.", 1.0),
        (THERE, "There is one, in blue.", 1.0),
        (THERE, "有。", 1.0),
        (THERE, "No, there is no blue star.", 0.0),
        (THERE, "没有，图中没有蓝色的星形。", 0.0),
        (THERE, "Perhaps.", 0.0),
        (VALUE, "Bar B shows 17.", 1.0),
        (VALUE, "16", 0.75),
        (VALUE, "B柱的数值是15。", 0.5),
        (VALUE, "20", 0.25),
        (VALUE, "2", 0.0),
        (TALLEST, "Bar B is the tallest.", 1.0),
        (TALLEST, "B柱最高。", 1.0),
        (TALLEST, "Bar A", 0.0),
        (ALL, "Two red circles, one blue circle and a blue star.", 1.0),
        (ALL, "两个红色的圆形、一个蓝色的圆形和一个蓝色的星形。", 1.0),
        (ALL, "Two red circles.", 0.75),
        (ALL, "Two green squares.", 0.0),
        (ALL, "Some shapes.", 0.0),
    ],
)
def test_credit_worked_out_by_hand(query, text, credit):
    assert measure_quality(query, CHART if query.task == "chart" else SCENE, text) == credit


def case(known, ballot, *said):
    return Case(known.item, tuple(Response.say(known.item.id, f"c{i}", text) for i, text in enumerate(said)), ballot)


def test_the_truth_rules_on_every_ballot_and_only_on_what_it_knows(known):
    judge = TruthJudge(known[:1])
    assert isinstance(judge, Judge)
    right, wrong = known[0].item.reference, "I do not know."
    rulings = judge.judge(
        [case(known[0], Score(1, 5), right), case(known[0], Score(1, 5), wrong), case(known[0], Choice(), wrong, right),
         case(known[0], Choice(), right, right), case(known[0], Ranking(), wrong, right)]
    )  # fmt: skip
    assert [verdict.marks for verdict in rulings] == [(5,), (1,), (0, 1), (0.5, 0.5), (1, 2)]
    [verdict] = judge.judge([case(known[1], Score(1, 5), right)])
    assert verdict.fault == "abstained"
    changed = Item(known[0].item.id, known[0].item.turns, reference="another")
    [verdict] = judge.judge([Case(changed, (Response.say(changed.id, "c", right),), Score(1, 5))])
    assert verdict.fault == "abstained"


def test_places_and_names_do_not_matter(heard):
    _, cases, record = heard
    for case_, verdict in zip(cases, record.where(judge="truth"), strict=True):
        if len(verdict.contestants) > 1:
            there = dict(zip(verdict.contestants, verdict.marks, strict=True))
            turned = Case(case_.item, case_.responses[::-1], case_.ballot)
            [back] = heard[0].judges()[0].judge([turned])
            assert dict(zip(back.contestants, back.marks, strict=True)) == there
