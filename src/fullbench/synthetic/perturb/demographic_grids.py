"""Demographic grids: prompts from a template, for every combination of its axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from string import Formatter

from fullbench.errors import InputError


@dataclass(frozen=True)
class Shown:
    """A prompt of a grid, and the value of each axis in it."""

    prompt: str
    groups: Mapping[str, str]


def grid(template: str, axes: Mapping[str, Sequence[str]]) -> list[Shown]:
    """Every combination of the axes' values put into a template.

    An empty value leaves its word out, so that prompts which do not name an axis are part of the grid too.

    >>> [one.prompt for one in grid("a {age} {gender} nurse", {"age": ["old", ""], "gender": ["woman"]})]
    ['a old woman nurse', 'a woman nurse']
    """
    slots = [name for _, name, _, _ in Formatter().parse(template) if name is not None]
    if missing := [axis for axis in axes if axis not in slots]:
        raise InputError(f"the template has no {{{missing[0]}}}; it has {', '.join(slots) or 'no slots'}")
    if unknown := [slot for slot in slots if slot not in axes]:
        raise InputError(f"the template asks for {{{unknown[0]}}}, which no axis gives; axes: {', '.join(axes)}")
    found = []
    for values in product(*axes.values()):
        groups = dict(zip(axes, values, strict=True))
        found.append(Shown(" ".join(template.format(**groups).split()), groups))
    return found
