"""Answers in a prompt: how each is fenced off when it is shown, and how a model that goes by rules finds it again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fullbench.core.ballot import LETTERS
from fullbench.core.case import Case
from fullbench.core.item import Part

_RESPONSE = re.compile(r"<(response [A-Z] \w+)>\n(.*?)\n</\1>", re.DOTALL)
_ASKED = re.compile(r"(?:The question:|问题：)\n(.*)")
_CRITERION = re.compile(r"(?:Judge this alone: |只评判这一点：)(.*)")
_WRITE = re.compile(r"\b(?:write|pose|generate)\b[^.?]*\bquestion\b|请(?:写|提|出)[^。？]*问题", re.IGNORECASE)


def fenced(case: Case) -> Iterator[Part]:
    """The responses, each between marks that its author could not foresee: they carry a digest of all of them."""
    for letter, response in zip(LETTERS, case.responses, strict=False):
        name = f"response {letter} {case.key[:8]}"
        yield f"<{name}>\n"
        yield from response.parts
        yield f"\n</{name}>\n"


@dataclass(frozen=True)
class Hearing:
    """What a judge is asked to rule on: the question, the answers in the order shown, and by what."""

    question: str
    answers: tuple[str, ...]
    criterion: str = ""

    @property
    def by_understanding(self) -> bool:
        """Whether the picture's understanding is to be judged, not the answer's correctness."""
        return "understand" in self.criterion or "理解" in self.criterion


def hearing_in(text: str) -> Hearing | None:
    """The hearing that a prompt in our wording asks for; None when it asks for something else."""
    answers = tuple(body for _, body in _RESPONSE.findall(text))
    asked = _ASKED.search(text)
    if len(answers) < 2 or asked is None:
        return None
    criterion = _CRITERION.search(text)
    return Hearing(asked[1], answers, "" if criterion is None else criterion[1])


def wants_a_question(text: str) -> bool:
    """Whether a prompt asks for a question rather than for an answer.

    >>> wants_a_question("Write one question about the picture."), wants_a_question("How many stars are there?")
    (True, False)
    """
    return _WRITE.search(text) is not None
