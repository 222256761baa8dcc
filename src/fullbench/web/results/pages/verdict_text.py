"""What a verdict says, as a reader would put it: who is ahead of whom, who is level, which word was chosen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from fullbench.core.ballot import Ballot, Choice, Likert, Ranking, ballot

SEATS = 8
"""So many colours there are for contestants."""


@cache
def _ballot(spec: str) -> Ballot:
    return ballot(spec)


def placing(spec: str, names: Sequence[str], marks: Sequence[float | None]) -> list[list[str]]:
    """Contestants from first to last, those who are level together; empty where the ballot is about one at a time.

    >>> placing("ranking", ["llava", "gpt4", "gemini"], [1, 3, 2])
    [['gpt4'], ['gemini'], ['llava']]
    >>> placing("choice+tie", ["a", "b"], [0.5, 0.5])
    [['a', 'b']]
    >>> placing("score:1-5", ["a"], [4])
    []
    """
    if len(names) < 2 or None in marks or not isinstance(_ballot(spec), Choice | Ranking):
        return []
    level: dict[float, list[str]] = {}
    for name, mark in zip(names, marks, strict=True):
        if mark is not None:
            level.setdefault(mark, []).append(name)
    return [level[mark] for mark in sorted(level, reverse=True)]


def mark_in_words(spec: str, mark: float) -> str:
    """One mark as it was chosen: a word of the scale, or the number.

    >>> mark_in_words("likert:no|yes", 2), mark_in_words("score:1-5", 4.0)
    ('yes', '4')
    """
    known = _ballot(spec)
    if isinstance(known, Likert) and known.allows([mark]):
        return known.words[int(mark) - 1]
    return f"{mark:.4g}"


def answer_name(contestant: str, sample: int) -> str:
    """A contestant's answer as pages name it.

    >>> answer_name("alpha", 0), answer_name("alpha", 1)
    ('alpha', 'alpha #2')
    """
    return f"{contestant} #{sample + 1}" if sample else contestant


def seats(names: Iterable[str], everybody: Sequence[str]) -> dict[str, int]:
    """The number of each answer's colour: one for each contestant of a study where there are enough of them, else
    one for each answer of the case, whatever the order shown.

    >>> seats(["c", "a"], ["a", "b", "c"]), seats(["c", "a #2"], ["a", "b", "c"])
    ({'a': 0, 'c': 2}, {'a #2': 0, 'c': 1})
    """
    shown = sorted(names)
    if len(everybody) <= SEATS and set(shown) <= set(everybody):
        return {name: everybody.index(name) for name in shown}
    return {name: place % SEATS for place, name in enumerate(shown)}
