from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullbench import Case, Choice, Ranking, Record, Score, Verdict
from fullbench.errors import InputError
from tests.support.data_builders import answers, item


def pair(
    judge: str, marks: tuple[float, float] | str, *, item_id: str = "i1", swap: bool = False, trial: int = 0
) -> Verdict:
    shown = answers(item_id, a="x", b="y")
    case = Case(item(item_id), shown[::-1] if swap else shown, Choice(), trial=trial)
    return Verdict.from_case(case, judge, marks, text=f"{judge} says")


def score(judge: str, name: str, mark: float, item_id: str = "i1") -> Verdict:
    return Verdict.from_case(Case(item(item_id), answers(item_id, **{name: name}), Score(1, 5)), judge, (mark,))


def test_marks_are_turned_to_the_order_shown():
    record = Record(
        (pair("human", (1, 0)), pair("judge", (0, 1), swap=True), pair("judge", (1, 0), swap=True, trial=1))
    )
    pairings = record.against("human")
    assert [(p.marks, p.other_marks) for p in pairings] == [((0, 1), (0, 1)), ((1, 0), (0, 1))]


def test_several_votes_need_a_rule():
    votes = [pair("human", marks, trial=i) for i, marks in enumerate([(1, 0), (1, 0), (0, 1)])]
    record = Record((*votes, pair("judge", (1, 0))))
    assert [p.other_marks for p in record.against("human")] == [(1, 0), (1, 0), (0, 1)]
    assert [p.other_marks for p in record.against("human", "majority")] == [(1, 0)]
    assert [p.other_marks for p in record.against("human", "mean")] == [(pytest.approx(2 / 3), pytest.approx(1 / 3))]
    split = Record((*votes[1:], pair("judge", (1, 0))))
    assert not split.against("human", "majority")


def test_faults_never_meet_marks():
    record = Record((pair("human", (1, 0)), pair("judge", "refused"), pair("judge", "unreadable", swap=True)))
    assert not record.against("human")
    assert not list(record.where(judge="judge").matches())
    assert record.faults()["judge"] == {"verdicts": 2, "refused": 1, "unreadable": 1, "abstained": 0}
    assert len(record.where(fault=None)) == 1


def test_an_absent_judge_is_named():
    with pytest.raises(InputError, match="no marked verdict of judge 'people'"):
        Record((pair("human", (1, 0)),)).against("people")


def test_scores_duel_for_free():
    record = Record((score("j", "a", 5), score("j", "b", 3), score("j", "c", 3), score("k", "a", 1)))
    duels = {(d.first, d.second): d.outcome for d in record.matches()}
    assert duels == {("a", "b"): 1.0, ("a", "c"): 1.0, ("b", "c"): 0.5}
    assert {d.outcome for d in record.matches(margin=2)} == {0.5}


def test_a_ranking_is_all_its_duels():
    shown = answers(a="x", b="y", c="z")
    verdict = Verdict.from_case(Case(item(), shown, Ranking()), "j", (1, 3, 2))
    duels = {(d.first, d.second): d.outcome for d in Record((verdict,)).matches()}
    assert duels == {("a", "b"): 0.0, ("a", "c"): 0.0, ("b", "c"): 1.0}


def test_verdicts_can_be_judged_in_turn():
    (response,) = Record((pair("j", (1, 0)),)).verdicts_as_responses()
    assert (response.contestant, response.text) == ("j", "j says")
    assert response.item == pair("j", (1, 0)).case


def test_looking_at_a_record():
    record = Record((pair("j", (1, 0)), pair("k", (0, 1))), {"i1": item(tags={"task": "colour"})})
    assert list(record.by("judge")) == ["j", "k"]
    assert list(record.by(lambda v: record.tag(v, "task"))) == ["colour"]
    assert len(record.where(contestant="a", judge="j")) == 1
    assert len(record.where(lambda v: v.marks == (0, 1))) == 1
    with pytest.raises(InputError, match="no field 'jugde'"):
        record.where(jugde="j")


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 5)), max_size=12))
def test_a_duel_is_the_same_seen_from_either_side(marks):
    kept = {name: float(mark) for name, mark in marks}
    record = Record(tuple(score("j", name, mark) for name, mark in kept.items()))
    for duel in record.matches():
        difference = kept[duel.first] - kept[duel.second]
        assert duel.outcome == (0.5 if difference == 0 else float(difference > 0))
