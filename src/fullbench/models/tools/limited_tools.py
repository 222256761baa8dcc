"""Tools that tell less than another: part of what it noted and nothing else, so that one ability includes the other.

A narrowed tool never says what the whole one would deny: it keeps silent about the rest. So contestants can be lined up
each of whom knows all that the one before knows, and more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fullbench.models.tools.picture_notes import kinds_of


@dataclass(frozen=True)
class Narrowed:
    """A tool's name, the tool whose notes it tells a part of, and which part."""

    name: str
    whole: str
    part: Callable[[Any], Any]


def _kinds(things: list[Any]) -> dict[str, float]:
    return kinds_of((label, sure) for label, sure, _ in things)


def _first(lines: list[str]) -> list[str]:
    return lines[:1]


def _widest(shares: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(shares.items(), key=lambda pair: (-pair[1], pair[0]))[:1])


NARROWED: Mapping[str, Narrowed] = {
    part.name: part
    for part in (
        Narrowed("kinds", "objects", _kinds),
        Narrowed("headline", "text", _first),
        Narrowed("colour", "colours", _widest),
    )
}
"""Which kinds of things but neither how many nor where; the first line alone; the widest spread colour alone."""
