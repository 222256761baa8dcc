"""Parsed meaning of a synthetic question (`Query`) and the types of its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from fullbench.synthetic.vocabulary import Colour, Language, Shape

Task = Literal[
    "count", "colour", "position", "comparison", "existence", "chart", "description", "text", "difference", "problem"
]
Group = tuple[int, Colour, Shape]
Answer = str | int | tuple[Group, ...]


class Kind(NamedTuple):
    """A kind of thing; None means any."""

    colour: Colour | None = None
    shape: Shape | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """Parsed meaning of a question.

    `detail` depends on the task. Position: `across` or `down`. Colour: `largest` or empty. Chart: a bar's label, empty
    for the tallest bar. Problem: two prices.
    """

    task: Task
    language: Language
    kinds: tuple[Kind, ...] = ()
    detail: str = ""
