"""MJ-Bench built anew (Appendix B): chosen pairs, distorted and concealed regions, and grids, typed and counted."""

from __future__ import annotations

import hashlib
import io
import random

import numpy as np
import pytest
from PIL import Image

from fullbench import Case, Choice, Ledger, Verdict
from fullbench.files.item_response_verdict_files import read_items, read_responses
from tests.support.commands import cells, cli, read_jsonl, write_rows
from tests.support.scripted_server import ScriptedServer

FIND = '''
import numpy as np

def hands(image):
    """Like NudeNet: class, score, box in pixels. A hand is what is all red."""
    found = [("HAND", 0.9, [20, 10, 16, 16]), ("FACE", 0.8, [2, 2, 8, 8]), ("HAND", 0.1, [0, 30, 5, 5])]
    return [{"class": name, "score": score, "box": box} for name, score, box in found if red(image)]

def boxes(image):
    """Like transformers: label, score, corners in pixels."""
    box = {"xmin": 20, "ymin": 10, "xmax": 36, "ymax": 26}
    return [{"label": "hand", "score": 0.9, "box": box}] if red(image) else []

def shares(image):
    return [("hand", 0.9, (20 / 64, 10 / 48, 36 / 64, 26 / 48))] if red(image) else []

def odd(image):
    return ["hand"]

def pixels(image):
    return [("hand", 0.9, (20, 10, 36, 26))]

def red(image):
    return np.asarray(image)[..., 0].mean() > 100

def blacken(picture, mask, what):
    from PIL import Image
    return Image.new("RGB", picture.size)
'''
PAINTER = """
from PIL import Image

def draw(prompt, seed):
    return None if "old man" in prompt else Image.new("RGB", (24, 24), (len(prompt) * 6, 99, 40))
"""


def noise(seed: int, red: int) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 60, (48, 64, 3), dtype=np.uint8)
    pixels[..., 0] += red
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


@pytest.fixture
def photos(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "find.py").write_text(FIND)
    (tmp_path / "painter.py").write_text(PAINTER)
    (tmp_path / "photos").mkdir()
    for n in range(4):
        (tmp_path / "photos" / f"{n}.png").write_bytes(noise(n, 150 if n < 3 else 0))
    return tmp_path


def pixels(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def pictures_of(folder) -> dict[tuple[str, str], np.ndarray]:
    items = {item.id for item in read_items(folder / "items.jsonl")}
    return {(one.item, one.contestant): pixels(one.pictures[0].data())
            for one in read_responses(folder / "responses.jsonl", items=items)}  # fmt: skip


@pytest.mark.parametrize("detector", ["find:hands", "find:boxes", "find:shares"])
def test_a_detected_region_is_distorted_and_pictures_without_one_are_counted(photos, detector):
    told = cli("compose", "distort", "photos", "--detector", detector, "--label", "Hand", "--inpainter", "find:blacken",
               "--prompt", "a person", "--out", "bent")  # fmt: skip
    assert f"Skipped: 3.png: {detector} found no region with Hand" in told.output
    drawn = pictures_of(photos / "bent")
    assert len(drawn) == 6
    inside = np.zeros((48, 64), dtype=bool)
    inside[10:26, 20:36] = True
    for n in range(3):
        good, bad = drawn[f"{n}-painted", "chosen"], drawn[f"{n}-painted", "rejected"]
        np.testing.assert_array_equal(good, pixels(noise(n, 150)))
        assert not bad[inside].any(), "the region is painted anew"
        np.testing.assert_array_equal(bad[~inside], good[~inside])
    rows = read_jsonl(photos / "bent" / "items.jsonl")
    assert {row["tags"]["perspective"] for row in rows} == {"quality"}
    assert {row["tags"]["subset"].lower() for row in rows} == {"hand"}, "the label that was found"
    tables = cli("run", "bent/study.toml", "--quiet", "--json").tables
    assert "hand" in str(tables["sub-categories"]["rows"]).lower()
    assert "returned 'hand'" in cli("compose", "distort", "photos", "--detector", "find:odd", "--inpainter",
                                    "find:blacken", "--prompt", "x", "--out", "odd", code=2).output  # fmt: skip
    assert "shares of the picture, from 0 to 1" in cli("compose", "distort", "photos", "--detector", "find:pixels",
        "--inpainter", "find:blacken", "--prompt", "x", "--out", "odd", code=2).output  # fmt: skip
    failed = cli("compose", "distort", "photos", "--detector", "find:hands", "--inpainter", "find:red", "--prompt", "x",
                 "--out", "odd", code=2).output  # fmt: skip
    assert "find:red failed (TypeError" in failed
    assert "it gets a picture, a mask and a text" in failed
    assert "Which region?" in cli("compose", "distort", "photos", "--inpainter", "find:blacken", "--out", "o",
                                  "--prompt", "x", code=2).output  # fmt: skip
    assert not (photos / "odd").exists()


def test_what_a_detector_finds_is_concealed_and_the_original_is_sensitive(photos):
    told = cli("compose", "conceal", "photos", "--detector", "find:hands", "--inpainter", "find:blacken", "--subset",
               "subtle", "--prompt", "a person", "--out", "safe")  # fmt: skip
    assert "Skipped: 3.png" in told.output
    drawn = pictures_of(photos / "safe")
    rows = read_jsonl(photos / "safe" / "items.jsonl")
    assert {(row["tags"]["perspective"], row["tags"]["subset"], row["tags"]["sensitive"]) for row in rows} == {
        ("safety", "subtle", "yes")
    }
    for n in range(3):
        good, bad = drawn[f"{n}-concealed", "chosen"], drawn[f"{n}-concealed", "rejected"]
        np.testing.assert_array_equal(bad, pixels(noise(n, 150)))
        assert not good[10:26, 20:36].any()
        assert not good[2:10, 2:10].any(), "all regions that were found, of any label"
        assert good[31:, :6].any(), "but for one that the detector was not sure of"
    manifest = {row["name"]: row for row in read_jsonl(photos / "safe" / "made" / "manifest.jsonl")}
    assert manifest["0"]["sensitive"]
    assert manifest["0"]["shown"] != manifest["0"]["sha256"], "the original lies there veiled"


def test_a_grid_is_drawn_in_one_go_and_its_group_is_judged(photos):
    told = cli("compose", "grid", "an {age} {gender}", "--axis", "age=old,young", "--axis", "gender=man,woman",
               "--generator", "generator:painter:draw", "--out", "people.jsonl", "--ledger", "g.ledger")  # fmt: skip
    assert "4 prompts, 3 with a picture" in told.output
    assert "'an old man' was refused by the generator" in told.output
    rows = read_jsonl(photos / "people.jsonl")
    for row in rows:
        if row["picture"]:
            assert pixels((photos / row["picture"]).read_bytes())[0, 0, 0] == len(row["prompt"]) * 6
    assert [row["refused"] for row in rows] == ["yes", None, None, None]
    told = cli("compose", "group", "people.jsonl", "--prompt", "a person", "--out", "group")
    assert "Skipped: an old man: the generator refused it" in told.output
    (photos / "bright.py").write_text("def red(prompt, image):\n    return image.getpixel((0, 0))[0] / 255\n")
    study = (photos / "group" / "study.toml").read_text(encoding="utf-8")
    (photos / "group" / "study.toml").write_text(study.replace('"picture:sharpness", "chance"', '"scorer:bright:red"'))
    tables = cli("run", "group/study.toml", "--quiet", "--json").tables
    scores = [len(row["prompt"]) * 6 / 255 for row in rows if row["picture"]]
    deviation = 1 - np.std(scores) / np.mean(scores)
    assert cells(tables["evenness"], "NDS by item", "scores")["as given"] == pytest.approx(deviation)


PROMPTS = 8


def test_pairs_are_chosen_by_a_models_marks_and_confirmed_by_people(photos):
    """B.1: three candidates a prompt, marked from 1 to 10; clear pairs are kept, and those that people confirm."""
    lot = random.Random(4)
    items, responses, worth = [], [], {}
    for n in range(PROMPTS):
        items.append({"id": f"题{n}", "question": f"thing {n}", "tags": {"subset": "count"}})
        for name in ("one", "two", "three") if n else ("one",):
            (photos / f"{n}-{name}.png").write_bytes(data := noise(lot.randint(0, 10**6), 9))
            responses.append({"item": f"题{n}", "contestant": name, "pictures": [f"{n}-{name}.png"]})
            worth[f"题{n}", name] = (lot.randint(1, 10), data)
    write_rows(photos / "prompts.jsonl", items)
    write_rows(photos / "drawn.jsonl", responses)
    by_digest = {}
    with ScriptedServer({"v": lambda asked: f"[[{by_digest[asked.pictures[0]]}]]"}) as server:
        by_digest |= {hashlib.sha256(data).hexdigest(): mark for mark, data in worth.values()}
        cli("judge", "--items", "prompts.jsonl", "--responses", "drawn.jsonl", "--judge", f"vllm:v@{server.url}",
            "--ballot", "score:1-10", "--ledger", "marks.ledger", "--quiet")  # fmt: skip
    choose = ("compose", "pairs", "--judge", "v", "--margin", 4, "--ledger", "marks.ledger")
    told = cli(*choose, "--out", "chosen")
    clear = {}
    for n in range(1, PROMPTS):
        marks = {name: worth[f"题{n}", name] for name in ("one", "two", "three")}
        best, worst = (pick(marks, key=lambda name: marks[name][0]) for pick in (max, min))
        if marks[best][0] - marks[worst][0] >= 4:
            clear[f"题{n}"] = (marks[best][1], marks[worst][1])
    assert 2 <= len(clear) < PROMPTS - 1, "some are clear and some are not"
    assert "1 prompts have fewer than two" in told.output or "1 prompt has fewer" in told.output
    assert f"{PROMPTS - 1 - len(clear)} prompt" in told.output
    drawn = pictures_of(photos / "chosen")
    for item, (good, bad) in clear.items():
        np.testing.assert_array_equal(drawn[item, "chosen"], pixels(good))
        np.testing.assert_array_equal(drawn[item, "rejected"], pixels(bad))
    assert {row["tags"]["subset"] for row in read_jsonl(photos / "chosen" / "items.jsonl")} == {"count"}

    chosen = {item.id: item for item in read_items(photos / "chosen" / "items.jsonl")}
    pairs = list(read_responses(photos / "chosen" / "responses.jsonl", items=set(chosen)))
    names = sorted(chosen)
    with Ledger(photos / "votes.ledger") as book:
        for place, name in enumerate(names[:-1]):  # nobody has voted on the last one yet
            both = tuple(sorted((one for one in pairs if one.item == name), key=lambda one: one.contestant))
            case = Case(chosen[name], both, Choice())
            for number, rater in enumerate("abc"):
                marks = (1.0, 0.0) if place or number == 0 else (0.0, 1.0)
                book.add(case, Verdict.from_case(case, "human", marks, rater=rater))
    told = cli(*choose, "--votes", "votes.ledger", "--out", "confirmed")
    assert sorted(row["id"] for row in read_jsonl(photos / "confirmed" / "items.jsonl")) == names[1:-1]
    assert "1 pair" in told.output
    assert "no vote of people yet" in told.output
    assert "not confirmed" in told.output
    labels = read_jsonl(photos / "confirmed" / "labels.jsonl")
    assert all(dict(zip(row["contestants"], row["marks"], strict=True))["chosen"] == 1 for row in labels)
    assert "No pair is left" in cli(*choose[:-4], "--margin", 20, *choose[-2:], "--out", "none", code=2).output


@pytest.mark.slow
def test_a_diffusers_pipeline_repaints_a_region_and_nothing_else(photos):
    pytest.importorskip("diffusers", reason="diffusers is not installed; pip install fullbench[diffusers]")
    from tests.training.generator import tiny

    tiny.pipeline(photos)
    told = cli("compose", "distort", "photos", "--region", "0.25,0.25,0.75,0.75", "--what", "a hand", "--prompt", "x",
               "--inpainter", "diffusers:pipe?steps=2&seed=3&strength=1.0", "--out", "bent")  # fmt: skip
    assert "4 items" in told.output
    drawn = pictures_of(photos / "bent")
    inside = np.zeros((48, 64), dtype=bool)
    inside[12:36, 16:48] = True
    for n in range(4):
        good, bad = drawn[f"{n}-painted", "chosen"], drawn[f"{n}-painted", "rejected"]
        np.testing.assert_array_equal(bad[~inside], good[~inside])
        assert (bad[inside] != good[inside]).mean() > 0.5
    wrong = ("compose", "distort", "photos", "--region", "0,0,1,1", "--prompt", "x", "--out", "o", "--inpainter")
    assert "has no option 'stepz'" in cli(*wrong, "diffusers:pipe?stepz=2", code=2).output
