"""How well an answer fits its picture, by tools: where no CLIP can be had. Neither of the two is a CLIP score.

`ColourCorrelation` compares the colours that an answer names with those that the picture has, `ToolCorrelation` all
that the tools note, things and writing too, with all that the answer says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from fullbench.core.cases import Case, Verdict
from fullbench.core.items import digest
from fullbench.models.tools.colours import HUES, LEAST, colours_named
from fullbench.models.tools.fit import COLOUR, fit
from fullbench.models.tools.notes import Notes
from fullbench.models.tools.toolbox import Toolbox


class _Grounded:
    """A judge that compares an answer with notes. Recused where there is no picture, or nothing to compare."""

    def __init__(self, tools: Toolbox) -> None:
        self._tools = tools

    @property
    def name(self) -> str:
        raise NotImplementedError

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        for case in cases:
            notes = self._tools.notes(case.item.pictures[-1]) if case.item.pictures else Notes()
            marks = [self._mark(notes, response.text) for response in case.responses]
            known = [mark for mark in marks if mark is not None]
            yield Verdict.of(case, self.name, known if len(known) == len(marks) else "recused")

    def _mark(self, notes: Notes, text: str) -> float | None:
        raise NotImplementedError


class ColourCorrelation(_Grounded):
    """The share of the colours named that the picture has, from -1 (none) to 1 (all). Recused where none is named."""

    def __init__(self) -> None:
        super().__init__(Toolbox.named("colours"))

    @property
    def name(self) -> str:
        return "colours, tool-grounded"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"least": LEAST, "hues": {name: list(span) for name, span in HUES.items()}}

    def _mark(self, notes: Notes, text: str) -> float | None:
        named = colours_named(text)
        if notes.colours is None or not named:
            return None
        return 2 * len(named & notes.colours.keys()) / len(named) - 1


class ToolCorrelation(_Grounded):
    """The cosine of what the tools noted and what the answer says, from 0 to 1: see `models.tools.fit`."""

    def __init__(self, tools: Toolbox | None = None) -> None:
        super().__init__(tools or Toolbox.named("objects+text+colours"))

    @cached_property
    def name(self) -> str:
        return f"{self._tools.name}, tool-grounded#{digest(self.settings)[:8]}"

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        return {"tools": self._tools.versions, "bags": 1, "colour": COLOUR}

    def _mark(self, notes: Notes, text: str) -> float | None:
        return fit(notes, text)
