"""A small study of a paper's benchmark for tests: items, answers, its file, and models that play their parts."""

from __future__ import annotations

import json
import random
import re
from itertools import combinations
from pathlib import Path
from typing import Any

from fullbench import Ledger, Verdict
from tests.support.commands import read_jsonl, write_rows
from tests.support.data_builders import png
from tests.support.scripted_server import Asked

ITEMS = 6


def lay_out(tmp_path: Path) -> Path:
    """Six items with a picture each, two for every task, and the answers of three contestants."""
    (tmp_path / "p").mkdir()
    rows, answers = [], []
    for n in range(ITEMS):
        (tmp_path / "p" / f"{n}.png").write_bytes(png((30 * n, 9, 9)))
        task = ("score", "pair", "batch")[n % 3]
        rows.append(
            {"id": f"题{n}", "question": f"What of {n}?", "pictures": [f"p/{n}.png"], "reference": f"ref {n}",
             "captions": [f"caption {n}"], "tags": {"task": task, "dataset": "own"}}
        )  # fmt: skip
        answers += [
            {"item": f"题{n}", "contestant": name, "text": f"{name} says that {n} " + "word " * (n + at)}
            for at, name in enumerate(("a", "b", "c"))
        ]
    write_rows(tmp_path / "items.jsonl", rows)
    write_rows(tmp_path / "answers.jsonl", answers)
    return tmp_path


def study(folder: Path, name: str = "s", **keys: Any) -> Path:
    """A study of MLLM-as-a-Judge on the items, unless its keys say otherwise."""
    table = {"benchmark": "mllm-as-a-judge", "data": "items.jsonl", "responses": "answers.jsonl",
             "ledger": f"{name}.ledger", **keys}  # fmt: skip
    options = table.pop("options", None)
    text = f'name = "{name}"\n' + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
    if options is not None:
        text += f"[{table['kind']}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in options.items())
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def heard(ledger: Path) -> list[Verdict]:
    with Ledger(ledger, read_only=True) as book:
        return list(book.verdicts())


def writer(asked: Asked) -> str:
    if "Rewrite it" in asked.words:
        text = asked.last.split("rewritten answer only.]")[1].strip()
        return f"{text} {text} and so it goes on and on"
    if "Describe this picture" in asked.words:
        return f"It is {asked.pictures[0][:6]}."
    return "right reference" if "conditioned" in asked.words else "wrong reference"


def sighted(asked: Asked) -> str:
    """A judge that is near people with the picture in view, less so with its description, and guesses with neither."""
    names = re.findall(r"\b([abc]) says that (\d+)", asked.last)
    noise = 0.2 if asked.pictures else 0.8 if "It is " in asked.words else 4.0
    worth = [
        "abc".index(name) + random.Random(f"{asked.model}{name}{n}{noise}").uniform(-noise, noise) for name, n in names
    ]
    if len(worth) == 1:
        return f"[[{min(5, max(1, round(worth[0] + 2)))}]]"
    best = sorted(range(len(worth)), key=lambda place: -worth[place])
    if len(worth) == 2:
        return "[[C]]" if abs(worth[0] - worth[1]) < 0.5 else f"[[{'AB'[best[0]]}]]"
    return ", ".join(f"[[{'ABC'[place]}]]" for place in best)


def people(folder: Path) -> dict[tuple[str, ...], list[float]]:
    """A vote on every set of responses, written as labels; by item and contestants."""
    votes = {}
    for row in read_jsonl(folder / "items.jsonl"):
        lot, name = random.Random(row["id"]), row["id"]
        worth = {one: place + lot.uniform(-1, 1) for place, one in enumerate("abc")}
        for one in "abc" if row["tags"]["task"] == "score" else ():
            votes[name, one] = [float(min(5, max(1, round(worth[one] + 2))))]
        for one, two in combinations("abc", 2) if row["tags"]["task"] == "pair" else ():
            gap = worth[one] - worth[two]
            votes[name, one, two] = [0.5, 0.5] if abs(gap) < 0.3 else [float(gap > 0), float(gap < 0)]
        if row["tags"]["task"] == "batch":
            votes[name, "a", "b", "c"] = [float(sorted(worth.values()).index(worth[one]) + 1) for one in "abc"]
    ballots = {1: "score:1-5", 2: "choice+tie", 3: "ranking"}
    rows = [{"item": item, "contestants": who, "marks": marks, "ballot": ballots[len(marks)], "judge": "human"}
            for (item, *who), marks in votes.items()]  # fmt: skip
    write_rows(folder / "labels.jsonl", rows)
    return votes
