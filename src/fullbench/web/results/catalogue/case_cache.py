"""What the catalogue has of cases, remembered from one batch to the next: judges speak of the same ones again."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice

from sqlalchemy import Connection

from fullbench.web.results.catalogue.row_helpers import version

MOST = 32_000_000
"""So many characters of words are remembered at most; cases beyond that are looked up batch by batch."""


@dataclass(frozen=True, slots=True)
class KnownCase:
    """The numbers under which the catalogue has a case of a study, and what all its verdicts have in common."""

    id: int
    item: int
    meeting: int
    ballot: int
    criterion: int
    shape: int
    shown: str
    samples: str
    contestants: tuple[int, ...]
    """Each once."""
    words: str
    """The pieces of what was asked and answered, for the search."""


@dataclass
class KnownCases:
    """Cases and names that the catalogue has, as long as nobody else changes it."""

    cases: dict[tuple[str, str], KnownCase] = field(default_factory=dict)
    """By study and key."""
    names: dict[tuple[str, str], int] = field(default_factory=dict)
    """By kind and name."""
    _version: int = -1
    _lasting: int = 0
    _size: int = 0

    def check(self, connection: Connection) -> None:
        """Forget everything if the catalogue is not as this filler left it."""
        if version(connection) != self._version:
            self.cases.clear()
            self.names.clear()
            self._lasting = self._size = 0

    def left(self, version: int) -> None:
        """Note the version at which this filler leaves the catalogue; drop what there is no room for."""
        self._version = version
        for key in list(islice(self.cases, self._lasting, None)):
            size = len(self.cases[key].words)
            if self._size + size > MOST:
                del self.cases[key]
            else:
                self._size += size
        self._lasting = len(self.cases)
