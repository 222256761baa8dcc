"""Radar charts: several figures of a few rows, each on a spoke of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fullbench.core.note import Note
from fullbench.reports.charts.palette import GRID, MUTED

_RINGS = 5
_BARE = {"type": "quantitative", "title": None, "axis": None, "scale": {"domain": [-1.4, 1.4]}}
_PLACES = {"x": {"field": "x", **_BARE}, "y": {"field": "y", **_BARE}}
_JOINED = {**_PLACES, "order": {"field": "order", "type": "quantitative"}}


def radar(
    axes: Sequence[str],
    names: Sequence[str],
    figures: Sequence[Sequence[float | None]],
    leads: Sequence[dict[str, Any]],
    *,
    most: int | None = None,
) -> tuple[dict[str, Any], str]:
    """A closed line for each of the first `most` rows that lack no figure; `figures` has a list for each axis, `leads`
    says for each row where its marks lead."""
    whole = [
        (name, lead, row)
        for name, lead, *row in zip(names, leads, *figures, strict=True)
        if all(figure is not None for figure in row)
    ]
    shown = [(str(name), lead, [float(figure or 0.0) for figure in row]) for name, lead, row in whole[:most]]
    scale = _scale(max((figure for _, _, row in shown for figure in row), default=1.0))
    top = scale[-1]
    lines = [
        {"group": name, "value": figure, "said": f"{name}, {axis}: {figure:.3g}",
         **_spoke(step, len(axes), figure / top), **lead}
        for name, lead, row in shown
        for step, (axis, figure) in enumerate(zip([*axes, axes[0]], [*row, row[0]], strict=True))
    ]  # fmt: skip
    rings = [{"ring": ring, **_spoke(step, len(axes), ring / top)} for ring in scale for step in range(len(axes) + 1)]
    numbers = [{"text": f"{ring:.3g}", **_spoke(0, len(axes), ring / top)} for ring in scale]
    coloured = {"color": {"field": "group", "type": "nominal", "title": None, "sort": None}}
    labels = [{"text": axis, **_spoke(step, len(axes), 1.18)} for step, axis in enumerate(axes)]
    layers = [
        _layer({"type": "line", "color": GRID, "strokeWidth": 1}, {**_JOINED, "detail": {"field": "ring"}}, rings),
        _layer({"type": "line", "strokeWidth": 2}, {**coloured, **_JOINED, "description": {"field": "group"}}),
        _layer({"type": "point", "filled": True}, {**coloured, **_PLACES, "description": {"field": "said"}}),
        _layer({"type": "text", "color": MUTED, "fontSize": 11}, {**_PLACES, "text": {"field": "text"}}, labels),
        _layer(
            {"type": "text", "color": MUTED, "fontSize": 10, "align": "right", "baseline": "bottom", "dx": -5},
            {**_PLACES, "text": {"field": "text"}},
            numbers,
        ),
    ]
    left = len(whole) - len(shown)
    more = Note("chart.more", " ({n} more in the table)", n=left) if left else ""
    body = {"data": {"values": lines}, "layer": layers, "width": 440, "height": 440}
    return body, Note(
        "chart.radar", "Radar of {n} rows{more} over {figures} figures; the outer ring is {top:.3g}",
        n=len(shown), more=more, figures=len(axes), top=top,
    )  # fmt: skip


def _scale(largest: float) -> list[float]:
    """What the rings stand for: round numbers, five at most, the last of them at or beyond the largest figure.

    >>> _scale(7.75), _scale(0.31), _scale(0)
    ([2.0, 4.0, 6.0, 8.0], [0.1, 0.2, 0.3, 0.4], [0.2, 0.4, 0.6, 0.8, 1.0])
    """
    wanted = (largest if largest > 0 else 1.0) / _RINGS
    power = 10.0 ** math.floor(math.log10(wanted))
    step = next(step * power for step in (1, 2, 5, 10) if step * power >= wanted * (1 - 1e-9))
    count = math.ceil(largest / step * (1 - 1e-9)) if largest > 0 else _RINGS
    return [round(step * ring, 12) for ring in range(1, count + 1)]


def _layer(
    mark: dict[str, Any], encoding: dict[str, Any], values: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    return {"mark": mark, "encoding": encoding} | ({} if values is None else {"data": {"values": values}})


def _spoke(step: int, axes: int, share: float) -> dict[str, float]:
    """Where a share of the way to the outer ring lies on a spoke; the first one points up."""
    turn = 2 * math.pi * step / axes
    return {"order": step, "x": share * math.sin(turn), "y": share * math.cos(turn)}
