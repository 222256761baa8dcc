"""Radar charts: several figures of a few rows, each on a spoke of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fullbench.nouns.note import Note
from fullbench.reports.palette import GRID, MUTED

_RINGS = 4
_BARE = {"type": "quantitative", "title": None, "axis": None, "scale": {"domain": [-1.4, 1.4]}}
_PLACES = {"x": {"field": "x", **_BARE}, "y": {"field": "y", **_BARE}}
_JOINED = {**_PLACES, "order": {"field": "order", "type": "quantitative"}}


def radar(
    axes: Sequence[str], names: Sequence[str], figures: Sequence[Sequence[float | None]], *, most: int | None = None
) -> tuple[dict[str, Any], str]:
    """A closed line for each of the first `most` rows that lack no figure; `figures` has a list for each axis."""
    whole = [
        (name, row) for name, *row in zip(names, *figures, strict=True) if all(figure is not None for figure in row)
    ]
    shown = [(str(name), [float(figure or 0.0) for figure in row]) for name, row in whole[:most]]
    top = max((figure for _, row in shown for figure in row), default=1.0) or 1.0
    lines = [
        {"group": name, "value": figure, "said": f"{name}, {axis}: {figure:.3g}",
         **_spoke(step, len(axes), figure / top)}
        for name, row in shown
        for step, (axis, figure) in enumerate(zip([*axes, axes[0]], [*row, row[0]], strict=True))
    ]  # fmt: skip
    rings = [
        {"ring": ring, **_spoke(step, len(axes), ring / _RINGS)}
        for ring in range(1, _RINGS + 1)
        for step in range(len(axes) + 1)
    ]
    coloured = {"color": {"field": "group", "type": "nominal", "title": None, "sort": None}}
    labels = [{"text": axis, **_spoke(step, len(axes), 1.18)} for step, axis in enumerate(axes)]
    layers = [
        _layer({"type": "line", "color": GRID, "strokeWidth": 1}, {**_JOINED, "detail": {"field": "ring"}}, rings),
        _layer({"type": "line", "strokeWidth": 2}, {**coloured, **_JOINED, "description": {"field": "group"}}),
        _layer({"type": "point", "filled": True}, {**coloured, **_PLACES, "description": {"field": "said"}}),
        _layer({"type": "text", "color": MUTED, "fontSize": 11}, {**_PLACES, "text": {"field": "text"}}, labels),
    ]
    left = len(whole) - len(shown)
    more = Note("chart.more", " ({n} more in the table)", n=left) if left else ""
    body = {"data": {"values": lines}, "layer": layers, "width": 440, "height": 440}
    return body, Note(
        "chart.radar", "Radar of {n} rows{more} over {figures} figures; the outer ring is {top:.3g}",
        n=len(shown), more=more, figures=len(axes), top=top,
    )  # fmt: skip


def _layer(
    mark: dict[str, Any], encoding: dict[str, Any], values: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    return {"mark": mark, "encoding": encoding} | ({} if values is None else {"data": {"values": values}})


def _spoke(step: int, axes: int, share: float) -> dict[str, float]:
    """Where a share of the way to the outer ring lies on a spoke; the first one points up."""
    turn = 2 * math.pi * step / axes
    return {"order": step, "x": share * math.sin(turn), "y": share * math.cos(turn)}
