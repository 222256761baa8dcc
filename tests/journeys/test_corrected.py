"""Leaderboards that people would sign: from judges' rulings on all pairs and people's votes on some, to every door.

Two judges, two criteria, several raters, two orders, ties, a fault, a designed sample; the ends are compared with plain
sums over the rows that the ledger exports.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from itertools import combinations
from statistics import fmean

import pytest
from scipy.stats import t
from typer.testing import CliRunner

from fullbench import Case, Choice, Item, Ledger, Response, Verdict
from fullbench.cli.all_commands import app
from fullbench.core.ballot import Score
from fullbench.core.verdict import Circumstances

ITEMS = 60
NAMES = ("alpha", "beta", "伽马")
WORTH = {"alpha": 0.0, "beta": 1.0, "伽马": 2.0}
LONG = {"alpha": 2.0, "beta": 0.0, "伽马": 0.5}


@pytest.fixture
def cli(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> str:
        done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    return run


@pytest.fixture
def court(tmp_path, cli):
    """A ledger with two judges on all pairs in both orders; people's votes on a third of the pairs come by import."""
    draw = random.Random(11)
    labels = []
    with Ledger(tmp_path / "fullbench.ledger") as ledger:
        for number in range(ITEMS):
            item = Item.ask(f"题{number}", f"Question {number}?", tags={"kind": "even" if number % 2 else "odd"})
            said = {name: Response.say(item.id, name, f"{name} says {number}") for name in NAMES}
            for criterion in ("overall", "brevity"):
                for one, two in combinations(NAMES, 2):
                    for shown in ((one, two), (two, one)):
                        case = Case(item, (said[shown[0]], said[shown[1]]), Choice(tie=True), criterion)
                        for judge, love in (("wordy", 1.5), ("fair", 0.0)):
                            ruling = _choose(draw, shown, love, 1.2)
                            if judge == "wordy" and number == 7 and criterion == "overall":
                                ruling = "refused"
                            ledger.add(case, Verdict.from_case(case, judge, ruling))
                    asked = 0.6 if "alpha" in (one, two) else 0.3
                    if criterion == "overall" and draw.random() < asked:
                        for rater in draw.sample(("安", "ben", "cid"), draw.randint(1, 3)):
                            labels.append({
                                "item": item.id, "contestants": [one, two], "ballot": "choice+tie", "rater": rater,
                                "marks": list(_choose(draw, (one, two), 0.0, 1.0)), "probability": asked,
                            })  # fmt: skip
            for name in NAMES:
                case = Case(item, (said[name],), Score(1, 5))
                mark = min(5, max(1, round(2 + WORTH[name] + draw.gauss(0, 1))))
                ledger.add(case, Verdict.from_case(case, "fair", (float(mark),)))
                if number % 3 == 0:
                    ledger.add(case, Verdict.from_case(case, "human", (float(max(1, mark - 1)),), rater="ben"))
    votes = tmp_path / "votes.jsonl"
    votes.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in labels), encoding="utf-8")
    cli("ledger", "import", votes, "--ledger", "fullbench.ledger")
    return labels


def _choose(draw, shown, love, sharp):
    gap = sharp * (WORTH[shown[0]] - WORTH[shown[1]]) + love * (LONG[shown[0]] - LONG[shown[1]]) + draw.gauss(0, 1.5)
    return (0.5, 0.5) if abs(gap) < 0.3 else (1.0, 0.0) if gap > 0 else (0.0, 1.0)


def tables(text: str) -> dict[str, dict]:
    found = json.loads(text)
    return {table["name"]: table for table in (found["tables"] if isinstance(found, dict) else found)}


def column(table: dict, name: str, **where: str) -> dict[str, dict]:
    heads = [entry["label"] if isinstance(entry, dict) else entry for entry in table["columns"]]
    rows = [row for row in table["rows"] if all(row[heads.index(head)] == value for head, value in where.items())]
    return {row[heads.index("contestant")]: row[heads.index(name)] for row in rows}


def outcomes(verdicts: list[dict], judge: str) -> dict[tuple[str, str, str], float]:
    """What the first of each pair won on each item: the judge's mean over orders, people's majority of votes."""
    heard = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for row in verdicts:
        if row["judge"] == judge and row["marks"] and len(row["marks"]) == 2 and row["criterion"] == "overall":
            marks = dict(zip(row["contestants"], row["marks"], strict=True))
            one, two = sorted(marks)
            gap = marks[one] - marks[two]
            order = row["contestants"][0] == one
            heard[row["item"], one, two][row["rater"]][order].append(0.5 if gap == 0 else float(gap > 0))
    result = {}
    for pair, raters in heard.items():
        votes = [fmean(fmean(cast) for cast in orders.values()) for orders in raters.values()]
        most = [vote for vote in set(votes) if votes.count(vote) == max(map(votes.count, votes))]
        result[pair] = most[0] if len(most) == 1 else 0.5
    return result


def plainly(contestant, ruled, voted, chance):
    """The share won by people alone, by the judge alone and corrected: sums over rows, clustered by item."""
    rows = [pair for pair in ruled if contestant in pair[1:]]

    def won(value, pair):
        return value if pair[1] == contestant else 1 - value

    seen = {pair: 1 / chance[pair] for pair in rows if pair in voted}
    whole = sum(seen.values())
    people = sum(weight * won(voted[pair], pair) for pair, weight in seen.items()) / whole
    there = sum(weight * won(ruled[pair], pair) for pair, weight in seen.items()) / whole
    every = fmean(won(ruled[pair], pair) for pair in rows)
    own, gap = defaultdict(float), defaultdict(float)
    for pair in rows:
        weight = seen.get(pair, 0.0) / whole
        if weight:
            own[pair[0]] += weight * (won(voted[pair], pair) - people)
        gap[pair[0]] += weight * (won(ruled[pair], pair) - there) - (won(ruled[pair], pair) - every) / len(rows)
    worth = sum(own[item] * gap[item] for item in gap) / sum(part**2 for part in gap.values())
    share = defaultdict(float)
    for pair, weight in seen.items():
        share[pair[0]] += weight / whole
    units = 1 / sum(part**2 for part in share.values())
    left = sum((own[item] - worth * gap[item]) ** 2 for item in gap) / (units - 3) * t.ppf(0.975, units - 3) ** 2
    if left >= sum(part**2 for part in own.values()) / (units - 1) * t.ppf(0.975, units - 1) ** 2:
        worth = 0.0  # a judge that narrows nothing is left aside
    return people, every, people - worth * (there - every)


def test_corrected_figures_through_every_door(cli, court, tmp_path):
    cli("ledger", "export", "--what", "verdicts", "--to", "verdicts.jsonl")
    verdicts = [json.loads(line) for line in (tmp_path / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()]
    chance = {(row["item"], *sorted(row["contestants"])): row["probability"] for row in court}
    stored = [row for row in verdicts if row["judge"] == "human" and len(row["contestants"]) == 2]
    assert {row["probability"] for row in stored} == {0.3, 0.6}
    voted = outcomes(verdicts, "human")
    report = tables(cli("report", "--corrected", "--json"))
    for judge in ("wordy", "fair"):
        ruled = outcomes(verdicts, judge)
        assert len(ruled) == 3 * ITEMS - (3 if judge == "wordy" else 0)
        family = ", pair"
        shares = report[f"corrected {judge}{family}, shares and means"]
        ways = ("corrected", "people alone", "judge alone")
        shown = {name: column(shares, name, metric="matches won") for name in ways}
        for contestant in NAMES:
            people, every, corrected = plainly(contestant, ruled, voted, chance)
            assert shown["people alone"][contestant]["value"] == pytest.approx(people)
            assert shown["judge alone"][contestant]["value"] == pytest.approx(every)
            assert shown["corrected"][contestant]["value"] == pytest.approx(corrected)
        rated = report[f"corrected {judge}{family}"]
        flattered = column(rated, "judge minus people")
        values = {name: column(rated, name) for name in ways}
        for contestant in NAMES:
            gap = values["judge alone"][contestant]["value"] - values["corrected"][contestant]["value"]
            assert flattered[contestant]["value"] == pytest.approx(gap)
            width = {name: cells[contestant]["high"] - cells[contestant]["low"] for name, cells in values.items()}
            assert 0 < width["corrected"] <= 1.001 * width["people alone"]
        board = report[f"leaderboard {judge}, pair" if judge == "fair" else f"leaderboard {judge}"]
        assert column(board, "rating")["beta"]["value"] == pytest.approx(
            values["judge alone"]["beta"]["value"], abs=0.01
        )
    said = " ".join(report["corrected wordy, pair"]["notes"])
    assert "wordy underrates beta by" in said or "wordy flatters alpha by" in said
    assert f"on {len([pair for pair in voted if pair[0] != '题7']):,} of all 177 pairs" in said
    assert "drawn with the chances recorded with the votes" in said
    assert "Several votes count as one: the majority" in said
    assert f"{len([pair for pair in voted if pair[0] == '题7'])} voted pairs that no judge here judged" in said
    assert "wordy flatters" not in " ".join(report["corrected fair, pair"]["notes"])
    together = report["corrected all judges together, pair"]
    assert [str(head) for head in together["columns"]][2:6] == [
        "corrected",
        "people alone",
        "fair alone",
        "wordy alone",
    ]
    marks = column(report["corrected fair, score, shares and means"], "judge minus people", metric="mean score:1-5")
    assert all(0.3 < marks[name]["value"] <= 1.1 for name in NAMES)
    # Every door shows the same figures.
    name = "corrected wordy, pair"
    doors = [
        tables(cli("leaderboard", "show", "--judge", "wordy", "--corrected", "--json")),
        tables(cli("card", "wordy", "--json")),
        tables(cli("ledger", "tables", "--corrected", "--json")),
    ]
    cli("ledger", "export", "--what", "verdicts", "--to", "verdicts.parquet")
    doors.append(tables(cli("ledger", "tables", "verdicts.parquet", "--corrected", "--json")))
    for door in doors:
        assert door[name]["rows"] == report[name]["rows"]
    cli("report", "--corrected", "--out", "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "judge minus people" in page
    assert "伽马" in page


def test_a_board_without_votes_says_what_it_is_not(cli, court):
    report = tables(cli("report", "--json"))
    note = "people may rank differently"
    assert not any(note in text for text in report["leaderboard wordy"]["notes"])
    assert any(note in text for text in report["leaderboard wordy on brevity"]["notes"])
    assert not any(note in text for text in report["leaderboard human, pair"]["notes"])
    shown = tables(cli("leaderboard", "show", "--judge", "wordy", "--corrected", "--json"))
    brevity = next(table for name, table in shown.items() if name.startswith("board") and "brevity" in name)
    assert any(note in text for text in brevity["notes"])


def test_a_chance_that_is_none_is_refused(cli, court, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text(json.dumps({**court[0], "probability": 1.5}) + "\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["ledger", "import", str(bad), "--ledger", "fullbench.ledger"])
    assert done.exit_code != 0
    assert "above 0 and at most 1; found 1.5" in str(done.exception)


def test_votes_cast_with_names_in_view_are_left_out_and_counted(cli, court, tmp_path):
    before = tables(cli("report", "--corrected", "--json"))["corrected fair, pair"]
    with Ledger(tmp_path / "fullbench.ledger") as ledger:
        judged = {v.case for v in ledger.verdicts("fair") if v.criterion == "overall" and len(v.contestants) == 2}
        for case in ledger.cases(sorted(judged)[:9]):
            how = Circumstances(blind=False)
            ledger.add(case, Verdict.from_case(case, "human", (0.0, 1.0), rater="seer", circumstances=how))
    after = tables(cli("report", "--corrected", "--json"))["corrected fair, pair"]
    assert after["rows"] == before["rows"]
    assert "9 votes that were cast with names in view are left out." in after["notes"]
