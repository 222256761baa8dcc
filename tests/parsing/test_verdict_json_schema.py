"""The schema of a ruling: what we write follows it, and what follows it is read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError

from fullbench import Ballot, Choice, Likert, Ranking, Score
from fullbench.parsing.verdict_json_schema import LONGEST, ruling_schema
from tests.core.test_ballot import BALLOTS, least, marks_of

some = settings(max_examples=40)
names = {"ids": lambda kind: kind.spec.encode("ascii", "replace").decode()}


def schema(kind: Ballot, n: int, *, reasons: bool) -> Draft202012Validator:
    return Draft202012Validator(json.loads(ruling_schema(kind, n, reasons=reasons)))


@pytest.mark.parametrize("kind", BALLOTS, **names)
@some
@given(data=st.data())
def test_what_is_written_follows_the_schema(kind: Ballot, data: st.DataObject) -> None:
    n = data.draw(st.integers(least(kind), 6))
    written = json.loads(kind.write(data.draw(marks_of(kind, n)), "json"))
    schema(kind, n, reasons=False).validate(written)
    reasoned = schema(kind, n, reasons=True)
    reasoned.validate({"analysis": "图中有一只狗。", **written})
    for wrong in (written, {"analysis": "x" * (LONGEST + 1), **written}, {"analysis": "", **written, "more": 1}):
        with pytest.raises(ValidationError):
            reasoned.validate(wrong)


@pytest.mark.parametrize("kind", [kind for kind in BALLOTS if isinstance(kind, Score | Likert | Choice)], **names)
@some
@given(data=st.data())
def test_what_follows_the_schema_is_read(kind: Ballot, data: st.DataObject) -> None:
    n = data.draw(st.integers(least(kind), 5))
    value, count = kind.values(n)
    one = st.sampled_from(value["enum"]) if "enum" in value else st.integers(value["minimum"], value["maximum"])
    drawn = data.draw(st.lists(one, min_size=count, max_size=count))
    written = {"analysis": "Because.", "judgement": drawn[0] if count == 1 else drawn}
    schema(kind, n, reasons=True).validate(written)
    assert kind.allows(kind.read(json.dumps(written, ensure_ascii=False), n))


def test_what_no_schema_can_say_is_still_no_ruling() -> None:
    twice = {"judgement": ["A", "A"]}
    schema(Ranking(), 2, reasons=False).validate(twice)
    assert Ranking().read(json.dumps(twice), 2) == "unreadable"
