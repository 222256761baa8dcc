"""Charts: one definition, drawn offline as SVG and PNG, Chinese included."""

import io
import re
import shutil
import subprocess
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from PIL import Image

from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Table
from fullbench.errors import InputError, MissingExtra
from fullbench.reports.charts import chart_specification_and_rendering
from fullbench.reports.charts.chart_specification_and_rendering import (
    FONTS,
    build_chart,
    inline_svg,
    narrow_chart,
    render_png,
    render_svg,
    write_chart,
)
from fullbench.reports.translated_tables import localise_table
from tests.reports.sample import LEADERBOARD, PROFILE, QUADRANTS, TABLES

SVG = "{http://www.w3.org/2000/svg}"


def texts(drawn):
    return ["".join(element.itertext()) for element in ET.fromstring(render_svg(drawn)).iter(f"{SVG}text")]


@pytest.mark.parametrize("table", [*TABLES, PROFILE, QUADRANTS], ids=lambda table: table.chart["kind"])
def test_every_kind_draws_its_rows_and_says_what_it_shows(table):
    drawn = build_chart(table)
    assert drawn.alt.startswith(table.title)
    shown = " ".join(texts(drawn))
    for label in table.column(table.columns[0]):
        assert label in ("unheard", LEADERBOARD.rows[1][0]) or label in shown
    assert "null" not in shown
    assert "undefined" not in shown


@pytest.mark.parametrize(
    "table", [table for table in [*TABLES, PROFILE, QUADRANTS] if table.chart["kind"] != "matrix"],
    ids=lambda table: table.chart["kind"],
)  # fmt: skip
def test_every_kind_fits_a_phone_with_words_as_large_and_marks_that_say_the_same(table):
    wordy = replace(table, rows=[(f"{row[0]} with a name that nobody can say at once", *row[1:]) for row in table.rows])
    wide, narrow = build_chart(wordy), narrow_chart(build_chart(wordy))
    roots = [ET.fromstring(render_svg(drawn)) for drawn in (wide, narrow)]
    assert float(roots[1].get("width")) <= 340 < float(roots[0].get("width"))
    said, sizes = ([[one.get(name) for one in root.iter() if one.get(name)] for root in roots]
                   for name in ("aria-label", "font-size"))  # fmt: skip
    marks = [
        {words for words in some if words.count(":") and "axis" not in words and "legend" not in words} for some in said
    ]
    assert marks[0] == marks[1]
    assert set(sizes[0]) == set(sizes[1])


@pytest.mark.parametrize("table", [*TABLES, PROFILE, QUADRANTS], ids=lambda table: table.chart["kind"])
def test_a_chart_within_a_page_has_the_pages_style_and_says_its_marks_alone(table):
    whole, part = (
        ET.fromstring(text) for text in (render_svg(build_chart(table)), inline_svg(render_svg(build_chart(table))))
    )
    assert not list(part.iter(f"{SVG}style"))
    assert not [one for one in part.iter() if "font-family" in one.attrib or "aria-roledescription" in one.attrib]
    assert all("aria-label" in one.attrib for one in part.iter() if "role" in one.attrib)
    kinds = ("axis", "legend", "title")
    labels = [one.get("aria-label") for one in whole.iter() if one.get("aria-roledescription") not in kinds]
    assert [one.get("aria-label") for one in part.iter() if "aria-label" in one.attrib] == list(filter(None, labels))


def test_a_row_without_a_figure_is_not_drawn_and_the_best_is_on_top():
    found = [text for text in texts(build_chart(LEADERBOARD)) if text in {"glm", "智谱", "unheard"}]
    assert found == ["glm", "智谱"]


def test_dots_lie_where_the_values_are():
    table = Table("t", "T", ("m", "v"), (("a", Estimate(10, 8, 12, 5)), ("b", Estimate(20, 15, 21, 5)), ("c", 30)))
    root = ET.fromstring(render_svg(build_chart(table, {"kind": "intervals", "label": "m", "value": "v"})))
    group = next(g for g in root.iter(f"{SVG}g") if "mark-symbol" in g.get("class", ""))
    places = [float(re.match(r"translate\(([\d.]+)", path.get("transform"))[1]) for path in group.iter(f"{SVG}path")]
    assert places[1] - places[0] == pytest.approx(places[2] - places[1], rel=1e-3)
    assert places == sorted(places)


def test_a_radar_draws_whole_rows_on_its_spokes():
    table = PROFILE
    drawn = build_chart(table)
    assert drawn.alt.endswith("Radar of 2 rows over 3 metrics; the outer ring is 8.")
    points = {(row["group"], row["order"]): row for row in drawn.spec["data"]["values"]}
    assert {name for name, _ in points} == {"glm", "qwen"}
    assert points["glm", 0]["x"] == pytest.approx(0)
    assert points["glm", 0]["y"] == pytest.approx(7 / 8)
    for (name, step), row in points.items():
        assert (row["x"] ** 2 + row["y"] ** 2) ** 0.5 == pytest.approx(row["value"] / 8)
        if step == 3:
            assert row["value"] == points[name, 0]["value"]
    assert "计数" in texts(drawn)
    assert {"2", "4", "6", "8"} <= set(texts(drawn)), "every ring has its number"
    few = build_chart(table, {**table.chart, "most": 1})
    assert "1 row (1 more in the table)" in few.alt


def test_quadrants_have_axes_of_their_own():
    layers = build_chart(QUADRANTS).spec["layer"]
    assert [layer["encoding"] for layer in layers[:2]] == [{"x": {"datum": 5.0}}, {"y": {"datum": 1.0}}]
    domains = [layers[-1]["encoding"][axis]["scale"]["domain"] for axis in "xy"]
    assert domains == [[4.0, 6.0], [0.9, 1.9]]


def test_quadrants_have_their_names_and_a_figure_without_bound_stands_at_the_upper_edge():
    rows = (*QUADRANTS.rows, ("rock", 5.5, "∞"), ("control", None, "∞"))
    hint = {**QUADRANTS.chart, "corners": ["Robust Convergence", "Component-Centric", "Alignment-Driven", "限"],
            "infinite": "∞"}  # fmt: skip
    table = Table("q", "Q", QUADRANTS.columns, rows, chart=hint)
    drawn = build_chart(table)
    root = ET.fromstring(render_svg(drawn))
    places = {}
    for group in root.iter(f"{SVG}g"):
        if "mark-text" in group.get("class", ""):
            for text in group.iter(f"{SVG}text"):
                across, down = re.match(r"translate\(([-\d.]+),([-\d.]+)\)", text.get("transform")).groups()
                places["".join(text.itertext())] = (float(across), float(down))
    right, low, left, last = (places[name] for name in hint["corners"])
    assert right[0] > left[0]
    assert low[0] > last[0]
    assert right[1] < low[1]
    assert left[1] < last[1]
    assert 0 < places["rock (∞)"][1] < min(down for name, (_, down) in places.items() if name in hint["corners"])
    assert not any(name.startswith("control") for name in places), "what has no figure across has no place"
    assert drawn.alt.endswith("3 rows, with lines between four quadrants; 1 without an upper bound.")
    alone = build_chart(Table("q", "Q", QUADRANTS.columns, (("rock", 5.5, "∞"),), chart={**hint, "split": (5.0, None)}))
    assert "rock (∞)" in texts(alone)
    assert localise_table(table, "zh").chart["corners"][0] == "又好又稳"


def test_chinese_stays_text_in_svg_under_fonts_that_browsers_have():
    text = render_svg(build_chart(LEADERBOARD))
    assert ">智谱</text>" in text
    assert set(re.findall(r'<text [^>]*font-family="([^"]*)"', text)) == {FONTS}
    assert "PingFang SC" in FONTS
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", text)


def test_no_two_charts_share_an_id_and_the_same_chart_is_the_same_text():
    heat = next(table for table in TABLES if table.chart["kind"] == "heat")
    one, two = build_chart(heat), build_chart(Table("t", "T", heat.columns, (*heat.rows, ("a", "a", 0.5))), heat.chart)
    assert render_svg(one) == render_svg(one)
    first, second = (set(re.findall(r' id="([^"]+)"', render_svg(drawn))) for drawn in (one, two))
    assert first
    assert not first & second


def cjk_font():
    if shutil.which("fc-list") is None:
        return False
    return bool(subprocess.run(["fc-list", ":lang=zh"], capture_output=True, check=True).stdout)


def ink(name):
    table = Table("t", "T", ("m", "v"), ((name, 1.0), ("b", 2.0)))
    data = render_png(build_chart(table, {"kind": "intervals", "label": "m", "value": "v"}), scale=1)
    return np.asarray(Image.open(io.BytesIO(data)).convert("L"))


def test_chinese_glyphs_differ_in_png():
    if not cjk_font():
        pytest.skip("no Chinese font on this machine: apt-get install fonts-noto-cjk")
    one, two = ink("一一"), ink("齉齉")
    assert one.shape == two.shape
    assert (two < 160).sum() > (one < 160).sum() + 40


def test_files_by_suffix(tmp_path):
    drawn = build_chart(LEADERBOARD)
    assert write_chart(drawn, tmp_path / "c.svg").read_text().startswith("<svg")
    with Image.open(write_chart(drawn, tmp_path / "c.png")) as image:
        assert image.width > 600
    assert b'"layer"' in write_chart(drawn, tmp_path / "c.json").read_bytes()
    with pytest.raises(InputError, match=r"\.svg, \.png"):
        write_chart(drawn, tmp_path / "c.gif")


def test_hints_that_do_not_fit_are_named():
    with pytest.raises(InputError, match="unknown chart 'pie'"):
        build_chart(LEADERBOARD, {"kind": "pie"})
    with pytest.raises(InputError, match="needs the hint 'value'"):
        build_chart(LEADERBOARD, {"kind": "bars", "label": "contestant"})
    with pytest.raises(InputError, match="no column 'x'"):
        build_chart(LEADERBOARD, {"kind": "bars", "label": "x", "value": "rating"})


def test_no_hint_no_chart_and_no_rows_no_chart():
    assert build_chart(Table("t", "T", ("a",), ())) is None
    assert (
        build_chart(Table("t", "T", ("a", "b"), (("x", None),)), {"kind": "bars", "label": "a", "value": "b"}) is None
    )


def test_without_the_extra_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    with pytest.raises(MissingExtra, match=r"\.\[charts\]"):
        chart_specification_and_rendering.render_svg(build_chart(LEADERBOARD))


def test_a_curve_is_drawn_for_each_label():
    rows = [(judge, x / 10, 1 - slope * x / 10) for judge, slope in (("a", 0.5), ("b", 0.9)) for x in range(5)]
    drawn = build_chart(
        Table("t", "T", ("judge", "x", "y"), rows, chart={"kind": "curves", "x": "x", "value": "y", "label": "judge"})
    )
    root = ET.fromstring(render_svg(drawn))
    lines = [g for g in root.iter(f"{SVG}g") if "mark-line" in g.get("class", "")]
    assert len(lines) == 2
    assert {"a", "b"} <= set(texts(drawn))


def test_a_chart_is_laid_out_once_for_page_and_svg_once_for_png_and_the_pixels_are_the_converters_own(monkeypatch):
    import vl_convert

    drawn = build_chart(LEADERBOARD)
    whole = vl_convert.vegalite_to_png(dict(drawn.spec), scale=2.0, vl_version="5.20")
    asked = []
    convert = vl_convert.vegalite_to_svg
    monkeypatch.setattr(vl_convert, "vegalite_to_svg", lambda *a, **k: asked.append(1) or convert(*a, **k))
    chart_specification_and_rendering._lay_out_spec.cache_clear()
    assert render_svg(drawn) == render_svg(drawn)
    with Image.open(io.BytesIO(render_png(drawn))) as image, Image.open(io.BytesIO(whole)) as expected:
        assert np.array_equal(np.asarray(image), np.asarray(expected))
    assert render_svg(drawn)
    assert render_png(drawn)
    assert len(asked) == 2


@pytest.mark.parametrize(
    "hint",
    [
        {"kind": "intervals", "label": "m", "value": "v", "reference": 12},
        {"kind": "bars", "label": "m", "value": "v"},
        {"kind": "scatter", "label": "m", "x": "v", "y": "w"},
        {"kind": "curves", "label": "m", "x": "w", "value": "v"},
        {"kind": "densities", "label": "m", "x": "w", "value": "v"},
        {"kind": "radar", "label": "m", "axes": ["v", "w", "u"]},
    ],
    ids=lambda hint: hint["kind"],
)
def test_the_marks_of_a_row_lead_to_its_address_and_guides_lead_nowhere(hint):
    where = ("/verdicts?judge=a+b&contestant=%E6%99%BA", "../verdicts.html?contestant=%3Cb%3E", None)
    rows = [(name, 10.0 + place, 2.0 * place, 1.0, where[place]) for place, name in enumerate(("智", "<b>", "c"))]
    table = Table("t", "T", ("m", "v", "w", "u", "at"), rows)
    root = ET.fromstring(render_svg(build_chart(table, {**hint, "href": "at"})))
    assert {link.get("href") for link in root.iter(f"{SVG}a")} == set(where[:2])
    assert not list(ET.fromstring(render_svg(build_chart(table, hint))).iter(f"{SVG}a"))
    for link in root.iter(f"{SVG}a"):
        names = {element.get("aria-label", "") for element in link.iter()} - {""}
        whose = "智" if "judge" in link.get("href") else "<b>"
        assert hint["kind"] == "scatter" or all(whose in name for name in names), names


def test_rows_of_one_name_have_a_line_each():
    """One judge under two criteria, in two ways of ruling: four marks, none upon another."""
    rows = [
        ["j", criterion, ruling, Estimate(0.5 + place / 10, 0.4, 0.9, 90)]
        for place, (criterion, ruling) in enumerate(
            (criterion, ruling) for criterion in ("truth", "style") for ruling in ("pairs", "scores")
        )
    ]
    table = Table("orders", "T", table_columns("judge", "criterion", "verdict", "first shown wins"), rows)
    hint = {"kind": "intervals", "label": "judge", "value": "first shown wins"}
    names = [row["label"] for row in build_chart(table, hint).spec["data"]["values"]]
    assert names == ["j, truth, pairs", "j, truth, scores", "j, style, pairs", "j, style, scores"]
    alone = replace(table, rows=rows[:1])
    assert [row["label"] for row in build_chart(alone, hint).spec["data"]["values"]] == ["j"]
