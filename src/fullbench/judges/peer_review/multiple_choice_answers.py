"""Questions with options and a key: which option an answer settles on, and so who is right."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fullbench.core.ballot import LETTERS
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.judge import AsksNobody
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.judges.baselines import marks_from
from fullbench.judges.peer_review.review_protocol import KEY, OPTIONS

_BRACKETED = re.compile(r"\[\[\s*\(?([A-Za-z])\)?\s*\]\]")
_SAID = re.compile(
    r"(?i:answer|option|choice)(?:\s+is)?\s*:?\s*\**\(?([A-Z])\b(?![ ']\w)"
    r"|(?:答案|选项)[^A-Za-z]{0,6}([A-Z])(?![A-Za-z])"
)
_LAST = re.compile(r"(?:^|[\s(（*])([A-Z])[)）.。*]*\s*$")


def option_in(text: str, options: int) -> str | None:
    """The letter that an answer settles on: the last in double brackets, else the last that is said to be the answer,
    else one that the text ends with; None where there is none, or none of the options.

    >>> option_in("It may be (A). The answer is B.", 4), option_in("[[C]]", 4), option_in("A cat.", 4)
    ('B', 'C', None)
    """
    for form in (_BRACKETED, _SAID, _LAST):
        letters: list[str] = [letter.upper() for match in form.finditer(text) for letter in match.groups() if letter]
        known = [letter for letter in letters if letter in LETTERS[:options]]
        if known:
            return known[-1]
    return None


class KeyedTruth(AsksNobody):
    """Who is right by the key of the question. An answer that settles on no option is wrong, as benchmarks have it."""

    kind = "metric"
    name = "truth"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"kind": "truth"}

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        for case in cases:
            right = [_right(case.item, response) for response in case.responses]
            known = [float(hit) for hit in right if hit is not None]
            marks = marks_from(case.ballot, known) if len(known) == len(right) else None
            yield Verdict.of(case, self.name, "recused" if marks is None else marks)


def _right(item: Item, response: Response) -> bool | None:
    key = item.tags.get(KEY)
    return None if not key else option_in(response.text, int(item.tags.get(OPTIONS, "26"))) == key


@dataclass(frozen=True)
class Scored:
    """One contestant on questions with a key."""

    contestant: str
    right: tuple[bool, ...]
    images: tuple[str, ...]
    unread: int


def scored(items: Sequence[Item], responses: Iterable[Response]) -> list[Scored]:
    """How each contestant does by the key: its score on the benchmark that the questions are."""
    known = {item.id: item for item in items if item.tags.get(KEY)}
    answers: dict[str, list[Response]] = {}
    for response in responses:
        if response.item in known:
            answers.setdefault(response.contestant, []).append(response)
    return [
        Scored(
            name,
            tuple(bool(_right(known[response.item], response)) for response in said),
            tuple(known[response.item].tags.get("image", response.item) for response in said),
            sum(option_in(response.text, int(known[response.item].tags.get(OPTIONS, "26"))) is None
                for response in said),
        )
        for name, said in sorted(answers.items())
    ]  # fmt: skip
