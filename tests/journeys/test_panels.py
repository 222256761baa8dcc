"""A study with panels and a cascade, from its file to every door, beside a computation of its own from the members'
verdicts as the ledger exports them."""

from __future__ import annotations

import json
import math
import random
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import correlation, fmean

import pytest
from typer.testing import CliRunner

from fullbench import Cascade, InputError, Ledger, LedgerError, Panel
from fullbench.analysis.views.panel_cascade_and_rubric_verdicts import view_verdicts
from fullbench.cli.all_commands import app
from fullbench.core.verdict import Verdict
from fullbench.web.app import create_app
from fullbench.web.database import read_transaction
from fullbench.web.results.boards import board_store as site_boards
from fullbench.web.results.boards import judge_cards
from fullbench.web.results.catalogue import catalogue_board_and_page_updater
from fullbench.web.results.lists import verdict_list
from fullbench.web.results.lists.verdict_filters import Filter
from fullbench.web.site_settings_and_worker_transfer import Settings
from tests.support.commands import stdout_of as cli
from tests.support.commands import write_rows as write

ITEMS = 14
MEMBERS = ("length", "chance?seed=1", "reference")
STUDY = """
name = "三人"
items = "items.jsonl"
responses = "answers.jsonl"
labels = "labels.jsonl"
judges = ["length", "panel:多数", "panel:mean", "panel:agreed"]
ballots = ["choice+tie", "score:1-5"]
criteria = ["overall", "流畅"]
ledger = "study.ledger"

[panels."多数"]
members = ["length", "chance?seed=1", "reference"]
quorum = 2

[panels.mean]
members = ["length", "chance?seed=1", "reference"]
rule = "mean"
quorum = 3

[panels.agreed]
members = ["length", "chance?seed=1"]
rule = "agreement"
"""


def write_labelled_panel_study(folder, text=STUDY):
    """A study's files in a folder; every third item has no reference: there one member abstains."""
    rng = random.Random(3)
    references = [{"reference": "one two three"} if number % 3 else {} for number in range(ITEMS)]
    items = [{"id": f"题{number}", "question": "?", **known} for number, known in enumerate(references)]
    names = ("alpha", "beta", "伽马")
    answers = [
        {"item": item["id"], "contestant": name, "text": " ".join(rng.choices(["one", "two", "three", "x"], k=k))}
        for item in items
        for name, k in zip(names, rng.sample(range(1, 20), 3), strict=True)
    ]
    length = {(row["item"], row["contestant"]): len(row["text"].split()) for row in answers}
    labels = [
        {"item": item["id"], "contestants": [name], "ballot": "score:1-5", "judge": "human", "rater": rater,
         "marks": [min(5, max(1, round(length[item["id"], name] / 4) + rng.choice([-1, 0, 0, 1])))]}
        for item in items for name in names for rater in ("r1", "r2")
    ]  # fmt: skip
    labels += [
        {"item": item["id"], "contestants": [a, b], "ballot": "choice+tie", "judge": "human", "rater": "r1",
         "marks": [1, 0] if (length[item["id"], a] > length[item["id"], b]) ^ (rng.random() < 0.2) else [0, 1]}
        for item in items for a, b in (("alpha", "beta"), ("beta", "伽马"), ("alpha", "伽马"))
    ]  # fmt: skip
    write(folder / "items.jsonl", items)
    write(folder / "answers.jsonl", answers)
    write(folder / "labels.jsonl", labels)
    (folder / "study.toml").write_text(text, encoding="utf-8")
    return folder / "study.toml"


@dataclass
class Ran:
    """A study that was run, what it printed, and the members' verdicts as the ledger exports them."""

    study: Path
    tables: list
    stored: list

    @property
    def ledger(self):
        return self.study.parent / "study.ledger"


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    study = write_labelled_panel_study(tmp_path_factory.mktemp("panels"))
    tables = json.loads(cli("run", study, "--json", "--quiet"))
    return Ran(study, tables, exported(study.parent))


@pytest.fixture(scope="module")
def report(ran):
    return json.loads(cli("report", "--ledger", ran.ledger, "--json"))


def exported(folder):
    cli(
        "ledger", "export", "--ledger", folder / "study.ledger", "--what", "verdicts", "--to", folder / "verdicts.jsonl"
    )
    return [json.loads(line) for line in (folder / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()]


def own_rulings(verdicts, rule, quorum):
    """Each case's marks by the rule, None where too few members ruled: as plain as it can be."""
    heard = defaultdict(list)
    for verdict in verdicts:
        if verdict["judge"] in MEMBERS:
            heard[verdict["case"]].append(verdict)
    found = []
    for given in heard.values():
        marks = [tuple(verdict["marks"]) for verdict in given if verdict["marks"] is not None]
        joined = None
        if len(marks) >= quorum:
            if rule == "majority":
                most = Counter(marks).most_common(1)[0][1]
                marks = [ruling for ruling, count in Counter(marks).items() if count == most]
            joined = [sum(column) / len(column) for column in zip(*marks, strict=True)]
        found.append({**given[0], "marks": joined})
    return found


def mean_marks(rulings_):
    marks = defaultdict(list)
    for verdict in rulings_:
        if verdict["marks"] is not None and len(verdict["contestants"]) == 1:
            marks[verdict["contestants"][0]].append(verdict["marks"][0])
    return {name: round(fmean(values), 9) for name, values in marks.items()}


def shares_won(rulings_):
    """The mean over both orders of each match, then over matches; ties half."""
    results = defaultdict(lambda: defaultdict(list))
    for verdict in rulings_:
        if verdict["marks"] is not None and len(verdict["contestants"]) == 2:
            (a, b), (x, y) = verdict["contestants"], verdict["marks"]
            outcome = 0.5 if x == y else float(x > y)
            results[a][verdict["item"], b].append(outcome)
            results[b][verdict["item"], a].append(1 - outcome)
    return {name: round(fmean(fmean(each) for each in pairs.values()), 9) for name, pairs in results.items()}


def cells(table, label):
    who, where = table["columns"].index("contestant"), table["columns"].index(label)
    return {row[who]: round(row[where]["value"], 9) for row in table["rows"]}


def boards(tables, judge, criterion, family):
    source = {"judge": judge, "criterion": criterion, "family": family}
    (board,) = [
        table for table in tables
        if table["name"].startswith(("leaderboard", "board"))
        and {name: table["source"].get(name) for name in source} == source
    ]  # fmt: skip
    return board


@pytest.mark.parametrize("seat", [("panel:多数", "majority", 2), ("panel:mean", "mean", 3)])
def test_a_panel_has_a_row_at_every_door_and_no_verdict_in_the_ledger(ran, report, seat):
    panel, rule, quorum = seat
    assert {verdict["judge"] for verdict in ran.stored} == {*MEMBERS, "human"}
    shown = json.loads(cli("leaderboard", "show", "--ledger", ran.ledger, "--judge", panel, "--json"))
    tables = json.loads(cli("ledger", "tables", ran.ledger, "--json"))
    card = json.loads(cli("card", panel, "--ledger", ran.ledger, "--json"))["tables"]
    for criterion in ("overall", "流畅"):
        joined = own_rulings([v for v in ran.stored if v["criterion"] == criterion], rule, quorum)
        for door in (ran.tables, report, shown, tables, card):
            assert cells(boards(door, panel, criterion, "score"), "mean score:1-5") == mean_marks(joined)
            assert cells(boards(door, panel, criterion, "pair"), "matches won") == shares_won(joined)
        lost = sum(verdict["marks"] is None for verdict in joined)
        assert (lost > 0) == (quorum == 3)
        for door in (ran.tables, report, tables):
            (faults,) = [table for table in door if table["name"] == "unusable"]
            (row,) = [dict(zip(faults["columns"], row, strict=True)) for row in faults["rows"]
                      if row[0] == panel and criterion in row]  # fmt: skip
            assert (row["verdicts"], row["abstained"]) == (len(joined), lost)
    (agreement,) = [table for table in report if table["name"] == "agreement pairs"]
    assert panel in [row[0] for row in agreement["rows"]]
    if quorum == 3:
        (reasons,) = [table for table in report if table["name"] == "reasons"]
        assert [panel, "2 of 3 members ruled, 3 are needed"] in [row[:2] for row in reasons["rows"]]


def test_a_study_with_panels_is_replayed_and_nothing_is_missing(ran):
    done = CliRunner().invoke(app, ["replay", str(ran.study), "--json"], catch_exceptions=False)
    assert json.loads(done.stdout) == ran.tables
    assert "missing" not in done.output


def test_a_panel_by_agreement_weighs_its_members_by_how_far_they_agree_with_people(ran, report):
    stored = [verdict for verdict in ran.stored if verdict["criterion"] == "overall"]
    scores = [verdict for verdict in stored if len(verdict["contestants"]) == 1 and verdict["marks"] is not None]
    people = defaultdict(list)
    for verdict in scores:
        if verdict["judge"] == "human":
            people[verdict["item"], verdict["contestants"][0]].append(verdict["marks"][0])
    weights = {}
    for member in MEMBERS[:2]:
        pairs = [(v["marks"][0], fmean(people[v["item"], v["contestants"][0]])) for v in scores if v["judge"] == member]
        weights[member] = max(0.0, correlation(*zip(*pairs, strict=True)))
    assert weights["length"] > 0.5 > weights["chance?seed=1"]
    by_case = defaultdict(dict)
    for verdict in scores:
        if verdict["judge"] in weights:
            by_case[verdict["case"], verdict["contestants"][0]][verdict["judge"]] = verdict["marks"][0]
    marks = defaultdict(list)
    for (_, name), given in by_case.items():
        marks[name].append(sum(weights[judge] * mark for judge, mark in given.items()) / sum(weights[j] for j in given))
    board = boards(report, "panel:agreed", "overall", "score")
    assert cells(board, "mean score:1-5") == {name: round(fmean(values), 9) for name, values in marks.items()}


def test_the_site_has_a_panels_board_card_and_rulings(ran, report, tmp_path):
    """The catalogue holds every ruling of a panel; its board shows what the report does."""
    settings = Settings(f"sqlite:///{tmp_path / 'web.sqlite'}", str(ran.ledger), data=tmp_path / "data")
    site = create_app(settings)
    try:
        for _ in range(2):  # what is there is not entered again
            catalogue_board_and_page_updater.update_catalogue(site.state.engine, site.state.ledger)
        with read_transaction(site.state.engine) as connection:
            board = site_boards.find_board(connection, site_boards.board_name("三人", "panel:mean", "流畅"))
            listed = verdict_list.count_verdicts(
                connection, Filter(study="三人", judge="panel:mean", criterion="流畅")
            ).n
            lost = verdict_list.count_verdicts(
                connection, Filter(study="三人", judge="panel:mean", criterion="流畅", fault="any")
            ).n
            card = judge_cards.find_card(connection, "三人", "panel:mean")
    finally:
        site.state.engine.dispose()
        site.state.ledger.close()
    joined = own_rulings([v for v in ran.stored if v["criterion"] == "流畅"], "mean", 3)
    assert (listed, lost) == (len(joined), sum(verdict["marks"] is None for verdict in joined))
    assert card is not None
    (scores,) = [one.table for one in board.tables if one.table.source.get("family") == "score"]
    shown = dict(zip(scores.column("contestant"), scores.column("mean score:1-5"), strict=True))
    assert {name: round(cell.value, 9) for name, cell in shown.items()} == cells(
        boards(report, "panel:mean", "流畅", "score"), "mean score:1-5"
    )


@pytest.mark.slow
def test_a_panel_is_on_the_exported_site_with_the_same_figures(ran, tmp_path):
    cli("export", "site", "--out", tmp_path / "site", "--ledger", ran.ledger)
    alone = json.loads(cli("report", "--ledger", ran.ledger, "--judge", "panel:多数", "--json"))
    judges = {table["source"]["judge"] for table in alone if "judge" in table["source"]}
    assert judges == {"panel:多数", "human"}  # people, whom the summary compares it with
    board = boards(alone, "panel:多数", "overall", "score")
    pages = [path.read_text(encoding="utf-8") for path in (tmp_path / "site").rglob("*.html")]
    leaderboards = [path.read_text(encoding="utf-8") for path in (tmp_path / "site" / "boards").glob("*.html")]
    own = [page for page in leaderboards if "Leaderboard by panel:多数, from single marks" in page]
    assert len(own) == 1, "the board under the usual criterion"
    for value in cells(board, "mean score:1-5").values():
        assert f"{value:.2f}" in own[0]
    assert any("Judge card: panel:多数" in page for page in pages)


CASCADE = """
name = "cascade"
items = "items.jsonl"
responses = "answers.jsonl"
labels = "labels.jsonl"
judges = ["cascade:two"]
ballots = ["choice+tie"]
ledger = "study.ledger"

[cascades.two]
small = "chance?seed=1"
large = "length"
"""


def test_a_cascade_asks_its_large_judge_about_doubts_alone(tmp_path):
    study = write_labelled_panel_study(tmp_path, CASCADE)
    assert "This is the maximum" in " ".join(cli("run", study, "--dry-run").split())
    ran = json.loads(cli("run", study, "--json", "--quiet"))
    stored = [verdict for verdict in exported(tmp_path) if verdict["judge"] != "human"]
    said = defaultdict(list)
    for verdict in stored:
        if verdict["judge"] == "chance?seed=1":
            pair = tuple(sorted(zip(verdict["contestants"], verdict["marks"], strict=True)))
            said[verdict["item"], frozenset(verdict["contestants"])].append(pair)
    doubts = {place for place, pairs in said.items() if len(set(pairs)) > 1}
    assert 0 < len(doubts) < len(said)
    large = {verdict["case"]: verdict for verdict in stored if verdict["judge"] == "length"}
    asked = [(verdict["item"], frozenset(verdict["contestants"])) for verdict in large.values()]
    assert Counter(asked) == Counter(dict.fromkeys(doubts, 2))
    joined = [
        {**verdict, "marks": large.get(verdict["case"], verdict)["marks"]}
        for verdict in stored if verdict["judge"] == "chance?seed=1"
    ]  # fmt: skip
    assert cells(boards(ran, "cascade:two", "overall", "pair"), "matches won") == shares_won(joined)
    report = json.loads(cli("report", "--ledger", tmp_path / "study.ledger", "--json"))
    assert cells(boards(report, "cascade:two", "overall", "pair"), "matches won") == shares_won(joined)
    assert "are missing" not in CliRunner().invoke(app, ["replay", str(study)]).output
    again = cli("run", study, "--json", "--quiet")
    assert json.loads(again) == ran


def test_people_settle_what_both_judges_of_a_cascade_leave_in_doubt():
    def verdict(judge, marks, shown=("a", "b"), **more):
        return Verdict("".join(shown), judge, "q", shown, "choice+tie", marks=marks, **more)

    swayed = [verdict(judge, (1.0, 0.0), shown) for judge in ("s", "l") for shown in (("a", "b"), ("b", "a"))]
    cascade = Cascade("cascade:c", "s", "l", people=True)
    assert [ruling.text for ruling in view_verdicts(cascade, swayed)] == ["it waits for people"] * 2
    settled = view_verdicts(cascade, [*swayed, verdict("human", (0.0, 1.0), rater="r")])
    assert [ruling.marks for ruling in settled] == [(0.0, 1.0), (1.0, 0.0)]
    alone = view_verdicts(Cascade("cascade:c", "s", "l"), swayed[:3])
    assert [ruling.marks for ruling in alone] == [(1.0, 0.0), None]
    assert alone[1].text == "l has not judged it yet"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("quorum = 3", "quorum = 4", "a quorum of 4 is more than the 3 members"),
        ('rule = "mean"', 'rule = "median"', "unknown rule 'median'; known: majority, mean, agreement"),
        ('rule = "mean"', 'rules = "mean"', "unknown key 'rules'; known: members, rule, quorum"),
        ('rule = "mean"', "rule = 3", "rule is a text"),
        ('"panel:mean"', '"panel:none"', "there is no 'panel:none'"),
        ('members = ["length", "chance?seed=1"]', 'members = ["length"]', "needs at least two members"),
        ('members = ["length", "chance?seed=1"]', "", "the key 'members' is missing"),
    ],
)
def test_a_panel_that_cannot_be_is_refused_in_one_sentence(tmp_path, old, new, said):
    study = write_labelled_panel_study(tmp_path, STUDY.replace(old, new))
    with pytest.raises(InputError) as told:
        cli("run", study)
    assert said in str(told.value)
    assert "study.toml" in str(told.value)
    assert not (tmp_path / "study.ledger").exists()


def test_a_panel_whose_members_changed_needs_another_name(ran, tmp_path):
    changed = tmp_path / "changed.toml"
    text = STUDY.replace("quorum = 2", "quorum = 3").replace("study.ledger", str(ran.ledger))
    changed.write_text(text, encoding="utf-8")
    for name in ("items.jsonl", "answers.jsonl", "labels.jsonl"):
        (tmp_path / name).write_bytes((ran.study.parent / name).read_bytes())
    with pytest.raises(LedgerError, match="the judge 'panel:多数' is stored with the settings"):
        cli("run", changed, "--quiet")


def test_a_panel_in_python():
    panel = Panel("panel:two", ("a", "b"), "mean")
    given = [Verdict("k", judge, "q", ("x",), "score:1-5", marks=(mark,)) for judge, mark in (("a", 1.0), ("b", 4.0))]
    (ruling,) = view_verdicts(panel, given)
    assert (ruling.judge, ruling.marks, ruling.usage.calls) == ("panel:two", (2.5,), 0)
    (one,) = view_verdicts(panel, given[:1])
    assert (one.fault, one.text) == ("abstained", "1 of 2 members ruled, 2 are needed")
    assert math.isclose(view_verdicts(Panel("panel:two", ("a", "b"), "mean", 1), given[:1])[0].marks[0], 1.0)
    with pytest.raises(InputError, match="a panel's name is panel:NAME"):
        Panel("two", ("a", "b"))


def test_a_ledger_says_which_panels_it_knows(ran):
    with Ledger(ran.ledger, read_only=True) as ledger:
        assert [view.name for view in ledger.views()] == ["panel:agreed", "panel:mean", "panel:多数"]
