"""Demographic grids: one prompt per combination of the values of a template's axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from string import Formatter

from fullbench.errors import InputError


@dataclass(frozen=True)
class GridPrompt:
    """A prompt of a grid and its value on each axis."""

    prompt: str
    groups: Mapping[str, str]


def build_grid(template: str, axes: Mapping[str, Sequence[str]]) -> list[GridPrompt]:
    """Fill a template with every combination of the axes' values.

    An empty value removes its word, so the grid can also contain prompts that do not mention an axis.

    >>> [one.prompt for one in build_grid("a {age} {gender} nurse", {"age": ["old", ""], "gender": ["woman"]})]
    ['a old woman nurse', 'a woman nurse']
    """
    slots = [name for _, name, _, _ in Formatter().parse(template) if name is not None]
    if missing := [axis for axis in axes if axis not in slots]:
        raise InputError(f"the template has no {{{missing[0]}}}; it has {', '.join(slots) or 'no slots'}")
    if unknown := [slot for slot in slots if slot not in axes]:
        raise InputError(f"the template uses {{{unknown[0]}}}, which no axis gives; axes: {', '.join(axes)}")
    prompts = []
    for values in product(*axes.values()):
        groups = dict(zip(axes, values, strict=True))
        prompts.append(GridPrompt(" ".join(template.format(**groups).split()), groups))
    return prompts
