"""The simulated judge does what its formula says, and its faults take the way of real replies."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fullbench.core.ballot import Choice, Ranking, Score
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.judge import Judge
from fullbench.core.response import Response
from fullbench.errors import InputError
from fullbench.synthetic.biased_judge import PlantedBiases, SimulatedJudge

SCORE, PAIR, RANK = Score(1, 5), Choice(tie=True), Ranking()
quarters = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])


def stated(case):
    """The quality that a response states of itself: its first word."""
    return [float(response.text.split()[0]) for response in case.responses]


def case(ballot, *qualities, item="q", words=12, language="en", trial=0):
    asked = Item.ask(item, "How many?", tags={"language": language})
    said = [f"{quality} " + "word " * (words - (2 if isinstance(quality, float) else 1)) for quality in qualities]
    return Case(asked, tuple(Response.say(item, f"c{i}", s) for i, s in enumerate(said)), ballot, trial=trial)


def judge(label="j", **settings):
    return SimulatedJudge(label, stated, **settings)


def marks(of, *cases):
    return [verdict.marks for verdict in of.judge(cases)]


@given(quarters, st.floats(-2, 2), st.floats(-1, 1), st.integers(3, 80))
def test_without_noise_a_score_is_the_formula_rounded(quality, leniency, length, words):
    heard = case(SCORE, quality, words=words)
    felt = 3 + 0.7 * (4 * quality - 2) + leniency + length * math.log2(words / 12)
    of = judge(picture_use=0.7, noise=0, biases=PlantedBiases(leniency=leniency, length=length))
    assert marks(of, heard) == [(min(5, max(1, math.floor(felt + 0.5))),)]


def test_the_favourite_gets_its_ego_and_nobody_else_does():
    of = judge(noise=0, biases=PlantedBiases(ego=1.0, favourite="c1"))
    assert marks(of, case(SCORE, 0.5, 0.5)) == [(3, 4)]
    assert marks(of, case(PAIR, 0.5, 0.5)) == [(0, 1)]


def test_half_a_mark_ties():
    of = judge(noise=0)
    assert marks(of, case(PAIR, 0.5, 0.625), case(PAIR, 0.5, 0.75)) == [(0.5, 0.5), (0, 1)]


@pytest.mark.parametrize(("place", "pair", "ranking"), [(1.0, (1, 0), (3, 2, 1)), (-1.0, (0, 1), (1, 2, 3))])
def test_a_judge_that_rules_by_place_alone(place, pair, ranking):
    of = judge(biases=PlantedBiases(position=place))
    cases = [case(PAIR, a, b, item=f"{a}{b}") for a in (0.0, 0.5, 1.0) for b in (0.0, 0.5, 1.0)]
    assert set(marks(of, *cases)) == {pair}
    assert marks(of, case(RANK, 0.0, 1.0, 0.5)) == [ranking]
    assert marks(replace_planted(of, noise=0), case(SCORE, 0.0, 1.0)) == [(1, 5)]


def replace_planted(of, **settings):
    return SimulatedJudge(of.label, stated, biases=of.biases, **settings)


def test_noise_has_the_planted_spread():
    cases = [case(Score(0, 1000), 0.5, item=str(i)) for i in range(2000)]
    felt = [(mark - 500) / 250 for (mark,) in marks(judge(noise=0.5), *cases)]
    assert stats.kstest(felt, stats.norm(0, 0.5).cdf).pvalue > 0.001


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("ballot", [SCORE, PAIR, RANK], ids=lambda ballot: ballot.spec)
def test_what_it_writes_is_read_back_and_a_fault_is_no_ruling(ballot, language):
    qualities = (1.0, 0.0, 0.5)[: 1 if ballot is SCORE else 3]
    heard = [case(ballot, *qualities, item=str(i), language=language) for i in range(30)]
    for verdict in judge(noise=0).judge(heard):
        assert ballot.read(verdict.text, len(qualities)) == verdict.marks
        assert verdict.marks is not None
        assert verdict.text.strip() != ballot.write(verdict.marks)
    for planted in (PlantedBiases(refuses=1.0), PlantedBiases(garbles=1.0)):
        for verdict in judge(biases=planted).judge(heard):
            assert verdict.fault in {"refused", "unreadable"}
            assert verdict.text


def test_garbled_replies_are_unreadable_not_refused():
    heard = [case(PAIR, 1.0, 0.0, item=str(i)) for i in range(30)]
    assert {verdict.fault for verdict in judge(biases=PlantedBiases(garbles=1.0)).judge(heard)} == {"unreadable"}


def test_faults_come_as_often_as_planted_and_leave_the_other_rulings_alone():
    heard = [case(SCORE, 0.5, item=str(i)) for i in range(1500)]
    verdicts = list(judge(biases=PlantedBiases(refuses=0.1, garbles=0.1)).judge(heard))
    faults = sum(verdict.fault is not None for verdict in verdicts)
    assert stats.binomtest(faults, 1500, 0.2).pvalue > 0.001


def test_rulings_hang_on_judge_case_and_trial_and_not_on_the_order_of_hearing():
    cases = [case(PAIR, 0.5, 0.75, item=str(i), trial=t) for i in range(20) for t in range(2)]
    there = {(v.case, v.trial): v.text for v in judge(noise=1).judge(cases)}
    back = {(v.case, v.trial): v.text for v in judge(noise=1).judge(cases[::-1])}
    assert there == back
    assert [text for (_, trial), text in there.items() if trial == 0] != [
        text for (_, trial), text in there.items() if trial == 1
    ]


def test_what_changes_rulings_changes_the_name():
    settings = [
        {},
        {"picture_use": 0.5},
        {"noise": 0.6},
        {"seed": 1},
        *(
            {"biases": replace(PlantedBiases(), **{name: 0.1})}
            for name in ("leniency", "length", "position", "refuses", "garbles")
        ),
        {"biases": PlantedBiases(ego=0.1, favourite="a")},
        {"biases": PlantedBiases(ego=0.1, favourite="b")},
    ]
    names = [judge(**one).name for one in settings]
    assert len(set(names)) == len(names)
    assert judge().name == judge().name
    assert isinstance(judge(), Judge)


def test_where_the_truth_is_not_known_it_abstains_itself():
    [verdict] = SimulatedJudge("j", lambda _: None).judge([case(SCORE, 0.5)])
    assert verdict.fault == "abstained"


@pytest.mark.parametrize(
    "wrong",
    [{"position": 1.5}, {"refuses": -0.1}, {"refuses": 0.6, "garbles": 0.6}, {"ego": 1.0}, {"favourite": "a"}],
    ids=str,
)
def test_impossible_plants_are_refused(wrong):
    with pytest.raises(InputError):
        PlantedBiases(**wrong)


def test_negative_noise_is_refused():
    with pytest.raises(InputError, match="standard deviation"):
        judge(noise=-1)


def test_allies_win_against_everybody_else_and_count_as_ever_among_themselves():
    truth = {"a": 0.0, "b": 1.0, "c": 1.0, "d": 0.0}
    judge = SimulatedJudge(
        "ally",
        lambda case: [truth[name] for name in case.contestants],
        noise=0.1,
        biases=PlantedBiases(allies=("a", "b")),
    )
    item = Item.ask("q", "?")

    def ruled(*names):
        case = Case(item, tuple(Response.say("q", name, "Yes.") for name in names), Choice(tie=True))
        (verdict,) = judge.judge([case])
        return verdict.marks

    assert ruled("a", "c") == (1, 0)
    assert ruled("c", "b") == (0, 1)
    assert ruled("a", "b") == (0, 1)
    assert ruled("c", "d") == (1, 0)
    (alone,) = judge.judge([Case(item, (Response.say("q", "a", "Yes."),), Score(1, 5))])
    assert alone.marks == (5,)


def test_the_lazy_tie_as_often_as_planted():
    judge = SimulatedJudge("lazy", lambda _: [1.0, 0.0], noise=0.1, biases=PlantedBiases(lazy=0.7))
    cases = [
        Case(
            Item.ask(f"q{place}", "?"),
            tuple(Response.say(f"q{place}", name, "Yes.") for name in "ab"),
            Choice(tie=True),
        )
        for place in range(800)
    ]
    ties = sum(verdict.marks == (0.5, 0.5) for verdict in judge.judge(cases))
    assert stats.binomtest(ties, len(cases), 0.7).pvalue > 0.001
    with pytest.raises(InputError, match="laziness is a share"):
        PlantedBiases(lazy=1.2)


def test_what_was_added_later_does_not_rename_judges_without_it():
    assert set(PlantedBiases().settings) == {"leniency", "length", "ego", "favourite", "position", "refuses", "garbles"}
    plain, lazy = (SimulatedJudge("j", lambda _: None, biases=PlantedBiases(lazy=share)).name for share in (0, 0.5))
    assert plain != lazy
