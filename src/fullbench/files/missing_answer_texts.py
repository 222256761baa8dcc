"""Responses whose rows have no text: they are counted, and one warning names the first."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

from fullbench.errors import DataWarning


@dataclass
class Blanks:
    """Count of responses whose rows have no text: null, NaN or an empty cell."""

    count: int = 0
    first: str = ""

    def add(self, place: Path, line: int, response: tuple[str, str]) -> None:
        """Count the response of a row."""
        self.first = self.first or f"the first at {place}:{line}, {response[1]!r} on item {response[0]!r}"
        self.count += 1

    def warn(self, place: Path, total: int) -> None:
        """Warn if any responses had no text."""
        if self.count:
            sentence = (
                f"{place}: {self.count:,} of {total:,} responses have no text (null, NaN or an empty cell), "
                f"{self.first}. They are judged as empty answers. Remove rows that are not answers."
            )
            warnings.warn(sentence, DataWarning, stacklevel=2)
