"""Parser for values as judges write them: numbers, and words of a scale."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence

from fullbench.parsing.reply_patterns_and_plain_text_conversion import (
    KEY,
    NEGATION,
    NUM,
    clause,
    late_pattern,
    number,
    position,
    ref,
)
from fullbench.parsing.verdict_phrase_label_and_sentence_forms import (
    HOLD,
    ILLEGAL,
    PROSE,
    Claim,
    Form,
    Marks,
    unlabelled,
)

_HEDGE = r"\s?(?:-|~|/|\bto\b|\bor\b|\band\b|到|至|或)\s?"
_REFUTED = late_pattern(
    r"(?:not|neither|no|between|about|around|approximately|roughly|maybe|below|above|under|over"
    r"|(?:more|less|higher|lower|better|worse) than)\b|[~不非约]",
    re.IGNORECASE,
)
_BOUNDED = late_pattern(
    r"\b(?:more|less|higher|lower|better|worse|greater|fewer) than\s*$|[高低大小多少]于\s*$", re.IGNORECASE
)
_SEPARATOR = r"(?:\s?[,;/|&\n]\s{0,3}(?:and\s)?|\sand\s|\s{1,4}|\s?和\s?)"
_SKIP = re.compile(r"[\s\"'(\[]{0,4}(?:(?:a|an|的)\s)?[\"'(\[]{0,3}")
_AFTER_VALUE = late_pattern(r"[(\-:,.;=]|[A-Z][a-z]")
_GLOSS = late_pattern(r"\s?\([^()\n]{1,60}\)$")


class ValueForm(Form):
    """One value for every response: a number, or a word of a scale."""

    has_answers = False

    def __init__(self, value: str, hedge: str, gives: str) -> None:
        one = "(?:" + re.sub(r"\?P<[a-z]+>", "?:", value) + ")"
        self.value, self.hedge, self.gives = re.compile(value), re.compile(hedge), late_pattern(gives)
        self.series = late_pattern(rf"{one}(?:{_SEPARATOR}{one}){{1,25}}")
        self.given = late_pattern(
            rf"{ref()}(?i:'s)?(?:(?i:\s?\([^()\n]{{0,30}}\)|[\s-](?:response|answer|final|overall|alignment|quality"
            rf"|{KEY}|gets|receives|has|a|an|the|of|with|is|scores|earns|deserves)|得分?|的|评分|打分?){{0,6}})"
            rf"\s?(?:[:=|]|\s-|\bis\b|是|为|得|gets|\bat\b|[ \n])\s{{0,3}}(?=\[{{0,2}}{one})"
        )

    @abstractmethod
    def mark(self, match: re.Match[str]) -> Marks:
        """Return the mark of one value, or `ILLEGAL`."""

    @abstractmethod
    def looks_like(self, raw: str) -> bool:
        """Return True if a phrase that is no legal value was meant as one."""

    def lead(self, rest: str, n: int = 1, *, digits: bool = False) -> tuple[Marks | None, int]:
        skip = _SKIP.match(rest)
        at = skip.end() if skip else 0
        if n > 1:
            series = self.series.match(rest.partition("\n")[0], at)
            values = [self.mark(value) for value in self.value.finditer(series[0])] if series else []
            return (self.join(values, n), series.end()) if series else (None, at)
        match = self.value.match(rest, at)
        if match is None:
            return (ILLEGAL if _REFUTED.match(rest, at) or self.looks_like(rest[at : at + 24]) else None), at
        return (ILLEGAL if self.hedge.match(rest, match.end()) else self.mark(match)), match.end()

    def phrase(self, raw: str, n: int, *, digits: bool = False) -> Marks | None:
        if n > 1 and (claims := self.named(raw, n)):
            return claims[-1].marks
        return super().phrase(re.sub(r"[\[\]\"\n]", " ", raw) if n > 1 else raw, n)

    def explains(self, rest: str, marks: Marks, n: int) -> bool:
        return n == 1 and _AFTER_VALUE.match(rest) is not None

    def bare(self, line: str, n: int) -> Marks | None:
        body = unlabelled(_GLOSS.sub("", line.rstrip(" .")))
        return self.phrase(body, n) if n > 1 or self.value.fullmatch(body) else None

    def join(self, marks: Sequence[Marks], n: int) -> Marks:
        return tuple(mark[0] for mark in marks) if len(marks) == n and all(marks) else ILLEGAL

    def named(self, text: str, n: int) -> list[Claim]:
        """Return one claim with the last value given to each response by name, illegal if one is missing."""
        by_position: dict[int, Marks] = {}
        start, end = len(text), 0
        for match in self.given.finditer(text):
            if not NEGATION.search(clause(text, match.start(), 40)):
                by_position[position(match)] = self.lead(text[match.end() : match.end() + HOLD])[0] or ILLEGAL
                start, end = min(start, match.start()), match.end()
        marks = [by_position.get(place, ILLEGAL) for place in range(max(n, len(by_position)))]
        return [Claim(start, end, self.join(marks, n))] if by_position else []

    def labelled(self, text: str, n: int) -> list[Claim]:
        return (self.named(text, n) if n > 1 else []) or super().labelled(text, n)

    def sentences(self, text: str, n: int) -> list[Claim]:
        claims = []
        for match in self.gives.finditer(text) if n == 1 else ():
            marks, end = self.lead(text[match.end() : match.end() + HOLD])
            if marks is not None and not NEGATION.search(clause(text, match.start(), 60) + match[0]):
                marks = ILLEGAL if _BOUNDED.search(match[0]) else marks
                claims.append(Claim(match.start(), match.end() + end, marks, "" if match[0] else PROSE))
        return claims


_UNIT = r"(?:\s?(?:points?|stars?|marks?)(?![a-z])|\s?[分星])?"
_OUT_OF = rf"(?:\s?/\s?(?P<of>{NUM})\s?分?|\s(?:out of|of)\s(?:a possible )?(?P<out>{NUM}))?"
_FULL = rf"(?:\s?[(,]?\s?(?:满分|总分)(?:为|是)?\s?(?P<full>{NUM})\s?分?\)?)?"
_VALUE = rf"(?P<num>(?i:{NUM})){_UNIT}(?i:{_OUT_OF}){_UNIT}{_FULL}"
_NOT_A_NUMBER = (
    rf"{_HEDGE}(?i:{NUM})|\.\d|\d|\s?%|\+|[a-zA-Z](?![a-zA-Z])|(?i:\sand a half|\s?/)|,\d|[./]\d|\s?(?:多|半|½)"
)
_NEXT_IS_NUMBER = rf"(?=(?i:{NUM})(?![\w%]))"
_STRENGTH = r"(?:solid|strong|clear|firm|fair|full|weak|low|high|generous|mere)\s"
_GIVE = (
    r"(?i:\b(?:rated?|give|gave|grade|assign|award|deserves?|earns?|merits?|gets?|receives?|settled?|land|landed)\b"
    rf"[^.!?\n\[\]]{{0,80}}?\s(?:a|an|at|as|with|of|it|on|for|:)?\s?(?:(?:{KEY})\sof\s)?(?:{_STRENGTH})?)"
    rf"{_NEXT_IS_NUMBER}|(?:打|给|评|得)[^.!?\n]{{0,12}}?(?=(?i:{NUM})\s?分)|(?i:\ban? {_STRENGTH}){_NEXT_IS_NUMBER}"
    rf"|(?<![\w./])(?=(?i:{NUM})(?:\s?/\s?|(?i:\sout of\s))(?:{NUM})(?![\w/]))"
)
"""Words before a number that a sentence gives; none before a fraction."""


class NumberForm(ValueForm):
    """Numbers from `low` to `high`. A fraction must be out of `high`; nothing is ever rescaled or rounded."""

    def __init__(self, low: float, high: float, whole: bool) -> None:
        super().__init__(_VALUE, _NOT_A_NUMBER, _GIVE)
        self.low, self.high, self.whole = low, high, whole

    def mark(self, match: re.Match[str]) -> Marks:
        full = match["of"] or match["out"] or match["full"]
        value = number(match["num"])
        fits = self.low <= value <= self.high and (not self.whole or value.is_integer())
        return (value,) if fits and (full is None or number(full) == self.high) else ILLEGAL

    def looks_like(self, raw: str) -> bool:
        return re.match(r"[-+.]?\d", raw) is not None


_RATE = r"(?i:\b(?:rate|rated|grade|judge|consider)\b[^.!?\n\[\]]{0,80}?\s(?:as|a|an|be)\s|评为|评价为)"


class WordForm(ValueForm):
    """Words of a scale, worst first, marked 1 to k."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self.ranks = {self.fold(word): float(rank + 1) for rank, word in enumerate(words)}
        longest = sorted(words, key=len, reverse=True)
        some = "(?i:" + "|".join(r"[\s_-]{1,2}".join(map(re.escape, word.split())) for word in longest) + ")"
        end = r"(?![A-Za-z])"
        self.any = late_pattern(some)
        super().__init__(
            rf"(?P<word>{some}){end}", rf"{_HEDGE}(?:(?:a|an|very)\s)?{some}{end}|\s?-?(?:ish|ly)\b", _RATE
        )

    @staticmethod
    def fold(word: str) -> str:
        return re.sub(r"[\s_-]+", " ", word).casefold()

    def mark(self, match: re.Match[str]) -> Marks:
        return (self.ranks[self.fold(match["word"])],)

    def looks_like(self, raw: str) -> bool:
        return self.any.search(raw.split("\n", 1)[0]) is not None or re.match(r"\d", raw) is not None
