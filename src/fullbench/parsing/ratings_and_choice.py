"""Parser for ratings and a choice in one reply: `IMAGE-1 RATING: 7`, `IMAGE-2 RATING: 8`, `BETTER IMAGE: 2`."""

from __future__ import annotations

import re

from fullbench.core.ballot import Ballot, Choice
from fullbench.core.reasoning_tags import reasoning_span
from fullbench.parsing import form_of
from fullbench.parsing.numbers_and_scale_words import ValueForm
from fullbench.parsing.reply_patterns_and_plain_text_conversion import plain
from fullbench.parsing.verdict_phrase_label_and_sentence_forms import HOLD, ILLEGAL, Claim, Form, Marks

_RATING = re.compile(r"IMAGE[\s_-]?(\d{1,2})[\s_-]{0,2}RATING[\"'*\s]{0,4}[:=]", re.IGNORECASE)
_BETTER = re.compile(r"BETTER[\s_-]?IMAGE[\"'*\s]{0,4}[:=][\s\"'*\[]{0,6}(?:IMAGE[\s_-]?)?(\d{1,2})\b", re.IGNORECASE)


class RatedForm(Form):
    """The last rating of each picture on a scale, where a better one is named too; marks are the ratings."""

    def __init__(self, scale: Ballot) -> None:
        self.scale = form_of(scale)

    def lead(self, rest: str, n: int = 1, *, digits: bool = False) -> tuple[Marks | None, int]:
        return None, 0

    def labelled(self, text: str, n: int) -> list[Claim]:
        spots = [match.start() for match in (*_RATING.finditer(text), *_BETTER.finditer(text))]
        if not spots:
            return []
        ratings = ratings_in(text, self.scale, n)
        complete = ratings is not None and choice_in(text, n) is not None
        # The lines belong together and may have reasons behind them, so the claim reaches to the end.
        return [Claim(min(spots), len(text), ratings if complete and ratings else ILLEGAL)]


def ratings_in(text: str, scale: Form, n: int) -> Marks | None:
    """The last rating of each of n pictures; None where one is missing or not on the scale."""
    marks: dict[int, Marks | None] = {}
    if not isinstance(scale, ValueForm):
        return None
    for match in _RATING.finditer(text):
        marks[int(match[1])] = scale.lead(text[match.end() : match.end() + HOLD].lstrip(" *"))[0]
    places = [marks.get(place) for place in range(1, n + 1)]
    values = [mark[0] for mark in places if mark]
    return tuple(values) if len(values) == n else None


def choice_in(text: str, n: int) -> Marks | None:
    """The picture that is named the better one last, as marks; 0 names none, which is a tie."""
    named = [int(match[1]) for match in _BETTER.finditer(text)]
    if not named or named[-1] > n:
        return None
    return tuple(1 / n if not named[-1] else float(named[-1] == place) for place in range(1, n + 1))


def parts(text: str, scale: Ballot, n: int) -> tuple[Marks | None, Marks | None]:
    """The ratings and the choice in a whole reply, each None where it cannot be read.

    >>> from fullbench.core.ballot import Score
    >>> parts("IMAGE-1 RATING: 7\\nIMAGE-2 RATING: 8\\nBETTER IMAGE: 0", Score(1, 10), 2)
    ((7.0, 8.0), (0.5, 0.5))
    """
    spoken = plain(text[reasoning_span(text)[2] :])
    choice = choice_in(spoken, n)
    return ratings_in(spoken, form_of(scale), n), choice if choice and Choice().allows(choice) else None
