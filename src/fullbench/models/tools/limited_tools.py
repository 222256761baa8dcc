"""Tools that return a subset of another tool's notes.

A limited tool never contradicts the full one; it omits the rest. So contestants can be ranked in advance: each knows
everything that the previous one knows, and more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fullbench.models.tools.picture_notes import kinds_of


@dataclass(frozen=True)
class LimitedToolSpec:
    """A limited tool's name, its full tool, and the function that selects its part of the notes."""

    name: str
    full_tool_name: str
    part: Callable[[Any], Any]


def _keep_kinds(things: list[Any]) -> dict[str, float]:
    return kinds_of((label, sure) for label, sure, _ in things)


def _keep_first_line(lines: list[str]) -> list[str]:
    return lines[:1]


def _keep_widest_colour(shares: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(shares.items(), key=lambda pair: (-pair[1], pair[0]))[:1])


LIMITED_TOOLS: Mapping[str, LimitedToolSpec] = {
    part.name: part
    for part in (
        LimitedToolSpec("kinds", "objects", _keep_kinds),
        LimitedToolSpec("headline", "text", _keep_first_line),
        LimitedToolSpec("colour", "colours", _keep_widest_colour),
    )
}
"""`kinds`: kinds without number and place; `headline`: the first line; `colour`: the most widespread colour."""
