"""May this judge replace people here? From votes of four people to the card, by criterion and slice."""

from __future__ import annotations

import json
import random
from itertools import combinations

import pytest
from typer.testing import CliRunner

from fullbench import Case, Item, Ledger, Response, Verdict
from fullbench.cli.all_commands import app
from fullbench.core.ballot import Choice, Score


@pytest.fixture
def cards(tmp_path, monkeypatch):
    """Four people; a judge that is right on birds and blind on cars; another that is always blind."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(4)
    with Ledger(tmp_path / "fullbench.ledger") as ledger:
        for number in range(120):
            kind = "鸟" if number % 2 else "cars"
            item = Item.ask(f"q{number}", f"Question {number}?", tags={"kind": kind})
            truth = draw.choice([1, 2, 3, 4, 5])
            case = Case(item, (Response.say(item.id, "model", "says"),), Score(1, 5))

            def mark(noise, middle=truth):
                return (float(min(5, max(1, round(middle + draw.gauss(0, noise))))),)

            for rater in ("安", "ben", "cid", "dan"):
                ledger.add(case, Verdict.from_case(case, "human", mark(0.9), rater=rater))
            ledger.add(
                case, Verdict.from_case(case, "keen", mark(0.3) if kind == "鸟" else mark(0.3, draw.choice((1, 5))))
            )
            ledger.add(case, Verdict.from_case(case, "blind", mark(2.0, 3)))

    def run(*words):
        done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        tables = json.loads(done.stdout)["tables"]
        return next(table for table in tables if table["name"] == "replacement")

    return run


def test_the_card_says_whether_a_judge_may_replace_people(cards):
    keen = cards("card", "keen", "--by", "kind", "--json")
    heads = [head["label"] if isinstance(head, dict) else head for head in keen["columns"]]
    found = {row[heads.index("slice")]: dict(zip(heads, row, strict=True)) for row in keen["rows"]}
    answers = {slice_: row["may replace people"] for slice_, row in found.items()}
    assert answers == {"all": "not enough data", "kind: cars": "no", "kind: 鸟": "yes"}
    assert found["kind: 鸟"]["items needed"] is None
    needed = found["all"]["items needed"]
    assert needed > 120
    assert any(note.startswith(f"On single marks, about {needed:,} items would settle it") for note in keen["notes"])
    assert "On single marks, kind: 鸟, keen may replace people: it replaces 4 of 4 people (60 items)." in keen["notes"]
    assert any("epsilon 0.15" in note for note in keen["notes"])
    blind = cards("card", "blind", "--epsilon", "0.05", "--json")
    assert "On single marks, blind may not replace people: it replaces 0 of 4 people (120 items)." in blind["notes"]
    assert any("epsilon 0.05" in note for note in blind["notes"])


def test_choices_of_two_criteria_by_judges_that_say_nothing(tmp_path, monkeypatch):
    """Three people on two criteria; one judge is like them on style only, one always ties, one takes the first."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(7)
    names = ("甲", "ben", "cid")
    with Ledger(tmp_path / "a.ledger") as ledger:
        for number in range(40):
            item = Item.ask(f"q{number}", "?")
            said = [Response.say(item.id, name, f"{name} says") for name in names]
            for criterion in ("style", "truth"):
                worth = [draw.gauss(0, 1.5) for _ in names]
                for one, two in combinations(range(3), 2):
                    for order, (first, second) in enumerate(((one, two), (two, one))):
                        case = Case(item, (said[first], said[second]), Choice(tie=True), criterion)

                        def choose(first=first, second=second, worth=worth):
                            felt = worth[first] - worth[second] + draw.gauss(0, 0.7)
                            return (0.5, 0.5) if abs(felt) < 0.2 else (float(felt > 0), float(felt < 0))

                        like = choose() if criterion == "style" else (0.5, 0.5)
                        for judge, marks in (("like", like), ("tie", (0.5, 0.5)), ("first", (1.0, 0.0))):
                            ledger.add(case, Verdict.from_case(case, judge, marks))
                        for rater in ("安", "bo", "cy") if order == 0 else ():
                            ledger.add(case, Verdict.from_case(case, "human", choose(), rater=rater))

    def card(judge):
        done = CliRunner().invoke(app, ["card", judge, "--ledger", "a.ledger", "--json"], catch_exceptions=False)
        found = json.loads(done.stdout)
        (table,) = (table for table in found["tables"] if table["name"] == "replacement")
        heads = [head["label"] if isinstance(head, dict) else head for head in table["columns"]]
        rows = [dict(zip(heads, row, strict=True)) for row in table["rows"]]
        return {row["criterion"]: row["may replace people"] for row in rows}, table["notes"], found["lead"]

    answers, notes, lead = card("like")
    assert answers == {"style": "yes", "truth": "no"}
    assert "On choices of criterion style, like may replace people: it replaces 3 of 3 people (40 items)." in notes
    assert "On choices of criterion truth, like may not replace people: it always gives the same verdict." in notes
    assert "Agreement with people on pairs of criterion style: " in lead
    assert "Biases found in verdicts of criterion truth: it gives too many ties." in lead
    assert card("tie")[0] == {"style": "no", "truth": "no"}
    answers, notes, lead = card("first")
    assert answers == {"style": "no", "truth": "no"}
    for criterion in ("style", "truth"):
        assert (
            f"Biases found in verdicts of criterion {criterion}: it avoids ties; it is biased towards the first shown."
            in lead
        )
