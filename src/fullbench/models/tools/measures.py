"""How well a text fits a picture, measured by tools: where no CLIP can be had. Neither of the two is a CLIP score.

`ColourMeasure` compares the colours that a text names with those that the picture has, `ToolMeasure` all that the tools
note, things and writing too, with all that the text says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from fullbench.models.tools.colours import HUES, LEAST, colours_named
from fullbench.models.tools.fit import DEFAULT, Weights, fit
from fullbench.models.tools.toolbox import Toolbox
from fullbench.core.digests import digest
from fullbench.core.picture import Picture


@dataclass(frozen=True)
class ColourMeasure:
    """The share of the colours named that the picture has, from -1 (none) to 1 (all). None where none is named."""

    tools: Toolbox = field(default_factory=lambda: Toolbox.named("colours"))

    @property
    def name(self) -> str:
        return "colours, tool-grounded"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"least": LEAST, "hues": {name: list(span) for name, span in HUES.items()}}

    def fit(self, picture: Picture, text: str) -> float | None:
        named, there = colours_named(text), self.tools.notes(picture).colours
        if there is None or not named:
            return None
        return 2 * len(named & there.keys()) / len(named) - 1


@dataclass(frozen=True)
class ToolMeasure:
    """The cosine of what the tools noted and what the text says, from 0 to 1: see `models.tools.fit`."""

    tools: Toolbox = field(default_factory=lambda: Toolbox.named("objects+text+colours"))
    weights: Weights = DEFAULT

    @cached_property
    def name(self) -> str:
        return f"{self.tools.name}, tool-grounded#{digest(self.settings)[:8]}"

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        return {"tools": self.tools.versions, "bags": 1, **asdict(self.weights)}

    def fit(self, picture: Picture, text: str) -> float | None:
        return fit(self.tools.notes(picture), text, self.weights)
