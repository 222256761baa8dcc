"""Reading a judge's reply.

The rule, from the most explicit way of ruling to the least:

1. an object with a ruling key: `{"analysis": "...", "judgement": 4}`;
2. double brackets: `[[4]]`, `[[B]], [[A]]`;
3. words: `Final answer: B`, `Overall, Response A is better.`, `评分：4分`;
4. single brackets on a line of their own: `[B]`;
5. a line, last or first, that is nothing but the ruling: `four`.

The first of these ways that the reply uses at all decides, and in it the *last* ruling; it is checked against what is
legal only then. So a last ruling that is out of range, a range ("3-4"), hedged ("A or B") or incomplete makes the
reply unreadable: an earlier mention in the reasoning is never taken in its place, nor a less explicit one elsewhere.
Only three things are looked through: a placeholder (`[[rating]]`) is no ruling; a menu of the options that is merely
repeated voids what stands before it, and what follows it may rule; and what only quotes a candidate (see
`reading.quotes`) does not count.

Where several labelled rulings differ, those labelled final, overall or not at all go before those that name a
criterion; two criteria alone, or two sentences that contradict each other, are no ruling. Thinking (`<think>`) is not
part of the reply. Rulings in words are looked for in the last `LONGEST` characters, and of objects and brackets the
last `CHECKED` are weighed: no real reply comes near. A reply without a ruling that declines in its own name is refused;
any other is unreadable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from fullbench.nouns.ballot import Ruling
from fullbench.reading.markers import LISTED, MARKER, Markers
from fullbench.reading.marks import CHECKED, ECHO, ILLEGAL, PROSE, Claim, Form, Marks
from fullbench.reading.objects import Objects
from fullbench.reading.quotes import Quotes
from fullbench.reading.words import after_thinking, plain, refuses

LONGEST = 50_000


def ruling(form: Form, text: str, n: int, shown: Sequence[str] = ()) -> Ruling:
    """What a reply rules on `n` responses, one mark for each in the order shown, or why it does not.

    `shown` holds the candidates' own words; see the module for the rule.
    """
    body = plain(after_thinking(text))
    marks = _Reading(form, n, Quotes([words for words in shown if words.strip()])).ruling(body)
    if marks:
        return marks
    return "refused" if marks is None and refuses(body) else "unreadable"


def ruling_of_cut(form: Form, text: str, n: int, shown: Sequence[str] = ()) -> Ruling:
    """What a reply that was cut off rules: it counts only where its ruling is complete and the last thing that it says.

    What came before may have been weighed against what was cut off, so that nothing else in it is taken for a ruling.
    """
    closing = _closing(plain(after_thinking(text)))
    ruled = ruling(form, text, n, shown) if closing else "unreadable"
    return ruled if closing and ruled == ruling(form, closing, n) else "unreadable"


def _closing(body: str) -> str:
    """The double brackets, or the whole object, that a text ends with; empty where it ends with anything else."""
    body = body.rstrip().removesuffix(".")
    if body.endswith("]]"):
        markers = _LAST_MARKERS.search(body, max(0, len(body) - LONGEST))
        return markers[0] if markers else ""
    if body.endswith("}"):
        start = body.find("{")
        try:
            json.loads(body[start:], strict=False)
        except ValueError:
            return ""
        return body[start:]
    return ""


_LAST_MARKERS = re.compile(r"(?:\[\[[^\[\]]{1,120}\]\][ \t\n,;]{0,8}){1,26}$")
_ANY_MARKER = re.compile(r"\[\[[^\[\]]{0,120}\]\]?")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n")
_ALONE = re.compile(r"^[ \t]*\[([^\[\]\n]{1,60})\][ \t.]*$", re.MULTILINE)


class _Reading:
    def __init__(self, form: Form, n: int, quotes: Quotes) -> None:
        self.form, self.n, self.quotes = form, n, quotes

    def ruling(self, text: str) -> Marks | None:
        """Marks, `ILLEGAL`, or None where nothing is ruled."""
        if "{" in text:
            claims = Objects(self.form, self.n, self.in_text).claims(text)
            marks = self.decide(text, claims)
            if marks or (marks is not None and not MARKER.search(text, claims[-1].end)):
                return marks
        return self.in_text(text)

    def in_text(self, text: str) -> Marks | None:
        if "[[" in text or "]]" in text:
            claims = Markers(self.form, self.n).claims(text)
            last = self.last(text, claims)
            if last is not None and last.kind != ECHO:
                return last.marks
            if last is not None:
                rest = _SENTENCE_END.search(text, last.end)
                return (self.in_words(text[rest.end() :]) if rest else None) or ILLEGAL
            for claim in claims:
                text = text[: claim.start] + " " * (claim.end - claim.start) + text[claim.end :]
            text = _ANY_MARKER.sub(" ", text)
        return self.in_words(text)

    def in_words(self, text: str) -> Marks | None:
        text = text[-LONGEST:]
        for claims in (self.form.labelled(text, self.n), self.on_lines(text, single=True)):
            if (marks := self.decide(text, claims)) is not None:
                return marks
        return self.decide(text, self.on_lines(text, single=False))

    def last(self, text: str, claims: list[Claim]) -> Claim | None:
        for claim in claims[: -CHECKED - 1 : -1]:
            if not self.quotes.cover(text, claim):
                return claim
        return None

    def decide(self, text: str, claims: list[Claim]) -> Marks | None:
        """The last claim that counts: a decisive one first; others only when they do not contradict each other."""
        if self.quotes:
            claims = [claim for claim in claims[-CHECKED:] if not self.quotes.cover(text, claim)]
        if not claims:
            return None
        if decisive := [claim for claim in claims if not claim.kind]:
            return decisive[-1].marks
        same_label = len({claim.kind for claim in claims}) == 1 and claims[-1].kind != PROSE
        agree = len({claim.marks for claim in claims}) == 1
        return claims[-1].marks if same_label or agree else ILLEGAL

    def on_lines(self, text: str, single: bool) -> list[Claim]:
        """Rulings alone on a line: in single brackets on any line, bare on the last or else the first."""
        if single:
            matches = _ALONE.finditer(text)
            return [Claim(m.start(), m.end(), self.form.phrase(m[1], self.n) or ILLEGAL) for m in matches]
        body = text.strip()
        lines = dict.fromkeys((body, body.rpartition("\n")[2], body.partition("\n")[0]))
        for line in lines:
            if LISTED.match(line) and line != body:
                continue
            marks = self.form.bare(line, self.n) if len(line) < 80 else None
            if marks or (marks is not None and len(line) < 12):
                start = text.find(line)
                return [Claim(start, start + len(line), marks)]
        return []
