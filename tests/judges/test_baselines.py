"""Judges that follow a rule: legal on every ballot, honest in what they cannot do."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fullbench.core.ballot import Choice, Likert, Ranking, Real, Score
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.judge import Judge
from fullbench.core.language_and_words import length_of
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.errors import InputError
from fullbench.judges.baselines import (
    ChanceJudge,
    LengthJudge,
    ReferenceJudge,
    build_chance_judge,
    build_length_judge,
    build_reference_judge,
    marks_from,
)
from fullbench.judges.metrics.metric_judges import bleu_scores, build_metric_judge

BALLOTS = [
    Score(1, 5), Score(0, 100), Real(0, 10), Real(0.1, 0.3), Likert(("poor", "fair", "good")),
    Choice(tie=True), Choice(tie=False), Ranking(),
]  # fmt: skip
texts = st.text(max_size=40)


def case(ballot, *said, reference="three red circles", trial=0):
    item = Item.ask("q", "How many?", reference=reference)
    return Case(item, tuple(Response.say("q", f"c{i}", text) for i, text in enumerate(said)), ballot, trial=trial)


def rule(judge, *cases):
    return [verdict.marks for verdict in judge.judge(cases)]


@pytest.mark.parametrize("ballot", BALLOTS, ids=lambda ballot: ballot.spec)
@pytest.mark.parametrize("judge", [LengthJudge(), ChanceJudge(3), ReferenceJudge()], ids=lambda judge: judge.name)
@given(said=st.lists(texts, min_size=2, max_size=6))
def test_every_ruling_is_legal(judge, ballot, said):
    assert isinstance(judge, Judge)
    [marks] = rule(judge, case(ballot, *said))
    assert ballot.allows(marks)


@given(st.lists(st.floats(-2, 3), min_size=2, max_size=6), st.randoms())
def test_marks_go_with_their_response_wherever_it_is_shown(worths, rng):
    order = list(range(len(worths)))
    rng.shuffle(order)
    keys = [f"{place}" for place in range(len(worths))]
    for ballot in BALLOTS:
        marks = marks_from(ballot, worths, order=keys)
        moved = marks_from(ballot, [worths[i] for i in order], order=[keys[i] for i in order])
        assert moved == tuple(marks[i] for i in order)


def test_a_score_is_spread_rounded_and_cut_off():
    assert marks_from(Score(1, 5), [-0.3, 0.0, 0.124, 0.126, 1.0, 7.0]) == (1, 1, 1, 2, 5, 5)
    assert marks_from(Score(0, 10), [0.44, 0.45]) == (4, 5)


def test_close_worths_tie_only_where_a_tie_is_allowed():
    assert marks_from(Choice(tie=True), [0.5, 0.6], margin=0.1) == (0.5, 0.5)
    assert marks_from(Choice(tie=False), [0.5, 0.6], margin=0.1) == (1, 0)
    assert marks_from(Choice(tie=True), [0.5, 0.5, 0.1]) == (1, 0, 0)


@pytest.mark.parametrize("ballot", BALLOTS, ids=lambda ballot: ballot.spec)
@pytest.mark.parametrize("place", [0, 1])
def test_what_is_not_a_number_neither_wins_nor_loses(ballot, place):
    worths = [0.5, 0.5]
    worths[place] = float("nan")
    assert marks_from(ballot, worths) is None


def test_the_longer_response_wins_in_either_language():
    assert rule(LengthJudge(), case(Choice(), "three", "there are three of them")) == [(0, 1)]
    assert rule(LengthJudge(), case(Ranking(), "图中有三个圆形", "三个", "三")) == [(3, 2, 1)]
    assert (length_of(""), length_of("图中有3个圆形。")) == (1, 7)


def test_chance_is_fair_and_repeats_itself():
    cases = [case(Choice(tie=True), "a", f"b{i}") for i in range(900)]
    first = rule(ChanceJudge(1), *cases)
    assert first == rule(ChanceJudge(1), *cases)
    assert first != rule(ChanceJudge(2), *cases)
    assert stats.chisquare(list(Counter(first).values())).pvalue > 0.001
    assert len(Counter(first)) == 3
    orders = Counter(rule(ChanceJudge(1), *(case(Ranking(), "a", "b", f"c{i}") for i in range(900))))
    assert len(orders) == 6
    assert stats.chisquare(list(orders.values())).pvalue > 0.001
    scores = Counter(rule(ChanceJudge(1), *(case(Score(1, 5), f"{i}") for i in range(900))))
    assert len(scores) == 5
    assert stats.chisquare(list(scores.values())).pvalue > 0.001


def test_judges_of_words_abstain_themselves_from_pictures_and_chance_does_not():
    item = Item.ask("q", "a lake", reference="a lake")
    shown = [Response("q", name, (Picture.from_any_bytes(name.encode(), name.encode()),)) for name in ("one", "two")]
    drawn = Case(item, tuple(shown), Choice())
    for judge in (LengthJudge(), ReferenceJudge(), build_metric_judge("bleu", bleu_scores)):
        [verdict] = judge.judge([drawn])
        assert (verdict.fault, verdict.text) == ("abstained", "the responses are pictures, and this judge reads words")
    assert rule(ChanceJudge(), drawn) != [None]


def test_chance_draws_afresh_in_every_trial():
    drawn = rule(ChanceJudge(), *(case(Score(0, 100), "a", trial=trial) for trial in range(20)))
    assert len(set(drawn)) > 10


def test_the_reference_judge_values_shared_words_and_abstains_itself_without_a_reference():
    assert rule(ReferenceJudge(), case(Score(1, 5), "three red circles", "three", "nothing")) == [(5, 3, 1)]
    [verdict] = ReferenceJudge().judge([case(Score(1, 5), "three", reference=None)])
    assert (verdict.fault, verdict.text) == ("abstained", "the item has no reference")


def test_the_factories_make_what_they_name_and_refuse_what_they_do_not_know():
    assert build_length_judge("", {}).name == "length"
    assert build_reference_judge("", {}).name == "reference"
    assert build_chance_judge("", {}).name == "chance"
    assert build_chance_judge("", {"seed": "7"}).name == ChanceJudge(7).name != "chance"
    for build, rest, options in (
        (build_length_judge, "x", {}),
        (build_length_judge, "", {"seed": "1"}),
        (build_chance_judge, "", {"sed": "1"}),
    ):
        with pytest.raises(InputError, match="leave it out"):
            build(rest, options)
    with pytest.raises(InputError, match="whole number"):
        build_chance_judge("", {"seed": "one"})
