"""A judge that a study file names but does not list is not called, and a sentence says so."""

from __future__ import annotations

import json
import re
from functools import partial

import pytest

from fullbench.core.rubric import criterion_code
from tests.support.commands import invoke
from tests.support.scripted_server import ScriptedServer

ITEMS, CONTESTANTS = 3, ("alpha", "beta", "伽马")
PAIRS = 3 * 2 * ITEMS
"""Every pair of contestants, in both orders, on every item."""
VIEWS = {"panel:two", "panel:free", "cascade:cheap", "rubric:lines"}
STUDY = """
name = "列出"
items = "items.jsonl"
responses = "answers.jsonl"
{judges}
ballots = ["choice"]
ledger = "study.ledger"

[panels.two]
members = ["{one}", "{two}"]

[panels.free]
members = ["{one}", "length"]

[cascades.cheap]
small = "{one}"
large = "{three}"

[rubrics.lines]
judge = "{four}"

[[rubrics.lines.criteria]]
name = "kind"
asks = "It is kind."
"""


def _said(word, _asked):
    return word


@pytest.fixture
def server():
    # Whoever says A in every order is left in doubt on every case.
    says = {**dict.fromkeys(("one", "two", "three"), "[[A]]"), "four": f"POINT {criterion_code('kind')}: no"}
    with ScriptedServer({name: partial(_said, word) for name, word in says.items()}) as running:
        yield running


def write_study_of_judges(folder, server, judges):
    models = {
        name: f"vllm:{name}@{server.url}?mode=direct&price_in=1&price_out=1" for name in ("one", "two", "three", "four")
    }
    items = [{"id": f"题{number}", "question": f"What is in picture {number}?"} for number in range(ITEMS)]
    answers = [{"item": item["id"], "contestant": name, "text": f"{name} " * place}
               for item in items for place, name in enumerate(CONTESTANTS, 1)]  # fmt: skip
    for name, rows in (("items", items), ("answers", answers)):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    listed = json.dumps([models.get(judge, judge) for judge in judges])
    text = STUDY.format(judges=f"judges = {listed}" if judges else "", **models)
    (folder / "study.toml").write_text(text, encoding="utf-8")
    return folder / "study.toml"


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ((["one"], {"one": PAIRS}), ("panel:two, panel:free, cascade:cheap, rubric:lines", set())),
        ((["one", "length"], {"one": PAIRS}), ("panel:two, cascade:cheap, rubric:lines", {"panel:free"})),
        ((["panel:two"], {"one": PAIRS, "two": PAIRS}), ("panel:free, cascade:cheap, rubric:lines", {"panel:two"})),
        (
            (["cascade:cheap"], {"one": PAIRS, "three": PAIRS}),
            ("panel:two, panel:free, rubric:lines", {"cascade:cheap"}),
        ),
        ((["rubric:lines"], {"four": 9}), ("panel:two, panel:free, cascade:cheap", {"rubric:lines"})),
        (([], {"one": PAIRS, "two": PAIRS, "three": PAIRS, "four": 9}), ("", VIEWS)),
    ],
)
def test_what_is_not_listed_is_neither_planned_nor_asked_nor_shown(tmp_path, server, named, expected):
    (judges, calls), (idle, shown) = named, expected
    study = write_study_of_judges(tmp_path, server, judges)
    sentence = f"{idle}: named in the study, but not among its judges"
    (plan,) = json.loads(invoke("plan", study, "--json").stdout)
    rows = [dict(zip(plan["columns"], row, strict=True)) for row in plan["rows"]]
    priced = {row["who"]: row["calls"] for row in rows if row["calls"] and row["who"]}
    assert {re.split("[@:/?]", who)[0]: count for who, count in priced.items()} == calls
    assert any(sentence in note for note in map(str, plan["notes"])) == bool(idle)
    assert not server.asked
    done = invoke("run", study, "--json", "--quiet")
    assert {name: len(server.of(name)) for name in ("one", "two", "three", "four") if server.of(name)} == calls
    assert (sentence in done.output) == bool(idle)
    tables = json.loads(done.stdout)
    (faults,) = [table for table in tables if table["name"] == "unusable"]
    assert {row[0] for row in faults["rows"]} & VIEWS == shown
    replayed = invoke("replay", study, "--json")
    assert json.loads(replayed.stdout) == tables
    assert "missing" not in replayed.output
