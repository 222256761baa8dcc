"""The keys of fixed items, responses and cases: the names under which everything is kept and found again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fullbench import Case, Item, Picture, Response, Turn, Verdict, ballot
from fullbench.core.case import cases as cases_of
from tests.golden.layout import written
from tests.golden.pictures import BLUE, RED

BALLOTS = ("score:1-5", "score:0-10", "real:0-1", "real:0-10", "likert:bad|fair|good", "likert:差|好")
COMPARING = ("choice", "choice+tie", "ranking")
CRITERIA = ("overall", "helpfulness", "视觉理解")


def items() -> dict[str, Item]:
    red, blue = Picture.from_bytes(RED), Picture.from_bytes(BLUE)
    talk = (
        Turn("system", ("Be brief.",)),
        Turn("user", (red, "What is this?")),
        Turn("assistant", ("A red square.",)),
        Turn("user", ("And this?", blue)),
    )
    return {
        "words alone": Item.ask("i1", "What is two and two?"),
        "the same question, another id": Item.ask("i2", "What is two and two?"),
        "one picture": Item.ask("i1", "What colour is the square?", red),
        "two pictures": Item.ask("i1", "Which is warmer?", red, blue),
        "two pictures, the other way round": Item.ask("i1", "Which is warmer?", blue, red),
        "a reference": Item.ask("i1", "What colour is the square?", red, reference="It is red."),
        "an empty reference": Item.ask("i1", "What colour is the square?", red, reference=""),
        "captions": Item.ask("i1", "Which is warmer?", red, blue, captions=("a red square", "a blue square")),
        "tags do not enter": Item.ask("i1", "What is two and two?", tags={"task": "sums", "language": "en"}),
        "Chinese": Item.ask("题目-1", "图中的正方形是什么颜色？", red, reference="红色。"),
        "a dialogue": Item("i3", talk, reference="A blue square."),
        "quotes and line ends": Item.ask("i4", 'He said "yes"\nand\tthen\\n', reference="\u2028'"),
        "a lone surrogate": Item.ask("i5", "broken \ud83d text"),
        "no words": Item.ask("i6", ""),
    }


def responses() -> dict[str, Response]:
    red = Picture.from_bytes(RED)
    return {
        "words": Response.say("i1", "a", "It is red."),
        "another contestant": Response.say("i1", "b", "It is red."),
        "another item": Response.say("i2", "a", "It is red."),
        "other words": Response.say("i1", "a", "It is blue."),
        "Chinese": Response.say("i1", "模型", "红色。"),
        "empty": Response.say("i1", "a", ""),
        "a picture": Response("i1", "a", (red,)),
        "a picture and words": Response("i1", "a", (red, "It is red.")),
        "two parts": Response("i1", "a", ("It is", " red.")),
        "tags do not enter": Response.say("i1", "a", "It is red.", tags={"sensitive": "yes"}),
        "another trial": Response.say("i1", "a", "It is red.", sample=3),
        "a name with a tail": Response.say("i1", "gpt-4o+t0.7+max512", "It is red."),
    }


def cases() -> dict[str, Case]:
    shown, answered = items()["one picture"], responses()
    one, two = answered["words"], answered["another contestant"]
    three, drawn = answered["Chinese"], answered["a picture"]
    found: dict[str, Case] = {}
    for spec in BALLOTS:
        found[f"{spec}, one"] = Case(shown, (one,), ballot(spec))
        found[f"{spec}, three"] = Case(shown, (one, two, three), ballot(spec))
    for spec in COMPARING:
        found[f"{spec}, a b"] = Case(shown, (one, two), ballot(spec))
        found[f"{spec}, b a"] = Case(shown, (two, one), ballot(spec))
        found[f"{spec}, three"] = Case(shown, (one, two, three), ballot(spec))
    for criterion in CRITERIA:
        found[f"choice, {criterion}"] = Case(shown, (one, two), ballot("choice"), criterion)
    found["a trial does not enter"] = Case(shown, (one,), ballot("score:1-5"), trial=4)
    found["a response of another trial"] = Case(shown, (answered["another trial"],), ballot("score:1-5"))
    found["a picture as the response"] = Case(shown, (drawn,), ballot("score:1-5"))
    found["an item with a reference"] = Case(items()["a reference"], (one,), ballot("score:1-5"))
    for where, case in enumerate(cases_of([shown], [one, two, three], ballot("choice+tie"), size=2, seed=11)):
        found[f"panel {where} of two, both orders, seed 11: {' '.join(case.contestants)}"] = case
    for where, case in enumerate(cases_of([shown], [one, two, three], ballot("ranking"), size=None, orders="shuffled")):
        found[f"panel {where} of all, shuffled: {' '.join(case.contestants)}"] = case
    return found


def keys(_folder: Path) -> str:
    """Keys by what they are keys of."""
    values: dict[str, Any] = {
        "pictures": {
            "red": _picture(RED),
            "blue": _picture(BLUE),
            "as given": Picture.from_any_bytes(b"no picture", b"").media_type,
        },
        "items": {name: item.key for name, item in items().items()},
        "responses": {name: response.key for name, response in responses().items()},
        "cases": {name: case.key for name, case in cases().items()},
        "verdicts' cases": {
            name: Verdict.from_case(case, "j", "refused").case for name, case in list(cases().items())[:3]
        },
    }
    return written(values)


def _picture(data: bytes) -> list[str]:
    picture = Picture.from_bytes(data)
    return [picture.digest, picture.media_type]
