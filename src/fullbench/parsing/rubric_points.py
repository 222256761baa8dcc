"""Parser for several points of a rubric in one reply: `POINT 3FA2: yes`, one per line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fullbench.core.ballot import Ballot
from fullbench.core.reasoning_tags import reasoning_span
from fullbench.core.rubric import criterion_code
from fullbench.parsing import form_of
from fullbench.parsing.numbers_and_scale_words import ValueForm
from fullbench.parsing.reply_patterns_and_plain_text_conversion import plain
from fullbench.parsing.verdict_phrase_label_and_sentence_forms import HOLD, ILLEGAL, Claim, Form, Marks

Point = tuple[str, Ballot]
"""A criterion and the ballot that it is marked on."""


_NEXT_LINE = re.compile(r"\n\W{0,6}(?:POINT|REASON)[\s_-]?[0-9A-F]{4}\b", re.IGNORECASE)


def _line(criterion: str) -> re.Pattern[str]:
    return re.compile(rf"POINT[\s_-]?{criterion_code(criterion)}[\"'*\s]{{0,4}}[:=：]", re.IGNORECASE)


def point_in(text: str, criterion: str, form: Ballot, *, cut: bool = False) -> Marks | None:
    """The mark that the last line of a criterion gives; None where there is none, or none that the ballot allows.

    In a reply that was `cut` off, a line counts only where another one follows it: its value may go on.

    >>> from fullbench.core.ballot import Likert
    >>> point_in(f"POINT {criterion_code('colour')}: yes", "colour", Likert(("no", "yes")))
    (2.0,)
    """
    return _mark(plain(text[reasoning_span(text)[2] :]), criterion, form, cut=cut)


def reason_in(text: str, criterion: str) -> str:
    r"""Return the reason that a reply gives for a criterion, or "".

    >>> code = criterion_code("colour")
    >>> reason_in(f"REASON {code}: It says red,\nand it is.\nPOINT {code}: yes", "colour")
    'It says red,\nand it is.'
    """
    own_text = text[reasoning_span(text)[2] :]
    reasons = list(
        re.finditer(rf"REASON[\s_-]?{criterion_code(criterion)}[\"'*\s]{{0,4}}[:：]", own_text, re.IGNORECASE)
    )
    if not reasons:
        return ""
    rest = own_text[reasons[-1].end() :]
    end = _NEXT_LINE.search(rest)
    return rest[: end.start() if end else len(rest)].strip(" \n*")


def _mark(text: str, criterion: str, form: Ballot, *, cut: bool = False) -> Marks | None:
    values, lines = form_of(form), list(_line(criterion).finditer(text))
    if not lines or not isinstance(values, ValueForm):
        return None
    rest = text[lines[-1].end() : lines[-1].end() + HOLD]
    if cut and "\n" not in rest.strip(" "):
        return None
    return values.lead(rest.lstrip(" *").partition("\n")[0])[0] or None


class PointsForm(Form):
    """All points of a sheet; what it gives stands for the first, and is illegal where one is missing."""

    def __init__(self, points: Sequence[Point]) -> None:
        self.points = points

    def lead(self, rest: str, n: int = 1, *, digits: bool = False) -> tuple[Marks | None, int]:
        return None, 0

    def labelled(self, text: str, n: int) -> list[Claim]:
        spots = [match.start() for criterion, _ in self.points for match in _line(criterion).finditer(text)]
        if not spots:
            return []
        marks = [_mark(text, criterion, form) for criterion, form in self.points]
        # The lines belong together, so the claim reaches to the end.
        return [Claim(min(spots), len(text), marks[0] if all(marks) and marks[0] else ILLEGAL)]
