"""Every command with --seed changes something with it: the same seed gives the same output, another one does not."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from typer.testing import CliRunner

from fullbench import Case, Choice, Item, Ledger, Response, Score, Verdict
from fullbench.cli.all_commands import app

NAMES = ("aster", "birch")
ITEMS = 106
"""From 100 items on, intervals are resampled. People voted on all but the last five."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A ledger with pairs and scores by one judge and two people, and the items as a file."""
    place = tmp_path_factory.mktemp("seeds")
    draw = random.Random(5)
    lines = []
    with Ledger(place / "a.ledger") as ledger:
        for number in range(ITEMS):
            item = Item.ask(f"q{number}", f"Question {number}?", tags={"kind": "ab"[number % 2]})
            lines.append(f'{{"id": "{item.id}", "question": "?", "kind": "{item.tags["kind"]}"}}\n')
            said = [Response.say(item.id, name, "word " * draw.randint(3, 30)) for name in NAMES]
            worth = [draw.gauss(0, 1) for _ in NAMES]

            def scored(one, worth=worth):
                return (float(min(5, max(1, round(3 + worth[one] + draw.gauss(0, 0.7))))),)

            for one, response in enumerate(said):
                case = Case(item, (response,), Score(1, 5))
                ledger.add(case, Verdict.from_case(case, "keen", scored(one)))
                for rater in ("ann", "ben") if number < ITEMS - 5 else ():
                    ledger.add(case, Verdict.from_case(case, "human", scored(one), rater=rater))
            for one, two in combinations(range(2), 2):
                case = Case(item, (said[one], said[two]), Choice(tie=True))
                gap = worth[one] - worth[two] + draw.gauss(0, 1)
                ledger.add(case, Verdict.from_case(case, "keen", (float(gap > 0), float(gap <= 0))))
    (place / "items.jsonl").write_text("".join(lines), encoding="utf-8")
    return place


@pytest.mark.parametrize(
    "words",
    [
        ("report", "--ledger", "a.ledger", "--json"),
        ("card", "keen", "--ledger", "a.ledger", "--json"),
        ("ledger", "tables", "--ledger", "a.ledger", "--json"),
        ("leaderboard", "show", "--ledger", "a.ledger", "--judge", "keen", "--json"),
        ("people", "next", "--ledger", "a.ledger", "--planned", "40", "--votes", "5", "--to", "NEW.jsonl"),
        ("compose", "draw", "items.jsonl", "--by", "kind", "--each", "5", "--out", "NEW.jsonl"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_another_seed_gives_another_output(words, folder, monkeypatch):
    monkeypatch.chdir(folder)

    def output(seed):
        new = folder / f"{words[0]}.jsonl"
        new.unlink(missing_ok=True)
        done = CliRunner().invoke(app, [new.name if word == "NEW.jsonl" else word for word in words] + ["--seed", seed])
        assert done.exit_code == 0, done.output
        text = new.read_text(encoding="utf-8") if new.exists() else done.stdout
        return text.replace(f'"seed": {seed}', "").replace(f'"seed":{seed}', "")

    first = output("1")
    assert first
    assert first != output("2")
    assert first == output("1")
