"""One line of a released file, in one spelling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fullbench.core.ballot import LETTERS, Ballot, Choice, Ranking, Score

Task = Literal["score", "pair", "batch"]
BALLOTS: dict[Task, Ballot] = {"score": Score(1, 5), "pair": Choice(), "batch": Ranking()}


@dataclass(frozen=True, slots=True)
class Review:
    """What a person thought of a ruling: whether it is right, how good its reasons are, whether it sees what is not.

    None where the file says that nobody judged it, or holds a value that means nothing.
    """

    agrees: bool | None
    grade: int | None
    hallucinates: bool | None
    stray: bool = False


@dataclass(frozen=True, slots=True)
class Given:
    """What one judge ruled on a row, as released: `4`, `A`, `CABD`, or nothing; and its words."""

    judge: str
    ruling: str
    text: str = ""
    again: bool = False
    review: Review | None = None
    written: str = ""
    """What the file has in the place of the ruling, before anybody mended it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One released line: what was asked, what was answered, and what one or more judges made of it."""

    file: str
    line: int
    task: Task
    number: int
    item: int
    dataset: str
    picture: str
    question: str
    contestants: tuple[str, ...]
    answers: tuple[str, ...]
    given: tuple[Given, ...]

    @property
    def item_id(self) -> str:
        """The three tasks use different items under the same numbers, so the task is part of the name."""
        return f"{self.task}-{self.item}"

    def by(self, judge: str) -> Given | None:
        """What this judge ruled here."""
        return next((judgment for judgment in self.given if judgment.judge == judge), None)


def marks(task: Task, ruling: str, n: int) -> tuple[float, ...] | None:
    """The marks that a released ruling gives `n` answers; None where it is not legal.

    Letters beyond the last answer are left out of a ranking first: some rankings order answers that do not exist.

    >>> marks("batch", "CADB", 3), marks("batch", "CBAB", 4), marks("pair", "C", 2), marks("score", "0", 1)
    ((2.0, 1.0, 3.0), None, (0.5, 0.5), None)
    """
    if task == "score":
        return (float(ruling),) if ruling in set("12345") else None
    if task == "pair":
        return {"A": (1.0, 0.0), "B": (0.0, 1.0), "C": (0.5, 0.5)}.get(ruling)
    order = trimmed(ruling, n)
    if sorted(order) != list(LETTERS[:n]):
        return None
    return tuple(float(n - order.index(letter)) for letter in LETTERS[:n])


def trimmed(ruling: str, n: int) -> str:
    """A ranking without the letters that stand for no answer.

    >>> trimmed("CADB", 3)
    'CAB'
    """
    return "".join(letter for letter in ruling if letter in LETTERS[:n])


def written(task: Task, reading: tuple[float, ...]) -> str:
    """A reading in the release's own spelling.

    >>> written("batch", (2.0, 1.0, 3.0)), written("pair", (0.5, 0.5)), written("score", (4.0,))
    ('CAB', 'C', '4')
    """
    if task == "score":
        return f"{reading[0]:g}"
    if task == "pair":
        return {(1.0, 0.0): "A", (0.0, 1.0): "B"}.get((reading[0], reading[1]), "C")
    return "".join(LETTERS[i] for i in sorted(range(len(reading)), key=lambda i: -reading[i]))
