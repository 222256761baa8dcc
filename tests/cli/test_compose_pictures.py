"""Building pictures from the command line: pairs, people and prompts. The result can be run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fullbench import Ledger
from fullbench.core.model import Prompt, Reply
from fullbench.files.item_response_verdict_files import read_items, read_responses
from fullbench.studies.authoring.created_pictures_manifest import verify_manifest
from fullbench.studies.authoring.safe_prompt_rewrites import sanitise_prompts
from fullbench.studies.run.answer_items import RecordingModel
from tests.judges.scorers.making import encoded, texture
from tests.support.commands import read_jsonl as rows
from tests.support.data_builders import Talker, words

REGION = (0.25, 0.25, 0.75, 0.75)


@pytest.fixture
def photos(tmp_path) -> Path:
    folder = tmp_path / "photos"
    (folder / "rooms").mkdir(parents=True)
    for n, path in enumerate(("a.jpg", "b.png", "rooms/厅.png")):
        (folder / path).write_bytes(encoded(texture(n, 96), "JPEG" if path.endswith("jpg") else "PNG"))
    (folder / "broken.jpg").write_bytes(encoded(texture(9, 96), "JPEG")[:300])
    (tmp_path / "paint.py").write_text("def blank(picture, mask, what):\n    return picture.point(lambda v: 0)\n")
    return folder


def test_blurred_pairs_run_and_the_manifest_says_how_each_was_made(cli, photos, tmp_path):
    code, _, said = cli(
        "compose", "blur", photos, "--defocus", 3, "--motion", "9@45", "--prompt", "a photo", "--out", "b"
    )
    assert code == 0
    assert "Skipped: broken.jpg: the picture cannot be decoded" in said
    manifest = rows(tmp_path / "b/made/manifest.jsonl")
    assert verify_manifest(tmp_path / "b/made", manifest) == []
    assert {row["how"] for row in manifest} == {
        "as it was given", "disk of 3 pixels", "line of 9 pixels at 45 degrees",
    }  # fmt: skip
    assert "rooms-厅-defocus3" in {row["name"] for row in manifest}
    code, out, _ = cli("run", "b/study.toml", "--quiet", "--json")
    assert code == 0
    tables = {table["name"]: table for table in json.loads(out)}
    right = [row for row in tables["preferences"]["rows"] if row[0] == "sharpness"]
    assert right
    assert all(row[3]["value"] == 1.0 for row in right)


def test_a_distortion_stays_in_its_region(cli, photos, tmp_path):
    region = ",".join(map(str, REGION))
    words = ("--region", region, "--inpainter", "paint:blank", "--subset", "human_face", "--prompt", "a face")
    assert cli("compose", "distort", photos, *words, "--out", "d")[0] == 0
    before, after = (np.asarray(Image.open(tmp_path / f"d/made/b{end}.png")) for end in ("", "-painted"))
    inside = np.zeros(before.shape[:2], dtype=bool)
    inside[24:72, 24:72] = True
    assert (after[inside] == 0).all()
    assert (after[~inside] == before[~inside]).all()
    assert {item.tags["subset"] for item in read_items(tmp_path / "d/items.jsonl")} == {"human_face"}


def test_each_picture_gets_its_own_prompt(cli, photos, tmp_path):
    (photos / "broken.jpg").unlink()
    told = tmp_path / "told.csv"
    told.write_text("picture,prompt\na.jpg,a bowl\nb.png,一只猫\nrooms/厅.png,a hall\n", encoding="utf-8")
    assert cli("compose", "blur", photos, "--defocus", 2, "--prompts", told, "--out", "b")[0] == 0
    assert [item.question for item in read_items(tmp_path / "b/items.jsonl")] == ["a bowl", "一只猫", "a hall"]


def test_a_grid_becomes_a_study_of_people(cli, photos, tmp_path):
    axes = ("--axis", "age=young,old", "--axis", "gender=woman,man")
    assert cli("compose", "grid", "a {age} {gender} nurse", *axes, "--out", "nurses.csv")[0] == 0
    code, _, said = cli("compose", "group", "nurses.csv", "--prompt", "a nurse", "--out", "n")
    assert (code, "has no picture" in said, (tmp_path / "n").exists()) == (2, True, False)
    lines = (tmp_path / "nurses.csv").read_text().splitlines()
    drawn = ["photos/a.jpg", "photos/b.png", "photos/rooms/厅.png", "photos/a.jpg"]
    filled = [lines[0], *(picture + line for picture, line in zip(drawn, lines[1:], strict=True))]
    (tmp_path / "nurses.csv").write_text("\n".join(filled), encoding="utf-8")
    assert cli("compose", "group", "nurses.csv", "--prompt", "a nurse", "--out", "n")[0] == 0
    assert {tuple(one.tags.items()) for one in read_responses(tmp_path / "n/responses.jsonl")} == {
        (("age", age), ("gender", gender)) for age in ("young", "old") for gender in ("woman", "man")
    }
    code, out, _ = cli("run", "n/study.toml", "--quiet", "--json")
    assert code == 0
    axis = next(table for table in json.loads(out) if table["title"] == "By demographic axis")
    assert {row[2] for row in axis["rows"]} == {"age", "gender"}


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (["blur", "photos", "--prompt", "x"], "No blur given"),
        (["blur", "photos", "--defocus", "2"], "No prompt given"),
        (["blur", "photos", "--defocus", "0", "--prompt", "x"], "between 0 and 200 pixels"),
        (["blur", "photos", "--motion", "nine", "--prompt", "x"], "LENGTH@ANGLE"),
        (["blur", "nowhere", "--defocus", "2", "--prompt", "x"], "not a folder of pictures"),
        (["blur", "photos", "--defocus", "2", "--prompts", "told.csv"], "no prompt for 'a.jpg' (4 lack one)"),
        (["distort", "photos", "--region", "0.1,0.2", "--inpainter", "paint:blank", "--prompt", "x"], "LEFT,TOP"),
        (["distort", "photos", "--region", "0.9,0,0.1,1", "--inpainter", "paint:blank", "--prompt", "x"], "left bef"),
        (["distort", "photos", "--region", "0,0,1,1", "--inpainter", "paint:gone", "--prompt", "x"], "cannot be found"),
        (["grid", "a {age} cook", "--axis", "age"], "SLOT=VALUE"),
        (["grid", "a {age} cook", "--axis", "size=big"], "no {size}"),
        (["group", "told.csv", "--prompt", "x"], "no column shows how people differ"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_and_nothing_is_written(cli, photos, tmp_path, command, reason):
    (tmp_path / "told.csv").write_text("picture,prompt\nphotos/a.jpg,a bowl\n", encoding="utf-8")
    before = set(tmp_path.rglob("*"))
    code, _, said = cli("compose", *command, "--out", "made.csv" if command[0] == "grid" else "made")
    assert (code, reason in said) == (2, True), said
    assert {path for path in set(tmp_path.rglob("*")) - before if "__pycache__" not in path.parts} == set()


def test_replies_are_kept_and_only_what_failed_is_asked_again(tmp_path):
    down = [True]

    def reply(prompt: Prompt) -> str | Reply:
        asked = words(prompt)
        if "a burning car" in asked and down[0]:
            return Reply(prompt, error="the server is down")
        return "crime" if "Which of these" in asked else "a calm street"

    model = Talker(reply)
    with Ledger(tmp_path / "kept.ledger") as book:
        first = sanitise_prompts(RecordingModel(model, book), ["a knife fight", "a burning car"])
        assert [one.safe for one in first.pairs] == ["a calm street"]
        assert first.failures == ["'a burning car': the server is down"]
        asked = len(model.asked)
        down[0] = False
        second = sanitise_prompts(RecordingModel(model, book), ["a knife fight", "a burning car"])
        assert [(one.prompt, one.labels) for one in second.pairs] == [
            ("a knife fight", ("crime",)), ("a burning car", ("crime",)),
        ]  # fmt: skip
        assert len(model.asked) == asked + 2


def test_sanitised_prompts_wait_for_a_person(cli, tmp_path):
    (tmp_path / "unsafe.csv").write_text("prompt\na bloody knife\na bloody knife\n", encoding="utf-8")
    code, _, said = cli("compose", "sanitise", "unsafe.csv", "--model", "offline:echo", "--out", "pairs.csv")
    assert (code, "in the file already: 1." in said) == (0, True)
    assert (tmp_path / "pairs.csv").read_text().splitlines()[0] == 'prompt,safe,labels,"checked"'
    code, _, said = cli("compose", "sanitise", "pairs.csv", "--model", "nobody:x", "--out", "more.csv")
    assert (code, "nobody" in said) == (2, True)
