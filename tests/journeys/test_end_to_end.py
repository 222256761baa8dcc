"""VisIT-Bench end to end on new data: pictures, contestants and judges behind a server, raters, and every table again.

Each figure is computed a second time from the exported verdicts in plain Python; `test_jury` does so for
MLLM-as-a-Judge.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest

from tests.journeys import visit_again
from tests.support.commands import cells, cli, read_jsonl, write_rows
from tests.support.data_builders import png
from tests.support.scripted_server import Asked, ScriptedServer

CONTESTANTS = ("alpha", "beta", "gamma", "delta")
RATERS = ("r1", "r2", "r3")
QUALITY = {"alpha": 4, "beta": 3, "gamma": 2, "delta": 1}


def number(text: str) -> int:
    """A number that depends on the text alone."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)


def answer(name: str):
    def say(asked: Asked) -> str:
        return f"{name} sees {asked.pictures[0][:4]}: " + "word " * (3 + number(name + asked.last) % 17)

    return say


def shown(asked: Asked) -> list[str]:
    """Whose answers are shown, in their order."""
    return re.findall(r"\b(alpha|beta|gamma|delta|truth) (?:sees|is)\b", asked.last)


def judge(sway: int):
    """A judge that knows the contestants' quality, with noise of its own, and favours what is shown first by `sway`."""

    def rule(asked: Asked) -> str:
        names = shown(asked)
        worth = [
            2 * QUALITY.get(name, 5) + number(f"{sway}{name}{asked.pictures}") % 6 + (sway if place == 0 else 0)
            for place, name in enumerate(names)
        ]
        letter = "AB"[worth[1] > worth[0]]
        return f"Thought through. Overall, Response {letter} is better. [[{letter}]]"

    return rule


def write_items_with_captions(folder, items: int) -> None:
    (folder / "p").mkdir(parents=True)
    rows = []
    for n in range(items):
        (folder / "p" / f"{n}.png").write_bytes(png((n * 5 % 256, n * 11 % 256, 90), (12, 12)))
        tags = {"family": f"family {n % 5}", "images": "single", "label": "correct"}
        rows.append(
            {"id": f"题{n}", "question": f"What of {n}?", "pictures": [f"p/{n}.png"], "captions": [f"caption {n}"],
             "reference": f"truth is {n}, told in so many words", "tags": tags}
        )  # fmt: skip
    write_rows(folder / "items.jsonl", rows)


def labels(items, answers) -> list[dict[str, object]]:
    """Three raters with noise, who choose between every two."""
    rows: list[dict[str, object]] = []
    by_item = defaultdict(dict)
    for row in answers:
        by_item[row["item"]][row["contestant"]] = row
    for item in items:
        names = sorted(by_item[item["id"]])
        for rater in RATERS:
            lot = random.Random(f"{rater}{item['id']}")
            base = {"item": item["id"], "judge": "human", "rater": rater, "ballot": "choice"}
            worth = {name: QUALITY.get(name.split("@")[0], 5) + lot.uniform(-2, 2) for name in names}
            for one, two in combinations(names, 2):
                first = worth[one] > worth[two]
                rows.append({**base, "contestants": [one, two], "marks": [float(first), float(not first)]})
    return rows


def journey(folder, items: int) -> None:
    write_items_with_captions(folder, items)
    models = {name: answer(name) for name in CONTESTANTS} | {f"j{sway}": judge(sway) for sway in (0, 2, 4)}
    with ScriptedServer(models) as server:
        contestants = [f"vllm:{name}@{server.url}" for name in CONTESTANTS]
        judges = [f"vllm:j{sway}@{server.url}" for sway in (0, 2, 4)]
        out = folder / "answers.jsonl"
        asked = [word for spec in contestants for word in ("--contestant", spec)]
        where = ("--items", folder / "items.jsonl", "--out", out, "--ledger", folder / "m.ledger", "--quiet")
        cli("answer", *where, *asked)
        answers = read_jsonl(out)
        assert len(answers) == 4 * items
        rows = read_jsonl(folder / "items.jsonl")
        visit_bench(folder, rows, answers, judges)
        assert {len(one.pictures) for one in server.asked} == {1}


def study(folder, name, benchmark, judges, **more) -> object:
    table = {"name": name, "benchmark": benchmark, "data": "items.jsonl", "responses": "answers.jsonl",
             "labels": f"{name}-labels.jsonl", "ledger": f"{name}.ledger", "judges": judges, **more}  # fmt: skip
    path = folder / f"{name}.toml"
    path.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items()), encoding="utf-8")
    return path


def exported(folder, name):
    out = folder / f"{name}-verdicts.jsonl"
    cli("ledger", "export", "--ledger", folder / f"{name}.ledger", "--what", "verdicts", "--to", out)
    return read_jsonl(out)


def visit_bench(folder, items, answers, judges) -> None:
    people = labels(items, answers)
    references = [{"item": item["id"], "contestant": "reference", "text": item["reference"]} for item in items]
    people += [row for row in labels(items, [*answers, *references]) if "reference" in row["contestants"]]
    write_rows(folder / "vb-labels.jsonl", people)
    items = visit_again.with_requests(folder, items)
    tables_list = json.loads(
        cli("run", study(folder, "vb", "visitbench", [*judges, "length", "rouge"]), "--quiet", "--json").stdout
    )
    tables = {table["name"]: table for table in tables_list}
    verdicts = exported(folder, "vb")
    votes = defaultdict(list)
    for row in people:
        votes[row["item"], *row["contestants"]].append(row["marks"][0] > row["marks"][1])
    accuracy = cells(tables["people"], "accuracy", "judge", "people who agree")
    for name in {row["judge"] for row in verdicts} - {"human"}:
        hits = defaultdict(lambda: defaultdict(list))
        for row in verdicts:
            if row["judge"] != name:
                continue
            one, two = sorted(row["contestants"])
            said = votes[row["item"], one, two]
            marks = dict(zip(row["contestants"], row["marks"], strict=True))
            first = marks[one] - marks[two]
            right = 0.5 if first == 0 else float((first > 0) == (sum(said) > 1))
            level = f"{max(sum(said), 3 - sum(said))}/3"
            hits[level][row["item"], one, two].append(right)
            hits["all"][row["item"], one, two].append(right)
        for level, found in hits.items():
            assert accuracy[name, level] == pytest.approx(np.mean([np.mean(each) for each in found.values()])), level
    boards = [table for table in tables_list if table["name"] == "board"]
    assert len(boards) == 6, "five judges and people"
    by_people = next(table for table in boards if "by human" in table["title"])
    order = [row[by_people["columns"].index("contestant")].split("@")[0] for row in by_people["rows"]]
    assert order[0] in {"reference", "alpha"}
    assert order[-1] == "delta"
    against = cells(by_people, "wins against the reference", "contestant")
    for who in against:
        if who != "reference":
            won = [
                first == (one == who)
                for (_, one, two), each in votes.items() if {one, two} == {who, "reference"} for first in each
            ]  # fmt: skip
            assert against[who] == pytest.approx(np.mean(won))
    assert cells(tables["verified"], "share", "images", "people said")["overall", "correct"] == 1
    visit_again.check(tables_list, items, people, verdicts)


def test_the_paper_on_a_few_items(tmp_path):
    journey(tmp_path / "few", 18)


@pytest.mark.slow
def test_the_paper_on_fifty_items(tmp_path):
    journey(tmp_path / "fifty", 50)
