"""A page is one file, escapes everything, and shows faults, costs and sources."""

import base64
import hashlib
import io
import re
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image

from fullbench.cli.report import _page_path as page_of
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.model_call import Usage
from fullbench.core.picture import Picture
from fullbench.core.table import Table
from fullbench.core.translatable_note import WORD
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import UserError
from fullbench.reports.charts.palette import ACCENT, GRID, INK, MUTED_INK
from fullbench.reports.html_page import Section, render_page, thumbnail_uri
from fullbench.reports.results_page import write_page as overview
from fullbench.reports.site_info import Imprint
from fullbench.reports.table_cell_bars_and_sort_values import TEMPLATES, column_axes, laid_column
from fullbench.reports.words import language_messages
from tests.reports.sample import HOSTILE, LEADERBOARD, USAGE, exhibit, picture, sections

VOID = {"meta", "link", "img", "br", "input"}


class Tree(HTMLParser):
    """Every tag with its attributes, and whether the tags nest."""

    def __init__(self, text):
        super().__init__()
        self.found, self.open = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, tag):
        return [attrs for name, attrs in self.found if name == tag]


@pytest.fixture(scope="module")
def html():
    return render_page(HOSTILE, HOSTILE, sections(), usage=USAGE, source={"judge": HOSTILE, "seeds": [1, 2]})


def test_hostile_text_stays_text(html):
    tree = Tree(html)
    assert len(tree.all("script")) == 1
    assert all(image["src"].startswith("data:image/webp;base64,") for image in tree.all("img"))
    assert not [name for _, attrs in tree.found for name in attrs if name.startswith("on")]
    assert "{{ 7 * 7 }}" in html


def test_control_characters_of_names_and_texts_never_reach_the_page():
    hostile = "a\x1b[2J\x1b]0;title\x07\x9b31m\x00\x7fb"
    table = Table("t", hostile, ("judge", "n"), [(hostile, 3)], (hostile,))
    said = [replace(verdict, text=hostile) for verdict in exhibit().verdicts]
    section = Section(hostile, hostile, [table], exhibits=[replace(exhibit(), verdicts=said)])
    page = render_page(hostile, hostile, [section], source={"judge": hostile})
    assert re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f]", page.replace("\r\n", "\n")) == []
    assert "a\ufffd[2J\ufffd]0;title" in page


def test_the_policy_allows_the_pages_own_script_alone(html):
    script = re.search(r"<script>(.*?)</script>", html, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(meta for meta in Tree(html).all("meta") if meta.get("http-equiv"))["content"]
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_nothing_points_outside(html):
    for _, attrs in Tree(html).found:
        for name in ("src", "href", "action", "xlink:href"):
            assert (attrs.get(name) or "#").startswith(("#", "data:"))
    assert "@import" not in html
    assert not re.search(r"url\((?!#|\"data:font/woff2;)", html), "the font is in the page"


def test_a_reader_finds_headings_captions_labels_and_alternatives(html):
    tree = Tree(html)
    assert len(tree.all("h1")) == 1
    assert len(tree.all("caption")) == len(tree.all("table")) == 7
    assert all(attrs["alt"] for attrs in tree.all("img"))
    charts = [attrs for attrs in tree.all("div") if attrs.get("class") == "chart values"]
    assert len(charts) == 6
    assert all(attrs["role"] == "group" and attrs["aria-label"] for attrs in charts)
    assert all(attrs["scope"] in {"col", "row"} for attrs in tree.all("th"))
    assert tree.all("html") == [{"lang": "en"}]


def test_faults_costs_and_sources_are_there(html):
    assert 'class="fault">unreadable<' in html
    assert re.search(r'class="number fault" data-sort="3\.0">3<', html)
    assert "<dt>Dollars</dt><dd>unknown</dd>" in html
    assert "<dt>seeds</dt><dd>1, 2</dd>" in html
    assert '<span class="none">no words</span>' in html


def test_words_on_coloured_cells_do_not_turn_with_the_paper(html):
    assert re.search(r'<text[^>]*fill="#fdfdfd"', html)
    turning = re.findall(r'^\.chart .*?\[(?:fill|stroke)="(#\w+)"\]', html, re.MULTILINE)
    assert set(turning) == {INK, MUTED_INK, GRID, ACCENT}, "the colours of words, lines and single marks alone"


def test_without_the_charts_extra_the_page_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    html = render_page("T", "", [Section("S", tables=[LEADERBOARD])])
    assert ".[charts]" in html
    assert "<svg" not in html
    assert "<table>" in html


def test_rulings_stand_under_the_names_they_are_for_whatever_the_order_shown():
    one = exhibit()
    turned = Verdict("d", "judge", "42", ("painter", HOSTILE), "score:1-5", marks=(1, 3))
    html = render_page("T", "", [Section("S", exhibits=[replace(one, verdicts=[*one.verdicts, turned])])])
    marks = re.findall(r'<td class="number" data-sort="([\d.]+)">', html)
    assert list(map(float, marks)) == [2, 4.5, 3, 1]
    assert html.count("shown first") == 1
    assert "shown first" not in render_page("T", "", [Section("S", exhibits=[one])])


def test_a_thumbnail_is_small_and_keeps_its_shape():
    data = base64.b64decode(thumbnail_uri(picture((1800, 1200))).removeprefix("data:image/webp;base64,"))
    assert Image.open(io.BytesIO(data)).size == (480, 320)
    assert len(data) < 8000


def test_a_picture_that_cannot_be_decoded_is_named():
    broken = Picture.from_bytes(b"\x89PNG\r\n\x1a\n" + b"0" * 40)
    assert thumbnail_uri(broken) is None


def test_the_same_input_gives_the_same_page():
    assert render_page("T", "lead", sections()) == render_page("T", "lead", sections())


def test_sensitive_pictures_are_veiled_in_the_page_itself_unless_asked_for():
    from fullbench import Item, Picture, Response
    from fullbench.reports.html_page import Exhibit, _exhibit_view, translate_words
    from tests.judges.scorers.making import encoded, texture

    english = partial(translate_words, "en")
    secret = Picture.from_bytes(encoded(texture(3, side=128)))
    item = Item.ask("i", "a scene")
    responses = [Response("i", "plain", (secret,)), Response("i", "veiled", (secret,), {"sensitive": "yes"})]
    shown = {name: parts[0][2][0] for name, parts in _exhibit_view(Exhibit(item, responses), english)["responses"]}
    asked = {
        name: parts[0][2][0]
        for name, parts in _exhibit_view(Exhibit(item, responses, include_sensitive=True), english)["responses"]
    }
    assert shown["veiled"] != shown["plain"] == asked["plain"] == asked["veiled"]


def said() -> set[str]:
    """All words of ours in the templates of a page."""
    return {
        words
        for name in ("page.html", "macros.html")
        for words in re.findall(r't\("([^"]+)"', (TEMPLATES / name).read_text(encoding="utf-8"))
    }


def test_every_word_of_a_page_has_a_chinese_one_and_none_stands_there_untranslated():
    assert len(said()) > 25
    assert said() <= {id_.removeprefix(WORD) for id_ in language_messages("zh")}
    for name in ("page.html", "macros.html"):
        bare = re.sub(r"{[{%#].*?[}%#]}", "", (TEMPLATES / name).read_text(encoding="utf-8"), flags=re.DOTALL)
        assert re.findall(r">\s*([A-Za-z][A-Za-z ]{3,})", re.sub(r"<(script|style)>.*?</\1>", "", bare)) == []


def test_a_chinese_page_says_what_the_lab_says_in_chinese_and_the_same_figures(tmp_path):
    """The whole page of a record, with cases, in both languages."""
    (tmp_path / "names.toml").write_text(
        '[site]\ntitle = "Squares"\ndescription = "Of squares."\nlicence = "MIT"\n[site.zh]\ntitle = "方块"\n'
        '[site.studies.hard]\ntitle = "Hard"\n[site.studies.hard.zh]\ntitle = "难题"\n',
        encoding="utf-8",
    )
    shown = exhibit()
    record = Record(
        tuple(replace(verdict, usage=Usage(2, 0, 5, 5, 0.1, 1.0)) for verdict in shown.verdicts),
        {shown.item.id: shown.item},
        {(shown.item.id, response.contestant, 0): response for response in shown.responses},
    )
    imprint = Imprint.read(tmp_path / "names.toml")
    pages = {}
    for language in ("en", "zh"):
        out = tmp_path / f"{language}.html"
        overview("ledger", record, [LEADERBOARD], out, imprint=imprint, language=language)
        pages[language] = out.read_text(encoding="utf-8")
    chinese = pages["zh"]
    assert '<html lang="zh">' in chinese
    assert "<h1>方块</h1>" in chinese
    assert '<p class="description">Of squares.</p>' in chinese, "what has no Chinese stays as it is"
    assert "许可： MIT" in chinese
    assert '<h2 id="section-1-title">结果</h2>' in chinese
    for words in ("Results", "Cases on which", "Cite these results", "Save as SVG", "in words", "verdicts of"):
        assert words in pages["en"]
        assert words not in chinese, words
    numbers = r'data-sort="[^"]*"|n=\d+|\[-?[\d.]+, -?[\d.]+\]'
    assert re.findall(numbers, pages["en"]) == re.findall(numbers, chinese) != []
    for language, title in (("en", "Hard"), ("zh", "难题")):
        assert imprint.for_language(language).of_report("hard").title == title
    assert imprint.for_language("zh").of_report("other").title == "方块"


def test_a_language_that_no_page_will_have_is_refused():
    for out, language in ((None, "zh"), (Path("tables.md"), "zh"), (Path("page.html"), "fr")):
        with pytest.raises(UserError, match=r"--language is for the page|Unknown language 'fr'. Use en or zh"):
            page_of(out, language)


def test_a_page_of_many_tables_lists_them_first():
    tables = [replace(LEADERBOARD, name=f"t{number}", title=f"Table {number}") for number in range(5)]
    text = render_page("T", "", [Section("Results", tables=tables)])
    tree = Tree(text)
    links = [attrs["href"] for attrs in tree.all("a") if attrs["href"].startswith("#table-")][:5]
    assert [f"#{attrs['id']}" for tag in ("div", "figure") for attrs in tree.all(tag) if "id" in attrs] == links
    assert "All 5 tables" in text
    assert "All 1 tables" not in render_page("T", "", [Section("Results", tables=tables[:1])])


def test_figures_in_different_units_have_no_bars_on_one_axis():
    """A share beside marks: the bars would say that the share is next to nothing."""
    share, marks = Estimate(0.6, 0.5, 0.7, 90), Estimate(4.1, 3.9, 4.3, 90)
    rows = [["j", "position", "first shown wins", share], ["j", "high score", "mean shift", marks]]
    for name, some, barred in (
        ("biases on style", rows, False), ("agreement", rows, True), ("corrected j, shares and means", rows, False),
        ("corrected j, shares and means", [rows[0], rows[0]], True),
    ):  # fmt: skip
        table = Table(name, "T", table_columns("judge", "bias", "metric", "judge's"), some)
        assert [cell.bar is not None for cell in laid_column(table, 3)] == [barred, barred]
        assert (column_axes(table)[3] is not None) == barred
        assert ("data-axis" in render_page("T", "", [Section("S", tables=[table])]).partition("<main")[2]) == barred
