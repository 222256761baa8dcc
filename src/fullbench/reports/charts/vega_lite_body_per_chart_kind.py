"""Chart kinds: functions that turn a table and a hint into the body and description of a Vega-Lite chart.

`vega_lite` documents the hints.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Column, Table, sort_value
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError
from fullbench.reports.cell_text import column_decimals, format_cell, format_rounded, plain_line
from fullbench.reports.charts.palette import ACCENT, GRID, INK, MUTED_INK

# Background of scatter plots: guide lines and names of quadrants.

SQUARE = 420
"""Side of a scatter plot in pixels."""


def corner_labels(names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the four names of quadrants in their corners: upper right, lower right, upper left, lower left."""
    inset = 8
    places = [(SQUARE - inset, "right"), (inset, "left")]
    return [
        {
            "mark": {"type": "text", "align": align, "fontStyle": "italic", "color": MUTED_INK, "fontSize": 12},
            "encoding": {"x": {"value": across}, "y": {"value": down}, "text": {"datum": plain_line(name)}},
            "data": {"values": [{}]},
        }
        for name, ((across, align), down) in zip(
            names, [(place, down) for place in places for down in (2 * inset + 20, SQUARE - inset)], strict=False
        )
    ]


def guide_lines(split: Sequence[float | None] | None, ends: Sequence[float]) -> list[dict[str, Any]]:
    """Return the diagonal where both values are equal, or the two lines between the quadrants."""
    mark = {"type": "rule", "strokeDash": [4, 4], "color": MUTED_INK}
    if split is not None:
        places = zip("xy", split, strict=True)
        return [{"mark": mark, "encoding": {axis: {"datum": value}}} for axis, value in places if value is not None]
    least, most = ends
    diagonal = {"x": {"datum": least}, "y": {"datum": least}, "x2": {"datum": most}, "y2": {"datum": most}}
    return [{"mark": mark, "encoding": diagonal}]


WIDTH = 480
LEADS = "https://mark.invalid/"
"""Prefix of addresses while a chart is drawn. The drawing library would otherwise add its own."""
Spec = dict[str, Any]


def _column_label(table: Table, name: str) -> str:
    place = table.place(name)
    return plain_line(name if place is None else table.columns[place])


def _column_cells(table: Table, name: str) -> list[Cell]:
    if table.place(name) is None:
        raise InputError(f"table {table.name!r} has no column {name!r} to draw; it has {', '.join(table.columns)}")
    return table.column(name)


def _number_with_interval(cell: Cell) -> dict[str, float] | None:
    value = sort_value(cell)
    if value is None:
        return None
    low, high = (cell.low, cell.high) if isinstance(cell, Estimate) else (value, value)
    return {"value": float(value), "low": float(low), "high": float(high)}


def _row_names(table: Table, label: str, within: str | Sequence[str] = ()) -> list[str]:
    columns = [label, *([within] if isinstance(within, str) else within)]
    return [", ".join(map(str, row)) for row in zip(*(_column_cells(table, name) for name in columns), strict=True)]


def _row_links(table: Table, hint: Mapping[str, Any]) -> list[Spec]:
    addresses = _column_cells(table, hint["href"]) if "href" in hint else [None] * len(table.rows)
    return [{} if address is None else {"href": f"{LEADS}{address}"} for address in addresses]


def _distinct_labels(table: Table, labels: list[str], before: int) -> list[str]:
    """Extend equal row names by words from columns before the value, so that their marks do not overlap."""
    for place in range(before):
        if len(set(labels)) == len(labels):
            break
        words = [plain_line(cell) if isinstance(cell, str) else "" for cell in table.cells(place)]
        if all(words) and len(set(zip(labels, words, strict=True))) > len(set(labels)):
            labels = [f"{label}, {word}" for label, word in zip(labels, words, strict=True)]
    return labels


def _labelled_rows(table: Table, hint: Mapping[str, Any]) -> list[Spec]:
    labels, values = _row_names(table, hint["label"], hint.get("within", ())), _column_cells(table, hint["value"])
    digits = column_decimals(values)
    groups = _column_cells(table, hint["group"]) if "group" in hint else [None] * len(labels)
    if "group" not in hint:
        labels = _distinct_labels(table, labels, table.place(hint["value"]) or 0)
    return [
        {"label": plain_line(label), "shown": format_cell(cell, digits), **value, **lead}
        | ({} if group is None else {"group": plain_line(str(group))})
        for label, cell, group, lead in zip(labels, values, groups, _row_links(table, hint), strict=True)
        if (value := _number_with_interval(cell)) is not None
    ]


def _describe_rows(rows: list[Spec], what: str, value: str, label: str) -> str:
    if not rows:
        return what
    least, most = min(rows, key=lambda row: row["value"]), max(rows, key=lambda row: row["value"])
    return Note(
        "chart.rows",
        what=what,
        value=value,
        label=label,
        n=len(rows),
        least=least["label"],
        low=format_rounded(least["value"]),
        most=most["label"],
        high=format_rounded(most["value"]),
    )


def _field_encoding(field: str, title: str | None, **options: Any) -> Spec:
    kind = options.pop("type", "quantitative")
    return {"field": field, "type": kind, "title": title, **options}


def _colour_encoding(table: Table, hint: Mapping[str, Any]) -> Spec:
    if "group" not in hint:
        return {"color": {"value": ACCENT}}
    return {"color": _field_encoding("group", _column_label(table, hint["group"]), type="nominal")}


def _draw_intervals(table: Table, hint: Mapping[str, Any]) -> tuple[Spec, str]:
    if "columns" in hint:
        long_table = _to_long_table(table, hint["label"], hint["columns"])
        return _draw_intervals(long_table, {"label": hint["label"], "value": "value", "group": "metric"})
    rows, value = _labelled_rows(table, hint), _column_label(table, hint["value"])
    place = table.place(hint["value"])
    less = place is not None and table.typed_columns[place].better == "less"
    order = {"op": "max", "field": "value", "order": "ascending" if less else "descending"}
    y = _field_encoding("label", None, type="nominal", sort=order)
    offset = {"yOffset": {"field": "group"}} if "group" in hint else {}
    scale = {"zero": False, "nice": True}
    layers: list[Spec] = [
        {
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {"y": y, "x": _field_encoding("low", value, scale=scale), "x2": {"field": "high"}}
            | offset
            | _colour_encoding(table, hint),
        },
        {
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
            "encoding": {"y": y, "x": _field_encoding("value", value)} | offset | _colour_encoding(table, hint),
        },
    ]
    if "reference" in hint:
        line = {"type": "rule", "strokeDash": [4, 4], "color": MUTED_INK}
        layers.append({"mark": line, "encoding": {"x": {"datum": hint["reference"]}}})
    height = {"step": 26} if "group" not in hint else {"step": 12, "for": "offset"}
    body = {"data": {"values": rows}, "layer": layers, "width": WIDTH, "height": height}
    return body, _describe_rows(rows, Note("chart.intervals"), value, _column_label(table, hint["label"]))


def _draw_bars(table: Table, hint: Mapping[str, Any]) -> tuple[Spec, str]:
    rows, value = _labelled_rows(table, hint), _column_label(table, hint["value"])
    y = _field_encoding("label", None, type="nominal", sort="ascending" if hint.get("order") == "label" else None)
    offset = {"yOffset": {"field": "group", "sort": None}} if "group" in hint else {}
    bar = {"y": y, "x": _field_encoding("value", value, axis={"grid": False})} | offset | _colour_encoding(table, hint)
    line = {"y": y, "x": _field_encoding("low", value), "x2": {"field": "high"}} | offset
    layers = [
        {"mark": {"type": "bar", "opacity": 0.6}, "encoding": bar},
        {"mark": {"type": "rule", "strokeWidth": 1.5, "color": INK}, "encoding": line},
    ]
    height = {"step": 26} if "group" not in hint else {"step": 14, "for": "offset"}
    body = {"data": {"values": rows}, "layer": layers, "width": WIDTH, "height": height}
    return body, _describe_rows(rows, Note("chart.bars"), value, _column_label(table, hint["label"]))


def _draw_scatter(table: Table, hint: Mapping[str, Any]) -> tuple[Spec, str]:
    names = _column_cells(table, hint["label"]) if "label" in hint else [""] * len(table.rows)
    rows: list[Spec] = []
    boundless: list[Spec] = []
    both = zip(_column_cells(table, hint["x"]), _column_cells(table, hint["y"]), strict=True)
    for label, (x_cell, y_cell), lead in zip(names, both, _row_links(table, hint), strict=True):
        across, up = _number_with_interval(x_cell), _number_with_interval(y_cell)
        if across is not None and "infinite" in hint and y_cell == hint["infinite"]:
            ends = {"xlow": across["low"], "xhigh": across["high"], "edge": True}
            boundless.append({"label": f"{plain_line(str(label))} (∞)", "x": across["value"], **ends, **lead})
        elif across is not None and up is not None:
            ends = {"xlow": across["low"], "xhigh": across["high"], "ylow": up["low"], "yhigh": up["high"]}
            rows.append({"label": plain_line(str(label)), "x": across["value"], "y": up["value"], **ends, **lead})
    split = hint.get("split")
    ranges = {
        axis: [
            min((row[f"{axis}low"] for row in points), default=0.0),
            max((row[f"{axis}high"] for row in points), default=1.0),
        ]
        for axis, points in (("x", [*rows, *boundless]), ("y", rows))
    }
    if split is None:
        square = [min(ends[0] for ends in ranges.values()), max(ends[1] for ends in ranges.values())]
        ranges = dict.fromkeys("xy", square)
    ticks = {"tickCount": 6, "grid": True}
    x, y = (
        _field_encoding(
            axis,
            _column_label(table, hint[axis]),
            scale={"domain": ranges[axis], "nice": True, "zero": False},
            axis=ticks,
        )
        for axis in "xy"
    )
    line, dot = {"type": "rule", "color": ACCENT}, {"type": "point", "filled": True, "size": 60, "opacity": 1}
    layers: list[Spec] = [
        *guide_lines(split, ranges["x"]),
        {"mark": line, "encoding": {"x": x, "y": {**y, "field": "ylow"}, "y2": {"field": "yhigh"}}},
        {"mark": line, "encoding": {"y": y, "x": {**x, "field": "xlow"}, "x2": {"field": "xhigh"}}},
        {"mark": {**dot, "color": ACCENT}, "encoding": {"x": x, "y": y}},
    ]
    if "label" in hint:
        mark = {"type": "text", "align": "left", "dx": 7, "dy": -7, "color": MUTED_INK, "fontSize": 11}
        layers.append({"mark": mark, "encoding": {"x": x, "y": y, "text": {"field": "label"}}})
    if boundless:
        layers = [{**layer, "transform": [{"filter": "!datum.edge"}]} for layer in layers] + _at_the_edge(x)
    layers += corner_labels(hint.get("corners", ()))
    body = {"data": {"values": [*rows, *boundless]}, "layer": layers, "width": SQUARE, "height": SQUARE}
    equal = Note("chart.equal")
    description: str = Note(
        "chart.scatter",
        y=_column_label(table, hint["y"]), x=_column_label(table, hint["x"]), n=len(rows) + len(boundless),
        guide=equal if split is None else Note("chart.quadrants"),
    )  # fmt: skip
    if boundless:
        description = Note("chart.boundless", said=description, n=len(boundless))
    return body, description


def _at_the_edge(x: Spec) -> list[Spec]:
    """Return marks at the upper edge that point upwards, for rows with an infinite y value."""
    top = {"value": 0}
    dot = {"type": "point", "shape": "triangle-up", "filled": True, "size": 90, "opacity": 1, "color": ACCENT}
    words = {"type": "text", "align": "left", "dx": 8, "dy": 12, "color": MUTED_INK, "fontSize": 11}
    across = {"x": {**x, "field": "xlow"}, "x2": {"field": "xhigh"}, "y": top}
    layers: list[Spec] = [
        {"mark": {"type": "rule", "color": ACCENT}, "encoding": across},
        {"mark": dot, "encoding": {"x": x, "y": top}},
        {"mark": words, "encoding": {"x": x, "y": top, "text": {"field": "label"}}},
    ]
    return [{**layer, "transform": [{"filter": "datum.edge"}]} for layer in layers]


def _curve_points(table: Table, hint: Mapping[str, Any]) -> list[Spec]:
    columns = [_column_cells(table, hint[name]) for name in ("label", "x", "value")]
    return [
        {"label": plain_line(str(label)), "x": float(at), "value": value["value"], **lead}
        for label, at, cell, lead in zip(*columns, _row_links(table, hint), strict=True)
        if isinstance(at, int | float) and (value := _number_with_interval(cell)) is not None
    ]


def _draw_densities(table: Table, hint: Mapping[str, Any]) -> tuple[Spec, str]:
    rows = _curve_points(table, hint)
    encoding = {
        "x": _field_encoding("x", _column_label(table, hint["x"]), axis={"grid": False}),
        "y": _field_encoding("value", _column_label(table, hint["value"]), axis={"grid": True}, stack=None),
        "color": _field_encoding("label", None, type="nominal", sort=None),
    }
    # Dots give screen readers the values; an area would give only its start.
    dots = {"size": 14, "filled": True}
    mark = {"type": "area", "opacity": 0.18, "line": {"strokeWidth": 2}, "point": dots, "interpolate": "monotone"}
    body = {"data": {"values": rows}, "mark": mark, "encoding": encoding, "width": WIDTH, "height": 220}
    return body, Note(
        "chart.densities",
        value=_column_label(table, hint["value"]),
        x=_column_label(table, hint["x"]),
        label=_column_label(table, hint["label"]),
        n=len(rows),
    )


def _draw_curves(table: Table, hint: Mapping[str, Any]) -> tuple[Spec, str]:
    rows = _curve_points(table, hint)
    scale = {"zero": False, "nice": True, **({"reverse": True} if hint.get("first_on_top") else {})}
    rank_axis = {"tickMinStep": 1, "format": "d"} if hint.get("first_on_top") else {}
    count_axis = {"tickMinStep": 1, "format": "d"} if all(row["x"].is_integer() for row in rows) else {}
    encoding = {
        "x": _field_encoding("x", _column_label(table, hint["x"]), axis={"grid": False, **count_axis}),
        "y": _field_encoding(
            "value", _column_label(table, hint["value"]), axis={"grid": True, **rank_axis}, scale=scale
        ),
        "color": _field_encoding("label", None, type="nominal"),
    }
    mark = {"type": "line", "point": True, "strokeWidth": 2}
    body = {"data": {"values": rows}, "mark": mark, "encoding": encoding, "width": WIDTH, "height": 260}
    return body, Note(
        "chart.curves",
        value=_column_label(table, hint["value"]),
        x=_column_label(table, hint["x"]),
        label=_column_label(table, hint["label"]),
        n=len(rows),
    )


def _draw_heat_map(table: Table, hint: Mapping[str, Any]) -> tuple[Spec, str]:
    rows: list[Spec] = [
        {"row": plain_line(str(row)), "column": plain_line(str(column)), "value": value}
        for row, column, cell in zip(
            _row_names(table, hint["row"], hint.get("within", ())),
            _column_cells(table, hint["column"]),
            _column_cells(table, hint["value"]),
            strict=True,
        )
        if (value := sort_value(cell)) is not None
    ]
    values = [float(row["value"]) for row in rows]
    middle = (min(values) + max(values)) / 2 if values else 0.0
    across = list(dict.fromkeys([row[part] for part in ("row", "column") for row in rows]))
    used = {row["column"] for row in rows}
    order = [name for name in across if name in used]
    places = {
        "x": _field_encoding(
            "column", None, type="nominal", sort=order, axis={"orient": "top", "labelAngle": -35, "labelOverlap": False}
        ),
        "y": _field_encoding("row", None, type="nominal", sort=None),
    }
    fill = _field_encoding("value", _column_label(table, hint["value"]), scale={"range": ["#eef3fc", "#16397f"]})
    ink = {"condition": {"test": f"datum.value > {middle}", "value": "#fdfdfd"}, "value": "#10203f"}
    digits = ".0f" if values and max(map(abs, values)) >= 10 else ".2f"
    text = {"field": "value", "type": "quantitative", "format": digits}
    layers = [
        {"mark": "rect", "encoding": {**places, "color": fill}},
        {"mark": {"type": "text", "fontSize": 11}, "encoding": {**places, "text": text, "color": ink}},
    ]
    body = {"data": {"values": rows}, "layer": layers, "width": {"step": 52}, "height": {"step": 30}}
    return body, Note(
        "chart.heat", value=_column_label(table, hint["value"]),
        row=_column_label(table, hint["row"]), column=_column_label(table, hint["column"]), n=len(rows),
    )  # fmt: skip


def _draw_matrix(table: Table, hint: Mapping[str, Any]) -> tuple[Spec, str]:
    rows = [
        (name, _column_label(table, column), cell)
        for place, name in enumerate(_row_names(table, hint["row"], hint.get("within", ())))
        for column in hint["columns"]
        if (cell := _column_cells(table, column)[place]) is not None
    ]
    long_columns = (Column(hint["row"], _column_label(table, hint["row"])), hint["column"], hint["value"])
    return _draw_heat_map(Table(table.name, table.title, long_columns, rows), hint)


def _draw_lines(table: Table, hint: Mapping[str, Any]) -> tuple[Spec, str]:
    return _draw_curves(
        _to_long_table(table, hint["x"], hint["columns"]), {"x": hint["x"], "label": "metric", "value": "value"}
    )


def _to_long_table(table: Table, first: str, columns: Sequence[str]) -> Table:
    rows = [
        (owner, _column_label(table, column), cell)
        for place, owner in enumerate(_column_cells(table, first))
        for column in columns
        if (cell := _column_cells(table, column)[place]) is not None
    ]
    return Table(
        table.name, table.title, (Column(first, _column_label(table, first)), *table_columns("metric", "value")), rows
    )


def _draw_stacked_bars(table: Table, hint: Mapping[str, Any]) -> tuple[Spec, str]:
    labels, parts = _column_cells(table, hint["label"]), [_column_label(table, part) for part in hint["parts"]]
    rows = [
        {"label": plain_line(str(label)), "part": _column_label(table, part), "value": value, "order": order}
        for order, part in enumerate(hint["parts"])
        for label, cell in zip(labels, _column_cells(table, part), strict=True)
        if (value := sort_value(cell)) is not None
    ]
    encoding = {
        "y": _field_encoding("label", None, type="nominal", sort=None),
        "x": _field_encoding("value", None, stack="normalize", axis={"format": "%"}),
        "color": _field_encoding("part", None, type="nominal", sort=parts),
        "order": {"field": "order", "type": "quantitative"},
    }
    body = {"data": {"values": rows}, "mark": "bar", "encoding": encoding, "width": WIDTH, "height": {"step": 26}}
    return body, Note("chart.stacked", parts=", ".join(parts), label=_column_label(table, hint["label"]), n=len(labels))


def _draw_histogram(table: Table, hint: Mapping[str, Any]) -> tuple[Spec, str]:
    rows = [
        {"bin": cell if isinstance(cell, int | float) else plain_line(str(cell)), "count": count}
        for cell, value in zip(_column_cells(table, hint["bin"]), _column_cells(table, hint["count"]), strict=True)
        if (count := sort_value(value)) is not None
    ]
    encoding = {
        "x": _field_encoding(
            "bin", _column_label(table, hint["bin"]), type="ordinal", sort=None, axis={"labelAngle": 0}
        ),
        "y": _field_encoding("count", _column_label(table, hint["count"]), axis={"grid": True}),
    }
    mark = {"type": "bar", "color": ACCENT}
    body = {"data": {"values": rows}, "mark": mark, "encoding": encoding, "width": {"step": 56}, "height": 220}
    return body, Note(
        "chart.histogram",
        value=_column_label(table, hint["count"]), label=_column_label(table, hint["bin"]), n=len(rows),
    )  # fmt: skip


def _draw_radar(table: Table, hint: Mapping[str, Any]) -> tuple[Spec, str]:
    axes = list(hint["axes"])
    names = [plain_line(str(name)) for name in _column_cells(table, hint["label"])]
    values = [[sort_value(cell) for cell in _column_cells(table, axis)] for axis in axes]
    leads = _row_links(table, hint)
    return build_radar([_column_label(table, axis) for axis in axes], names, values, leads, most=hint.get("most"))


KINDS: dict[str, Callable[[Table, Mapping[str, Any]], tuple[Spec, str]]] = {
    "bars": _draw_bars,
    "curves": _draw_curves,
    "densities": _draw_densities,
    "heat": _draw_heat_map,
    "histogram": _draw_histogram,
    "intervals": _draw_intervals,
    "lines": _draw_lines,
    "matrix": _draw_matrix,
    "radar": _draw_radar,
    "scatter": _draw_scatter,
    "stacked": _draw_stacked_bars,
}


_RINGS = 5
_BARE = {"type": "quantitative", "title": None, "axis": None, "scale": {"domain": [-1.4, 1.4]}}
_PLACES = {"x": {"field": "x", **_BARE}, "y": {"field": "y", **_BARE}}
_LINE_PLACES = {**_PLACES, "order": {"field": "order", "type": "quantitative"}}


def build_radar(
    axes: Sequence[str],
    names: Sequence[str],
    values: Sequence[Sequence[float | None]],
    leads: Sequence[dict[str, Any]],
    *,
    most: int | None = None,
) -> tuple[dict[str, Any], str]:
    """Draw a line for each of the first `most` complete rows; `values` has a list per axis, `leads` the row links."""
    complete_rows = [
        (name, lead, row)
        for name, lead, *row in zip(names, leads, *values, strict=True)
        if all(value is not None for value in row)
    ]
    drawn_rows = [(str(name), lead, [float(value or 0.0) for value in row]) for name, lead, row in complete_rows[:most]]
    scale = _ring_values(max((value for _, _, row in drawn_rows for value in row), default=1.0))
    top = scale[-1]
    lines = [
        {"group": name, "value": value, "said": f"{name}, {axis}: {value:.3g}",
         **_spoke_point(step, len(axes), value / top), **lead}
        for name, lead, row in drawn_rows
        for step, (axis, value) in enumerate(zip([*axes, axes[0]], [*row, row[0]], strict=True))
    ]  # fmt: skip
    rings = [
        {"ring": ring, **_spoke_point(step, len(axes), ring / top)} for ring in scale for step in range(len(axes) + 1)
    ]
    numbers = [{"text": f"{ring:.3g}", **_spoke_point(0, len(axes), ring / top)} for ring in scale]
    colour_encoding = {"color": {"field": "group", "type": "nominal", "title": None, "sort": None}}
    labels = [{"text": axis, **_spoke_point(step, len(axes), 1.18)} for step, axis in enumerate(axes)]
    layers = [
        _make_layer(
            {"type": "line", "color": GRID, "strokeWidth": 1}, {**_LINE_PLACES, "detail": {"field": "ring"}}, rings
        ),
        _make_layer(
            {"type": "line", "strokeWidth": 2}, {**colour_encoding, **_LINE_PLACES, "description": {"field": "group"}}
        ),
        _make_layer(
            {"type": "point", "filled": True}, {**colour_encoding, **_PLACES, "description": {"field": "said"}}
        ),
        _make_layer(
            {"type": "text", "color": MUTED_INK, "fontSize": 11}, {**_PLACES, "text": {"field": "text"}}, labels
        ),
        _make_layer(
            {"type": "text", "color": MUTED_INK, "fontSize": 10, "align": "right", "baseline": "bottom", "dx": -5},
            {**_PLACES, "text": {"field": "text"}},
            numbers,
        ),
    ]
    left = len(complete_rows) - len(drawn_rows)
    more = Note("chart.more", n=left) if left else ""
    body = {"data": {"values": lines}, "layer": layers, "width": 440, "height": 440}
    return body, Note("chart.radar", n=len(drawn_rows), more=more, figures=len(axes), top=top)


def _ring_values(largest: float) -> list[float]:
    """Return the values of the rings: at most five round numbers, the last one at or above the largest value.

    >>> _ring_values(7.75), _ring_values(0.31), _ring_values(0)
    ([2.0, 4.0, 6.0, 8.0], [0.1, 0.2, 0.3, 0.4], [0.2, 0.4, 0.6, 0.8, 1.0])
    """
    ideal_step = (largest if largest > 0 else 1.0) / _RINGS
    power = 10.0 ** math.floor(math.log10(ideal_step))
    step = next(step * power for step in (1, 2, 5, 10) if step * power >= ideal_step * (1 - 1e-9))
    # 1e-9 absorbs rounding; otherwise a largest value on a ring could add another ring.
    count = math.ceil(largest / step * (1 - 1e-9)) if largest > 0 else _RINGS
    return [round(step * ring, 12) for ring in range(1, count + 1)]


def _make_layer(
    mark: dict[str, Any], encoding: dict[str, Any], values: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    return {"mark": mark, "encoding": encoding} | ({} if values is None else {"data": {"values": values}})


def _spoke_point(step: int, axes: int, share: float) -> dict[str, float]:
    turn = 2 * math.pi * step / axes
    return {"order": step, "x": share * math.sin(turn), "y": share * math.cos(turn)}
