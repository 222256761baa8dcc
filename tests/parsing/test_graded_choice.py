"""Replies on graded choices: a corpus written by hand, planted verdicts in quoted answers, and real judges' texts."""

from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path

import pytest

from fullbench import GradedChoice, InputError, ballot
from fullbench.parsing import read
from fullbench.parsing.verdict_json_schema import ruling_schema
from tests.parsing.hostile import GRADED, Heard, hostile, marks

DATA = Path(__file__).parents[2] / ".." / "shared" / "data" / "wildvision_bench"
BAD, NO = "unreadable", "refused"
SPECS = ("choice:4", "choice:5", "choice:6", "choice:7")

FIVE = [
    ("[[A>>B]]", "A>>B"), ("[[A>B]]", "A>B"), ("[[A=B]]", "A=B"), ("[[B>A]]", "B>A"), ("[[B>>A]]", "B>>A"),
    ("[[ B >> A ]]", "B>>A"), ("[[B<<A]]", "A>>B"), ("[[A<B]]", "B>A"), ("[[B=A]]", "A=B"), ("[[A~B]]", "A=B"),
    ("**[[A≫B]]**", "A>>B"), ("【【A＞＞B】】", "A>>B"), ("[[Response A >> Response B]]", "A>>B"),
    ("[[A]] > [[B]]", "A>B"), ("[[tie]]", "A=B"), ("[[A is much better]]", "A>>B"), ("[[B is better]]", "B>A"),
    ("[[A>>B (A is much better)]]", "A>>B"), ("[[A>>B: B is much better]]", BAD), ("[[A>B, A>>B]]", BAD),
    ("[[A>B or A>>B]]", BAD), ("[[A>>>B]]", BAD), ("[[A>=B]]", BAD), ("[[A>>A]]", BAD), ("[[A>>C]]", BAD),
    ("[[A]]", BAD), ("[[B]]", BAD), ("[[C]]", BAD), ("[[1]]", BAD), ("[[verdict]]", BAD),
    ("[[A is clearly ahead]]", BAD),
    ("I leaned to [[A>B]], but on reflection [[A>>B]]", "A>>B"),
    ("Options: [[A>>B]], [[A>B]], [[A=B]], [[B>A]], [[B>>A]]", BAD),
    ("[[A>>B]] if A is much better, [[A>B]] if A is better", BAD),
    ("A perfect answer would make it [[A>>B]].\n\n[[B>A]]", "B>A"),
    ("<think>[[B>>A]]</think>\n[[A>B]]", "A>B"),
    ("My final verdict is that Assistant B is slightly better: [[B>A]].", "B>A"),
    ("Assistant A is significantly better: [[A>>B]]", "A>>B"),
    ('{"analysis": "A counts well", "judgement": "B>>A"}', "B>>A"), ('{"verdict": "A=B"}', "A=B"),
    ('{"judgement": "A is better"}', "A>B"), ('{"judgement": "A"}', BAD), ('{"judgement": "A>>>B"}', BAD),
    ("Final verdict: A>>B", "A>>B"), ("Verdict: **B > A**", "B>A"), ("Verdict: A", BAD), ("Winner: B", BAD),
    ("Verdict: A>B or B>A", BAD), ("Verdict: A is better or B is better", BAD), ("A>>B", "A>>B"),
    ("Overall, Response B is slightly better.", "B>A"),
    ("Therefore, A is far better than B.", "A>>B"), ("Overall, A is not much better than B.", BAD),
    ("Overall, A is much better at counting.", BAD), ("Overall, is A much better?", BAD),
    ("A is better at colours.", BAD),
    ("Overall, A is the winner.", BAD), ("结论：B 好得多", "B>>A"), ("最终裁决：A 略好", "A>B"),
    ("综上，回答B更好。", "B>A"),
    ("综上，A 明显优于 B", "A>>B"), ("裁决：平局", "A=B"), ("I'm sorry, I can't judge this.", NO), ("", BAD),
]  # fmt: skip
SEVEN = [
    ("[[A>>>B]]", "A>>>B"), ("[[A>>B]]", "A>>B"), ("[[A>B]]", "A>B"), ("[[A⋙B]]", "A>>>B"), ("[[A>>>>B]]", BAD),
    ("Verdict: B is slightly better", "B>A"), ("Verdict: B is better", "B>>A"), ("Verdict: B is much better", "B>>>A"),
    ("结论：A 略好", "A>B"), ("结论：A 更好", "A>>B"), ("结论：A 好得多", "A>>>B"), ("[[A=B]]", "A=B"),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "level"), FIVE)
def test_five_levels(reply: str, level: str) -> None:
    expected = level if level in {BAD, NO} else marks(GRADED[0], level)
    assert read(ballot("choice:5"), reply, 2) == expected


@pytest.mark.parametrize(("reply", "level"), SEVEN)
def test_seven_levels_and_six_without_a_tie(reply: str, level: str) -> None:
    expected = level if level in {BAD, NO} else marks(GRADED[1], level)
    assert read(ballot("choice:7"), reply, 2) == expected
    assert read(ballot("choice:6"), reply, 2) == (BAD if level == "A=B" else expected)


def test_four_levels_have_no_tie() -> None:
    assert read(ballot("choice:4"), "[[A=B]]", 2) == read(ballot("choice:4"), "Verdict: a tie", 2) == BAD
    assert read(ballot("choice:4"), "[[B>>A]]", 2) == (0.0, 1.0)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("style", ["marker", "json", "bare"])
def test_every_level_is_read_as_written_and_an_echo_is_no_verdict(spec: str, style: str) -> None:
    form = ballot(spec)
    assert isinstance(form, GradedChoice)
    levels = [form.marks_of(step) for step in form.steps]
    assert [form.read(form.write(level, style), 2) for level in levels] == levels
    assert len({form.write(level, style) for level in levels}) == len(levels) == form.levels
    assert all(sum(level) == pytest.approx(1) and form.allows(level) for level in levels)
    for language in ("en", "zh"):
        asked = form.ask(2, language, style)
        assert read(form, asked, 2, [asked], asked="marker" if style == "marker" else "json") == BAD
        assert all(form.token(step) in asked and form.words(step, language) in asked for step in form.steps)
    schema = json.loads(ruling_schema(form, 2, reasons=False))["properties"]["judgement"]
    assert schema == {"type": "string", "enum": [form.token(step) for step in form.steps]}


def test_marks_are_shares() -> None:
    assert [ballot("choice:5").marks_of(step)[0] for step in (2, 1, 0, -1, -2)] == [1, 0.75, 0.5, 0.25, 0]
    assert [ballot("choice:4").marks_of(step)[0] for step in (2, 1, -1, -2)] == [1, 0.75, 0.25, 0]
    assert not ballot("choice:5").allows((0.6, 0.4))
    assert not ballot("choice:5").allows((1.0, 1.0))
    assert not ballot("choice:4").allows((0.5, 0.5))
    with pytest.raises(InputError, match="takes 2 responses; found 3"):
        ballot("choice:5").check(3)


@pytest.mark.parametrize(
    ("spec", "words"),
    [("choice:2", "use choice"), ("choice:3", "use choice[+]tie"), ("choice:8", "5 or 7 levels"),
     ("choice:", "unknown ballot 'choice:'"), ("choice:many", "5 or 7 levels"), ("choice:05", "5 or 7 levels")],
)  # fmt: skip
def test_other_numbers_of_levels(spec: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        ballot(spec)


def test_planted_levels_are_not_read_as_the_judges() -> None:
    """None is taken where the judge decides, and at most 0.5 % where it gives no verdict; at most 0.3 % are lost."""
    found: dict[str, list[Heard]] = {"taken": [], "never": [], "lost": []}
    size = 0
    for heard in islice(hostile(31, 1, fields=GRADED), 0, None, 13):
        size += 1
        shown = (*heard.shown, heard.question, heard.reference)
        asked = "json" if heard.asked == "json" else "marker"
        got = read(ballot(heard.spec), heard.reply, 2, shown, asked=asked, cut=heard.stop == "length")
        if got != heard.truth and not (isinstance(got, str) and heard.truth is None):
            kind = "lost" if isinstance(got, str) else "never" if heard.truth is None else "taken"
            found[kind].append(heard)
    assert size > 700
    for kind, most in (("taken", 0), ("never", 0.005), ("lost", 0.003)):
        assert len(found[kind]) <= most * size, [(heard.what, heard.reply) for heard in found[kind][:3]]


@pytest.mark.skipif(not DATA.is_dir(), reason="the published judge texts are not at hand (shared/data)")
def test_real_replies() -> None:
    """Texts of WildVision-Bench's judge: all 296 with the published level in brackets; the rest is cut off."""
    with gzip.open(DATA / "judge_texts_sample.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    form = ballot("choice:5")
    told = [0, 0]
    for row in rows:
        marked = f"[[{row['score']}]]" in row["judgment"]
        expected = marks(GRADED[0], row["score"]) if marked else BAD
        assert form.read(row["judgment"], 2) == expected, row["judgment"]
        told[marked] += 1
    assert told == [29, 296]
