"""What a lab says of its results, read from TOML: each field as pages show it, a sentence for what does not fit."""

from __future__ import annotations

import io
import re

import pytest
from PIL import Image

from fullbench.errors import InputError
from fullbench.reports.display_names_of_judges_and_contestants import DisplayNames
from fullbench.reports.logos_from_local_files import SIDE, Logo
from fullbench.reports.site_info import Imprint
from tests.support.data_builders import png

FILE = """
[site]
title = "Squares"
description = '''
Two lines
of text.'''
authors = ["A. Li", "B. Roy"]
licence = "CC BY 4.0"
homepage = "https://lab.example.org/"
[site.zh]
title = "方块"
authors = ["李"]
[site.studies.hard]
title = "Hard squares"
licence = "MIT"
[site.studies.hard.zh]
title = "难的方块"
[alpha]
name = "Alpha"
logo = "a.png"
"""


@pytest.fixture
def path(tmp_path):
    (tmp_path / "a.png").write_bytes(png((9, 9, 200), (300, 100)))
    (tmp_path / "names.toml").write_text(FILE, encoding="utf-8")
    return tmp_path / "names.toml"


def test_every_language_and_study_has_its_own_words_and_shares_the_rest(path):
    imprint = Imprint.read(path)
    assert imprint.description == "Two lines of text."
    assert imprint.links == [("homepage", "https://lab.example.org/")]
    english, chinese = imprint.for_language("en"), imprint.for_language("zh")
    assert (english.title, english.authors) == ("Squares", ("A. Li", "B. Roy"))
    assert (chinese.title, chinese.authors, chinese.licence) == ("方块", ("李",), "CC BY 4.0")
    hard = english.of_study("hard")
    assert (hard.title, hard.licence, hard.description) == ("Hard squares", "MIT", "Two lines of text.")
    assert chinese.of_study("hard").title == "难的方块"
    assert english.of_study("default").title == "", "the title is the site's, not the study's"


def test_a_title_that_is_asked_for_wins_in_every_language(path):
    assert Imprint.read(path).with_title("Ours").for_language("zh").title == "Ours"
    assert Imprint.read(path).with_title("").for_language("zh").title == "方块"
    assert Imprint().with_title("").title == "fullbench"
    assert not Imprint().with_title("").is_titled


def test_the_description_is_no_name(path):
    assert list(DisplayNames.read(path).displays) == ["alpha"]


def test_a_logo_is_drawn_again_as_a_small_square(path):
    logo = DisplayNames.read(path).logo("alpha")
    with Image.open(io.BytesIO(logo.data)) as image:
        assert (image.format, image.size) == ("WEBP", (SIDE, SIDE))
        assert image.convert("RGBA").getpixel((SIDE // 2, SIDE // 2)) == (9, 9, 200, 255)
        assert image.convert("RGBA").getpixel((SIDE // 2, 2))[3] == 0, "a wide one has room above"
    assert len(logo.data) < 4_000
    assert Logo.read("a.png", path) == logo


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('site = "x"', "site is a table; write [site]"),
        ('[site]\ntitel = "x"', "[site] has an unknown field 'titel'; did you mean 'title'? known: title, "),
        ("[site]\ntitle = 3", "[site] has the title 3, which is not a text of one line"),
        ('[site]\ndescription = ""', "[site] has a description that is not a text of 1 to 600 characters"),
        (f'[site]\ndescription = "{"x" * 601}"', "[site] has a description that is not a text of 1 to 600 characters"),
        ('[site]\nauthors = "A. Li"', "[site] has authors that are not a list of names"),
        ('[site]\nhomepage = "javascript:alert(1)"', "which does not begin with https://"),
        ('[site]\nlogo = "https://x.example.org/a.png"', "is not a local file; save it next to this file"),
        ('[site]\nlogo = "none.png"', "none.png' cannot be read"),
        ('[site]\nlogo = "mark.svg"', "the logo 'mark.svg' is an SVG, which may hold scripts; save it as PNG"),
        ('[site]\nlogo = "words.png"', "words.png"),
        ('[site]\nlogo = "torn.png"', "the logo 'torn.png' cannot be decoded; save it as PNG"),
        ('[site]\nlogo = "huge.png"', "the logo 'huge.png' has more than 16,000,000 pixels; make it smaller"),
        ("[site.labels]\ntask = 3", "[site.labels] has 3 for 'task', which is not a text of one line"),
        ('[site]\nlabels = "x"', "site.labels is a table"),
        ('[site.zh]\nzh = "x"', "[site.zh] has an unknown field 'zh'"),
        ('[site.studies]\nhard = "x"', 'site.studies."hard" is a table'),
    ],
)
def test_what_does_not_fit_is_one_sentence_that_names_the_file(tmp_path, text, said):
    (tmp_path / "mark.svg").write_text("<svg/>")
    (tmp_path / "words.png").write_text("no picture")
    (tmp_path / "torn.png").write_bytes(png(size=(64, 64))[:60] + b"IEND")
    (tmp_path / "huge.png").write_bytes(png(size=(4_100, 4_000)))
    path = tmp_path / "names.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(said)) as refused:
        Imprint.read(path)
    assert str(refused.value).startswith(str(path))
    assert "\n" not in str(refused.value)
