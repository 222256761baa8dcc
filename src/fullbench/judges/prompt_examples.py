"""Worked examples in a judge's prompt, each shown only where its ruling is in the form that is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fullbench.core.ballot import Ballot, Style
from fullbench.core.ballot import ballot as ballot_of


@dataclass(frozen=True)
class Example:
    """A worked example: what was judged, in a few words, and the ruling that was given.

    `ballot` is the form of the ruling; where it is not said, the example is shown wherever its marks fit.
    """

    text: str
    marks: tuple[float, ...]
    ballot: str = ""

    @property
    def settings(self) -> list[Any]:
        """What stands for it in a judge's settings."""
        return [self.text, list(self.marks), *([self.ballot] if self.ballot else [])]

    def fits(self, form: Ballot, n: int) -> bool:
        """Whether its ruling is one that the ballot allows on so many responses."""
        if self.ballot:
            return ballot_of(self.ballot) == form and len(self.marks) == n
        return len(self.marks) == n and form.allows(self.marks)


def written(examples: Sequence[Example], form: Ballot, n: int, style: Style) -> Iterator[str]:
    """The examples that fit a case, with their rulings in its own form."""
    for example in examples:
        if example.fits(form, n):
            yield f"{example.text}\n{form.write(example.marks, style)}"
