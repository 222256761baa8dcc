"""Charts from a table and its hint, as a Vega-Lite specification, SVG, PNG or part of a page.

A hint is `{"kind": ..., ...}` and names columns of the table:

    intervals   label, value [, group, within, reference]
                                                    dots with intervals, best first: a leaderboard; `columns` instead
                                                    of `value` shows several numbers per row; the columns `within`
                                                    distinguish rows of the same label
    bars        label, value [, group, within, order]
                                                    bars from zero with intervals, sorted by label if `order` is
                                                    "label", else as in the table
    scatter     x, y [, label, split]               two numbers per row, with intervals and the line x = y, or with
                                                    lines at the two values of `split` instead (None: no line);
                                                    `corners` names the quadrants, `infinite` is the value of column
                                                    `y` that means infinity
    curves      x, value, label [, first_on_top]    a line over numbers per label, such as one over thresholds;
                                                    `first_on_top` puts rank 1 on top
    lines       x, columns                          the same for a wide table: a line for each of `columns`
    densities   x, value, label                     an area over numbers per label: how often each mark was given
    heat        row, column, value                  one coloured cell per row of the table
    matrix      row, columns, column, value, within the same for a wide table: a coloured cell for each of `columns`
    stacked     label, parts                        shares of each row's parts, such as unusable verdicts
    histogram   bin, count                          adjacent bars
    radar       label, axes [, most]                a closed line over the columns `axes` per row (at most `most`)

Every kind except those of wide tables may have `href`, a column of addresses that the marks of a row link to.

Rows without a value are left out of the chart and stay in the table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.table import Table
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError, require_extra
from fullbench.reports.atomic_write import write_file
from fullbench.reports.cell_text import format_rounded, plain_line
from fullbench.reports.charts.palette import GRID, INK, MUTED_INK
from fullbench.reports.charts.vega_lite_body_per_chart_kind import KINDS, LEADS, Spec

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
PAPER = "#ffffff"
MARGIN = 44
NARROW = 168
"""Width of a narrow chart without its labels; with them it fits a phone."""
SQUARE = 184
"""Side of a narrow square chart."""
MEASURED_IN = "sans-serif"
"""Font in which the text of an SVG is measured; the drawing library includes it. For any other font the library opens
the file for every letter, which takes seven times as long. A margin covers wider fonts of readers; a PNG has none."""
PALETTE = ["#2457c5", "#c2541b", "#1a7f5a", "#a05acb", "#8a6d00", "#cf4a7b", "#3c6e8f", "#747474"]
FONTS = "system-ui, 'Segoe UI', 'Noto Sans', 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', sans-serif"
"""Fonts for the reader's browser to choose from."""


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite specification and a text description."""

    spec: Mapping[str, Any]
    alt: str


def build_chart(table: Table, hint: Mapping[str, Any] | None = None) -> Chart | None:
    """Return the chart of a table by its own or the given hint, or None without a hint or data.

    >>> table = Table("t", "Wins", ["model", "n"], [["A", 3], ["B", 5]])
    >>> build_chart(table, {"kind": "bars", "label": "model", "value": "n"}).alt
    'Wins. Bars: n by model, 2 rows; from A 3 to B 5.'
    """
    chart_hint = table.chart if hint is None else hint
    if chart_hint is None:
        return None
    kind = chart_hint.get("kind")
    if kind not in KINDS:
        raise InputError(f"table {table.name!r}: unknown chart {kind!r}; known: {', '.join(sorted(KINDS))}")
    try:
        body, words = KINDS[kind](table, chart_hint)
    except KeyError as error:
        raise InputError(f"table {table.name!r}: a chart of kind {kind!r} needs the hint {error}") from error
    if not body["data"]["values"]:
        return None
    spec = {"$schema": SCHEMA, "background": PAPER, "config": _chart_config(), **_with_links(_with_descriptions(body))}
    return Chart(spec, Note("chart.alt", title=_one_line(table.title), words=words))


def _with_descriptions(body: Spec) -> Spec:
    """Add name, value and interval of each row to its marks, for screen readers and tooltips.
    Marks of other kinds of rows are described by the fields that they are drawn from.
    """
    rows = body["data"]["values"]
    if not all("label" in row and {"value", "low", "high"} <= row.keys() for row in rows):
        return body
    described_rows = [{**row, "said": _row_description(row)} for row in rows]

    def add_description(layer: Spec) -> Spec:
        return {**layer, "encoding": {**layer["encoding"], "description": {"field": "said"}}}

    marks = {"layer": [add_description(layer) for layer in body["layer"]]} if "layer" in body else add_description(body)
    return {**body, **marks, "data": {"values": described_rows}}


def _with_links(body: Spec) -> Spec:
    if not any("href" in row for row in body["data"]["values"]):
        return body

    def add_link(layer: Spec) -> Spec:
        return {**layer, "encoding": {**layer["encoding"], "href": {"field": "href"}}}

    def has_row_fields(layer: Spec) -> bool:
        channels = (channel for name, channel in layer["encoding"].items() if name != "description")
        return "data" not in layer and any("field" in channel for channel in channels)

    if "layer" not in body:
        return add_link(body)
    return {**body, "layer": [add_link(layer) if has_row_fields(layer) else layer for layer in body["layer"]]}


def _row_description(row: Mapping[str, Any]) -> str:
    """Describe a row, with the number as shown in the table if it comes from a cell.

    >>> _row_description({"label": "x", "group": "charts", "value": 0.31234, "low": 0.1, "high": 0.6})
    'x, charts: 0.312 [0.1, 0.6]'
    """
    whose = ", ".join(str(row[name]) for name in ("label", "group") if name in row)
    if "shown" in row:
        return f"{whose}: {row['shown']}"
    value, low, high = (format_rounded(row[name]) for name in ("value", "low", "high"))
    return f"{whose}: {value} [{low}, {high}]" if row["low"] < row["high"] else f"{whose}: {value}"


def _one_line(title: str) -> str:
    """Return a note unchanged for translation, and any other title as safe plain text."""
    return title if isinstance(title, Note) else plain_line(title)


def narrow_chart(wide_chart: Chart) -> Chart:
    """Return the chart for a phone: narrower, with text of the same size."""
    spec = dict(wide_chart.spec)
    width = spec["width"]
    if isinstance(width, Mapping):
        spec["width"] = {**width, "step": width["step"] / 2}
    elif width == spec["height"]:
        spec |= {"width": SQUARE, "height": SQUARE}
        spec["layer"] = [_shrink_layer(layer, SQUARE / width) for layer in spec["layer"]]
    else:
        spec["width"] = NARROW
    config = dict(spec["config"])
    config["axis"] = {**config["axis"], "labelLimit": 100}
    config["axisX"] = {"tickCount": 4}
    config["legend"] = {**config["legend"], "columns": 1, "labelLimit": 150}
    return Chart({**spec, "config": config, "usermeta": {"margin": 18}}, wide_chart.alt)


def _shrink_layer(layer: Spec, share: float) -> Spec:
    mark = layer["mark"]
    if isinstance(mark, dict) and mark["type"] == "text" and layer["encoding"]["text"].get("field") == "label":
        mark = {**mark, "limit": 56}
    encoding = {
        name: {**channel, "value": channel["value"] * share} if name in {"x", "y"} and "value" in channel else channel
        for name, channel in layer["encoding"].items()
    }
    return {**layer, "mark": mark, "encoding": encoding}


def render_svg(source_chart: Chart) -> str:
    """Render the chart as SVG. Text stays text, with a list of common fonts, including Chinese ones."""
    margin = source_chart.spec.get("usermeta", {}).get("margin", MARGIN)
    text = _own_fonts(_lay_out_chart(source_chart, MEASURED_IN))
    return _own_ids(_with_dark_colours(_with_margins(_own_links(text), margin)), digest(dict(source_chart.spec))[:8])


def inline_svg(text: str) -> str:
    """Prepare an SVG for a page, whose colours (light or dark) and font it then uses (see `shared.css`).

    The drawing library describes axes and kinds of marks only in English, so these texts are removed. The descriptions
    of the chart (`alt`) and of its marks stay.
    """
    text = re.sub(r"<style>.*?</style>", "", text.replace(f' font-family="{FONTS}"', ""), count=1)
    text = re.sub(r' role="graphics-\w+" aria-roledescription="[^"]* container"', "", text)
    hidden_roles = r' role="graphics-symbol" aria-roledescription="(?:axis|legend|title)" aria-label="[^"]*"'
    return re.sub(r' aria-roledescription="[^"]*"', "", re.sub(hidden_roles, ' aria-hidden="true"', text))


def _own_fonts(text: str) -> str:
    return re.sub(rf'(<text\b[^>]* font-family=)"{MEASURED_IN}"', rf'\1"{FONTS}"', text)


def _own_links(text: str) -> str:
    """Keep only the links of rows; the drawing library also makes empty ones."""
    return re.sub(r'<a xlink:href="[^"]*">(.*?)</a>', r"\1", text.replace(f'xlink:href="{LEADS}', 'href="'))


def _lay_out_chart(source_chart: Chart, fonts: str) -> str:
    """The result is cached and shared by page and files."""
    _load_converter()
    spec = {**source_chart.spec, "config": {**source_chart.spec["config"], "font": fonts}}
    return _lay_out_spec(json.dumps(spec, ensure_ascii=False))


@lru_cache(maxsize=64)
def _lay_out_spec(spec: str) -> str:
    drawing: str = _load_converter().vegalite_to_svg(spec, vl_version="5.20")
    return drawing


def _with_margins(text: str, margin: int) -> str:
    """Add margins at both sides, because labels may be wider in the reader's font than in the layout.
    The background covers the margins too. Otherwise labels there would have no background in a saved file.
    """

    def wider(size: re.Match[str]) -> str:
        width, height = float(size[1]) + 2 * margin, float(size[2])
        return f'width="{width:g}" height="{height:g}" viewBox="{-margin} 0 {width:g} {height:g}"'

    def covering(size: re.Match[str]) -> str:
        return f'<rect x="{-margin}" width="{float(size[1]) + 2 * margin:g}"'

    text = re.sub(r'width="([\d.]+)" height="([\d.]+)" viewBox="[^"]+"', wider, text, count=1)
    return re.sub(rf'<rect width="([\d.]+)"(?= height="[\d.]+" fill="{PAPER}"/>)', covering, text, count=1)


def _with_dark_colours(text: str) -> str:
    """Make the colours of background, text, lines and the first series follow the reader's light or dark mode.
    Text inside marks, such as numbers in a heat map, keeps its colour, because the cells keep theirs.
    """
    roles = ", ".join(f'svg.marks [class*="role-{role}"] text' for role in ("axis", "legend", "title", "header"))
    dark = (
        f'svg.marks > rect[fill="{PAPER}"] {{ fill: #14191f }} {roles} {{ fill: #c3ccd8 }} '
        f'svg.marks [stroke="{GRID}"] {{ stroke: #36414e }} '
        f'svg.marks [fill="{PALETTE[0]}"] {{ fill: #7ea6ff }} svg.marks [stroke="{PALETTE[0]}"] {{ stroke: #7ea6ff }}'
    )
    return text.replace(">", f"><style>@media (prefers-color-scheme: dark) {{ {dark} }}</style>", 1)


def _own_ids(text: str, mark: str) -> str:
    """Replace ids by ones that depend only on the chart: reproducible, and unique within a page."""
    ids = dict.fromkeys(re.findall(r'\bid="([^"]+)"', text))
    for place, name in enumerate(ids):
        text = text.replace(f'id="{name}"', f'id="c{mark}-{place}"').replace(f"url(#{name})", f"url(#c{mark}-{place})")
    return text


def render_png(source_chart: Chart, *, scale: float = 2.0) -> bytes:
    """Render the chart as PNG with the fonts of this machine. Chinese needs one such as `fonts-noto-cjk`."""
    image: bytes = _load_converter().svg_to_png(_lay_out_chart(source_chart, FONTS), scale=scale)
    return image


def write_chart(source_chart: Chart, path: str | Path, *, fonts: str | Path | None = None) -> Path:
    """Write a chart as `.svg`, `.png` or `.pdf`, or its spec as `.json`; `fonts`: a folder of extra fonts."""
    path = Path(path)
    if fonts is not None:
        _load_converter().register_font_directory(str(fonts))
        # New fonts have other widths, so cached layouts are invalid.
        _lay_out_spec.cache_clear()
    if path.suffix == ".svg":
        return write_file(path, render_svg(source_chart))
    if path.suffix == ".png":
        return write_file(path, render_png(source_chart))
    if path.suffix == ".pdf":
        document: bytes = _load_converter().svg_to_pdf(_lay_out_chart(source_chart, FONTS))
        return write_file(path, document)
    if path.suffix == ".json":
        import orjson

        return write_file(path, orjson.dumps(dict(source_chart.spec), option=orjson.OPT_INDENT_2))
    raise InputError("unknown chart type; use .svg, .png, .pdf or .json", path=path)


def write_charts(tables: Iterable[Table], folder: str | Path) -> list[Path]:
    """Write the charts of tables that have one, as SVG and PNG under the table's name."""
    paths: list[Path] = []
    for table in tables:
        table_chart = build_chart(table)
        if table_chart is not None:
            name = re.sub(r"[^\w.-]+", "-", table.name)
            paths += [write_chart(table_chart, Path(folder) / f"{name}.{suffix}") for suffix in ("svg", "png")]
    return paths


def _load_converter() -> Any:
    with require_extra("drawing charts", "charts"):
        import vl_convert
    return vl_convert


def _chart_config() -> Spec:
    axis = {
        "labelColor": MUTED_INK, "titleColor": INK, "gridColor": GRID, "domainColor": GRID, "tickColor": GRID,
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
            "labelColor": MUTED_INK,
            "titleColor": INK,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "orient": "top",
        },
        "view": {"stroke": None},
        "range": {"category": PALETTE},
    }
