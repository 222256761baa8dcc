"""Verdicts in words: ranked contestants, marks, answer names and colours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from fullbench.core.ballot import Ballot, Choice, GradedChoice, Likert, Ranking, ballot

# `results.css` has this many colours (`.seat-0` to `.seat-7`).
COLOUR_COUNT = 8


@cache
def _parse_ballot(spec: str) -> Ballot:
    return ballot(spec)


def ranked_groups(spec: str, names: Sequence[str], marks: Sequence[float | None]) -> list[list[str]]:
    """Return contestants from first to last, ties together. Empty if the ballot marks one response at a time.

    >>> ranked_groups("ranking", ["llava", "gpt4", "gemini"], [1, 3, 2])
    [['gpt4'], ['gemini'], ['llava']]
    >>> ranked_groups("choice+tie", ["a", "b"], [0.5, 0.5])
    [['a', 'b']]
    >>> ranked_groups("score:1-5", ["a"], [4])
    []
    """
    if len(names) < 2 or None in marks or not isinstance(_parse_ballot(spec), Choice | GradedChoice | Ranking):
        return []
    names_by_mark: dict[float, list[str]] = {}
    for name, mark in zip(names, marks, strict=True):
        if mark is not None:
            names_by_mark.setdefault(mark, []).append(name)
    return [names_by_mark[mark] for mark in sorted(names_by_mark, reverse=True)]


def mark_in_words(spec: str, mark: float) -> str:
    """Return a mark as a word of its scale, or as a number.

    >>> mark_in_words("likert:no|yes", 2), mark_in_words("score:1-5", 4.0)
    ('yes', '4')
    """
    parsed_ballot = _parse_ballot(spec)
    if isinstance(parsed_ballot, Likert) and parsed_ballot.allows([mark]):
        return parsed_ballot.words[int(mark) - 1]
    return f"{mark:.4g}"


def answer_name(contestant: str, sample: int) -> str:
    """Return the name of a contestant's answer; later samples get a number.

    >>> answer_name("alpha", 0), answer_name("alpha", 1)
    ('alpha', 'alpha #2')
    """
    return f"{contestant} #{sample + 1}" if sample else contestant


def answer_colours(names: Iterable[str], all_contestants: Sequence[str]) -> dict[str, int]:
    """Return the colour number of each answer.

    Each contestant has its own colour if the study has few of them. Else colours follow the sorted names of the case.

    >>> answer_colours(["c", "a"], ["a", "b", "c"]), answer_colours(["c", "a #2"], ["a", "b", "c"])
    ({'a': 0, 'c': 2}, {'a #2': 0, 'c': 1})
    """
    answer_names = sorted(names)
    if len(all_contestants) <= COLOUR_COUNT and set(answer_names) <= set(all_contestants):
        return {name: all_contestants.index(name) for name in answer_names}
    return {name: place % COLOUR_COUNT for place, name in enumerate(answer_names)}
