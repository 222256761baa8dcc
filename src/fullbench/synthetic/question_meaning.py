"""What a question of the court means, and what an answer to it can be."""

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
    """A kind of thing; None stands for any."""

    colour: Colour | None = None
    shape: Shape | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """What a question means.

    `detail` is `across` or `down` for a position, `largest` or empty for a colour, a bar's label (empty for the
    tallest) for a chart, and two prices for a problem.
    """

    task: Task
    language: Language
    kinds: tuple[Kind, ...] = ()
    detail: str = ""
