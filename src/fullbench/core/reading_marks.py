"""What a ruling looks like on each kind of ballot: as a bare phrase, and said in words with a label.

Three outcomes are kept apart everywhere: marks (a legal ruling), `ILLEGAL` (the judge did rule here, but not in a way
this ballot allows: out of range, a range, two answers at once, half a ranking), and None (nothing was ruled here).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import NamedTuple

from fullbench.core.reading_words import KEY, KEY_WORDS, NOUN, NUM, STRONG, clause, position, ref, spots

Marks = tuple[float, ...]
ILLEGAL: Marks = ()
PROSE = "prose"
HOLD = 200
RESPONSE = re.compile(ref())


class Claim(NamedTuple):
    """A place in a reply where something was ruled. An empty `kind` is decisive, others are named by their label."""

    start: int
    end: int
    marks: Marks
    kind: str = ""


class Form(ABC):
    """How rulings on one kind of ballot are written."""

    @abstractmethod
    def phrase(self, raw: str, n: int, *, digits: bool = False) -> Marks | None:
        """What a phrase that stands alone rules. `digits` allows responses to be called 1, 2, ..."""

    @abstractmethod
    def labelled(self, text: str, n: int) -> list[Claim]:
        """What is ruled in words: after a label, or in a sentence that concludes."""

    def pieces(self, n: int) -> int:
        """How many marks a complete ruling is written as."""
        return n

    def bare(self, line: str, n: int) -> Marks | None:
        """What a line rules that is nothing but the ruling."""
        return self.phrase(line, n)

    def turned(self, text: str, start: int, end: int, marks: Marks, kind: str = "") -> Claim:
        """A claim at this place, turned round where the words before it say that the worst comes first."""
        return Claim(start, end, marks, kind)


_TRIM = " \t\n.,;:!\"'()[]{}。"
_LABEL = re.compile(
    r"(?<![A-Za-z])"
    rf"(?P<key>(?i:{KEY})|(?i:better|best|preferred|winning)\s?(?i:{NOUN})?)s?"
    rf"(?P<of>(?i:\s?\([^()\n]{{0,40}}\)|\s(?:from|of|between|on)\s[^\n:.]{{0,24}}?{NUM}\s?(?:to|and|-)\s?{NUM}"
    rf"|\s(?:of|for)\s(?:the|this|that)\s[\w ]{{1,30}}?)?)"
    r"(?:\s?(?:[:=]|\s-\s|-\s)\s{0,3}|\s(?i:is|are|was|would be|will be|as|of)(?i:\sthat)?[\s:]{1,3}"
    r"|\s?(?:是|为|应为|应该是)[\s:]{0,3})"
)
_LABEL_WORDS = [*KEY_WORDS, "better", "best", "preferred", "winning"]
_WORD_BEFORE = re.compile(r"[A-Za-z][\w-]{0,20}[ -]$|[\u3400-\u9fff]{1,4}$")
_LEADING_LABEL = re.compile(rf"(?i:(?:final |overall |my )?{KEY})\s?(?:[:=]|\bis\b|是|为)?\s?")
_SUPPOSED = re.compile(r"\b(?:if|had|could|unless)\b|如果|假如", re.IGNORECASE)


def _kind(text: str, start: int) -> str:
    """The word before a label, where it is not one that only makes the label final."""
    match = _WORD_BEFORE.search(text, max(0, start - 24), start)
    word = match[0].strip(" -").casefold() if match else ""
    return "" if STRONG.search(word) else word


def trim(raw: str) -> str:
    """A phrase without the punctuation and brackets around it."""
    body = raw.strip(_TRIM).rstrip("-" + _TRIM)
    return body if re.match(r"-\d", body) else body.lstrip("-" + _TRIM)


def unlabelled(raw: str) -> str:
    """A phrase, trimmed, without a label in front.

    >>> unlabelled("[[Rating: 4]]")
    '4'
    """
    body = trim(raw)
    label = _LEADING_LABEL.match(body)
    return trim(body[label.end() :]) if label else body


class Label(NamedTuple):
    """A label: its key word, its kind (see `Claim`), where it stands and what follows."""

    key: str
    kind: str
    start: int
    end: int
    rest: str


def labels(text: str) -> list[Label]:
    """Every label in the text; those of a hypothetical sentence are left out."""
    found = []
    done = 0
    for spot in spots(text, _LABEL_WORDS):
        match = _LABEL.match(text, spot) if spot >= done else None
        if match is None or _SUPPOSED.search(clause(text, spot)):
            continue
        done, kind = match.end(), _kind(text, spot)
        if kind != "is":
            found.append(Label(match["key"], kind, spot, done, text[done : done + HOLD]))
    return found


def chain(text: str) -> tuple[list[int], list[str]]:
    """The responses that a row names, and the signs between them (`>`, `=`, or `mixed`), best first."""
    order = [position(match) for match in RESPONSE.finditer(text)]
    signs = [sign[0] for sign in re.findall(r"[<>=~]{1,3}", text)][: len(order) - 1]
    signs = ["=" if sign == "~" else sign for sign in signs]
    if "<" in signs:
        return order[::-1], ["mixed"] if ">" in signs else [">" if sign == "<" else sign for sign in signs[::-1]]
    return order, signs
