"""Pictures that a data file names: only those of its own folder, or of folders that the user names, are read."""

from __future__ import annotations

import io
import json
import os
import random
import socket
from pathlib import Path

import pytest
from PIL import Image

from fullbench import Ledger
from fullbench.core import picture as pictures
from fullbench.core.item import Item
from fullbench.core.media import UNKNOWN
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.errors import InputError
from fullbench.files.item_response_verdict_files import read_items, read_responses, write_items, write_responses
from fullbench.files.picture_access_policy import allow_picture_folders
from fullbench.models.wire.image_encoding import Limit, bytes_to_send
from tests.support.data_builders import png
from tests.support.forked_command import run_forked


@pytest.fixture
def data(tmp_path) -> Path:
    """A folder of data with a picture, beside one that is nobody's business."""
    (tmp_path / "data" / "in").mkdir(parents=True)
    (tmp_path / "data" / "in" / "mine.png").write_bytes(png())
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "theirs.png").write_bytes(png())
    (tmp_path / "secret" / "passwords").write_text("root:x:0:0")
    (tmp_path / "data" / "link.png").symlink_to(tmp_path / "secret" / "theirs.png")
    (tmp_path / "data" / "folder").symlink_to(tmp_path / "secret")
    (tmp_path / "data" / "near.png").symlink_to(tmp_path / "data" / "in" / "mine.png")
    os.mkfifo(tmp_path / "data" / "pipe.png")
    (tmp_path / "data" / "zero.png").symlink_to("/dev/zero")
    return tmp_path / "data"


def items(data: Path, name: str) -> list[Item]:
    (data / "items.jsonl").write_text(json.dumps({"id": "q", "question": "?", "pictures": [name]}), encoding="utf-8")
    return list(read_items(data / "items.jsonl"))


def responses(data: Path, name: str) -> list:
    row = {"item": "q", "contestant": "a", "parts": [{"picture": name}, "see"]}
    (data / "answers.jsonl").write_text(json.dumps(row), encoding="utf-8")
    return list(read_responses(data / "answers.jsonl"))


@pytest.mark.parametrize("name", ["in/mine.png", "near.png", "in/../in/mine.png", "ABSOLUTE"])
@pytest.mark.parametrize("read", [items, responses])
def test_pictures_within_the_datas_folder_are_taken_however_they_are_named(data, read, name):
    (found,) = read(data, str(data / "in" / "mine.png") if name == "ABSOLUTE" else name)
    assert found.pictures[0].data() == png()


OUT = [
    "../secret/theirs.png",
    "../secret/passwords",
    "link.png",
    "folder/theirs.png",
    "ABSOLUTE",
    "/etc/passwd",
    "zero.png",
]


@pytest.mark.parametrize("name", OUT)
@pytest.mark.parametrize("read", [items, responses])
def test_whatever_lies_outside_is_refused_with_the_way_to_allow_it(data, read, name):
    named = str(data.parent / "secret" / "theirs.png") if name == "ABSOLUTE" else name
    with pytest.raises(InputError, match="is outside") as caught:
        read(data, named)
    sentence = str(caught.value)
    assert "--pictures-from" in sentence
    assert ".jsonl:1: " in sentence
    assert "root:" not in sentence


@pytest.mark.parametrize("read", [items, responses])
def test_a_pipe_a_device_a_socket_and_a_folder_are_no_pictures(data, read, tmp_path):
    for name in ("pipe.png", "in"):
        with pytest.raises(InputError, match=r"is a (pipe|folder), not a file"):
            read(data, name)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(data / "s"))
        with pytest.raises(InputError, match=r"is a socket, not a file|cannot be read"):
            read(data, "s")
    with allow_picture_folders(Path("/dev")), pytest.raises(InputError, match="is a device, not a file"):
        read(data, "/dev/zero")


@pytest.mark.parametrize("read", [items, responses])
def test_folders_that_the_user_names_are_taken_too(data, read):
    for folder in (data.parent / "secret", data.parent):
        with allow_picture_folders(folder):
            (found,) = read(data, "../secret/theirs.png")
            assert found.pictures[0].data() == png()
    with pytest.raises(InputError, match="is outside"):
        read(data, "../secret/theirs.png")


def test_the_environment_names_folders_for_every_command(data, monkeypatch):
    monkeypatch.setenv("FULLBENCH_PICTURES_FROM", os.pathsep.join(["/nowhere", str(data.parent / "secret")]))
    assert items(data, "link.png")


def test_a_picture_that_is_too_large_is_refused_and_not_read(data, monkeypatch):
    with (data / "large.png").open("wb") as file:
        file.truncate(10 * pictures.LARGEST)  # a hole: it takes no room
    with pytest.raises(InputError, match=r"has 1,280 MiB, and a picture may have 128"):
        items(data, "large.png")


def test_the_repository_in_a_hubs_cache_is_one_folder(tmp_path):
    repository = tmp_path / "hub" / "datasets--somebody--things"
    (repository / "blobs").mkdir(parents=True)
    (repository / "snapshots" / "abc" / "images").mkdir(parents=True)
    (repository / "blobs" / "f00").write_bytes(png())
    (repository / "snapshots" / "abc" / "images" / "1.png").symlink_to("../../../blobs/f00")
    row = json.dumps({"id": "q", "question": "?", "picture": "images/1.png"})
    (repository / "blobs" / "b00").write_text(row, encoding="utf-8")
    (repository / "snapshots" / "abc" / "items.jsonl").symlink_to("../../blobs/b00")
    (found,) = read_items(repository / "snapshots" / "abc" / "items.jsonl")
    assert found.pictures[0].data() == png()
    other = tmp_path / "hub" / "datasets--somebody--else"
    other.mkdir()
    (other / "x.png").write_bytes(png())
    (repository / "snapshots" / "abc" / "images" / "1.png").unlink()
    (repository / "snapshots" / "abc" / "images" / "1.png").symlink_to(other / "x.png")
    with pytest.raises(InputError, match="is outside"):
        list(read_items(repository / "snapshots" / "abc" / "items.jsonl"))


def test_a_folder_of_pictures_keeps_to_itself(data):
    with pytest.raises(InputError, match="is outside"):
        list(read_items(data, question="What is it?"))
    found = list(read_items(data / "in", question="What is it?"))
    assert [item.id for item in found] == ["mine"]


def test_pictures_on_the_web_are_not_fetched(data):
    for url in ("http://169.254.169.254/latest", "https://example.org/x.png", "file:///etc/passwd", "//host/x.png"):
        with pytest.raises(InputError, match=r"is a web address|is outside|cannot be read"):
            items(data, url)


def test_what_is_written_can_be_read_back_wherever_the_pictures_lay(data, tmp_path):
    """A file that we write names no picture outside of its folder: those are copied beside it."""
    item = Item.ask("q", "?", Picture.read(data / "in" / "mine.png"))
    out = tmp_path / "out" / "items.jsonl"
    write_items(out, [item])
    (back,) = read_items(out)
    assert back == item
    (named,) = json.loads(out.read_text())["pictures"]
    assert named.startswith("items.jsonl.pictures/")
    inside = data / "again.jsonl"
    write_items(inside, [item])
    assert json.loads(inside.read_text())["pictures"] == ["in/mine.png"]
    with Ledger(tmp_path / "x.ledger") as ledger:
        ledger.add(item)
    with Ledger(tmp_path / "x.ledger", read_only=True) as ledger:
        write_items(tmp_path / "far" / "items.jsonl", ledger.items())
    assert list(read_items(tmp_path / "far" / "items.jsonl")) == [item]
    drawn = Response("q", "painter", (Picture.read(data / "in" / "mine.png"),))
    write_responses(tmp_path / "far" / "answers.jsonl", [drawn])
    assert list(read_responses(tmp_path / "far" / "answers.jsonl")) == [drawn]


def test_a_study_beside_its_data_runs_once_the_folder_is_named(data):
    """What a user with absolute paths types and sees: the sentence says what to add, and that works."""
    study = data.parent / "study"
    study.mkdir()
    rows = [{"id": f"q{n}", "question": "?", "picture": str(data / "in" / "mine.png")} for n in range(3)]
    answers = [{"item": row["id"], "contestant": who, "text": who * 3} for row in rows for who in "ab"]
    (study / "items.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (study / "answers.jsonl").write_text("\n".join(map(json.dumps, answers)), encoding="utf-8")
    judge = [
        "judge",
        "--items",
        "items.jsonl",
        "--responses",
        "answers.jsonl",
        "--judge",
        "length",
        "--ballot",
        "choice",
    ]
    refused = run_forked(study, *judge)
    assert refused.returncode == 2
    assert "Traceback" not in refused.stderr
    flag = f"--pictures-from {data / 'in'}"
    assert flag in refused.stderr
    assert not (study / "fullbench.ledger").exists()
    done = run_forked(study, *judge, *flag.split())
    assert done.returncode == 0, done.stderr
    with Ledger(study / "fullbench.ledger", read_only=True) as ledger:
        assert {item.pictures[0].data() for item in ledger.items()} == {png()}
    toml = 'name = "s"\nitems = "items.jsonl"\nresponses = "answers.jsonl"\njudges = ["length"]\nballots = ["choice"]\n'
    (study / "s.toml").write_text(toml, encoding="utf-8")
    assert f"{flag}" in run_forked(study, "run", "s.toml").stderr
    assert run_forked(study, "run", "s.toml", *flag.split(), "--quiet").returncode == 0
    (study / "s.toml").write_text(toml + 'pictures_from = ["../data/in"]\n', encoding="utf-8")
    done = run_forked(study, "run", "s.toml", "--quiet")
    assert done.returncode == 0, done.stderr
    done = run_forked(study, "replay", "s.toml")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF"])
def test_a_picture_whose_end_is_missing_is_refused_with_its_line(tmp_path, form):
    image = Image.frombytes("RGB", (64, 48), random.Random(20).randbytes(64 * 48 * 3))
    image.save(tmp_path / "whole.img", form)
    whole = (tmp_path / "whole.img").read_bytes()
    (tmp_path / "cut.img").write_bytes(whole[: len(whole) * 2 // 3])
    rows = [
        {"id": "q0", "question": "?", "pictures": ["whole.img"]},
        {"id": "q1", "question": "?", "pictures": ["cut.img"]},
    ]
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(InputError, match=r"items.jsonl:2: the picture .*cut.img' is cut off"):
        list(read_items(tmp_path / "items.jsonl"))


@pytest.mark.parametrize(("form", "side"), [("PNG", slice(16, 20)), ("GIF", slice(8, 10)), ("BMP", slice(18, 22))])
def test_a_picture_without_pixels_is_refused_with_its_line_and_is_no_picture_of_a_contestant(tmp_path, form, side):
    Image.new("RGB", (64, 48)).save(tmp_path / "flat.img", form)
    data = bytearray((tmp_path / "flat.img").read_bytes())
    data[side] = bytes(side.stop - side.start)
    (tmp_path / "flat.img").write_bytes(data)
    row = {"id": "q0", "question": "?", "pictures": ["flat.img"]}
    (tmp_path / "items.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"items.jsonl:1: the picture .*flat.img' is 0 pixels wide or high"):
        list(read_items(tmp_path / "items.jsonl"))
    assert Picture.from_any_bytes(bytes(data), b"").media_type == UNKNOWN


def test_a_jpeg_without_pixels_is_not_sent():
    out = io.BytesIO()
    Image.new("RGB", (64, 48)).save(out, "JPEG")
    data = bytearray(out.getvalue())
    frame = data.index(b"\xff\xc0")
    data[frame + 7 : frame + 9] = bytes(2)
    with pytest.raises(InputError, match="cannot be scaled"):
        bytes_to_send(Picture.from_bytes(bytes(data)), Limit())
