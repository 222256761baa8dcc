"""Parser for rankings: rows, runs of letters, numbered lists."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fullbench.parsing.reply_patterns_and_plain_text_conversion import clause, position, ref
from fullbench.parsing.verdict_phrase_label_and_sentence_forms import (
    HOLD,
    ILLEGAL,
    RESPONSE,
    Claim,
    Form,
    Marks,
    chain,
    labels,
    unlabelled,
)

_LINK = (
    r"(?:\s?(?:[>=<~]{1,3}|[,;/]\s?(?i:and\s|then\s|followed by\s)?"
    r"|(?i:\bthen\b|followed by|\band then\b)|然后|其次|再)\s?)"
)
_STEP = r"(?:\(?\d{1,2}[.):]\s?|(?i:\d(?:st|nd|rd|th)\b(?: place)?\s?[:.-]?\s?))?"
_ORDER = re.compile(rf"{_STEP}{ref('x')}(?:(?:{_LINK}|\s{{1,3}}){_STEP}{ref('y')}){{1,25}}")
_ROW = re.compile(rf"{ref('x')}(?:\s?>{{1,2}}\s?{ref('y')}){{1,25}}")
_RUN = re.compile(r"[A-Z]{2,26}?(?=[A-Z][a-z]|[^A-Za-z]|$)")
_SMALL = re.compile(r"[a-z](?:[\s>=<,]{1,5}[a-z]){1,25}|[a-z]{2,26}")
_PLACE = re.compile(r"(?i:\b(?:second|third|fourth|fifth|last|worst)(?: place)?:\s?)")
_HAN = "一二三四五六七八九"
_ITEM = re.compile(
    rf"^[ \t]*(?:rank |no\.? ?|第)?(?P<rank>[1-9{_HAN}])(?:名|st|nd|rd|th)?(?: place)?[.):\- ]+\s?{ref()}",
    re.MULTILINE | re.IGNORECASE,
)
_BEST_TO_WORST = re.compile(
    r"(?i:best to (?:the )?worst|从(?:最)?好到(?:最)?差|由优到劣|从优到劣|由好到差)[^\n:]{0,30}:?\s{0,3}"
)
_WORST_FIRST = re.compile(r"(?i:worst (?:one )?(?:to|first)|least to (?:most|best))|差到(?:最)?好|劣到优|最差的?在前")


class RankingForm(Form):
    """All n responses, best first, each once, no ties."""

    def marks(self, order: Sequence[int], n: int) -> Marks:
        if sorted(order) != list(range(n)):
            return ILLEGAL
        return tuple(float(n - order.index(i)) for i in range(n))

    def row(self, body: str, n: int) -> Marks:
        order, signs = chain(re.sub(r"(?<![A-Za-z])\d{1,2}[.):]\s", "", body))
        return ILLEGAL if set(signs) - {">"} else self.marks(order, n)

    def phrase(self, raw: str, n: int, *, digits: bool = False) -> Marks | None:
        body = _PLACE.sub("", re.sub(r"[\[\]\"']", "", unlabelled(raw)))
        if _RUN.fullmatch(body):
            return self.marks([ord(sign) - ord("A") for sign in body], n)
        if _ORDER.fullmatch(body):
            return self.row(body, n)
        return ILLEGAL if RESPONSE.match(body) or re.match(r"[\d<>=]", body) else None

    def bracketed(self, raw: str, n: int, *, is_last_line: bool) -> Marks | None:
        return self.phrase(raw.upper() if _SMALL.fullmatch(raw) else raw, n)

    def lead(self, rest: str, n: int) -> tuple[Marks | None, int]:
        skip = re.match(r"[\s\"'(\[]{0,4}", rest)
        at = skip.end() if skip else 0
        body = re.sub(r"[\[\]\"]", " ", rest)
        if match := _RUN.match(body, at):
            return self.marks([ord(sign) - ord("A") for sign in match[0]], n), match.end()
        if match := _ORDER.match(body, at):
            return self.row(match[0], n), match.end()
        return (ILLEGAL if re.match(r"(?i:not)\b", body[at:]) else None), at

    def labelled(self, text: str, n: int) -> list[Claim]:
        claims = []
        for label in labels(text):
            marks, end = self.lead(label.rest, n)
            if marks is not None:
                claims.append(self.turned(text, label.start, label.end + end, marks, label.kind))
        for match in _BEST_TO_WORST.finditer(text):
            marks, end = self.lead(text[match.end() : match.end() + HOLD], n)
            claims += [Claim(match.start(), match.end() + end, marks)] if marks else []
        rows = [Claim(match.start(), match.end(), self.row(match[0], n)) for match in _ROW.finditer(text)]
        return sorted(claims + self.numbered(text, n)) or rows

    def turned(self, text: str, start: int, end: int, marks: Marks, kind: str = "") -> Claim:
        if marks and _WORST_FIRST.search(clause(text, start) + text[start:end]):
            marks = tuple(len(marks) + 1 - mark for mark in marks)
        return Claim(start, end, marks, kind)

    def numbered(self, text: str, n: int) -> list[Claim]:
        """Return lists numbered from 1 in which each line starts with a response."""
        claims: list[Claim] = []
        order: list[int] = []
        start = 0
        for match in _ITEM.finditer(text):
            rank = int(match["rank"]) if match["rank"].isdigit() else _HAN.index(match["rank"]) + 1
            if rank == 1:
                order, start = [], match.start()
            if rank == len(order) + 1:
                order.append(position(match))
                if len(order) == n and self.marks(order, n):
                    claims.append(self.turned(text, start, match.end(), self.marks(order, n)))
        return claims
