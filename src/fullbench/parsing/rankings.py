"""Parser for rankings: rows, runs of letters, numbered lists."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fullbench.parsing.reply_patterns_and_plain_text_conversion import clause, late_pattern, position, ref
from fullbench.parsing.verdict_phrase_label_and_sentence_forms import HOLD, ILLEGAL, Claim, Form, Marks, chain

_LINK = (
    r"(?:\s?(?:[>=<~]{1,3}|[,;/]\s?(?i:and\s|then\s|followed by\s)?"
    r"|(?i:\bthen\b|followed by|\band then\b)|然后|其次|再)\s?)"
)
_STEP = r"(?:\(?\d{1,2}[.):]\s?|(?i:\d(?:st|nd|rd|th)\b(?: place)?\s?[:.-]?\s?))?"
_ORDER = late_pattern(rf"{_STEP}{ref('x')}(?:(?:{_LINK}|\s{{1,3}}){_STEP}{ref('y')}){{1,25}}")
_ROW = late_pattern(rf"{ref('x')}(?:\s?>{{1,2}}\s?{ref('y')}){{1,25}}")
_RUN = re.compile(r"[A-Z]{2,26}?(?=[A-Z][a-z]|[^A-Za-z]|$)")
_SMALL = late_pattern(r"[a-z](?:[\s>=<,]{1,5}[a-z]){1,25}|[a-z]{2,26}")
_DROPPED = late_pattern(r"(?i:\b(?:second|third|fourth|fifth|last|worst)(?: place)?:\s?)|[\[\]\"']")
_HAN = "一二三四五六七八九"
_ITEM = late_pattern(
    rf"^[ \t]*(?:rank |no\.? ?|第)?(?P<rank>[1-9{_HAN}])(?:名|st|nd|rd|th)?(?: place)?[.):\- ]+\s?{ref()}",
    re.MULTILINE | re.IGNORECASE,
)
_BEST_TO_WORST = late_pattern(
    r"(?i:best to (?:the )?worst|从(?:最)?好到(?:最)?差|由优到劣|从优到劣|由好到差)[^\n:]{0,30}:?\s{0,3}"
)
_WORST_FIRST = late_pattern(r"(?i:worst (?:one )?(?:to|first)|least to (?:most|best))|差到(?:最)?好|劣到优|最差的?在前")


class RankingForm(Form):
    """All n responses, best first, each once, no ties."""

    def marks(self, order: Sequence[int], n: int) -> Marks:
        return tuple(float(n - order.index(i)) for i in range(n)) if sorted(order) == list(range(n)) else ILLEGAL

    def row(self, body: str, n: int) -> Marks:
        order, signs = chain(re.sub(r"(?<![A-Za-z])\d{1,2}[.):]\s", "", body))
        return ILLEGAL if "".join(signs).strip(">") else self.marks(order, n)

    def phrase(self, raw: str, n: int, *, digits: bool = False) -> Marks | None:
        return super().phrase(_DROPPED.sub("", raw), n)

    def bracketed(self, raw: str, n: int, *, is_last_line: bool) -> Marks | None:
        return self.phrase(raw.upper() if _SMALL.fullmatch(raw) else raw, n)

    def lead(self, rest: str, n: int = 2, *, digits: bool = False) -> tuple[Marks | None, int]:
        body = re.sub(r"[\[\]\"'(]", " ", rest)
        at = len(body) - len(body.lstrip())
        if match := _RUN.match(body, at):
            return self.marks([ord(sign) - ord("A") for sign in match[0]], n), match.end()
        if match := _ORDER.match(body, at):
            return self.row(match[0], n), match.end()
        return (ILLEGAL if re.match(r"(?i:not)\b", body[at:]) else None), at

    def stated(self, text: str, n: int) -> list[Claim]:
        claims = self.numbered(text, n)
        for match in _BEST_TO_WORST.finditer(text):
            marks, end = self.lead(text[match.end() : match.end() + HOLD], n)
            claims += [Claim(match.start(), match.end() + end, marks)] if marks else []
        return claims

    def sentences(self, text: str, n: int) -> list[Claim]:
        return [Claim(match.start(), match.end(), self.row(match[0], n)) for match in _ROW.finditer(text)]

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
