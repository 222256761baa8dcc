"""Multiple-choice questions with a key: the option that an answer chooses, and whether it is right."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fullbench.core.ballot import LETTERS
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.judge import CallsNoModel
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.judges.baselines import marks_from
from fullbench.judges.peer_review.review_items_and_cases import KEY, OPTIONS

_BRACKETED_LETTER = re.compile(r"\[\[\s*\(?([A-Za-z])\)?\s*\]\]")
_STATED_ANSWER = re.compile(
    r"(?i:answer|option|choice)(?:\s+is)?\s*:?\s*\**\(?([A-Z])\b(?![ ']\w)"
    r"|(?:答案|选项)[^A-Za-z]{0,6}([A-Z])(?![A-Za-z])"
)
_LAST = re.compile(r"(?:^|[\s(（*])([A-Z])[)）.。*]*\s*$")


def option_in(text: str, options: int) -> str | None:
    """Return the letter that an answer chooses, or None if it chooses none of the options.

    The last letter in double brackets counts; else the last one called the answer; else a letter at the end.

    >>> option_in("It may be (A). The answer is B.", 4), option_in("[[C]]", 4), option_in("A cat.", 4)
    ('B', 'C', None)
    """
    for form in (_BRACKETED_LETTER, _STATED_ANSWER, _LAST):
        letters: list[str] = [letter.upper() for match in form.finditer(text) for letter in match.groups() if letter]
        offered_letters = [letter for letter in letters if letter in LETTERS[:options]]
        if offered_letters:
            return offered_letters[-1]
    return None


class KeyedTruth(CallsNoModel):
    """Judge by the question's key. An answer that chooses no option is wrong, as in benchmarks."""

    kind = "metric"
    name = "truth"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"kind": "truth"}

    def judge(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        for case in cases:
            right = [_is_right(case.item, response) for response in case.responses]
            key_marks = [float(hit) for hit in right if hit is not None]
            marks = marks_from(case.ballot, key_marks) if len(key_marks) == len(right) else None
            yield Verdict.from_case(case, self.name, "abstained" if marks is None else marks)


def _is_right(item: Item, response: Response) -> bool | None:
    key = item.tags.get(KEY)
    return None if not key else option_in(response.text, int(item.tags.get(OPTIONS, "26"))) == key


@dataclass(frozen=True)
class AnswerKeyScore:
    """Result of one contestant on questions with a key."""

    contestant: str
    right: tuple[bool, ...]
    images: tuple[str, ...]
    unread: int


def score_by_key(items: Sequence[Item], responses: Iterable[Response]) -> list[AnswerKeyScore]:
    """Score each contestant by the key, as the questions' own benchmark does."""
    keyed_items = {item.id: item for item in items if item.tags.get(KEY)}
    answers: dict[str, list[Response]] = {}
    for response in responses:
        if response.item in keyed_items:
            answers.setdefault(response.contestant, []).append(response)
    return [
        AnswerKeyScore(
            name,
            tuple(bool(_is_right(keyed_items[response.item], response)) for response in contestant_answers),
            tuple(keyed_items[response.item].tags.get("image", response.item) for response in contestant_answers),
            sum(option_in(response.text, int(keyed_items[response.item].tags.get(OPTIONS, "26"))) is None
                for response in contestant_answers),
        )
        for name, contestant_answers in sorted(answers.items())
    ]  # fmt: skip
