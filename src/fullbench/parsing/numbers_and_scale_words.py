"""Parser for values as judges write them: numbers, and words of a scale."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence

from fullbench.parsing.reply_patterns_and_plain_text_conversion import KEY, NEGATION, NUM, clause, number, position, ref
from fullbench.parsing.verdict_phrase_label_and_sentence_forms import (
    HOLD,
    ILLEGAL,
    PROSE,
    Claim,
    Form,
    Marks,
    labels,
    unlabelled,
)

_HEDGE = r"\s?(?:-|~|/|\bto\b|\bor\b|\band\b|到|至|或)\s?"
_REFUTED = re.compile(
    r"(?:not|neither|no|between|about|around|approximately|roughly|maybe|below|above|under|over"
    r"|(?:more|less|higher|lower|better|worse) than)\b|[~不非约]",
    re.IGNORECASE,
)
_BOUNDED = re.compile(
    r"\b(?:more|less|higher|lower|better|worse|greater|fewer) than\s*$|[高低大小多少]于\s*$", re.IGNORECASE
)
_SEPARATOR = r"(?:\s?[,;/|&\n]\s{0,3}(?:and\s)?|\sand\s|\s{1,4}|\s?和\s?)"
_OF_THE_ITEM = re.compile(r"answer|result|order|答案|结果", re.IGNORECASE)
_RATE = re.compile(r"(?i:\b(?:rate|rated|grade|judge|consider)\b[^.!?\n\[\]]{0,80}?\s(?:as|a|an|be)\s|评为|评价为)")
_SKIP = re.compile(r"[\s\"'(\[]{0,4}(?:(?:a|an|的)\s)?[\"'(\[]{0,3}")
_AFTER_VALUE = re.compile(r"[(\-:,.;=]|[A-Z][a-z]")
_GLOSS = re.compile(r"\s?\([^()\n]{1,60}\)$")


class ValueForm(Form):
    """One value for every response: a number, or a word of a scale."""

    def __init__(self, value: str, hedge: str) -> None:
        self.value = re.compile(value)
        self.hedge = re.compile(hedge)
        one = "(?:" + re.sub(r"\?P<[a-z]+>", "?:", value) + ")"
        self.series = re.compile(rf"{one}(?:{_SEPARATOR}{one}){{1,25}}")
        self.given = re.compile(
            rf"{ref()}(?i:'s)?(?P<gap>(?i:\s?\([^()\n]{{0,30}}\)|[\s-](?:response|answer|final|overall|alignment|quality"
            rf"|{KEY}|gets|receives|has|a|an|the|of|with|is|scores|earns|deserves)|得分?|的|评分|打分?){{0,6}})"
            rf"\s?(?:[:=|]|\s-|\bis\b|是|为|得|gets|\bat\b|[ \n])\s{{0,3}}(?=\[{{0,2}}{one})"
        )

    @abstractmethod
    def mark(self, match: re.Match[str]) -> Marks:
        """Return the mark of one value, or `ILLEGAL`."""

    @abstractmethod
    def looks_like(self, raw: str) -> bool:
        """Return True if a phrase that is no legal value was meant as one."""

    @abstractmethod
    def rated(self, text: str) -> list[Claim]:
        """Return the values that sentences give without a label."""

    def lead(self, rest: str) -> tuple[Marks | None, int]:
        """Return the value that text starts with, and where it ends."""
        skip = _SKIP.match(rest)
        at = skip.end() if skip else 0
        match = self.value.match(rest, at)
        if match is None:
            return (ILLEGAL if _REFUTED.match(rest, at) or self.looks_like(rest[at : at + 24]) else None), at
        if self.hedge.match(rest, match.end()):
            return ILLEGAL, match.end()
        return self.mark(match), match.end()

    def phrase(self, raw: str, n: int, *, digits: bool = False) -> Marks | None:
        body = unlabelled(raw)
        if n > 1:
            return self.phrases(body, n)
        marks, end = self.lead(body)
        rest = body[end:].strip(" \"')]") if marks is not None else ""
        return marks if not rest or _AFTER_VALUE.match(rest) else ILLEGAL

    def bare(self, line: str, n: int) -> Marks | None:
        body = unlabelled(_GLOSS.sub("", line.rstrip(" .")))
        whole = n > 1 or self.value.fullmatch(body) or self.series.fullmatch(body)
        return self.phrase(body, n) if whole else None

    def phrases(self, body: str, n: int) -> Marks | None:
        if named := self.named(body, n):
            return named[-1].marks
        body = re.sub(r"[\[\]\"]", "", body)
        if not self.series.fullmatch(body):
            return ILLEGAL if self.value.search(body) else None
        return self.join([self.mark(match) for match in self.value.finditer(body)], n)

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
        if not by_position:
            return []
        complete = sorted(by_position) == list(range(n))
        return [Claim(start, end, self.join([by_position[i] for i in range(n)], n) if complete else ILLEGAL)]

    def labelled(self, text: str, n: int) -> list[Claim]:
        if n > 1:
            return self.named(text, n) or self.listed(text, n)
        claims = []
        for label in labels(text):
            if not _OF_THE_ITEM.match(label.key) or "final" in clause(text, label.start).casefold():
                marks, end = self.lead(label.rest)
                claims += [] if marks is None else [Claim(label.start, label.end + end, marks, label.kind)]
        return claims

    def sentences(self, text: str, n: int) -> list[Claim]:
        return self.rated(text) if n == 1 else []

    def listed(self, text: str, n: int) -> list[Claim]:
        claims = []
        for label in labels(text):
            line = label.rest.split("\n", 1)[0]
            if series := self.series.match(line.lstrip("[( ")):
                values = [self.mark(value) for value in self.value.finditer(series[0])]
                claims.append(Claim(label.start, label.end + series.end(), self.join(values, n), label.kind))
        return claims


_UNIT = r"(?:\s?(?:points?|stars?|marks?)(?![a-z])|\s?[分星])?"
_OUT_OF = rf"(?:\s?/\s?(?P<of>{NUM})\s?分?|\s(?:out of|of)\s(?:a possible )?(?P<out>{NUM}))?"
_FULL = rf"(?:\s?[(,]?\s?(?:满分|总分)(?:为|是)?\s?(?P<full>{NUM})\s?分?\)?)?"
_VALUE = rf"(?P<num>(?i:{NUM})){_UNIT}(?i:{_OUT_OF}){_UNIT}{_FULL}"
_NOT_A_NUMBER = (
    rf"{_HEDGE}(?i:{NUM})|\.\d|\d|\s?%|\+|[a-zA-Z](?![a-zA-Z])|(?i:\sand a half|\s?/)|,\d|[./]\d|\s?(?:多|半|½)"
)
_GIVE = re.compile(
    r"(?i:\b(?:rate|rated|give|gave|grade|assign|award|deserve|deserves|earn|earns|merit|merits|get|gets|receive|receives|settle|settled|land|landed)\b"
    rf"(?P<gap>[^.!?\n\[\]]{{0,80}}?)\s(?:a|an|at|as|with|of|it|on|for|:)?\s?(?:(?:{KEY})\sof\s)?)"
    r"(?:(?i:solid|strong|clear|firm|fair|full|weak|low|high|generous|mere)\s)?(?=(?i:" + NUM + r")(?![\w%]))"
    rf"|(?:打|给|评|得)(?P<han>[^.!?\n]{{0,12}}?)(?=(?i:{NUM})\s?分)"
    r"|(?i:\ban? (?:solid|strong|clear|firm|weak|low|high|generous))\s(?P<solid>)(?=(?i:" + NUM + r")(?![\w%]))"
)
_FRACTION = re.compile(rf"(?<![\w./])(?i:{NUM})(?:\s?/\s?|(?i:\sout of\s))(?:{NUM})(?![\w/])")


class NumberForm(ValueForm):
    """Numbers from `low` to `high`. A fraction must be out of `high`; nothing is ever rescaled or rounded."""

    def __init__(self, low: float, high: float, whole: bool) -> None:
        super().__init__(_VALUE, _NOT_A_NUMBER)
        self.low, self.high, self.whole = low, high, whole

    def mark(self, match: re.Match[str]) -> Marks:
        full = match["of"] or match["out"] or match["full"]
        value = number(match["num"])
        fits = self.low <= value <= self.high and (not self.whole or value.is_integer())
        return (value,) if fits and (full is None or number(full) == self.high) else ILLEGAL

    def looks_like(self, raw: str) -> bool:
        return re.match(r"[-+.]?\d", raw) is not None

    def rated(self, text: str) -> list[Claim]:
        claims = []
        for match in _GIVE.finditer(text):
            marks, end = self.lead(text[match.end() : match.end() + HOLD])
            gap = match["gap"] or match["han"] or ""
            doubt = NEGATION.search(clause(text, match.start(), 60) + gap)
            if marks is not None and not doubt:
                bounded = _BOUNDED.search(gap + " " + text[match.end() - 12 : match.end()])
                claims.append(Claim(match.start(), match.end() + end, ILLEGAL if bounded else marks))
        return claims or [
            Claim(match.start(), match.end(), self.lead(text[match.start() : match.end() + 8])[0] or ILLEGAL, PROSE)
            for match in _FRACTION.finditer(text)
        ]


class WordForm(ValueForm):
    """Words of a scale, worst first, marked 1 to k."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self.ranks = {self.fold(word): float(rank + 1) for rank, word in enumerate(words)}
        longest = sorted(words, key=len, reverse=True)
        some = "|".join(r"[\s_-]{1,2}".join(map(re.escape, word.split())) for word in longest)
        end = r"(?![A-Za-z])"
        self.any = re.compile(rf"(?i:{some})")
        super().__init__(
            rf"(?P<word>(?i:{some})){end}", rf"{_HEDGE}(?:(?:a|an|very)\s)?(?i:{some}){end}|\s?-?(?:ish|ly)\b"
        )

    @staticmethod
    def fold(word: str) -> str:
        return re.sub(r"[\s_-]+", " ", word).casefold()

    def mark(self, match: re.Match[str]) -> Marks:
        return (self.ranks[self.fold(match["word"])],)

    def rated(self, text: str) -> list[Claim]:
        claims = []
        for match in _RATE.finditer(text):
            marks, end = self.lead(text[match.end() : match.end() + HOLD])
            if marks and not NEGATION.search(clause(text, match.start(), 60) + match[0]):
                claims.append(Claim(match.start(), match.end() + end, marks))
        return claims

    def looks_like(self, raw: str) -> bool:
        return self.any.search(raw.split("\n", 1)[0]) is not None or re.match(r"\d", raw) is not None
