"""Worked examples in a judge's prompt, each shown only if its verdict fits the ballot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fullbench.core.ballot import Ballot, Style
from fullbench.core.ballot import ballot as ballot_of


@dataclass(frozen=True)
class Example:
    """A worked example: a short text about what was judged, and the verdict.
    `ballot` is the form of the verdict; without it, the example is shown wherever its marks fit.
    """

    text: str
    marks: tuple[float, ...]
    ballot: str = ""

    @property
    def settings(self) -> list[Any]:
        """Return the example's part of a judge's settings."""
        return [self.text, list(self.marks), *([self.ballot] if self.ballot else [])]

    def fits(self, form: Ballot, n: int) -> bool:
        """Return True if the ballot allows this verdict on `n` responses."""
        if self.ballot:
            return ballot_of(self.ballot) == form and len(self.marks) == n
        return len(self.marks) == n and form.allows(self.marks)


def render_examples(examples: Sequence[Example], form: Ballot, n: int, style: Style) -> Iterator[str]:
    """Yield the examples that fit a case, with their verdicts in its form."""
    for example in examples:
        if example.fits(form, n):
            yield f"{example.text}\n{form.write(example.marks, style)}"
