"""What stands behind the points of a scatter plot: the lines that part it, and the names of its quadrants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fullbench.reports.cells import plain
from fullbench.reports.palette import MUTED

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
