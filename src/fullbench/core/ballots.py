"""Ballots: the form a judge fills in. How to ask, how to read, what is legal."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fullbench.core.errors import InputError

Language = Literal["en", "zh"]
Ruling = tuple[float, ...] | Literal["refused", "unreadable"]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Ballot(ABC):
    """The form a judge fills in.

    `spec` names the ballot in one word (`score:1-5`); `ballot(spec)` makes it again. `n` is the number of responses
    shown. `read` gives one mark for each of them, in the order shown, or a fault; it never guesses.
    """

    @property
    @abstractmethod
    def spec(self) -> str:
        """The ballot in one word."""

    @abstractmethod
    def check(self, n: int) -> None:
        """Raise `InputError` when this ballot cannot be filled in for `n` responses."""

    @abstractmethod
    def ask(self, n: int, language: Language = "en", form: str = "marker") -> str:
        """The words that ask for a ruling in the form `read` prefers."""

    @abstractmethod
    def read(self, text: str, n: int, shown: Sequence[str] = ()) -> Ruling:
        """The marks that the last complete, legal ruling in `text` gives, else the fault.

        `shown` holds the candidates' own words: a ruling that only quotes them does not count.
        """

    @abstractmethod
    def write(self, marks: Sequence[float]) -> str:
        """A ruling in the form `read` prefers: `read(write(marks), n) == marks` for every legal `marks`."""

    @abstractmethod
    def allows(self, marks: Sequence[float]) -> bool:
        """Whether these marks are legal on this ballot."""


@dataclass(frozen=True)
class Score(Ballot):
    """A whole number from `low` to `high` for every response."""

    low: int = 1
    high: int = 5

    @property
    def spec(self) -> str:
        return f"score:{self.low}-{self.high}"

    def check(self, n: int) -> None:
        if n < 1:
            raise InputError("a score ballot needs at least one response")

    def ask(self, n: int, language: Language = "en", form: str = "marker") -> str:
        if language == "zh":
            return f"最后一行请用双方括号给出{self.low}到{self.high}的整数评分，例如 [[{self.high}]]。"
        return (
            f"End with your score, a whole number from {self.low} to {self.high}, in double brackets: [[{self.high}]]."
        )

    def read(self, text: str, n: int, shown: Sequence[str] = ()) -> Ruling:
        found = [float(m) for m in re.findall(r"\[\[(\d+)\]\]", text)][-n:]
        return tuple(found) if len(found) == n and self.allows(found) else "unreadable"

    def write(self, marks: Sequence[float]) -> str:
        return ", ".join(f"[[{mark:g}]]" for mark in marks)

    def allows(self, marks: Sequence[float]) -> bool:
        return all(self.low <= mark <= self.high and float(mark).is_integer() for mark in marks)


@dataclass(frozen=True)
class Choice(Ballot):
    """The best of the responses shown, or a tie where ties are allowed. The winner is marked 1, a tie is shared."""

    tie: bool = True

    @property
    def spec(self) -> str:
        return "choice+tie" if self.tie else "choice"

    def check(self, n: int) -> None:
        if n < 2:
            raise InputError("a choice needs at least two responses")

    def ask(self, n: int, language: Language = "en", form: str = "marker") -> str:
        names = "".join(f"[[{letter}]]" for letter in LETTERS[:n])
        return f"End with your choice in double brackets, one of {names}" + (
            f" or [[{LETTERS[n]}]] for a tie." if self.tie else "."
        )

    def read(self, text: str, n: int, shown: Sequence[str] = ()) -> Ruling:
        found = re.findall(r"\[\[([A-Z])\]\]", text)
        if not found:
            return "unreadable"
        index = LETTERS.index(found[-1])
        if index == n and self.tie:
            return (1 / n,) * n
        return tuple(float(i == index) for i in range(n)) if index < n else "unreadable"

    def write(self, marks: Sequence[float]) -> str:
        best = max(marks)
        return f"[[{LETTERS[len(marks)] if list(marks).count(best) > 1 else LETTERS[list(marks).index(best)]}]]"

    def allows(self, marks: Sequence[float]) -> bool:
        n = len(marks)
        return sorted(marks) == [0.0] * (n - 1) + [1.0] or (self.tie and all(mark == 1 / n for mark in marks))


@dataclass(frozen=True)
class Ranking(Ballot):
    """All responses in order, best first, no ties. Of n, the best is marked n and the last 1."""

    @property
    def spec(self) -> str:
        return "ranking"

    def check(self, n: int) -> None:
        if n < 2:
            raise InputError("a ranking needs at least two responses")

    def ask(self, n: int, language: Language = "en", form: str = "marker") -> str:
        return "End with the order, best first, in double brackets: " + ", ".join(f"[[{x}]]" for x in LETTERS[:n]) + "."

    def read(self, text: str, n: int, shown: Sequence[str] = ()) -> Ruling:
        found = re.findall(r"\[\[([A-Z])\]\]", text)[-n:]
        if sorted(found) != list(LETTERS[:n]):
            return "unreadable"
        return tuple(float(n - found.index(letter)) for letter in LETTERS[:n])

    def write(self, marks: Sequence[float]) -> str:
        order = sorted(range(len(marks)), key=lambda i: -marks[i])
        return ", ".join(f"[[{LETTERS[i]}]]" for i in order)

    def allows(self, marks: Sequence[float]) -> bool:
        return sorted(marks) == [float(i + 1) for i in range(len(marks))]


def ballot(spec: str) -> Ballot:
    """The ballot that a spec names.

    >>> ballot("score:1-5")
    Score(low=1, high=5)
    >>> ballot("choice+tie").spec
    'choice+tie'
    """
    if match := re.fullmatch(r"score:(-?\d+)-(\d+)", spec):
        return Score(int(match[1]), int(match[2]))
    if spec in {"choice", "choice+tie"}:
        return Choice(tie=spec.endswith("tie"))
    if spec == "ranking":
        return Ranking()
    raise InputError(
        f"unknown ballot {spec!r}; known: score:LOW-HIGH, real:LOW-HIGH, likert:WORD|WORD|..., choice, choice+tie, ranking"
    )
