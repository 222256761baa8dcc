"""Votes on `choice` and verdicts on `choice+tie` are never compared; every output counts them."""

from __future__ import annotations

import json
from collections import Counter

from typer.testing import CliRunner

from fullbench import Choice, Item, Ledger, Response, Score, Verdict
from fullbench.cli.all_commands import app
from fullbench.core.case import cases

FORCED, TIES = Choice(tie=False), Choice(tie=True)


def ledger_of(path):
    """People choose by force on four items of six; judges on the same ballot, on the other one, and on both."""
    ballots = {"same": [FORCED], "ties": [TIES], "both": [FORCED, TIES]}
    with Ledger(path) as ledger:
        for number in range(6):
            item = Item.ask(f"i{number}", f"哪个更好 {number}?")
            said = [Response.say(item.id, name, f"{name} {number}") for name in ("a", "b", "c")]
            for criterion in ("overall", "brevity"):
                if number < 4:
                    for case in cases([item], said, FORCED, size=2, criterion=criterion):
                        for rater in ("ann", "bob"):
                            ledger.add(case, Verdict.from_case(case, "human", (1.0, 0.0), rater=rater))
                for judge, forms in ballots.items():
                    for form in forms:
                        for case in cases([item], said, form, size=2, orders="both", criterion=criterion):
                            ruling = "refused" if (number, judge) == (0, "ties") else (0.0, 1.0)
                            ledger.add(case, Verdict.from_case(case, judge, ruling))
            for case in cases([item], said, Score(1, 5), size=1):
                ledger.add(case, Verdict.from_case(case, "ties", (4.0,)))
                if number == 5:
                    ledger.add(case, Verdict.from_case(case, "human", (3.0,), rater="ann"))


def tables(*words):
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    shown = {table["name"]: table for table in (said["tables"] if isinstance(said, dict) else said)}
    return shown, done.stdout


def test_the_report_counts_what_is_not_compared(tmp_path):
    path = tmp_path / "x.ledger"
    ledger_of(path)
    with Ledger(path, read_only=True) as ledger:
        verdicts = ledger.record().verdicts
    places = {
        (v.item, v.criterion, v.ballot, frozenset(v.shown_responses)) for v in verdicts if v.judge == "human"
    }  # fmt: skip
    anywhere = {(item, criterion, shown) for item, criterion, _, shown in places}
    expected = Counter(
        (v.judge, v.criterion, v.ballot)
        for v in verdicts
        if v.judge != "human" and v.marks is not None
        and (v.item, v.criterion, v.ballot, frozenset(v.shown_responses)) not in places
        and (v.item, v.criterion, frozenset(v.shown_responses)) in anywhere
    )  # fmt: skip
    shown, _ = tables("report", "--ledger", str(path))
    table = shown["not compared"]
    assert table["columns"] == ["judge", "criterion", "ballot", "the other's ballots", "verdicts"]
    assert {tuple(row[:3]): row[4] for row in table["rows"]} == expected
    assert {row[0]: row[2:4] for row in table["rows"]} == {
        judge: ["choice+tie", "choice"] for judge in ("both", "ties")
    }
    assert f"{expected.total()} verdicts" in table["notes"][0]
    assert {row[0] for row in shown["agreement pairs"]["rows"]} == {"same", "both"}
    by_tables, _ = tables("ledger", "tables", str(path))
    assert by_tables["not compared"]["rows"] == table["rows"]


def test_a_card_names_its_own_alone_and_says_nothing_where_all_meet(tmp_path):
    path = tmp_path / "x.ledger"
    ledger_of(path)
    shown, _ = tables("card", "ties", "--ledger", str(path))
    assert {row[0] for row in shown["not compared"]["rows"]} == {"ties"}
    shown, text = tables("card", "same", "--ledger", str(path))
    assert "not compared" not in shown
    assert "No agreement includes them" not in text
