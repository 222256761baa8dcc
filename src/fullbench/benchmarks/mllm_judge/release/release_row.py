"""Normalised row of a released file, with its verdicts and reviews."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fullbench.core.ballot import LETTERS, Ballot, Choice, Ranking, Score

Task = Literal["score", "pair", "batch"]
BALLOTS: dict[Task, Ballot] = {"score": Score(1, 5), "pair": Choice(), "batch": Ranking()}


@dataclass(frozen=True, slots=True)
class Review:
    """A person's review: right verdict, grade of reasons, hallucination. None if not judged or invalid."""

    agrees: bool | None
    grade: int | None
    hallucinates: bool | None
    stray: bool = False


@dataclass(frozen=True, slots=True)
class ReleasedVerdict:
    """One judge's verdict on a row as released (`4`, `A`, `CABD`, or empty), and its text."""

    judge: str
    verdict_text: str
    text: str = ""
    is_second_run: bool = False
    review: Review | None = None
    raw_verdict_text: str = ""
    """Verdict as stored in the file, before any correction."""


@dataclass(frozen=True, slots=True)
class Row:
    """One released line: question, answers, and the verdicts of one or more judges."""

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
    verdicts: tuple[ReleasedVerdict, ...]

    @property
    def item_id(self) -> str:
        """Item name with the task: the three tasks use the same numbers for different items."""
        return f"{self.task}-{self.item}"

    def verdict_by(self, judge: str) -> ReleasedVerdict | None:
        """Return this judge's verdict, or None."""
        return next((judgment for judgment in self.verdicts if judgment.judge == judge), None)


def parse_marks(task: Task, verdict_text: str, n: int) -> tuple[float, ...] | None:
    """Return the marks of a released verdict for `n` answers, or None if it is not legal.

    Some rankings contain answers that do not exist; letters beyond the last answer are dropped first.

    >>> (parse_marks("batch", "CADB", 3), parse_marks("batch", "CBAB", 4), parse_marks("pair", "C", 2),
    ...  parse_marks("score", "0", 1))
    ((2.0, 1.0, 3.0), None, (0.5, 0.5), None)
    """
    if task == "score":
        return (float(verdict_text),) if verdict_text in set("12345") else None
    if task == "pair":
        return {"A": (1.0, 0.0), "B": (0.0, 1.0), "C": (0.5, 0.5)}.get(verdict_text)
    order = trim_ranking(verdict_text, n)
    if sorted(order) != list(LETTERS[:n]):
        return None
    return tuple(float(n - order.index(letter)) for letter in LETTERS[:n])


def trim_ranking(ranking: str, n: int) -> str:
    """Return a ranking without letters that have no answer.

    >>> trim_ranking("CADB", 3)
    'CAB'
    """
    return "".join(letter for letter in ranking if letter in LETTERS[:n])


def spell_marks(task: Task, mark_values: tuple[float, ...]) -> str:
    """Write marks in the release's notation.

    >>> spell_marks("batch", (2.0, 1.0, 3.0)), spell_marks("pair", (0.5, 0.5)), spell_marks("score", (4.0,))
    ('CAB', 'C', '4')
    """
    if task == "score":
        return f"{mark_values[0]:g}"
    if task == "pair":
        return {(1.0, 0.0): "A", (0.0, 1.0): "B"}.get((mark_values[0], mark_values[1]), "C")
    return "".join(LETTERS[i] for i in sorted(range(len(mark_values)), key=lambda i: -mark_values[i]))
