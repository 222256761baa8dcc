"""VisIT-Bench's Figures 9 and 10 for items of one's own: what the pictures show, what the instructions ask for."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from tests.support.commands import cells, cli, write_rows
from tests.support.data_builders import png

ASKED = {
    "Please write a short poem about it.": "write poem",
    "Look at this. Could you write a story?": "write story",
    "Write a poem": "write poem",
    "Count the cars in the street.": "count cars",
    "What is shown here?": "be",
    "图中有几只猫？": None,
}
OBJECTS = ("person, person, chair", "person", "", "猫, chair", "person,person , person", "car")

CAPTIONS = {2: ["A person in two old cars near the king's tree.", "Some of the trees; it rains. 一只猫"]}
"""The caption of the item without the tag: by the rule a person, cars and trees, since `cars` and `trees` occur
elsewhere in the singular."""


def test_verbs_nouns_and_objects_are_counted_and_drawn(tmp_path):
    (tmp_path / "p.png").write_bytes(png((9, 200, 9)))
    rows = []
    for number, (question, objects) in enumerate(zip(ASKED, OBJECTS, strict=True)):
        tags = {"family": f"f{number % 2}"} | ({"objects": objects} if objects else {})
        rows.append({"id": f"题{number}", "question": question, "pictures": ["p.png"],
                     "captions": CAPTIONS.get(number, ["c"]),
                     "reference": "the reference", "tags": tags})  # fmt: skip
    write_rows(tmp_path / "items.jsonl", rows)
    answers = [{"item": row["id"], "contestant": name, "text": name * at} for row in rows
               for at, name in enumerate(("one", "two"), 1)]  # fmt: skip
    write_rows(tmp_path / "answers.jsonl", answers)
    study = tmp_path / "s.toml"
    study.write_text(
        'name = "s"\nbenchmark = "visitbench"\ndata = "items.jsonl"\nresponses = "answers.jsonl"\n'
        'ledger = "s.ledger"\njudges = ["length", "rouge"]\n',
        encoding="utf-8",
    )
    tables = cli("run", study, "--quiet", "--json").tables
    wanted = Counter(pair for pair in ASKED.values() if pair)
    assert cells(tables["requests"], "requests", "verb and noun") == wanted
    assert tables["requests"]["rows"][0] == ["write poem", 2, "write", 3]
    assert any(
        "1 item" in note and "neither a question nor an instruction" in note for note in tables["requests"]["notes"]
    )
    found = Counter(name.strip() for names in OBJECTS for name in names.split(",") if name)
    found.update(person=1, car=1, tree=2)
    assert cells(tables["objects"], "times found", "object") == found
    assert cells(tables["objects"], "items", "object") == {"person": 4, "chair": 2, "猫": 1, "car": 2, "tree": 1}
    assert any(
        "5 items with the tag `objects`, and of 1 item without it" in note for note in tables["objects"]["notes"]
    )
    charts = tmp_path / "charts"
    drawing = ("report", "--ledger", tmp_path / "s.ledger", "--benchmark", "visitbench", "--charts", charts)
    cli(*drawing, "--out", tmp_path / "report.html")
    for name, words in (("requests", "write poem"), ("objects", "猫")):
        assert words in (charts / f"{name}.svg").read_text(encoding="utf-8")
        assert (charts / f"{name}.png").exists()
        assert words in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_boards_of_one_and_of_several_images_stand_apart(tmp_path):
    """Tables 3 and 4: by a judge and by people, from both kinds of items, beside a count of one's own."""
    names, words = ("one", "two", "reference"), {}
    (tmp_path / "p.png").write_bytes(png((9, 200, 9)))
    rows, answers, votes = [], [], []
    for n in range(12):
        several = n % 3 == 0
        words |= {(n, name): 1 + (7 * n + 3 * at * at) % 11 for at, name in enumerate(names)}
        rows.append({"id": f"题{n}", "question": f"What of {n}?", "pictures": ["p.png"] * (1 + several), "captions":
                     ["c"] * (1 + several), "reference": "word " * words[n, "reference"],
                     "tags": {"images": "multi" if several else "single", "family": "f"}})  # fmt: skip
        answers += [{"item": f"题{n}", "contestant": name, "text": "word " * words[n, name]} for name in names[:2]]
        for rater in range(3):
            for a, b in combinations(names, 2):
                first = (n + rater + len(a) * len(b)) % 3 > 0
                votes.append({"item": f"题{n}", "judge": "human", "rater": f"r{rater}", "contestants": [a, b],
                              "marks": [float(first), float(not first)], "ballot": "choice"})  # fmt: skip
    write_rows(tmp_path / "items.jsonl", rows)
    write_rows(tmp_path / "answers.jsonl", answers)
    write_rows(tmp_path / "labels.jsonl", votes)
    study = tmp_path / "s.toml"
    study.write_text(
        'name = "s"\nbenchmark = "visitbench"\ndata = "items.jsonl"\nresponses = "answers.jsonl"\n'
        'labels = "labels.jsonl"\nledger = "s.ledger"\njudges = ["length"]\n', encoding="utf-8",
    )  # fmt: skip
    shown = json.loads(cli("run", study, "--quiet", "--json").stdout)
    kind_of = {row["id"]: row["tags"]["images"] for row in rows}
    for kind in ("single", "multi"):
        by_people, by_length = sorted(
            (table for table in shown if table["name"] == f"board, {kind}"),
            key=lambda table: "length" in table["title"],
        )
        items = [n for n in range(12) if kind_of[f"题{n}"] == kind]
        for name in names[:2]:
            pairs = [(words[n, name], words[n, "reference"]) for n in items]
            decided = [one > two for one, two in pairs if one != two]
            won = [vote["marks"][vote["contestants"].index(name)] for vote in votes
                   if {name, "reference"} == set(vote["contestants"]) and kind_of[vote["item"]] == kind]  # fmt: skip
            assert cells(by_length, "wins against the reference", "contestant")[name] == pytest.approx(np.mean(decided))
            assert cells(by_people, "wins against the reference", "contestant")[name] == pytest.approx(np.mean(won))
        assert cells(by_length, "matches", "contestant") == dict.fromkeys(names, 2 * len(items))
        assert cells(by_people, "matches", "contestant") == dict.fromkeys(names, 6 * len(items))
        assert np.mean([*cells(by_length, "Elo", "contestant").values()]) == pytest.approx(1000, abs=0.5)
        # The same board from the ledger alone.
        only = ("leaderboard", "show", "--ledger", tmp_path / "s.ledger", "--judge", "length", "--rule", "both-agree")
        alone = cli(*only, "--only", f"images={kind}", "--json").tables["board"]
        assert cells(alone, "rating", "contestant") == pytest.approx(cells(by_length, "rating", "contestant"))
        assert any(f"Only items whose images is {kind}: {len(items)} of 12." in note for note in alone["notes"])
    refused = cli(*only, "--only", "images=some", code=2)
    assert "its values are multi, single" in refused.output
