"""Juries behind a server that tie, refuse and ramble: majority, mean, weights by agreement and quorum, each ruling
beside one by numpy from what the ledger exports, and the panel's own card beside numpy's correlation."""

from __future__ import annotations

import random
import re
from collections import defaultdict

import numpy as np
import pytest
from sklearn.metrics import accuracy_score

from fullbench import Ledger
from fullbench.studies import ledger_verdicts_with_panels
from tests.support.commands import cli, read_jsonl, write_rows
from tests.support.scripted_server import ScriptedServer

ITEMS, NAMES = 12, ("alpha", "beta", "伽马")
WORTH = {"alpha": 4.2, "beta": 3.0, "伽马": 1.9}
NOISE = {"keen": 0.4, "fair": 1.5, "wild": 6.0, "shy": 0.8}
BALLOTS = ("choice+tie", "score:1-5")
PANELS = {"most": ("majority", 0), "all": ("mean", 4), "any": ("mean", 1), "weighed": ("agreement", 2)}


def ruling(name):
    def say(asked):
        shown = re.findall(r"answer-(\d+)-(\w+)", asked.words)
        rng = random.Random(f"{name} {shown}")
        fate = rng.random()
        if fate < (0.4 if name == "shy" else 0.1):
            return rng.choice(["I'm sorry, but I cannot help with that.", "Well, well. Both have colours in them."])
        worth = [WORTH[who] + rng.gauss(0, NOISE[name]) for _, who in shown]
        if len(shown) == 1:
            return f"[[{min(5, max(1, round(worth[0])))}]]"
        gap = worth[0] - worth[1]
        return "[[C]]" if abs(gap) < 0.7 else "[[A]]" if gap > 0 else "[[B]]"

    return say


def write_panel_study(folder, url):
    rng = random.Random(2)
    items = [{"id": f"题{number}", "question": "What is shown? 图中是什么？"} for number in range(ITEMS)]
    answers = [{"item": f"题{number}", "contestant": name, "text": f"answer-{number}-{name}"}
               for number in range(ITEMS) for name in NAMES]  # fmt: skip
    labels = []
    for number in range(ITEMS):
        for rater in ("r1", "r2", "博"):
            taste = {name: worth + rng.gauss(0, 0.8) for name, worth in WORTH.items()}
            for name in NAMES:
                labels.append({"item": f"题{number}", "contestants": [name], "ballot": "score:1-5", "rater": rater,
                               "marks": [min(5, max(1, round(taste[name])))]})  # fmt: skip
            for a, b in (("alpha", "beta"), ("伽马", "alpha"), ("beta", "伽马")):
                gap = taste[a] - taste[b]
                marks = [0.5, 0.5] if abs(gap) < 0.4 else [1, 0] if gap > 0 else [0, 1]
                labels.append({"item": f"题{number}", "contestants": [a, b], "ballot": "choice+tie", "rater": rater,
                               "marks": marks})  # fmt: skip
    for name, rows in (("items", items), ("answers", answers), ("labels", labels)):
        write_rows(folder / f"{name}.jsonl", rows)
    members = [f"vllm:{name}@{url}?mode=direct&label={name}" for name in NOISE]
    lines = ['name = "jury"', 'items = "items.jsonl"', 'responses = "answers.jsonl"', 'labels = "labels.jsonl"',
             f"judges = {[f'panel:{name}' for name in PANELS]}", f"ballots = {list(BALLOTS)}",
             'ledger = "study.ledger"']  # fmt: skip
    for name, (rule, quorum) in PANELS.items():
        lines += [f"[panels.{name}]", f"members = {members}", f'rule = "{rule}"']
        lines += [f"quorum = {quorum}"] if quorum else []
    (folder / "study.toml").write_text("\n".join(lines).replace("'", '"'), encoding="utf-8")
    return folder / "study.toml"


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("jury")
    with ScriptedServer({name: ruling(name) for name in NOISE}) as server:
        study = write_panel_study(folder, server.url)
        cli("run", study, "--quiet", "--anyway")
    cli("ledger", "export", "--ledger", folder / "study.ledger", "--what", "verdicts", "--to", folder / "v.jsonl")
    return folder, read_jsonl(folder / "v.jsonl")


def sign(marks):
    """Who won, whatever the order shown: -1, 0 or 1 for two responses in the order of their names."""
    return int(np.sign(marks[0] - marks[1]))


def votes_of(rows):
    """People's mean mark for each response, by ballot, item and the set shown."""
    votes = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["judge"] == "human":
            for name, mark in zip(row["contestants"], row["marks"], strict=True):
                votes[row["ballot"], row["item"], frozenset(row["contestants"])][name].append(mark)
    return {place: {name: np.mean(given) for name, given in each.items()} for place, each in votes.items()}


def weights_of(rows):
    """Pearson's r of scores, the share of the same winners of pairs; nothing for who agrees by less than nothing."""
    votes, met = votes_of(rows), defaultdict(list)
    for row in rows:
        place = (row["ballot"], row["item"], frozenset(row["contestants"]))
        if row["judge"] != "human" and row["marks"] is not None and place in votes:
            theirs = [votes[place][name] for name in row["contestants"]]
            met[row["ballot"], row["judge"]].append((row["marks"], theirs))
    found = {}
    for (ballot, judge), pairs in met.items():
        ours, theirs = (np.array(part) for part in zip(*pairs, strict=True))
        if ballot == "score:1-5":
            figure = np.corrcoef(ours[:, 0], theirs[:, 0])[0, 1]
        else:
            figure = accuracy_score([sign(row) for row in theirs], [sign(row) for row in ours])
        found[ballot, judge] = max(0.0, figure)
    return found


def joined(given, rule, weights):
    """What several rulings come to, by numpy."""
    marks = np.array([row["marks"] for row in given])
    if rule == "majority":
        kinds, counts = np.unique(marks, axis=0, return_counts=True)
        return kinds[counts == counts.max()].mean(axis=0)
    own = None if rule == "mean" else [weights[row["ballot"], row["judge"]] for row in given]
    return np.average(marks, axis=0, weights=own)


@pytest.mark.parametrize("name", PANELS)
def test_each_ruling_of_a_panel_is_what_numpy_makes_of_its_members(ran, name):
    folder, rows = ran
    rule, quorum = PANELS[name]
    weights, by_case = weights_of(rows), defaultdict(list)
    for row in rows:
        if row["judge"] != "human":
            by_case[row["case"]].append(row)
    with Ledger(folder / "study.ledger", read_only=True) as ledger:
        own = {verdict.case: verdict for verdict in ledger_verdicts_with_panels.load_record(ledger, [f"panel:{name}"])}
    assert set(own) == set(by_case)
    lost = split = 0
    for case, members in by_case.items():
        given = [row for row in members if row["marks"] is not None]
        if len(given) < (quorum or 3):
            lost += 1
            assert (own[case].marks, own[case].fault) == (None, "abstained")
            assert own[case].text == f"{len(given)} of 4 members ruled, {quorum or 3} are needed"
            continue
        expected = joined(given, rule, weights)
        split += len({tuple(row["marks"]) for row in given}) == len(given)
        np.testing.assert_allclose(own[case].marks, expected, atol=1e-12)
    assert split or name == "all", "some cases on which no two members say the same"
    assert 0 < lost < len(own) or name == "any"
    faults = cli("report", "--ledger", folder / "study.ledger", "--json").tables["unusable"]
    kinds = {cells[0]: dict(zip(faults["columns"], cells, strict=True)) for cells in faults["rows"]}
    row = kinds[f"panel:{name}"]
    assert (row["verdicts"], row["abstained"]) == (len(own), lost)
    shy = next(who for who in kinds if who.startswith("shy"))
    assert kinds[shy]["refused"]
    assert kinds[shy]["unreadable"]


@pytest.mark.parametrize("name", PANELS)
def test_a_panels_card_has_its_agreement_with_people(ran, name):
    folder, rows = ran
    votes = votes_of(rows)
    with Ledger(folder / "study.ledger", read_only=True) as ledger:
        own = [
            verdict
            for verdict in ledger_verdicts_with_panels.load_record(ledger, [f"panel:{name}"])
            if verdict.marks is not None
        ]
    scored = defaultdict(list)
    for verdict in own:
        place = (verdict.ballot, verdict.item, frozenset(verdict.contestants))
        theirs = votes[place]
        if len(verdict.contestants) == 1:
            scored[place].append((verdict.marks[0], theirs[verdict.contestants[0]]))
    pairs = [np.mean(each, axis=0) for each in scored.values()]
    card = cli("card", f"panel:{name}", "--ledger", folder / "study.ledger", "--json").stdout
    figures = [float(figure) for figure in re.findall(r'"value": (-?[\d.]+)', card)]
    assert np.isclose(np.corrcoef(*np.array(pairs).T)[0, 1], figures, rtol=0, atol=1e-9).any()
