"""Random ledgers with references, samples and trials: a number has one value, interval and n in every output.

Report, `ledger tables`, leaderboards, judge cards and the HTTP API, which has the site's tables, give all their tables.
Every cell gets a name that says what it is about, such as a judge's rating of a contestant. Cells of one name are
equal.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from itertools import combinations

import pytest

from fullbench.core.ballot import Choice, Flaw, Ranking, Score
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.verdict import FAULTS, Verdict
from fullbench.ledger.ledger import Ledger
from fullbench.web.app import create_app
from fullbench.web.results.catalogue import catalogue_board_and_page_updater
from fullbench.web.site_settings_and_worker_transfer import Settings
from tests.analysis.test_same_numbers_in_all_outputs import study_with_references
from tests.support.api_script import Script
from tests.support.commands import cli

JUDGES = ("wordy", "fair")
NUMBERS_OF_BOARDS = ("rating", "matches won", "wins against the reference", "unusable")


def random_ledger(path, seed: int) -> dict[str, object]:
    """Write verdicts of two judges and of people on a part of them, and return what was drawn."""
    draw = random.Random(seed)
    names = ("reference", "alpha", "beta", "伽马")[: draw.randint(3, 4)]
    samples, trials, raters = draw.choice((1, 2)), draw.choice((1, 2)), draw.choice((1, 3))
    share, criteria = draw.choice((0.6, 1.0)), ("overall", "brevity")[: draw.randint(1, 2)]
    singles = {
        "overall": Score(1, 5),
        "brevity": draw.choice((Score(1, 5), Flaw(("none", "some", "more", "much", "all")))),
    }
    worth = {name: draw.gauss(0, 0.8) for name in names}
    with Ledger(path) as ledger:
        for number in range(draw.randint(9, 12)):
            item = Item.ask(f"q{number}", f"Question {number}?", tags={"family": "ab"[number % 2]})
            said = {
                (name, sample): Response.say(item.id, name, "word " * draw.randint(2, 40), sample=sample)
                for name in names for sample in range(samples)
            }  # fmt: skip
            for criterion in criteria:
                for one, two in combinations(names, 2):
                    for sample in range(samples):
                        pair = said[one, sample], said[two, sample]
                        _pair_verdicts(draw, ledger, item, pair, criterion=criterion, worth=worth, trials=trials)
                    if draw.random() < share:
                        pair = draw.sample([said[one, 0], said[two, 0]], 2)
                        case = Case(item, tuple(pair), Choice(tie=True), criterion)
                        for rater in range(raters):
                            ledger.add(
                                case, Verdict.from_case(case, "human", _marks(draw, pair, worth), rater=f"r{rater}")
                            )
                for response in said.values():
                    case = Case(item, (response,), singles[criterion], criterion)
                    for judge, rater in (("wordy", ""), ("fair", ""), ("human", "r0"), ("human", "r1")):
                        if judge != "human" or response.sample == 0:
                            mark = min(5, max(1, round(3 + worth[response.contestant] + draw.gauss(0, 1))))
                            ledger.add(case, Verdict.from_case(case, judge, [float(mark)], rater=rater))
            panel = tuple(said[name, 0] for name in names)
            for judge, rater in (("fair", ""), ("human", "r0")):
                case = Case(item, panel, Ranking())
                order = [float(mark) for mark in draw.sample(range(1, len(panel) + 1), len(panel))]
                ledger.add(case, Verdict.from_case(case, judge, order, rater=rater))
    return {"samples": samples, "trials": trials, "raters": raters, "share": share, "criteria": criteria}


def _pair_verdicts(draw, ledger, item, pair, *, criterion, worth, trials):
    for order in (pair, pair[::-1]):
        for trial in range(trials):
            case = Case(item, order, Choice(tie=True), criterion, trial)
            for judge in JUDGES:
                is_lost = judge == "wordy" and draw.random() < 0.08
                ruling = draw.choice(FAULTS) if is_lost else _marks(draw, order, worth)
                ledger.add(case, Verdict.from_case(case, judge, ruling))


def _marks(draw, pair, worth):
    gap = worth[pair[0].contestant] - worth[pair[1].contestant] + draw.gauss(0, 1)
    return [0.5, 0.5] if abs(gap) < 0.2 else [float(gap > 0), float(gap < 0)]


def rows_of(table):
    """Rows as dictionaries by column; columns that only the reader of a page sees are text."""
    heads = [head["key"] if isinstance(head, dict) else str(head) for head in table["columns"]]
    return [dict(zip(heads, row, strict=True)) for row in table["rows"]]


def plain(cell):
    """A number, or value, interval and n of an estimate."""
    if isinstance(cell, dict):
        assert cell.get("why") or cell["low"] < cell["high"], cell
        return tuple(None if cell.get(key) is None else round(cell[key], 9) for key in ("value", "low", "high", "n"))
    return round(cell, 9) if isinstance(cell, float) else cell


def criterion_in(name: str) -> str:
    found = re.search(r" on (brevity)", name)
    return found[1] if found else "overall"


def source_of(table, judge: str, criterion: str):
    """What a table is about: its source, or for tables of the site its name and the board that it is on."""
    name = table["name"]
    if "source" in table:
        return table["source"]
    family = re.search(r", (pair|score|ranking)", name)
    if name.startswith("corrected ") and family:
        subject = re.sub(r"( on brevity)?, (pair|score|ranking).*", "", name.removeprefix("corrected "))
        judges = sorted(JUDGES) if subject == "all judges together" else [subject]
        return {"judges": judges, "criterion": criterion, "family": family[1]}
    if name.startswith("leaderboard"):
        return {"judge": judge, "criterion": criterion, "family": family[1] if family else "pair", "rule": "mean"}
    return {}


def named_cells(table, judge: str, board_criterion: str):
    """Yield (name, cell) of every number of a table; `judge` is the judge of a card or a board."""
    name = re.sub(r" (in|on) .*", "", table["name"])
    criterion, rows = board_criterion or criterion_in(table["title"]), rows_of(table)
    source = source_of(table, judge, criterion)
    if {"judge", "criterion", "family", "rule"} <= set(source):
        yield from _board_cells((source["judge"], source["criterion"], source["family"], source["rule"]), rows)
    elif table["name"].startswith("corrected") and "judges" in source:
        yield from _corrected_cells(table, source, rows)
    elif name == "agreement" and "metric" in rows[0]:
        for row in rows:
            yield ("agreement", judge, criterion, row["verdict"], row["metric"]), row["estimate"]
            yield ("agreement", judge, criterion, row["verdict"], "unusable"), row["unusable"]
    elif name.startswith("agreement "):
        for row in rows:
            for column in set(row) - {"judge", "n"}:
                yield ("agreement", row["judge"], criterion, name.split()[1], column), row[column]
    elif name in {"biases", "orders"}:
        for row in rows:
            if row.get("metric", "first shown wins") == "first shown wins":
                cell = row["judge's" if name == "biases" else "first shown wins"]
                yield ("first shown", row["judge"], row.get("criterion", criterion)), cell
    elif name not in {"rates", "steadiness histogram"}:
        for row in rows:
            labels = [cell for cell in row.values() if isinstance(cell, str)]
            own = [] if {"judge", "other judge"} & set(row) else [judge]
            for column, cell in row.items():
                if not isinstance(cell, str):
                    yield (table["name"], criterion, *own, *labels, column), cell


def _board_cells(place, rows):
    for row in rows:
        for column, cell in row.items():
            if column in NUMBERS_OF_BOARDS or column.startswith("mean "):
                yield (*place, row["contestant"], column), cell
            elif column in {"rank", "rank alone", "votes to decide"}:
                yield ("board", *place, row["contestant"], column), cell
        assert row.get("matches") in {None, (row.get("matches won") or {}).get("n")}


def _corrected_cells(table, source, rows):
    """People and each judge alone are the cells of their own boards, unless a note says that they differ."""
    notes = " ".join(table["notes"])
    place = (source["criterion"], source["family"])  # of boards with the mean of both orders
    metric = "rating" if "metric" not in rows[0] else None
    has_own_people = any(words in notes for words in ("undefeated", "no judge here judged", "No corrected numbers"))
    has_own_judge = any(words in notes for words in ("undefeated", "No corrected numbers"))
    for row in rows:
        what = metric or row["metric"]
        for column, cell in row.items():
            own = table["name"], row["contestant"], what, column
            if column == "people alone" and not has_own_people:
                yield ("human", *place, "mean", row["contestant"], what), cell
            elif column in {"judge alone", "fair alone", "wordy alone"} and not has_own_judge:
                judge = source["judges"][0] if column == "judge alone" else column.split()[0]
                yield (judge, *place, "mean", row["contestant"], what), cell
            elif column not in {"contestant", "metric"}:
                yield own, cell


def everything(path, app, judges=(*JUDGES, "human")):
    """Tables of every output, with the judge of a card, and judge and criterion of a board."""

    def told(*words):
        found = json.loads(cli(*words, "--json").stdout)
        return found["tables"] if isinstance(found, dict) else found

    ledger = ("--ledger", str(path))
    yield "report", told("report", *ledger, "--corrected"), "", ""
    yield "ledger tables", told("ledger", "tables", str(path), "--corrected"), "", ""
    for judge in judges:
        yield (
            f"leaderboard of {judge}",
            told("leaderboard", "show", *ledger, "--judge", judge, "--corrected"),
            judge,
            "",
        )
    for judge in set(judges) - {"human"}:
        yield f"card of {judge}", told("card", judge, *ledger), judge, ""
    with Script(app, "Sam", "viewer") as script:
        catalogue_board_and_page_updater.update_catalogue(app.state.engine, app.state.ledger)
        for listed in script.get("/api/v1/boards").json()["rows"]:
            board = script.get(f"/api/v1/boards/{listed['name']}").json()
            subject = listed["judge"], listed["criterion"]
            yield f"API board of {subject}", board["tables"], *subject
        for listed in script.get("/api/v1/judges").json()["rows"]:
            if listed["judge"] in judges and listed["judge"] != "human":
                sections = script.get(f"/api/v1/judges/{listed['name']}").json()["sections"]
                card = [table for tables in sections.values() for table in tables]
                yield f"API card of {listed['judge']}", card, listed["judge"], ""


def tables_without_unusable_verdicts(tables):
    """Return the tables about a judge's contestants that do not count its unusable verdicts, which are on pairs."""
    names = []
    for table in tables:
        heads = [head["key"] if isinstance(head, dict) else str(head) for head in table["columns"]]
        has_numbers = any(isinstance(cell, dict | float) for row in table["rows"] for cell in row)
        if ", pair" in table["name"] and "contestant" in heads and has_numbers and "unusable" not in heads:
            names.append(table["name"])
    return names


def check(database, folder, seed):
    path = folder / "l"
    drawn = random_ledger(path, seed)
    app = create_app(Settings(database, str(path), data=folder / "data"))
    shared = check_cells(everything(path, app), drawn)
    kinds = {name[0] for name in shared}
    assert len(shared) > 100
    assert {*JUDGES, "human", "agreement", "board", "first shown"} <= kinds


def check_cells(outputs, drawn):
    """Compare cells of one name in all outputs, and return the names that several tables show."""
    shown = defaultdict(dict)
    for output, tables, judge, criterion in outputs:
        notes = {table["name"]: table["notes"] for table in tables}
        if judge == "wordy" and "board" in output:
            assert tables_without_unusable_verdicts(tables) == [], drawn
        for table in tables:
            twin = notes.get(table["name"].removesuffix(", shares and means"), [])
            for name, cell in named_cells(table | {"notes": [*table["notes"], *twin]}, judge, criterion):
                shown[name][output, table["name"]] = plain(cell)
    different = {name: by_table for name, by_table in shown.items() if len(set(by_table.values())) > 1}
    assert not different, (drawn, different)
    return [name for name, by_table in shown.items() if len(by_table) > 1]


@pytest.mark.parametrize("seed", [3])
def test_every_table_of_a_random_ledger_has_the_same_numbers(seed, database, tmp_path):
    check(database, tmp_path, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, *range(4, 22)])
def test_every_table_of_many_random_ledgers_has_the_same_numbers(seed, database, tmp_path):
    check(database, tmp_path, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_study_with_references_has_the_numbers_of_its_run_in_all_outputs(seed, database, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study, ledger = study_with_references(tmp_path, seed)
    run = json.loads(cli("run", str(study), "--quiet", "--json").stdout)
    judges = sorted({row[0] for table in run if table["name"] == "unusable" for row in table["rows"]})
    app = create_app(Settings(database, str(ledger), data=tmp_path / "data"))
    paper = json.loads(cli("report", "--ledger", str(ledger), "--benchmark", "visitbench", "--json").stdout)
    outputs = [("run", run, "", ""), ("report of the paper", paper, "", ""), *everything(ledger, app, judges)]
    shared = check_cells(outputs, seed)
    assert {*judges, "board", "first shown"} <= {name[0] for name in shared}
