"""Charts from one definition: a table and its hint become a Vega-Lite specification; that becomes SVG, PNG, or part of
a page.

A hint is `{"kind": ..., ...}` and names columns of the table:

    intervals   label, value [, group, within, reference]
                                                    dots with their intervals, best first: a leaderboard; `columns` in
                                                    place of `value` shows several figures of each row; the columns
                                                    `within` tell rows of one label apart
    bars        label, value [, group, within, order]
                                                    bars from zero with their intervals; by the `order` "label" sorted,
                                                    else as in the table
    scatter     x, y [, label, split]               two figures for each row, with intervals and the line x = y, or
                                                    with lines at the two values of `split` instead (None: no line);
                                                    `corners` names the quadrants between them, `infinite` is what
                                                    stands in column `y` for a figure without bound
    curves      x, value, label [, first_on_top]    a line over numbers for each label, such as one over thresholds;
                                                    places have the first on top
    lines       x, columns                          the same for a wide table: a line for each of `columns`
    densities   x, value, label                     an area over numbers for each label: how often each mark was given
    heat        row, column, value                  one coloured cell for each row of the table
    matrix      row, columns, column, value, within the same for a wide table: a coloured cell for each of `columns`
    stacked     label, parts                        shares of each row's parts, such as faults
    histogram   bin, count                          bars side by side
    radar       label, axes [, most]                a closed line over the columns `axes` for each row (`most` of them)

Every kind but those of wide tables may have `href`, a column of addresses: the marks of a row lead to its own.

Rows whose figure is missing are left out of the chart and stay in the table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from fullbench.core.digests import digest
from fullbench.core.note import Note
from fullbench.core.table import Table
from fullbench.errors import InputError, MissingExtra
from fullbench.reports.atomic_write import write_file
from fullbench.reports.cell_text import plain, rounded
from fullbench.reports.charts.chart_kinds import KINDS, LEADS, Spec
from fullbench.reports.charts.palette import GRID, INK, MUTED

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
PAPER = "#ffffff"
MARGIN = 44
NARROW = 168
"""The width of a narrow chart without its words: with them it fits a phone."""
SQUARE = 184
"""The same for one that is as high as wide."""
MEASURED_IN = "sans-serif"
"""An SVG's texts are measured in the font that the drawing library brings along. Of any other it opens the file for
every letter: seven times the work. A margin covers what the reader's font is wider; a PNG has none."""
PALETTE = ["#2457c5", "#c2541b", "#1a7f5a", "#a05acb", "#8a6d00", "#cf4a7b", "#3c6e8f", "#747474"]
FONTS = "system-ui, 'Segoe UI', 'Noto Sans', 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', sans-serif"
"""What a reader's browser picks a font from."""


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite specification, and in words what it shows."""

    spec: Mapping[str, Any]
    alt: str


def chart(table: Table, hint: Mapping[str, Any] | None = None) -> Chart | None:
    """The chart of a table, by its own hint or the one given; None where there is no hint or nothing to draw.

    >>> table = Table("t", "Wins", ["model", "n"], [["A", 3], ["B", 5]])
    >>> chart(table, {"kind": "bars", "label": "model", "value": "n"}).alt
    'Wins. Bars: n by model, 2 rows; from A 3 to B 5.'
    """
    chosen = table.chart if hint is None else hint
    if chosen is None:
        return None
    kind = chosen.get("kind")
    if kind not in KINDS:
        raise InputError(f"table {table.name!r}: unknown chart {kind!r}; known: {', '.join(sorted(KINDS))}")
    try:
        body, words = KINDS[kind](table, chosen)
    except KeyError as error:
        raise InputError(f"table {table.name!r}: a chart of kind {kind!r} needs the hint {error}") from error
    if not body["data"]["values"]:
        return None
    spec = {"$schema": SCHEMA, "background": PAPER, "config": _config(), **_leading(_speaking(body))}
    return Chart(spec, Note("chart.alt", "{title}. {words}.", title=_one_line(table.title), words=words))


def _speaking(body: Spec) -> Spec:
    """The same with what each mark says of itself, to screen readers and to whoever points at it: whose figure it is,
    its value and interval. Marks of other kinds of rows say the fields that they are drawn by."""
    rows = body["data"]["values"]
    if not all("label" in row and {"value", "low", "high"} <= row.keys() for row in rows):
        return body
    said = [{**row, "said": _said(row)} for row in rows]

    def described(layer: Spec) -> Spec:
        return {**layer, "encoding": {**layer["encoding"], "description": {"field": "said"}}}

    marks = {"layer": [described(layer) for layer in body["layer"]]} if "layer" in body else described(body)
    return {**body, **marks, "data": {"values": said}}


def _leading(body: Spec) -> Spec:
    """The same with marks that are links, where rows say where they lead; lines of no row lead nowhere."""
    if not any("href" in row for row in body["data"]["values"]):
        return body

    def linked(layer: Spec) -> Spec:
        return {**layer, "encoding": {**layer["encoding"], "href": {"field": "href"}}}

    def of_rows(layer: Spec) -> bool:
        channels = (channel for name, channel in layer["encoding"].items() if name != "description")
        return "data" not in layer and any("field" in channel for channel in channels)

    if "layer" not in body:
        return linked(body)
    return {**body, "layer": [linked(layer) if of_rows(layer) else layer for layer in body["layer"]]}


def _said(row: Mapping[str, Any]) -> str:
    """A row in words, its figure as its table shows it where it comes from a cell.

    >>> _said({"label": "x", "group": "charts", "value": 0.31234, "low": 0.1, "high": 0.6})
    'x, charts: 0.312 [0.1, 0.6]'
    """
    whose = ", ".join(str(row[name]) for name in ("label", "group") if name in row)
    if "shown" in row:
        return f"{whose}: {row['shown']}"
    value, low, high = (rounded(row[name]) for name in ("value", "low", "high"))
    return f"{whose}: {value} [{low}, {high}]" if row["low"] < row["high"] else f"{whose}: {value}"


def _one_line(title: str) -> str:
    """A title that is a note as it is, for its translation; any other without what could rewrite a page."""
    return title if isinstance(title, Note) else plain(title)


def narrowed(drawn: Chart) -> Chart:
    """The same chart for a phone: less wide, its words as large as ever."""
    spec = dict(drawn.spec)
    width = spec["width"]
    if isinstance(width, Mapping):
        spec["width"] = {**width, "step": width["step"] / 2}
    elif width == spec["height"]:
        spec |= {"width": SQUARE, "height": SQUARE}
        spec["layer"] = [_moved(layer, SQUARE / width) for layer in spec["layer"]]
    else:
        spec["width"] = NARROW
    config = dict(spec["config"])
    config["axis"] = {**config["axis"], "labelLimit": 100}
    config["axisX"] = {"tickCount": 4}
    config["legend"] = {**config["legend"], "columns": 1, "labelLimit": 150}
    return Chart({**spec, "config": config, "usermeta": {"margin": 18}}, drawn.alt)


def _moved(layer: Spec, share: float) -> Spec:
    """A layer of a square that has become smaller: what stands at a place of its own moves along, and names of marks
    are cut where they would reach far beyond it."""
    mark = layer["mark"]
    if isinstance(mark, dict) and mark["type"] == "text" and layer["encoding"]["text"].get("field") == "label":
        mark = {**mark, "limit": 56}
    encoding = {
        name: {**channel, "value": channel["value"] * share} if name in {"x", "y"} and "value" in channel else channel
        for name, channel in layer["encoding"].items()
    }
    return {**layer, "mark": mark, "encoding": encoding}


def svg(drawn: Chart) -> str:
    """The chart as SVG; text stays text, under a list of fonts that a browser has, Chinese ones among them."""
    margin = drawn.spec.get("usermeta", {}).get("margin", MARGIN)
    text = _own_fonts(_laid_out(drawn, MEASURED_IN))
    return _own_ids(_following(_roomy(_own_links(text), margin)), digest(dict(drawn.spec))[:8])


def inline(text: str) -> str:
    """An SVG as a part of a page: its colours, light or dark, and its font are the page's own (see `shared.css`).

    What the drawing library says of axes, and of what kind a mark is, it says in English alone: the words of the chart
    (`alt`) and of its marks stay.
    """
    text = re.sub(r"<style>.*?</style>", "", text.replace(f' font-family="{FONTS}"', ""), count=1)
    text = re.sub(r' role="graphics-\w+" aria-roledescription="[^"]* container"', "", text)
    hidden = r' role="graphics-symbol" aria-roledescription="(?:axis|legend|title)" aria-label="[^"]*"'
    return re.sub(r' aria-roledescription="[^"]*"', "", re.sub(hidden, ' aria-hidden="true"', text))


def _own_fonts(text: str) -> str:
    """The SVG with texts that ask for the reader's fonts instead of the one that they were measured in."""
    return re.sub(rf'(<text\b[^>]* font-family=)"{MEASURED_IN}"', rf'\1"{FONTS}"', text)


def _own_links(text: str) -> str:
    """The SVG with the links that rows have; the drawing library makes one of nothing, too."""
    return re.sub(r'<a xlink:href="[^"]*">(.*?)</a>', r"\1", text.replace(f'xlink:href="{LEADS}', 'href="'))


def _laid_out(drawn: Chart, fonts: str) -> str:
    """The chart as the drawing library lays it out in some fonts; a report's page and its files share one drawing."""
    _converter()
    spec = {**drawn.spec, "config": {**drawn.spec["config"], "font": fonts}}
    return _laid_out_once(json.dumps(spec, ensure_ascii=False))


@lru_cache(maxsize=64)
def _laid_out_once(spec: str) -> str:
    drawing: str = _converter().vegalite_to_svg(spec, vl_version="5.20")
    return drawing


def _roomy(text: str, margin: int) -> str:
    """The SVG with a margin at its sides: labels may be wider in the reader's font than where it was laid out.

    The paper covers the margin too, else labels there would stand on whatever lies behind a saved file.
    """

    def wider(size: re.Match[str]) -> str:
        width, height = float(size[1]) + 2 * margin, float(size[2])
        return f'width="{width:g}" height="{height:g}" viewBox="{-margin} 0 {width:g} {height:g}"'

    def covering(size: re.Match[str]) -> str:
        return f'<rect x="{-margin}" width="{float(size[1]) + 2 * margin:g}"'

    text = re.sub(r'width="([\d.]+)" height="([\d.]+)" viewBox="[^"]+"', wider, text, count=1)
    return re.sub(rf'<rect width="([\d.]+)"(?= height="[\d.]+" fill="{PAPER}"/>)', covering, text, count=1)


def _following(text: str) -> str:
    """The SVG with colours that follow the reader's, light or dark: paper, words, lines, and our first colour.

    Words inside of marks, such as the figures of a heat map, stay as they are: their cells do too.
    """
    roles = ", ".join(f'svg.marks [class*="role-{role}"] text' for role in ("axis", "legend", "title", "header"))
    dark = (
        f'svg.marks > rect[fill="{PAPER}"] {{ fill: #14191f }} {roles} {{ fill: #c3ccd8 }} '
        f'svg.marks [stroke="{GRID}"] {{ stroke: #36414e }} '
        f'svg.marks [fill="{PALETTE[0]}"] {{ fill: #7ea6ff }} svg.marks [stroke="{PALETTE[0]}"] {{ stroke: #7ea6ff }}'
    )
    return text.replace(">", f"><style>@media (prefers-color-scheme: dark) {{ {dark} }}</style>", 1)


def _own_ids(text: str, mark: str) -> str:
    """The SVG with ids that depend on the chart alone: the same every time, and no two charts of a page share one."""
    ids = dict.fromkeys(re.findall(r'\bid="([^"]+)"', text))
    for place, name in enumerate(ids):
        text = text.replace(f'id="{name}"', f'id="c{mark}-{place}"').replace(f"url(#{name})", f"url(#c{mark}-{place})")
    return text


def png(drawn: Chart, *, scale: float = 2.0) -> bytes:
    """The chart as PNG, drawn with the fonts of this machine: for Chinese it needs one, such as `fonts-noto-cjk`."""
    image: bytes = _converter().svg_to_png(_laid_out(drawn, FONTS), scale=scale)
    return image


def write_chart(drawn: Chart, path: str | Path, *, fonts: str | Path | None = None) -> Path:
    """Write a chart as `.svg`, `.png` or its specification as `.json`; `fonts` is a folder of further fonts."""
    path = Path(path)
    if fonts is not None:
        _converter().register_font_directory(str(fonts))
        # Other fonts are of other widths: what was laid out before does not hold.
        _laid_out_once.cache_clear()
    if path.suffix == ".svg":
        return write_file(path, svg(drawn))
    if path.suffix == ".png":
        return write_file(path, png(drawn))
    if path.suffix == ".json":
        import orjson

        return write_file(path, orjson.dumps(dict(drawn.spec), option=orjson.OPT_INDENT_2))
    raise InputError("the suffix says the form of a chart: .svg, .png, .json", path=path)


def write_charts(tables: Iterable[Table], folder: str | Path) -> list[Path]:
    """The charts of the tables that have one, each as SVG and PNG under its table's name."""
    written: list[Path] = []
    for table in tables:
        drawn = chart(table)
        if drawn is not None:
            name = re.sub(r"[^\w.-]+", "-", table.name)
            written += [write_chart(drawn, Path(folder) / f"{name}.{suffix}") for suffix in ("svg", "png")]
    return written


def _converter() -> Any:
    try:
        import vl_convert
    except ImportError as error:
        raise MissingExtra("drawing charts", "charts") from error
    return vl_convert


def _config() -> Spec:
    axis = {
        "labelColor": MUTED, "titleColor": INK, "gridColor": GRID, "domainColor": GRID, "tickColor": GRID,
        "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "labelLimit": 260, "titlePadding": 8,
        "labelFlush": False, "labelOverlap": "greedy", "labelSeparation": 6,
    }  # fmt: skip
    return {
        "font": FONTS,
        "axis": axis,
        "axisX": {"tickCount": 6},
        "axisY": {"grid": False, "labelOverlap": False},
        "legend": {
            "columns": 3,
            "columnPadding": 24,
            "labelColor": MUTED,
            "titleColor": INK,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "orient": "top",
        },
        "view": {"stroke": None},
        "range": {"category": PALETTE},
    }
