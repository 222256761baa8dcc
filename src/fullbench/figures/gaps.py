"""How a figure that cannot be had becomes a cell that says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from fullbench.errors import Undefined
from fullbench.core.note import Note, listed, sentence

Figure = TypeVar("Figure")


EMPTY = "-"


_NAMED = 3


class Gaps:
    """Keeps the reasons of figures that could not be had, for the notes of the table.

    >>> from fullbench.stats.agreement.two_raters import pearson
    >>> gaps = Gaps()
    >>> gaps.cell("judge A", lambda: pearson([1, 1, 1], [1, 2, 3])) is None
    True
    >>> str(*gaps.notes)
    '- for judge A: a correlation needs two columns that vary; one is constant over 3 rows'
    """

    def __init__(self) -> None:
        self._where: dict[str, list[str]] = {}

    def cell(self, where: str, figure: Callable[[], Figure]) -> Figure | None:
        """The figure, or None when it is undefined; the reason is kept under the name `where`."""
        try:
            return figure()
        except Undefined as reason:
            self._where.setdefault(sentence(reason), []).append(where)
            return None

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for each reason; of many places the first few are named."""
        return tuple(
            Note("gaps.empty", "- for {places}: {reason}", places=_listed(places), reason=reason)
            for reason, places in self._where.items()
        )


def _listed(places: Sequence[str]) -> str:
    """
    >>> str(_listed(["a", "b"])), str(_listed(list("abcdef")))
    ('a; b', 'a; b; c and 3 more')
    """
    if len(places) <= _NAMED + 1:
        return listed(places)
    return Note("list.more", "{first} and {n} more", first=listed(places[:_NAMED]), n=len(places) - _NAMED)
