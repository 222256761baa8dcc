"""What each kind of chart looks like: a table and a hint become the body of a Vega-Lite specification, and words.

`vega_lite` says what the hints are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.core.table import Cell, Column, Table, sort_value
from fullbench.errors import InputError
from fullbench.reports.cell_text import decimals, plain, rounded, show
from fullbench.reports.charts.palette import ACCENT, INK, MUTED
from fullbench.reports.charts.radar_chart import radar

# What stands behind the points of a scatter plot: the lines that part it, and the names of its quadrants.

SQUARE = 420
"""The side of a scatter plot, in pixels."""


def corners(names: Sequence[str]) -> list[dict[str, Any]]:
    """The four quadrants' names in their corners: upper right, lower right, upper left, lower left."""
    inset = 8
    places = [(SQUARE - inset, "right"), (inset, "left")]
    return [
        {
            "mark": {"type": "text", "align": align, "fontStyle": "italic", "color": MUTED, "fontSize": 12},
            "encoding": {"x": {"value": across}, "y": {"value": down}, "text": {"datum": plain(name)}},
            "data": {"values": [{}]},
        }
        for name, ((across, align), down) in zip(
            names, [(place, down) for place in places for down in (2 * inset + 20, SQUARE - inset)], strict=False
        )
    ]


def guides(split: Sequence[float | None] | None, ends: Sequence[float]) -> list[dict[str, Any]]:
    """The line where both figures are equal, or the two lines that part the quadrants."""
    mark = {"type": "rule", "strokeDash": [4, 4], "color": MUTED}
    if split is not None:
        places = zip("xy", split, strict=True)
        return [{"mark": mark, "encoding": {axis: {"datum": value}}} for axis, value in places if value is not None]
    least, most = ends
    diagonal = {"x": {"datum": least}, "y": {"datum": least}, "x2": {"datum": most}, "y2": {"datum": most}}
    return [{"mark": mark, "encoding": diagonal}]


WIDTH = 480
LEADS = "https://mark.invalid/"
"""Stands before an address while a chart is drawn: the drawing library would put one of its own before it."""
Spec = dict[str, Any]


def _label(table: Table, name: str) -> str:
    """What a chart calls a column, by its key; a name of the hint's own stays as it is."""
    place = table.place(name)
    return plain(name if place is None else table.columns[place])


def _column(table: Table, name: str) -> list[Cell]:
    if table.place(name) is None:
        raise InputError(f"table {table.name!r} has no column {name!r} to draw; it has {', '.join(table.columns)}")
    return table.column(name)


def _figure(cell: Cell) -> dict[str, float] | None:
    value = sort_value(cell)
    if value is None:
        return None
    low, high = (cell.low, cell.high) if isinstance(cell, Estimate) else (value, value)
    return {"value": float(value), "low": float(low), "high": float(high)}


def _names(table: Table, label: str, within: str | Sequence[str] = ()) -> list[str]:
    """What the rows are called; where a name has several rows, the columns `within` tell them apart."""
    columns = [label, *([within] if isinstance(within, str) else within)]
    return [", ".join(map(str, row)) for row in zip(*(_column(table, name) for name in columns), strict=True)]


def _leads(table: Table, hint: Mapping[str, Any]) -> list[Spec]:
    """Where the marks of each row lead, as a part of what is drawn of it; nothing where they lead nowhere."""
    addresses = _column(table, hint["href"]) if "href" in hint else [None] * len(table.rows)
    return [{} if address is None else {"href": f"{LEADS}{address}"} for address in addresses]


def _told_apart(table: Table, labels: list[str], before: int) -> list[str]:
    """The same names, longer by words `before` the figure where several rows would have one name: one mark would lie
    upon the other."""
    for place in range(before):
        if len(set(labels)) == len(labels):
            break
        words = [plain(cell) if isinstance(cell, str) else "" for cell in table.cells(place)]
        if all(words) and len(set(zip(labels, words, strict=True))) > len(set(labels)):
            labels = [f"{label}, {word}" for label, word in zip(labels, words, strict=True)]
    return labels


def _labelled(table: Table, hint: Mapping[str, Any]) -> list[Spec]:
    labels, figures = _names(table, hint["label"], hint.get("within", ())), _column(table, hint["value"])
    digits = decimals(figures)
    groups = _column(table, hint["group"]) if "group" in hint else [None] * len(labels)
    if "group" not in hint:
        labels = _told_apart(table, labels, table.place(hint["value"]) or 0)
    return [
        {"label": plain(label), "shown": show(cell, digits), **figure, **lead}
        | ({} if group is None else {"group": plain(str(group))})
        for label, cell, group, lead in zip(labels, figures, groups, _leads(table, hint), strict=True)
        if (figure := _figure(cell)) is not None
    ]


def _words(rows: list[Spec], what: str, value: str, label: str) -> str:
    if not rows:
        return what
    least, most = min(rows, key=lambda row: row["value"]), max(rows, key=lambda row: row["value"])
    return Note(
        "chart.rows", "{what}: {value} by {label}, {n} rows; from {least} {low} to {most} {high}",
        what=what, value=value, label=label, n=len(rows),
        least=least["label"], low=rounded(least["value"]), most=most["label"], high=rounded(most["value"]),
    )  # fmt: skip


def _named(field: str, title: str | None, **rest: Any) -> Spec:
    kind = rest.pop("type", "quantitative")
    return {"field": field, "type": kind, "title": title, **rest}


def _colour(table: Table, hint: Mapping[str, Any]) -> Spec:
    if "group" not in hint:
        return {"color": {"value": ACCENT}}
    return {"color": _named("group", _label(table, hint["group"]), type="nominal")}


def _intervals(table: Table, hint: Mapping[str, Any]) -> tuple[Spec, str]:
    if "columns" in hint:
        melted = _melted(table, hint["label"], hint["columns"])
        return _intervals(melted, {"label": hint["label"], "value": "value", "group": "figure"})
    rows, value = _labelled(table, hint), _label(table, hint["value"])
    place = table.place(hint["value"])
    less = place is not None and table.typed[place].better == "less"
    order = {"op": "max", "field": "value", "order": "ascending" if less else "descending"}
    y = _named("label", None, type="nominal", sort=order)
    offset = {"yOffset": {"field": "group"}} if "group" in hint else {}
    scale = {"zero": False, "nice": True}
    layers: list[Spec] = [
        {
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {"y": y, "x": _named("low", value, scale=scale), "x2": {"field": "high"}}
            | offset
            | _colour(table, hint),
        },
        {
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
            "encoding": {"y": y, "x": _named("value", value)} | offset | _colour(table, hint),
        },
    ]
    if "reference" in hint:
        line = {"type": "rule", "strokeDash": [4, 4], "color": MUTED}
        layers.append({"mark": line, "encoding": {"x": {"datum": hint["reference"]}}})
    height = {"step": 26} if "group" not in hint else {"step": 12, "for": "offset"}
    body = {"data": {"values": rows}, "layer": layers, "width": WIDTH, "height": height}
    return body, _words(rows, Note("chart.intervals", "Dots with intervals"), value, _label(table, hint["label"]))


def _bars(table: Table, hint: Mapping[str, Any]) -> tuple[Spec, str]:
    rows, value = _labelled(table, hint), _label(table, hint["value"])
    y = _named("label", None, type="nominal", sort="ascending" if hint.get("order") == "label" else None)
    offset = {"yOffset": {"field": "group", "sort": None}} if "group" in hint else {}
    bar = {"y": y, "x": _named("value", value, axis={"grid": False})} | offset | _colour(table, hint)
    line = {"y": y, "x": _named("low", value), "x2": {"field": "high"}} | offset
    layers = [
        {"mark": {"type": "bar", "opacity": 0.6}, "encoding": bar},
        {"mark": {"type": "rule", "strokeWidth": 1.5, "color": INK}, "encoding": line},
    ]
    height = {"step": 26} if "group" not in hint else {"step": 14, "for": "offset"}
    body = {"data": {"values": rows}, "layer": layers, "width": WIDTH, "height": height}
    return body, _words(rows, Note("chart.bars", "Bars"), value, _label(table, hint["label"]))


def _scatter(table: Table, hint: Mapping[str, Any]) -> tuple[Spec, str]:
    names = _column(table, hint["label"]) if "label" in hint else [""] * len(table.rows)
    rows: list[Spec] = []
    boundless: list[Spec] = []
    both = zip(_column(table, hint["x"]), _column(table, hint["y"]), strict=True)
    for label, (x_cell, y_cell), lead in zip(names, both, _leads(table, hint), strict=True):
        across, up = _figure(x_cell), _figure(y_cell)
        if across is not None and "infinite" in hint and y_cell == hint["infinite"]:
            ends = {"xlow": across["low"], "xhigh": across["high"], "edge": True}
            boundless.append({"label": f"{plain(str(label))} (∞)", "x": across["value"], **ends, **lead})
        elif across is not None and up is not None:
            ends = {"xlow": across["low"], "xhigh": across["high"], "ylow": up["low"], "yhigh": up["high"]}
            rows.append({"label": plain(str(label)), "x": across["value"], "y": up["value"], **ends, **lead})
    split = hint.get("split")
    ranges = {
        axis: [
            min((row[f"{axis}low"] for row in drawn), default=0.0),
            max((row[f"{axis}high"] for row in drawn), default=1.0),
        ]
        for axis, drawn in (("x", [*rows, *boundless]), ("y", rows))
    }
    if split is None:
        square = [min(ends[0] for ends in ranges.values()), max(ends[1] for ends in ranges.values())]
        ranges = dict.fromkeys("xy", square)
    ticks = {"tickCount": 6, "grid": True}
    x, y = (
        _named(axis, _label(table, hint[axis]), scale={"domain": ranges[axis], "nice": True, "zero": False}, axis=ticks)
        for axis in "xy"
    )
    line, dot = {"type": "rule", "color": ACCENT}, {"type": "point", "filled": True, "size": 60, "opacity": 1}
    layers: list[Spec] = [
        *guides(split, ranges["x"]),
        {"mark": line, "encoding": {"x": x, "y": {**y, "field": "ylow"}, "y2": {"field": "yhigh"}}},
        {"mark": line, "encoding": {"y": y, "x": {**x, "field": "xlow"}, "x2": {"field": "xhigh"}}},
        {"mark": {**dot, "color": ACCENT}, "encoding": {"x": x, "y": y}},
    ]
    if "label" in hint:
        mark = {"type": "text", "align": "left", "dx": 7, "dy": -7, "color": MUTED, "fontSize": 11}
        layers.append({"mark": mark, "encoding": {"x": x, "y": y, "text": {"field": "label"}}})
    if boundless:
        layers = [{**layer, "transform": [{"filter": "!datum.edge"}]} for layer in layers] + _at_the_edge(x)
    layers += corners(hint.get("corners", ()))
    body = {"data": {"values": [*rows, *boundless]}, "layer": layers, "width": SQUARE, "height": SQUARE}
    equal = Note("chart.equal", "the line where both are equal")
    said: str = Note(
        "chart.scatter", "Scatter of {y} against {x}, {n} rows, with {guide}",
        y=_label(table, hint["y"]), x=_label(table, hint["x"]), n=len(rows) + len(boundless),
        guide=equal if split is None else Note("chart.quadrants", "lines between four quadrants"),
    )  # fmt: skip
    if boundless:
        said = Note("chart.boundless", "{said}; {n} at the upper edge without bound", said=said, n=len(boundless))
    return body, said


def _at_the_edge(x: Spec) -> list[Spec]:
    """Rows whose upward figure has no bound, at the upper edge and pointing beyond it, for no height would be true."""
    top = {"value": 0}
    dot = {"type": "point", "shape": "triangle-up", "filled": True, "size": 90, "opacity": 1, "color": ACCENT}
    words = {"type": "text", "align": "left", "dx": 8, "dy": 12, "color": MUTED, "fontSize": 11}
    across = {"x": {**x, "field": "xlow"}, "x2": {"field": "xhigh"}, "y": top}
    layers: list[Spec] = [
        {"mark": {"type": "rule", "color": ACCENT}, "encoding": across},
        {"mark": dot, "encoding": {"x": x, "y": top}},
        {"mark": words, "encoding": {"x": x, "y": top, "text": {"field": "label"}}},
    ]
    return [{**layer, "transform": [{"filter": "datum.edge"}]} for layer in layers]


def _points(table: Table, hint: Mapping[str, Any]) -> list[Spec]:
    columns = [_column(table, hint[name]) for name in ("label", "x", "value")]
    return [
        {"label": plain(str(label)), "x": float(at), "value": figure["value"], **lead}
        for label, at, cell, lead in zip(*columns, _leads(table, hint), strict=True)
        if isinstance(at, int | float) and (figure := _figure(cell)) is not None
    ]


def _densities(table: Table, hint: Mapping[str, Any]) -> tuple[Spec, str]:
    rows = _points(table, hint)
    encoding = {
        "x": _named("x", _label(table, hint["x"]), axis={"grid": False}),
        "y": _named("value", _label(table, hint["value"]), axis={"grid": True}, stack=None),
        "color": _named("label", None, type="nominal", sort=None),
    }
    # The dots say their figures to screen readers; an area says nothing but where it begins.
    dots = {"size": 14, "filled": True}
    mark = {"type": "area", "opacity": 0.18, "line": {"strokeWidth": 2}, "point": dots, "interpolate": "monotone"}
    body = {"data": {"values": rows}, "mark": mark, "encoding": encoding, "width": WIDTH, "height": 220}
    return body, Note(
        "chart.densities", "Densities: {value} over {x} for each {label}, {n} points",
        value=_label(table, hint["value"]), x=_label(table, hint["x"]), label=_label(table, hint["label"]), n=len(rows),
    )  # fmt: skip


def _curves(table: Table, hint: Mapping[str, Any]) -> tuple[Spec, str]:
    rows = _points(table, hint)
    scale = {"zero": False, "nice": True, **({"reverse": True} if hint.get("first_on_top") else {})}
    whole = {"tickMinStep": 1, "format": "d"} if hint.get("first_on_top") else {}
    counted = {"tickMinStep": 1, "format": "d"} if all(row["x"].is_integer() for row in rows) else {}
    encoding = {
        "x": _named("x", _label(table, hint["x"]), axis={"grid": False, **counted}),
        "y": _named("value", _label(table, hint["value"]), axis={"grid": True, **whole}, scale=scale),
        "color": _named("label", None, type="nominal"),
    }
    mark = {"type": "line", "point": True, "strokeWidth": 2}
    body = {"data": {"values": rows}, "mark": mark, "encoding": encoding, "width": WIDTH, "height": 260}
    return body, Note(
        "chart.curves", "Curves: {value} over {x} for each {label}, {n} points",
        value=_label(table, hint["value"]), x=_label(table, hint["x"]), label=_label(table, hint["label"]), n=len(rows),
    )  # fmt: skip


def _heat(table: Table, hint: Mapping[str, Any]) -> tuple[Spec, str]:
    rows: list[Spec] = [
        {"row": plain(str(row)), "column": plain(str(column)), "value": value}
        for row, column, cell in zip(
            _column(table, hint["row"]), _column(table, hint["column"]), _column(table, hint["value"]), strict=True
        )
        if (value := sort_value(cell)) is not None
    ]
    values = [float(row["value"]) for row in rows]
    middle = (min(values) + max(values)) / 2 if values else 0.0
    across = list(dict.fromkeys([row[part] for part in ("row", "column") for row in rows]))
    used = {row["column"] for row in rows}
    order = [name for name in across if name in used]
    places = {
        "x": _named(
            "column", None, type="nominal", sort=order, axis={"orient": "top", "labelAngle": -35, "labelOverlap": False}
        ),
        "y": _named("row", None, type="nominal", sort=None),
    }
    fill = _named("value", _label(table, hint["value"]), scale={"range": ["#eef3fc", "#16397f"]})
    ink = {"condition": {"test": f"datum.value > {middle}", "value": "#fdfdfd"}, "value": "#10203f"}
    digits = ".0f" if values and max(map(abs, values)) >= 10 else ".2f"
    text = {"field": "value", "type": "quantitative", "format": digits}
    layers = [
        {"mark": "rect", "encoding": {**places, "color": fill}},
        {"mark": {"type": "text", "fontSize": 11}, "encoding": {**places, "text": text, "color": ink}},
    ]
    body = {"data": {"values": rows}, "layer": layers, "width": {"step": 52}, "height": {"step": 30}}
    return body, Note(
        "chart.heat", "Heat map: {value} by {row} and {column}, {n} cells", value=_label(table, hint["value"]),
        row=_label(table, hint["row"]), column=_label(table, hint["column"]), n=len(rows),
    )  # fmt: skip


def _matrix(table: Table, hint: Mapping[str, Any]) -> tuple[Spec, str]:
    """A wide table melted to one row for each of its cells, and drawn as `heat`."""
    rows = [
        (name, _label(table, column), cell)
        for place, name in enumerate(_names(table, hint["row"], hint.get("within", ())))
        for column in hint["columns"]
        if (cell := _column(table, column)[place]) is not None
    ]
    melted = (Column(hint["row"], _label(table, hint["row"])), hint["column"], hint["value"])
    return _heat(Table(table.name, table.title, melted, rows), hint)


def _lines(table: Table, hint: Mapping[str, Any]) -> tuple[Spec, str]:
    """A wide table melted to one row for each of its figures, and drawn as `curves`."""
    return _curves(_melted(table, hint["x"], hint["columns"]), {"x": hint["x"], "label": "figure", "value": "value"})


def _melted(table: Table, first: str, columns: Sequence[str]) -> Table:
    """A row for each figure of a wide table: what it belongs to, the name of its column, and the figure."""
    rows = [
        (owner, _label(table, column), cell)
        for place, owner in enumerate(_column(table, first))
        for column in columns
        if (cell := _column(table, column)[place]) is not None
    ]
    return Table(table.name, table.title, (Column(first, _label(table, first)), *headings("figure", "value")), rows)


def _stacked(table: Table, hint: Mapping[str, Any]) -> tuple[Spec, str]:
    labels, parts = _column(table, hint["label"]), [_label(table, part) for part in hint["parts"]]
    rows = [
        {"label": plain(str(label)), "part": _label(table, part), "value": value, "order": order}
        for order, part in enumerate(hint["parts"])
        for label, cell in zip(labels, _column(table, part), strict=True)
        if (value := sort_value(cell)) is not None
    ]
    encoding = {
        "y": _named("label", None, type="nominal", sort=None),
        "x": _named("value", None, stack="normalize", axis={"format": "%"}),
        "color": _named("part", None, type="nominal", sort=parts),
        "order": {"field": "order", "type": "quantitative"},
    }
    body = {"data": {"values": rows}, "mark": "bar", "encoding": encoding, "width": WIDTH, "height": {"step": 26}}
    return body, Note(
        "chart.stacked", "Stacked bars: {parts} for each {label}, {n} rows",
        parts=", ".join(parts), label=_label(table, hint["label"]), n=len(labels),
    )  # fmt: skip


def _histogram(table: Table, hint: Mapping[str, Any]) -> tuple[Spec, str]:
    rows = [
        {"bin": cell if isinstance(cell, int | float) else plain(str(cell)), "count": count}
        for cell, value in zip(_column(table, hint["bin"]), _column(table, hint["count"]), strict=True)
        if (count := sort_value(value)) is not None
    ]
    encoding = {
        "x": _named("bin", _label(table, hint["bin"]), type="ordinal", sort=None, axis={"labelAngle": 0}),
        "y": _named("count", _label(table, hint["count"]), axis={"grid": True}),
    }
    mark = {"type": "bar", "color": ACCENT}
    body = {"data": {"values": rows}, "mark": mark, "encoding": encoding, "width": {"step": 56}, "height": 220}
    return body, Note(
        "chart.histogram", "Histogram: {value} by {label}, {n} bins",
        value=_label(table, hint["count"]), label=_label(table, hint["bin"]), n=len(rows),
    )  # fmt: skip


def _radar(table: Table, hint: Mapping[str, Any]) -> tuple[Spec, str]:
    axes = list(hint["axes"])
    names = [plain(str(name)) for name in _column(table, hint["label"])]
    figures = [[sort_value(cell) for cell in _column(table, axis)] for axis in axes]
    leads = _leads(table, hint)
    return radar([_label(table, axis) for axis in axes], names, figures, leads, most=hint.get("most"))


KINDS: dict[str, Callable[[Table, Mapping[str, Any]], tuple[Spec, str]]] = {
    "bars": _bars,
    "curves": _curves,
    "densities": _densities,
    "heat": _heat,
    "histogram": _histogram,
    "intervals": _intervals,
    "lines": _lines,
    "matrix": _matrix,
    "radar": _radar,
    "scatter": _scatter,
    "stacked": _stacked,
}
