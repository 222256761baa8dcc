"""`fullbench compose draw`: so many items of each data set, from several files, through the command line."""

from __future__ import annotations

import hashlib
import json

from fullbench import Item
from fullbench.studies.authoring.item_samples_per_dataset import draw_items
from tests.support.commands import cli, write_rows


def _file(path, ids, **tags):
    write_rows(path, [{"id": name, "question": f"What is {name}? 多少？", "tags": tags} for name in ids])


def _ids(path):
    return [json.loads(line)["id"] for line in path.read_text(encoding="utf-8").splitlines()]


def test_so_many_of_each_file_and_the_same_ones_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _file(tmp_path / "coco.jsonl", [f"c{n}" for n in range(40)])
    _file(tmp_path / "charts.jsonl", [f"k{n}" for n in range(5)])
    _file(tmp_path / "mixed.jsonl", [f"m{n}" for n in range(30)], dataset="maths", ability="reasoning")
    sources = ("coco.jsonl", "charts.jsonl", "mixed.jsonl")
    said = cli("compose", "draw", *sources, "--each", 10, "--out", "items.jsonl").output
    assert "dataset coco: 10 of 40 items" in said
    assert "dataset charts: 5 of 5 items, fewer than requested" in said
    assert "dataset maths: 10 of 30 items" in said
    drawn = _ids(tmp_path / "items.jsonl")
    assert len(drawn) == 25
    rows = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["tags"]["dataset"] for row in rows} == {"coco", "charts", "maths"}
    assert rows[0]["question"].endswith("多少？")
    # Again, from the other end and with more in a file: those that were drawn stay but for what the new ones push out.
    _file(tmp_path / "coco.jsonl", [f"c{n}" for n in reversed(range(44))])
    cli("compose", "draw", *reversed(sources), "--each", "10", "--out", "again.jsonl")
    assert len(set(drawn) & set(_ids(tmp_path / "again.jsonl"))) >= 21
    cli("compose", "draw", *sources, "--each", "10", "--seed", "1", "--out", "other.jsonl")
    assert set(_ids(tmp_path / "other.jsonl")) != set(_ids(tmp_path / "again.jsonl"))


def test_draws_are_even(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _file(tmp_path / "a.jsonl", [hashlib.sha256(str(n).encode()).hexdigest()[:9] for n in range(60)])
    every = _ids(tmp_path / "a.jsonl")
    times = dict.fromkeys(every, 0)
    items = [Item.ask(name, "?", tags={"dataset": "a"}) for name in every]
    for seed in range(300):
        for item in draw_items(items, each=20, seed=seed).items:
            times[item.id] += 1
    assert all(60 < count < 145 for count in times.values())  # 100 on average, deviation 8


def test_what_cannot_be_drawn_is_said_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _file(tmp_path / "a.jsonl", ["one", "two"])
    _file(tmp_path / "b.jsonl", ["two"])
    said = cli("compose", "draw", "a.jsonl", "b.jsonl", "--each", "1", "--out", "x.jsonl", code=2).output
    assert "the item 'two' is in a and in b" in said
    said = cli("compose", "draw", "a.jsonl", "--by", "ability", "--each", "1", "--out", "x.jsonl", code=2).output
    assert "2 of 2 items have no tag 'ability'" in said
    assert not (tmp_path / "x.jsonl").exists()
