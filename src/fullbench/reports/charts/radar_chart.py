"""Radar charts: several numbers of a few rows, each on its own axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fullbench.core.note import Note
from fullbench.reports.charts.palette import GRID, MUTED_INK

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
