"""Ballots: what is asked, written and read back; what is legal; what a spec names."""

from __future__ import annotations

import json
import pickle
from typing import Literal, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullbench import Ballot, Choice, Likert, Ranking, Real, Score, ballot
from fullbench.core.ballot import LETTERS, Language, Style
from fullbench.errors import InputError

SCALES = [
    ("bad", "poor", "fair", "good", "great"),
    ("very poor", "poor", "average", "above average", "excellent", "outstanding"),
    ("很差", "较差", "一般", "较好", "很好"),
    ("schlecht", "mäßig", "gut"),
    ("плохо", "нормально", "хорошо"),
]
BALLOTS: list[Ballot] = [
    Score(),
    Score(0, 1),
    Score(1, 10),
    Score(0, 100),
    Score(-3, 3),
    Real(),
    Real(-1.0, 1.0),
    Real(0.5, 99.5),
    *map(Likert, SCALES),
    Choice(),
    Choice(tie=False),
    Ranking(),
]
STYLES: tuple[Style, ...] = get_args(Style)
LANGUAGES: tuple[Language, ...] = get_args(Language)


def marks_of(kind: Ballot, n: int) -> st.SearchStrategy[tuple[float, ...]]:
    """Every legal row of n marks."""
    if isinstance(kind, Score):
        return st.tuples(*[st.integers(kind.low, kind.high).map(float)] * n)
    if isinstance(kind, Real):
        return st.tuples(*[st.floats(kind.low, kind.high)] * n)
    if isinstance(kind, Likert):
        return st.tuples(*[st.integers(1, len(kind.words)).map(float)] * n)
    if isinstance(kind, Choice):
        wins = [tuple(float(i == best) for i in range(n)) for best in range(n)]
        return st.sampled_from([*wins, (1 / n,) * n] if kind.tie else wins)
    return st.permutations([float(i + 1) for i in range(n)]).map(tuple)


def least(kind: Ballot) -> int:
    return 1 if isinstance(kind, Score | Real | Likert) else 2


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("kind", BALLOTS, ids=lambda kind: kind.spec.encode("ascii", "replace").decode())
@given(data=st.data())
def test_what_is_written_is_read_back(kind: Ballot, style: Style, data: st.DataObject) -> None:
    n = data.draw(st.integers(least(kind), 6))
    marks = data.draw(marks_of(kind, n))
    assert kind.allows(marks)
    written = kind.write(marks, style)
    assert kind.read(written, n) == marks
    reasons = data.draw(st.sampled_from(["", "It names the dog.\n\n", "回答完整。\n", "1. a cat\n2. a dog\n\n"]))
    assert kind.read(reasons + written + data.draw(st.sampled_from(["", "\n", " \n\n"])), n) == marks


@pytest.mark.parametrize("kind", BALLOTS, ids=lambda kind: kind.spec.encode("ascii", "replace").decode())
@given(data=st.data())
def test_what_was_written_last_is_read(kind: Ballot, data: st.DataObject) -> None:
    n = data.draw(st.integers(least(kind), 4))
    first, last = data.draw(marks_of(kind, n)), data.draw(marks_of(kind, n))
    assert kind.read(f"A first draft says\n{kind.write(first)}\nbut in the end I rule\n{kind.write(last)}", n) == last


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", BALLOTS, ids=lambda kind: kind.spec.encode("ascii", "replace").decode())
def test_an_echo_of_the_question_is_no_ruling(kind: Ballot, language: Language, style: Style, n: int) -> None:
    if n < least(kind):
        return
    asked = kind.ask(n, language, style)
    assert kind.read(asked, n) == "unreadable"
    assert ("[[" in asked) == (style == "marker")
    assert ("judgement" in asked) == (style != "marker")
    assert ("analysis" in asked) == (style == "json")
    ruled = next(iter(legal(kind, n)))
    assert kind.read(f"{asked}\n\n{kind.write(ruled, style)}", n) == ruled


def legal(kind: Ballot, n: int) -> list[tuple[float, ...]]:
    if isinstance(kind, Choice):
        return [(1.0, *[0.0] * (n - 1))]
    if isinstance(kind, Ranking):
        return [tuple(float(n - i) for i in range(n))]
    return [(1.0,) * n]


@given(text=st.text(max_size=200), n=st.integers(2, 5), kind=st.sampled_from(BALLOTS))
def test_whatever_is_read_is_legal(text: str, n: int, kind: Ballot) -> None:
    ruling = kind.read(text, n, (text[:20],))
    assert isinstance(ruling, str) or (len(ruling) == n and kind.allows(ruling))


TOKENS = (
    """[[ ]] [ ] A B C 4 7 4/5 > = , { } " ' : judgement Rating Response is better not tie 评分 平局 good <think>"""
)
SHARDS = [*TOKENS.split(), " ", "\n"]


@given(parts=st.lists(st.sampled_from(SHARDS), max_size=30), n=st.integers(1, 4), kind=st.sampled_from(BALLOTS))
def test_whatever_is_read_from_shards_is_legal(parts: list[str], n: int, kind: Ballot) -> None:
    n = max(n, least(kind))
    ruling = kind.read("".join(parts), n)
    assert isinstance(ruling, str) or (len(ruling) == n and kind.allows(ruling))


@pytest.mark.parametrize("kind", BALLOTS, ids=lambda kind: kind.spec.encode("ascii", "replace").decode())
def test_a_spec_names_its_ballot(kind: Ballot) -> None:
    assert ballot(kind.spec) == kind
    assert hash(ballot(kind.spec)) == hash(kind)
    kind.read("[[A]]", 2)
    assert pickle.loads(pickle.dumps(kind)) == kind


def test_json_is_json() -> None:
    assert json.loads(Score().write([4.0], "json")) == {"judgement": 4}
    assert json.loads(Score().write([4.0, 2.0], "json")) == {"judgement": [4, 2]}
    assert json.loads(Ranking().write([2.0, 1.0, 3.0], "json")) == {"judgement": ["C", "A", "B"]}
    assert json.loads(Likert(("差", "好")).write([2.0], "json")) == {"judgement": "好"}


def test_markers() -> None:
    assert Score().write([4.0, 2.0]) == "[[4]], [[2]]"
    assert Real().write([1e-7]) == "[[1e-07]]"
    assert Choice().write([0.5, 0.5]) == "[[C]]"
    assert Choice().write([0.0, 0.0, 1.0]) == "[[C]]"
    assert Ranking().write([2.0, 1.0, 3.0]) == "[[C]], [[A]], [[B]]"


@pytest.mark.parametrize(
    ("kind", "marks"),
    [
        (Score(), (6.0,)),
        (Score(), (4.5,)),
        (Score(), ()),
        (Score(), (4.0, 0.0)),
        (Real(), (1.1,)),
        (Real(), (float("nan"),)),
        (Likert(("bad", "good")), (3.0,)),
        (Likert(("bad", "good")), (0.0,)),
        (Choice(), (1.0, 1.0)),
        (Choice(), (0.0, 0.0)),
        (Choice(), (0.4, 0.6)),
        (Choice(tie=False), (0.5, 0.5)),
        (Ranking(), (1.0, 1.0)),
        (Ranking(), (0.0, 1.0)),
    ],
)
def test_what_is_not_legal(kind: Ballot, marks: tuple[float, ...]) -> None:
    assert not kind.allows(marks)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("score", "unknown ballot 'score'"),
        ("score:5-1", "from low to high; found 5 to 1"),
        ("score:1.5-2", "unknown ballot"),
        ("real:1-1", "from low to high"),
        ("likert:", "unknown ballot"),
        ("likert:good", "two or more different words"),
        ("likert:good|Good", "two or more different words"),
        ("likert:good|very_good", "made of letters; found 'very_good'"),
        ("likert:good|4", "made of letters; found '4'"),
        ("likert:good| bad", "made of letters; found ' bad'"),
        ("thumbs", "known: score:LOW-HIGH"),
    ],
)
def test_a_spec_that_names_nothing(spec: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        ballot(spec)


@pytest.mark.parametrize(
    ("kind", "n"),
    [(Score(), 0), (Real(), 0), (Likert(("bad", "good")), 0), (Choice(), 1), (Ranking(), 1)],
)
def test_too_few_or_too_many_responses(kind: Ballot, n: int) -> None:
    with pytest.raises(InputError, match=f"found {n}"):
        kind.check(n)
    with pytest.raises(InputError, match="found 27"):
        kind.check(len(LETTERS) + 1)
    kind.check(n + 1)


def test_styles_and_languages() -> None:
    assert STYLES == ("marker", "json", "bare")
    assert get_args(Literal["en", "zh"]) == LANGUAGES
