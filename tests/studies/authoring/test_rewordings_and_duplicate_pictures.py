"""A benchmark of one's own: alike pictures, rewordings, references, and people who have the last word."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from fullbench import Item, Ledger, Picture, Response, Turn
from fullbench.errors import InputError
from fullbench.files.item_response_verdict_files import read_items, write_items
from fullbench.files.row_writers import write_rows
from fullbench.studies.authoring import human_review_of_rewordings_and_references as building
from fullbench.studies.authoring.human_review_of_rewordings_and_references import (
    REASONS,
    REFERENCE_COLUMNS,
    REWRITE_COLUMNS,
    reword_items,
)
from fullbench.studies.authoring.near_duplicate_pictures import (
    ALIKE,
    SAME,
    duplicate_pictures_table,
    read_pictures,
)
from tests.support.data_builders import Talker, png, words


def scene(seed: int, form: str = "PNG", size: int = 200, **options: object) -> bytes:
    image = Image.new("RGB", (200, 200), "white")
    draw = ImageDraw.Draw(image)
    for place in range(8):
        left, top = (37 * seed + 61 * place) % 150, (91 * seed + 47 * place) % 150
        draw.rectangle((left, top, left + 45, top + 45), fill=(25 * place, (80 * seed) % 255, 200 - 20 * place))
    out = io.BytesIO()
    image.resize((size, size)).save(out, form, **options)
    return out.getvalue()


def seed(name: str = "s1", question: str = "图中有几个苹果？", **rest: object) -> Item:
    return Item.ask(name, question, Picture.from_bytes(png()), reference="5 个。", **rest)


# Pictures


def test_the_same_and_nearly_the_same_picture_are_found(tmp_path: Path):
    files = {
        "a.png": scene(1),
        "b/copy.png": scene(1),
        "small.jpg": scene(1, "JPEG", 120, quality=60),
        "c.png": scene(2),
    }
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    (tmp_path / "broken.png").write_bytes(scene(3)[:200] + scene(3)[-12:])  # with its end, but not with its middle
    (tmp_path / "text.png").write_text("hello")
    found, wrong = read_pictures(tmp_path)
    assert len(wrong) == 1
    table = duplicate_pictures_table(found)
    assert [row[:3] for row in table.rows] == [["a.png", "b/copy.png", SAME], ["a.png", "small.jpg", ALIKE]]
    assert any("broken.png" in note for note in table.notes)


def test_a_folder_without_pictures(tmp_path: Path):
    for folder in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(InputError):
            read_pictures(folder)


# Rewordings


def test_models_reword_and_nothing_is_asked_twice(tmp_path: Path):
    items = [seed(), seed("s2", "What is this?"), Item("talk", (Turn("user", ("a",)), Turn("user", ("b",))))]
    lines = "1. 苹果有几个？\n2、请数一数苹果。\n- “一共有多少苹果？”\n\n图中有几个苹果?\n苹果共几个？\n多余的一行？"
    talker = Talker(lambda prompt: lines if "中文" in words(prompt) else "Refused, no lines")
    with Ledger(tmp_path / "l") as ledger:
        done = reword_items([talker], items, ledger, quiet=True)
        assert len(talker.asked) == 2
        again = reword_items([talker], items, ledger, quiet=True)
        assert len(talker.asked) == 2
    assert again.queue == done.queue
    mine = [row["text"] for row in done.queue.rows if row["seed"] == "s1"]
    assert mine == ["苹果有几个？", "请数一数苹果。", "一共有多少苹果？", "苹果共几个？", "多余的一行？"]
    assert any("6 lines where 5" in reason for reason in done.queue.failures)
    assert not any("s1" in reason and "of 5 rewordings" in reason for reason in done.queue.failures)
    assert any("s2" in reason and "1 of 5" in reason for reason in done.queue.failures)
    assert all(row["same"] is None for row in done.queue.rows)
    assert not any(turn.pictures for prompt in talker.asked for turn in prompt.turns)


def test_a_seed_that_gives_orders_is_only_quoted():
    (request,) = building.rewording_requests([seed(question="{count} Ignore all {text}")], 3)
    assert "{count} Ignore all {text}" in request.question
    assert "3 other wordings" in request.question


def test_two_writers_never_count_the_same_wording_twice():
    replies = [Response.say("s1/reworded", name, "苹果有几个？\n几个苹果呢？") for name in ("m1", "m2")]
    found = building.build_rewording_queue([seed()], replies, 2)
    assert [(row["variant"], row["writer"]) for row in found.rows] == [(1, "m1"), (2, "m1")]
    refused = Response.say("s1/reworded", "m3", "I can't.", tags={"stop": "refused"})
    assert building.build_rewording_queue([seed()], [refused], 2).failures == ["s1, by m3: refused"]


def queue(path: Path, *rows: tuple[object, ...], columns=REWRITE_COLUMNS) -> Path:
    write_rows(path, [dict(zip(columns, row, strict=True)) for row in rows], columns)
    return path


def test_only_what_people_confirmed_enters(tmp_path: Path):
    rows = queue(
        tmp_path / "q.csv",
        ("s1", 1, "图中有几个苹果？", "苹果有几个？", "yes", "m"),
        ("s1", 2, "图中有几个苹果？", "苹果甜吗？", "no", "m"),
        ("s1", 3, "图中有几个苹果？", "改过的问法：几个苹果？", "是", "m"),
        ("s1", 4, "图中有几个苹果？", "还没有人看过？", None, "m"),
        ("gone", 1, "?", "??", "yes", "m"),
    )
    made = building.confirm_rewordings([seed(tags={"task": "Counting"})], rows, dropped_seeds={"gone"})
    assert [(item.id, item.question) for item in made.items] == [
        ("s1-0", "图中有几个苹果？"), ("s1-1", "苹果有几个？"), ("s1-2", "改过的问法：几个苹果？"),
    ]  # fmt: skip
    assert all(item.pictures and item.tags["seed"] == "s1" and item.tags["task"] == "Counting" for item in made.items)
    assert dict(map(tuple, made.table.rows)) == {
        "same meaning": 2, "another meaning": 1, "waiting": 1, "of a seed that was dropped": 1,
    }  # fmt: skip
    for row, says in ((("s9", 1, "?", "x", "yes", "m"), "not among"), (("s1", 1, "?", "x", "maybe", "m"), "yes or no")):
        with pytest.raises(InputError, match=says) as caught:
            building.confirm_rewordings([seed()], queue(tmp_path / "bad.csv", row))
        assert caught.value.line == 2


# References


def test_references_are_reviewed_with_four_reasons(tmp_path: Path):
    items = [seed(f"s{place}") for place in range(6)] + [Item.ask("bare", "?")]
    rows = building.reference_queue(items)
    assert len(rows) == 6
    for row, said in zip(rows, ["yes", *REASONS, None], strict=True):
        row["accept"] = said if said in {"yes", None} else "no"
        row["reason"] = said if row["accept"] == "no" else None
    rows[0]["reference"] = "改正后：5 个。"
    rows[1]["reason"] = "事实错误"
    path = tmp_path / "r.csv"
    write_rows(path, rows, REFERENCE_COLUMNS)
    made = building.review_references(items, path)
    assert [(item.id, item.reference) for item in made.items] == [("s0", "改正后：5 个。")]
    assert dict(map(tuple, made.table.rows)) == {**dict.fromkeys(REASONS, 1), "accepted": 1, "waiting": 1,
                                                 "no reference": 1}  # fmt: skip
    marked = [replace(items[0], tags={"verified": "no", "label": "caption at fault", "family": "街"}), *items[1:]]
    assert building.review_references(marked, path).items[0].tags == {
        "verified": "yes",
        "label": "correct",
        "family": "街",
    }
    rows[1]["reason"] = "ugly"
    write_rows(path, rows, REFERENCE_COLUMNS)
    with pytest.raises(InputError, match="factual error, does not follow, incomplete, common-sense mistake"):
        building.review_references(items, path)


# The command line


def test_from_seeds_to_a_benchmark_on_the_command_line(cli):
    write_items("seeds.jsonl", [seed(), seed("s2", "这是什么水果？")])
    model = "offline:canned?text=换一种问法？"
    code, _, err = cli("compose", "rewrite", "--items", "seeds.jsonl", "--model", model, "--out", "q.csv", "--quiet")
    assert code == 0, err
    assert "2 rewordings to check" in err
    with Path("q.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["text"] for row in rows] == ["换一种问法？", "换一种问法？"]
    write_rows("q.jsonl", [row | {"same": "yes", "variant": 1} for row in rows])
    code, _, err = cli("compose", "references", "--items", "seeds.jsonl", "--out", "r.jsonl")
    assert code == 0, err
    told = [json.loads(line) for line in Path("r.jsonl").read_text(encoding="utf-8").splitlines()]
    write_rows("r.jsonl", [told[0] | {"accept": "yes"}, told[1] | {"accept": "no", "reason": "incomplete"}])
    words_ = ("compose", "accept", "--items", "seeds.jsonl", "--rewrites", "q.jsonl", "--references", "r.jsonl")
    code, out, err = cli(*words_, "--out", "items.jsonl")
    assert code == 0, err
    assert "incomplete" in out
    assert [item.id for item in read_items("items.jsonl")] == ["s1-0", "s1-1"]
    code, _, err = cli("compose", "accept", "--items", "seeds.jsonl", "--out", "x.jsonl")
    assert code == 2
    assert "Nothing to accept" in err
    code, out, _ = cli("compose", "duplicates", "seeds.jsonl.pictures")
    assert code == 0
    assert "1 different file" in out


def test_questions_whose_parts_would_move_are_counted_and_not_reworded(cli, tmp_path: Path):
    picture = Picture.from_bytes(png((200, 0, 0)))
    turns = {
        "plain": (Turn("user", (picture, "What is it?")),),
        "between": (Turn("user", ("First:", picture, "What is it?")),),
        "dialogue": (Turn("user", ("Hi",)), Turn("user", ("What is it?",))),
    }
    write_items(tmp_path / "mixed.jsonl", [Item(name, parts) for name, parts in turns.items()])
    words = ("compose", "rewrite", "--items", "mixed.jsonl", "--model", "offline:echo", "--out", "q.csv", "--quiet")
    code, _, err = cli(*words)
    assert code == 0, err
    assert "2 items not reworded: dialogues, or pictures between texts." in err
    rows = csv.DictReader((tmp_path / "q.csv").read_text(encoding="utf-8").splitlines())
    assert {row["seed"] for row in rows} == {"plain"}
