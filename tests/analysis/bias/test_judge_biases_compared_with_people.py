"""Bias probes find what was planted, and claim nothing where nothing was."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pytest

from fullbench import Choice, Item, Ranking, Record, Response, Score, Verdict, card
from fullbench.analysis.agreement.judges_with_people import compare_with_people
from fullbench.analysis.bias.judge_biases_compared_with_people import (
    LENGTHENS,
    Finding,
    bias_findings,
    bias_table,
    position_table,
    probe_biases,
)
from fullbench.core.ballot import Ballot
from fullbench.core.case import Case
from fullbench.errors import InputError
from fullbench.reports.translated_tables import localise_table

NAMES = ("a", "b", "c", "d")
Rule = Callable[[Case, np.ndarray, np.random.Generator], Sequence[float]]


def rank(values: np.ndarray) -> tuple[float, ...]:
    return tuple(float(x) for x in np.argsort(np.argsort(values)) + 1)


def fair(case: Case, worth: np.ndarray, rng: np.random.Generator) -> Sequence[float]:
    seen = worth + 0.3 * rng.normal(size=len(worth))
    if isinstance(case.ballot, Score):
        return (float(np.clip(np.rint(3 + seen[0]), 1, 5)),)
    if isinstance(case.ballot, Choice):
        return (0.5, 0.5) if abs(seen[0] - seen[1]) < 0.2 else (float(seen[0] > seen[1]), float(seen[0] < seen[1]))
    return rank(seen)


def found(rule: Rule, **options: object) -> dict[str, Finding]:
    """What the probes say about a judge that follows a rule, beside people who are fair."""
    rng = np.random.default_rng(4)
    asked, said, verdicts = {}, {}, []
    worths = {}
    for i in range(150):
        item = asked[f"i{i}"] = Item.ask(f"i{i}", "?")
        worths[item.id] = dict(zip(NAMES, rng.normal(size=4), strict=True))
        for name in NAMES:
            said[item.id, name] = Response.say(item.id, name, "word " * int(rng.integers(4, 60)))
        shown = [said[item.id, name] for name in NAMES]
        forms: list[tuple[Ballot, list[Response]]] = [(Score(1, 5), [one]) for one in shown]
        forms += [(Choice(), shown[:2]), (Choice(), shown[1::-1]), (Ranking(), shown)]
        for form, panel in forms:
            case = Case(item, tuple(panel), form)
            worth = np.array([worths[item.id][one.contestant] for one in panel])
            verdicts.append(Verdict.from_case(case, "human", tuple(fair(case, worth, rng))))
            verdicts.append(Verdict.from_case(case, "judge", tuple(rule(case, worth, rng))))
    record = Record(tuple(verdicts), asked, said)
    return {finding.metric: finding for finding in probe_biases(compare_with_people(record), "judge", **options)}


def test_a_fair_judge_is_not_accused():
    heard = found(fair, own_contestants=["a"], example="DCBA")
    assert len(heard) == 15
    assert [finding.metric for finding in heard.values() if finding.is_flagged] == []
    asked = [finding for finding in heard.values() if finding.p is not None]
    assert len(asked) == 10
    one_vote = {finding.metric for finding in asked if "needs at least two votes per response" in finding.says}
    assert one_vote == {"marks for twice the words", "extra marks for its own"}
    assert all("no bias is found" in finding.says for finding in asked if finding.metric not in one_vote)
    assert heard["changed by a swap"].value.value < 0.5


def test_a_liking_for_the_first_place():
    def rule(case, worth, rng):
        return (1.0, 0.0) if isinstance(case.ballot, Choice) and rng.random() < 0.7 else fair(case, worth, rng)

    heard = found(rule)
    assert "biased towards the first shown" in heard["first shown wins"].says
    assert heard["first shown wins"].value.value > 0.75
    assert heard["changed by a swap"].value.value > 0.4
    assert "0 times the second" in heard["changed by a swap"].says


def test_what_a_swap_changes_is_told_in_parts_that_add_up():
    """A winner that becomes a tie is a change like any other: the parts are counted here pair by pair."""
    heard: dict[str, list[int]] = {}

    def rule(case, worth, rng):
        marks = fair(case, worth, rng)
        if isinstance(case.ballot, Choice):
            heard.setdefault(case.item.id, []).append(int(np.sign(marks[0] - marks[1])))
        return marks

    says = found(rule)["changed by a swap"].says
    pairs = list(heard.values())
    first, second = pairs.count([1, 1]), pairs.count([-1, -1])
    tied = sum(0 in pair and pair != [0, 0] for pair in pairs)
    assert min(first, second, tied) > 0
    changed = first + second + tied
    assert f"{changed} of {len(pairs)} verdicts change ({changed / len(pairs):.0%})" in says
    assert f"{first} times the first shown won both times, {second} times the second, and {tied} times" in says


def test_copying_the_order_shown_and_the_examples_order():
    def shown(case, worth, rng):
        return (4.0, 3.0, 2.0, 1.0) if isinstance(case.ballot, Ranking) else fair(case, worth, rng)

    def taught(case, worth, rng):
        return (1.0, 2.0, 4.0, 3.0) if isinstance(case.ballot, Ranking) else fair(case, worth, rng)

    assert "it copies" in found(shown)["the order shown"].says
    heard = found(taught, example="CDBA")
    assert "it copies" in heard["the example's order"].says
    assert "it copies." not in heard["the order shown"].says


def test_a_liking_for_long_answers_and_high_scores():
    def rule(case, worth, rng):
        if not isinstance(case.ballot, Score):
            return fair(case, worth, rng)
        words = len(case.responses[0].text.split())
        return (float(np.clip(np.rint(3.6 + worth[0] + 0.8 * np.log2(words / 20)), 1, 5)),)

    heard = found(rule)
    assert heard["correlation with words"].value.low > heard["correlation with words"].people.high
    assert heard["marks for twice the words"].is_flagged
    assert "biased towards long answers" in heard["marks for twice the words"].says
    assert heard["marks for twice the words"].value.value == pytest.approx(0.6, abs=0.25)
    assert "lenient" in heard["mean shift"].says
    assert "uses the top marks too often" in heard["share of 4 and 5"].says


def test_a_judge_that_gives_the_same_to_all_uses_fewer_marks():
    def rule(case, worth, rng):
        return (4.0 if worth[0] > -1.5 else 3.0,) if isinstance(case.ballot, Score) else fair(case, worth, rng)

    assert "fewer marks" in found(rule)["entropy in bits"].says


def test_sentences_on_the_use_of_the_scale_fit_the_intervals_next_to_them():
    """A judge gives 3 to all, or to nearly all: its shares and its entropy differ from people's beyond chance."""

    def marks(case, worth, rng, far):
        if not isinstance(case.ballot, Score):
            return fair(case, worth, rng)
        return (3.0 + (worth[0] > far) - (worth[0] < -far),)

    for far, reason in ((9.0, "too little varies"), (1.6, "its use of the scale can explain that")):
        heard = found(partial(marks, far=far))
        assert "it uses fewer marks than people do" in heard["entropy in bits"].says
        top = heard["share of 4 and 5"]
        assert top.value.high < top.people.low
        assert not top.is_flagged
        assert reason in top.says


def test_several_trials_are_counted_ruling_by_ruling():
    """The mean of a 3 and a 4 is no ruling: the share of high scores and the spread of marks are those of rulings."""
    rng = np.random.default_rng(8)
    asked, said, verdicts = {}, {}, []
    given: list[float] = []
    for i in range(40):
        item = asked[f"i{i}"] = Item.ask(f"i{i}", "?")
        said[item.id, "a"] = Response.say(item.id, "a", "word " * int(rng.integers(4, 60)))
        marks = np.clip(np.rint(3.3 + rng.normal() + 0.7 * rng.normal(size=5)), 1, 5).tolist()
        for trial, mark in enumerate(marks[:3]):
            case = Case(item, (said[item.id, "a"],), Score(1, 5), trial=trial)
            given.append(mark)
            verdicts.append(Verdict.from_case(case, "judge", (mark,)))
        case = Case(item, (said[item.id, "a"],), Score(1, 5))
        verdicts += [Verdict.from_case(case, "human", (mark,), rater=f"r{mark}") for mark in set(marks[3:])]
    heard = {
        finding.metric: finding
        for finding in probe_biases(compare_with_people(Record(tuple(verdicts), asked, said)), "judge")
    }
    high = np.mean([mark >= 4 for mark in given])
    assert heard["share of 4 and 5"].value.value == pytest.approx(high)
    shares = np.unique(given, return_counts=True)[1] / len(given)
    assert heard["entropy in bits"].value.value == pytest.approx(-(shares * np.log2(shares)).sum())


def test_favour_for_its_own():
    def rule(case, worth, rng):
        mine = np.array([1.5 * (one.contestant == "a") for one in case.responses])
        return fair(case, worth + mine, rng)

    heard = found(rule, own_contestants=["a"])
    assert "it is biased towards its own family" in heard["extra marks for its own"].says
    assert heard["extra marks for its own"].value.value == pytest.approx(1.2, abs=0.4)
    assert "it is biased towards its own family" in heard["own answers preferred"].says
    assert "extra marks for its own" not in found(rule)


def test_the_lengthening_experiment():
    rng = np.random.default_rng(1)
    asked, said, verdicts = {}, {}, []
    for i in range(80):
        item = asked[f"i{i}"] = Item.ask(f"i{i}", "?")
        said[item.id, "a"] = Response.say(item.id, "a", "short words")
        said[item.id, "a+longer"] = Response.say(item.id, "a+longer", "short words " * 3, tags={LENGTHENS: "a"})
        score = int(rng.integers(1, 5))
        for name, extra in (("a", 0), ("a+longer", int(rng.random() < 0.4))):
            case = Case(item, (said[item.id, name],), Score(1, 5))
            verdicts.append(Verdict.from_case(case, "judge", (score + extra,)))
    heard = {f.metric: f for f in probe_biases(compare_with_people(Record(tuple(verdicts), asked, said)), "judge")}
    gain = heard["gain when lengthened"]
    assert gain.value.low < 0.4 < gain.value.high
    assert "rewards mere length" in gain.says


def test_the_table_has_a_sentence_for_every_finding():
    heard = list(found(fair).values())
    made = bias_table(heard)
    assert len(made.rows) == len(made.notes) - 1 == len(heard)
    assert made.notes[-1].endswith("over all tests of a judge here: judge (7).")


def test_places_add_up():
    item = Item.ask("i", "?")
    answers = tuple(Response.say("i", name, name) for name in NAMES)
    verdicts = []
    for judge in ("human", "judge"):
        for other in NAMES[1:]:
            panel = (answers[0], answers[NAMES.index(other)])
            verdicts.append(Verdict.from_case(Case(item, panel, Choice()), judge, (1.0, 0.0)))
    more = Item.ask("j", "?")
    panel = tuple(Response.say("j", name, name) for name in NAMES[:2])
    verdicts += [Verdict.from_case(Case(more, panel, Choice()), judge, (0.5, 0.5)) for judge in ("human", "judge")]
    made = position_table(compare_with_people(Record(tuple(verdicts))))
    assert [row[3].value for row in made.rows] == [0.75, 0.0, 0.25]


def test_trials_of_the_judge_do_not_multiply_people_and_tied_ranks_copy_nothing():
    """Two people rank three answers in opposite orders, so their mean ranks tie; the judge ranks in four trials."""
    rng, verdicts = np.random.default_rng(4), []
    for number in range(30):
        item = Item.ask(f"i{number}", "?")
        answers = tuple(Response.say(item.id, name, name) for name in NAMES[:3])
        order = rng.permutation(3) + 1.0
        for rater, marks in (("ann", order), ("bob", 4.0 - order if number % 2 else order)):
            verdicts.append(Verdict.from_case(Case(item, answers, Ranking()), "human", tuple(marks), rater=rater))
            case = Case(item, answers[:2], Choice())
            verdicts.append(Verdict.from_case(case, "human", (float(marks[0] > marks[1]), float(marks[0] < marks[1])),
                                              rater=rater))  # fmt: skip
        for trial in range(4):
            marks = tuple(rng.permutation(3) + 1.0)
            verdicts.append(Verdict.from_case(Case(item, answers, Ranking(), trial=trial), "j", marks))
            verdicts.append(Verdict.from_case(Case(item, answers[:2], Choice(), trial=trial), "j", (1.0, 0.0)))
    met = compare_with_people(Record(tuple(verdicts)))
    finding = next(one for one in bias_findings(met, "j") if one.metric == "the order shown")
    people = [one.marks for one in verdicts if one.judge == "human" and len(one.marks) == 3]
    expected = [1 / 6 if one != other else float(one == (3.0, 2.0, 1.0))
                for one, other in zip(people[::2], people[1::2], strict=True)]  # fmt: skip
    assert (finding.people.n, finding.value.n) == (30, 120)
    assert finding.people.value == pytest.approx(np.mean(expected))
    rows = {(row[1], str(row[2])): row for row in position_table(met).rows}
    assert {(ours.n, theirs.n) for _, _, _, ours, theirs in rows.values()} == {(120, 30)}


def test_the_names_of_figures_are_chinese_on_a_chinese_page_with_several_ballots_too():
    rng = np.random.default_rng(3)
    items, responses, verdicts = {}, {}, []
    for number in range(40):
        item = items[f"i{number}"] = Item.ask(f"i{number}", "What is it?")
        for name in ("ours", "b", "c"):
            said = responses[item.id, name, 0] = Response.say(item.id, name, "word " * int(rng.integers(3, 40)))
            for form in (Score(1, 5), Score(1, 10)):
                worth = rng.normal()
                for judge, rater in (("human", "ann"), ("human", "bob"), ("j", "")):
                    mark = float(np.clip(np.rint(3 + worth + 0.5 * rng.normal()), 1, 5))
                    verdicts.append(Verdict.from_case(Case(item, (said,), form), judge, (mark,), rater=rater))
    met = compare_with_people(Record(tuple(verdicts), items, responses))
    english = bias_table(probe_biases(met, "j", own_contestants={"ours"}))
    assert len({str(row[2]) for row in english.rows}) == len(english.rows) >= 12
    assert any(str(row[2]) == "mean shift, score:1-10" for row in english.rows)
    for row in localise_table(english, "zh").rows:
        words = str(row[2]).replace("score:1-10", "").replace("score:1-5", "")
        assert not re.search("[A-Za-z]{2}", words + str(row[1])), row[:3]


def longer_wins(raters: int, loves: float, seed: int = 6) -> tuple[Finding, np.ndarray]:
    """What the probe says of length in pairs, and the rows that it is made from: item, the judge's lead, the mean and
    the variance of votes on it, and by how many doublings the first shown is the longer one."""
    rng = np.random.default_rng(seed)
    verdicts, asked, said, rows = [], {}, {}, []
    for number in range(60):
        item = asked[f"i{number}"] = Item.ask(f"i{number}", "?")
        worth = rng.normal(size=4)
        words = rng.integers(4, 90, size=4)
        shown = [Response.say(item.id, name, "word " * int(count)) for name, count in zip(NAMES, words, strict=True)]
        said |= {(item.id, one.contestant, 0): one for one in shown}
        for one, two in ((0, 1), (2, 3), (0, 3)):
            votes = [float(np.sign(worth[one] - worth[two] + rng.normal())) for _ in range(raters)]
            for rater, vote in enumerate(votes):
                case = Case(item, (shown[one], shown[two]), Choice())
                verdicts.append(Verdict.from_case(case, "human", ((1 + vote) / 2, (1 - vote) / 2), rater=f"r{rater}"))
            for first, second, turned in ((one, two, 1.0), (two, one, -1.0)):
                doublings = np.log2(words[first] / words[second])
                lead = float(np.sign(worth[first] - worth[second] + loves * doublings + 0.7 * rng.normal()))
                case = Case(item, (shown[first], shown[second]), Choice())
                verdicts.append(Verdict.from_case(case, "judge", ((1 + lead) / 2, (1 - lead) / 2)))
                spread = np.var(votes, ddof=1) if raters > 1 else 0.0
                rows.append((number, lead, turned * np.mean(votes), spread, doublings))
    heard = probe_biases(compare_with_people(Record(tuple(verdicts), asked, said)), "judge")
    (finding,) = [one for one in heard if one.metric == "pairs won for twice the words"]
    return finding, np.array(rows)


def gain_of_length(rows: np.ndarray, raters: int) -> float:
    """The share of wins that a doubling brings where votes are equal: a regression on votes and doublings whose votes'
    variance is less that of their mean's error (Fuller 1987, 2.2), written out."""
    _, lead, vote, spread, doublings = rows.T
    moments = np.cov(np.vstack([vote, doublings, lead]), bias=True)
    moments[0, 0] -= spread.mean() / raters
    return float(np.linalg.solve(moments[:2, :2], moments[:2, 2])[1]) / 2


@pytest.mark.parametrize("raters", [1, 3])
def test_length_in_pairs_is_what_a_regression_by_hand_says(raters):
    for loves in (0.0, 0.6):
        finding, rows = longer_wins(raters, loves)
        assert finding.value.value == pytest.approx(gain_of_length(rows, raters), abs=1e-9)
        items = np.unique(rows[:, 0])
        without = np.array([gain_of_length(rows[rows[:, 0] != item], raters) for item in items])
        error = np.sqrt((len(items) - 1) / len(items) * ((without - without.mean()) ** 2).sum())
        assert finding.value.high - finding.value.low == pytest.approx(2 * 2.0 * error, rel=0.05)
        assert finding.is_flagged == (loves > 0)
        if loves:
            assert finding.value.value > 0.08
            assert "biased towards long answers" in finding.says
            points = f"{100 * finding.value.value:+.0f} points"
            assert points in finding.says


def test_a_card_in_python_takes_the_judges_own_family_by_prefix():
    rng = np.random.default_rng(3)
    verdicts = []
    for number in range(40):
        for name in ("ours-1", "ours-2", "theirs"):
            worth = rng.normal()
            for judge, rater in (("human", "ann"), ("human", "bob"), ("j", "")):
                love = 1.5 * (judge == "j" and name != "theirs")
                mark = float(np.clip(np.rint(3 + worth + love + 0.3 * rng.normal()), 1, 5))
                case = (f"{number}/{name}", judge, f"i{number}", (name,), "score:1-5")
                verdicts.append(Verdict(*case, marks=(mark,), rater=rater))
    record = Record(tuple(verdicts))
    assert "its own" not in str(card(record, "j").lead)
    assert "prefers its own family" in str(card(record, "j", own=["ours-1", "ours-2"]).lead)
    assert "its own" not in str(card(record, "j", own=["ours-1", "ours-2", "th"]).lead)
    with pytest.raises(InputError, match="may be several contestants: ours-1, ours-2"):
        card(record, "j", own=["ours"])
