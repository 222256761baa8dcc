"""May this judge replace people here? From votes of four people to the card, by criterion and slice."""

from __future__ import annotations

import json
import random

import pytest
from typer.testing import CliRunner

from fullbench import Case, Item, Ledger, Response, Verdict
from fullbench.cli.all_commands import app
from fullbench.core.ballot import Score


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
    verdicts = {row[heads.index("slice")]: row[heads.index("may replace people")] for row in keen["rows"]}
    assert verdicts == {"all": "no", "kind: cars": "no", "kind: 鸟": "yes"}
    assert any("keen may replace people here on kind: 鸟: it replaces 4 of 4 people." in note for note in keen["notes"])
    assert any("epsilon 0.15" in note for note in keen["notes"])
    blind = cards("card", "blind", "--epsilon", "0.2", "--json")
    assert any("blind may not replace people here: it replaces 0 of 4 people." in note for note in blind["notes"])
    assert any("epsilon 0.2" in note for note in blind["notes"])
