"""Written forms of a verdict for each kind of ballot: as a phrase, after a label, and in a sentence.

Three outcomes are distinguished everywhere: marks (a legal verdict), `ILLEGAL` (the judge did decide here, but not in
a way this ballot allows: out of range, a range, two answers at once, half a ranking), and None (no verdict here).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import NamedTuple

from fullbench.parsing.reply_patterns_and_plain_text_conversion import (
    KEY,
    KEY_WORDS,
    NOUN,
    NUM,
    STRONG,
    clause,
    late_pattern,
    matches,
    position,
    ref,
)

Marks = tuple[float, ...]
ILLEGAL: Marks = ()
PROSE = "prose"
HOLD = 200
"""Characters after a label that may hold its value."""
RESPONSE = late_pattern(ref())


class Claim(NamedTuple):
    """A place in a reply that states a verdict. An empty `kind` is decisive; others name their label."""

    start: int
    end: int
    marks: Marks
    kind: str = ""


class Form(ABC):
    """Written forms of verdicts on one kind of ballot."""

    has_answers = True
    """False if a label such as "The answer is" is about the item, never about the verdict."""

    @abstractmethod
    def lead(self, rest: str, n: int = 1, *, digits: bool = False) -> tuple[Marks | None, int]:
        """Return the verdict that text starts with, and where it ends. `digits` allows responses named 1, 2, ..."""

    def phrase(self, raw: str, n: int, *, digits: bool = False) -> Marks | None:
        """Return the marks of a phrase that stands alone."""
        body = unlabelled(raw)
        marks, end = self.lead(body, n, digits=digits)
        if marks is None:
            return ILLEGAL if body[:1] in set("0123456789<>=") else None
        rest = body[end:].strip(" \"'.)]!")
        return marks if not rest or not marks or self.explains(rest, marks, n) else ILLEGAL

    def explains(self, rest: str, marks: Marks, n: int) -> bool:
        """Return True if the words after a phrase repeat it: "A>>B (A is much better)"."""
        return self.lead(rest.lstrip(" :,;(-"), n)[0] == marks

    def labelled(self, text: str, n: int) -> list[Claim]:
        """Return verdicts in words: after a label, or in a sentence that concludes."""
        claims = []
        for label in labels(text, has_answers=self.has_answers):
            marks, end = self.lead(label.rest, n, digits=_WHICH.match(label.key) is not None)
            if marks is not None:
                claims.append(self.turned(text, label.start, label.end + end, marks, label.kind))
        is_all = "\n" not in text and claims and claims[-1].marks and not text[claims[-1].end :].strip(" .")
        return claims if is_all and not claims[-1].kind else sorted(claims + self.stated(text, n))

    def stated(self, text: str, n: int) -> list[Claim]:
        """Return verdicts that sentences state."""
        return []

    def sentences(self, text: str, n: int) -> list[Claim]:
        """Return verdicts of sentences that count only if no label and no line states one."""
        return []

    def pieces(self, n: int) -> int:
        """Return the number of marks in a complete verdict."""
        return n

    def bare(self, line: str, n: int) -> Marks | None:
        """Return the marks of a line that contains only the verdict."""
        return self.phrase(line, n)

    def bracketed(self, raw: str, n: int, *, is_last_line: bool) -> Marks | None:
        """Return the marks of the words inside brackets."""
        return self.phrase(raw, n)

    def turned(self, text: str, start: int, end: int, marks: Marks, kind: str = "") -> Claim:
        """Return the claim at this place, reversed if the words before it say that the worst comes first."""
        return Claim(start, end, marks, kind)


_TRIM = " \t\n.,;:!\"'()[]{}$。"
_LABEL = late_pattern(
    r"(?<![A-Za-z])"
    rf"(?P<key>(?i:{KEY})|(?i:better|best|preferred|winning)\s?(?i:{NOUN}|one)?|(?i:overall)(?=\s?[:=]))s?"
    rf"(?i:\s?\([^()\n]{{0,40}}\)|\s(?:from|of|between|on)\s[^\n:.]{{0,24}}?{NUM}\s?(?:to|and|-)\s?{NUM}"
    r"|\s(?:of|for)\s(?:the|this|that)\s[\w ]{1,30}?)?"
    r"(?:[\"']?\s?(?:[:=]|\s-\s|-\s|\|)\s{0,3}"
    r"|\s(?i:is|are|was|would be|will be|as|of)(?i:\sthat|\sas follows)?[\s:]{1,3}"
    r"|\s?(?:是|为|应为|应该是)[\s:]{0,3})"
)
_LABEL_WORDS = [*KEY_WORDS, "better", "best", "preferred", "winning", "overall"]
_WHICH = late_pattern(r"(?i)better|best|preferred|winning|winner|choice|preference|胜|选择")
PLACEHOLDER = late_pattern(
    r"(?:(?:your|the|final|overall|a|an|best|whole|single|integer|of)[ _])*(?:rating|score|letter|choice|verdict|answer"
    r"|option|number|ranking|rank|judge?ment|ruling|word|label|value|integer|mark|result|here|winner|code)s?"
    r"(?:[ _](?:here|of|for|number|[A-Z1-9]|[a-z ]{1,20}))?"
    r"|[xXnN.…_?#-]{1,5}|first|second|third|fourth|last|best|worst|next|\W*"
    r"|(?:你的|您的|最终|最好|最佳|第[一二三四五六七八九])?"
    r"(?:评分|分数|得分|字母|选择|答案|结论|判断|裁决|数字|词|排名|整数)|最好的?|第[一二三四五六]|最后|其次|最差的?",
    re.IGNORECASE,
)
_WORD_BEFORE = late_pattern(r"[A-Za-z][\w-]{0,20}[ -]$|[\u3400-\u9fff]{1,4}$")
_ANSWER = late_pattern(r"answer|result|order|答案|结果", re.IGNORECASE)
_CONCLUDES = late_pattern(
    r"\W*(?:(?:so|thus|therefore|hence|my|the|final|overall|our|in conclusion|最终|因此|所以|我的|综上|故|则)\W*){0,5}",
    re.IGNORECASE,
)
_LEADING_LABEL = late_pattern(rf"(?i:(?:the |my )?(?:final |overall )?{KEY})\s?(?:[:=]|\bis\b:?|是|为)?\s?")
_SUPPOSED = late_pattern(r"\b(?:if|had|could|unless)\b|如果|假如", re.IGNORECASE)


def trim(raw: str) -> str:
    """Return a phrase without the punctuation and brackets around it."""
    body = raw.strip(_TRIM).rstrip("-" + _TRIM)
    return body if re.match(r"-\d", body) else body.lstrip("-" + _TRIM)


def unlabelled(raw: str) -> str:
    """Return a phrase, trimmed, without a label in front.

    >>> unlabelled("[[Rating: 4]]")
    '4'
    """
    body = trim(raw)
    label = _LEADING_LABEL.match(body)
    return trim(body[label.end() :]) if label else body


class Label(NamedTuple):
    """A label: its key word, its kind (see `Claim`), its place and the text that follows."""

    key: str
    kind: str
    start: int
    end: int
    rest: str


def labels(text: str, *, has_answers: bool = True) -> list[Label]:
    """Return every label in the text, without those of a hypothetical sentence.

    An answer is often that to the item ("Both say the correct answer is B"). It counts as a label only if nothing but
    concluding words come before it.
    """
    collected = []
    for match in matches(_LABEL, text, _LABEL_WORDS, before=0, after=120):
        start, end = match.span()
        before = clause(text, start)
        is_final = has_answers or "final" in before.casefold()
        if _ANSWER.match(match["key"]) and not (is_final and _CONCLUDES.fullmatch(before)):
            continue
        word = _WORD_BEFORE.search(text, max(0, start - 24), start)
        kind = word[0].strip(" -").casefold() if word and not STRONG.search(word[0].strip(" -")) else ""
        if kind != "is" and not _SUPPOSED.search(before):
            collected.append(Label(match["key"], kind, start, end, text[end : end + HOLD]))
    return collected


def chain(text: str) -> tuple[list[int], list[str]]:
    """Return the responses that a row names, and the signs between them (`>>`, `=`, or `mixed`), best first."""
    order = [position(match) for match in RESPONSE.finditer(text)]
    signs = re.findall(r"[<>=]{1,3}", text.replace("~", "="))[: len(order) - 1]
    if "<" in "".join(signs):
        is_mixed = ">" in "".join(signs)
        return order[::-1], ["mixed"] if is_mixed else [sign.replace("<", ">") for sign in signs[::-1]]
    return order, signs
