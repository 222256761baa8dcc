"""Cache of catalogue cases between batches, because judges judge the same cases."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice

from sqlalchemy import Connection

from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import catalogue_version

MAX_CHARACTERS = 32_000_000
"""Maximum number of characters of cached words; cases beyond that are looked up batch by batch."""


@dataclass(frozen=True, slots=True)
class CachedCase:
    """Catalogue ids of a study's case, and the values that all its verdicts share."""

    id: int
    item: int
    response_set: int
    ballot: int
    criterion: int
    shape: int
    shown_json: str
    samples_json: str
    contestants: tuple[int, ...]
    """Each once."""
    words: str
    """Search pieces of the question and the answers."""


@dataclass
class CaseCache:
    """Cases and names of the catalogue. Valid until another process changes the catalogue."""

    cases: dict[tuple[str, str], CachedCase] = field(default_factory=dict)
    """By study and key."""
    names: dict[tuple[str, str], int] = field(default_factory=dict)
    """By kind and name."""
    _version: int = -1
    _lasting: int = 0
    _size: int = 0

    def check(self, connection: Connection) -> None:
        """Clear the cache if another process changed the catalogue."""
        if catalogue_version(connection) != self._version:
            self.cases.clear()
            self.names.clear()
            self._lasting = self._size = 0

    def remember_version(self, version: int) -> None:
        """Store the catalogue version after a batch, and drop cases that exceed the memory limit."""
        self._version = version
        for key in list(islice(self.cases, self._lasting, None)):
            size = len(self.cases[key].words)
            if self._size + size > MAX_CHARACTERS:
                del self.cases[key]
            else:
                self._size += size
        self._lasting = len(self.cases)
