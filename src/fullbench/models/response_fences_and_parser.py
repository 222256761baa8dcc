"""Markers around the responses in a prompt, and the parser with which rule-based models read them back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fullbench.core.ballot import LETTERS
from fullbench.core.case import Case
from fullbench.core.dialogue_turn_answers_and_criteria import answers_by_turn
from fullbench.core.item import Part, separate_texts
from fullbench.core.response import Response

_RESPONSE = re.compile(r"<(response [A-Z] \w+)>\n(.*?)\n</\1>", re.DOTALL)
_QUESTION_LINE = re.compile(r"(?:The question:|问题：)\n+(.*)")
_CRITERION = re.compile(r"(?:Judge this alone: |只评判这一点：)(.*)")
_WRITE = re.compile(r"\b(?:write|pose|generate)\b[^.?]*\bquestion\b|请(?:写|提|出)[^。？]*问题", re.IGNORECASE)


def fence_responses(case: Case) -> Iterator[Part]:
    """Yield the responses, each between markers that its author could not predict: they contain the case's digest."""
    for letter, response in zip(LETTERS, case.responses, strict=False):
        name = f"response {letter} {case.key[:8]}"
        yield f"<{name}>\n"
        yield from response_parts(case, response)
        yield f"\n</{name}>\n"


def response_parts(case: Case, response: Response) -> tuple[Part, ...]:
    """Return the parts of a response; in a dialogue, each answer between markers with the number of its turn."""
    answers = answers_by_turn(case.item, response)
    if answers is None:
        return separate_texts(response.parts)
    parts: list[Part] = []
    for number, answer in enumerate(answers, 1):
        name = f"turn {number} {case.key[:8]}"
        parts += [f"{'' if number == 1 else chr(10)}<{name}>\n", *separate_texts(answer), f"\n</{name}>"]
    return tuple(parts)


@dataclass(frozen=True)
class JudgingRequest:
    """A judge's task: the question, the answers in the order shown, and the criterion."""

    question: str
    answers: tuple[str, ...]
    criterion: str = ""

    @property
    def by_understanding(self) -> bool:
        """Return True if the criterion is understanding of the picture, not correctness of the answer."""
        return "understand" in self.criterion or "理解" in self.criterion


def parse_judging_request(text: str) -> JudgingRequest | None:
    """Parse a judging prompt in our format; None if the prompt is something else."""
    answers = tuple(body for _, body in _RESPONSE.findall(text))
    question_match = _QUESTION_LINE.search(text)
    if len(answers) < 2 or question_match is None:
        return None
    criterion = _CRITERION.search(text)
    return JudgingRequest(question_match[1], answers, "" if criterion is None else criterion[1])


def wants_a_question(text: str) -> bool:
    """Return True if a prompt requests a question instead of an answer.

    >>> wants_a_question("Write one question about the picture."), wants_a_question("How many stars are there?")
    (True, False)
    """
    return _WRITE.search(text) is not None
