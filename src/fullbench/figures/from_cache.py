"""How many of the tokens in came from a server's cache, as columns of a table of costs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fullbench.core.call import Usage
from fullbench.core.note import Note
from fullbench.core.table import Cell


@dataclass(frozen=True)
class FromCache:
    """The columns, cells and notes; none where no server said what came from its cache."""

    said: bool
    partly: bool
    """Whether some of those that said it did so of some calls alone, as where a server leaves out what is zero."""

    @classmethod
    def of(cls, usages: Iterable[Usage]) -> FromCache:
        saying = [usage for usage in usages if usage.cached is not None]
        return cls(bool(saying), any(usage.counted < usage.tokens_in for usage in saying))

    @property
    def columns(self) -> tuple[str, ...]:
        return ("from cache", "from cache %") if self.said else ()

    def cells(self, usage: Usage) -> list[Cell]:
        if not self.said:
            return []
        share = usage.share_cached
        return [usage.cached, None if share is None else 100 * share]

    @property
    def notes(self) -> list[Note]:
        said = Note(
            "cost.from-cache", "From cache: tokens in that the server had in its cache; '-' where it did not say."
        )
        partly = Note(
            "cost.from-cache-of-some",
            "Of some calls it is not known what came from a cache: it is at least what is shown.",
        )
        return [said] * self.said + [partly] * self.partly
