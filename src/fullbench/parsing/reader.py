"""The parser of judges' replies, and its rules.

The rule: **the last complete verdict in the requested form, stated by the judge.** The forms are

1. double brackets: `[[4]]`, `[[B]], [[A]]`;
2. an object with a verdict key: `{"analysis": "...", "judgement": 4}`;
3. words: `Final answer: B`, `Overall, Response A is better.`, `评分：4分`;
4. single brackets on a separate line: `[B]`;
5. a line, last or first, that contains only the verdict: `four`.

A verdict with the requested check code (see `parsing.random_check_codes`) takes precedence over all others. Otherwise
the last one in the requested form decides. Only then is it checked: a last verdict that is out of range, a range
("3-4"), hedged ("A or B") or incomplete makes the reply unreadable, and no earlier one replaces it. Another form counts
only if the requested one is absent, the reply ended by itself, and the verdict is at its end. If the requested form is
unknown (`asked=None`: replies from elsewhere), the first two forms take precedence, and the later one of these two.

These are no verdicts: a placeholder (`[[rating]]`); a menu of the options that is merely repeated, which also voids
anything before it; a hypothetical one ("a perfect answer would be [[5]]"; see `parsing.hypotheticals`); and a
quotation of text that was shown to the judge (see `parsing.quoted_text`). Reasoning is not part of the reply. A reply
that was cut off counts only if its verdict is complete, in the requested form, and the last thing in it.

If several labelled verdicts differ, those labelled final, overall or not at all take precedence over those that name a
criterion. Two criteria alone, or two contradicting sentences, are no verdict. Verdicts in words are searched in the
last `LONGEST` characters, and of objects and brackets the last `CHECKED` are considered: no real reply comes near
these limits. A reply without a verdict that declines in its own name is refused; any other is unreadable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fullbench.core.ballot import MarksOrFault, Style
from fullbench.core.reasoning_tags import CLOSES, END, reasoning_span
from fullbench.parsing.bracket_verdicts import LISTED, MARKER, Markers
from fullbench.parsing.hypotheticals import mentioned
from fullbench.parsing.json_verdicts import Objects
from fullbench.parsing.quoted_text import REACH, Quotes
from fullbench.parsing.random_check_codes import signed
from fullbench.parsing.verdict_form_base import CHECKED, ECHO, ILLEGAL, PLACEHOLDER, PROSE, Claim, Form, Marks, trim
from fullbench.parsing.vocabulary import CUE, plain, refuses

LONGEST = 50_000
_TAIL = 240
"""So much may follow, on its line, a ruling that stands at the end of a reply."""


@dataclass(frozen=True)
class Heard:
    """A reply and what is known of it; see `parsing.read`."""

    text: str
    shown: Sequence[str] = ()
    asked: Style | None = None
    nonce: str = ""
    cut: bool = False
    thought: str = ""


def ruling(form: Form, heard: Heard, n: int) -> MarksOrFault:
    """What a reply rules on `n` responses, one mark for each in the order shown, or why it does not."""
    quotes = Quotes(heard.shown)
    body, start = _spoken(heard, quotes)
    reading = _Reading(form, n, quotes, heard.asked, start)
    marks = signed(form, n, body[start:], heard.nonce, cut=heard.cut) if heard.nonce else None
    if marks is None:
        marks = reading.closing(body) if heard.cut else reading.ruling(body)
    if marks:
        return marks
    return "refused" if marks is None and not heard.cut and refuses(body[start:]) else "unreadable"


def _spoken(heard: Heard, quotes: Quotes) -> tuple[str, int]:
    """The reply in plain signs, and where the judge begins to speak in it.

    Where a contestant wrote a tag that ends thinking, somebody may have taken a quotation of it for the end of the
    judge's: what stood before it then says whose words these are, so that it stays in sight.
    """
    text = heard.text
    tagged = any(END in words or "[/THINK]" in words or "</t" in words for words in heard.shown)
    if not tagged:
        speech = reasoning_span(text)[2]
        return plain(text[speech:]), 0
    if heard.thought and not text.lstrip().startswith(tuple(CLOSES)):
        before = plain(f"{heard.thought[-REACH:]}{END}")
        return before + plain(text), len(before)
    opened = text.lstrip().startswith(tuple(CLOSES))
    speech = reasoning_span(text, lambda at, end: quotes.standing(text, at, end) == "quoted")[2] if opened else 0
    before = plain(text[max(0, speech - REACH) : speech])
    return before + plain(text[speech:]), len(before)


_LAST_MARKERS = re.compile(r"(?:\[\[[^\[\]]{1,120}\]\][ \t\n,;]{0,8}){1,26}$")
_ANY_MARKER = re.compile(r"\[\[[^\[\]]{0,120}\]\]?")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n")
_ALONE = re.compile(r"^[ \t]*\[([^\[\]\n]{1,60})\][ \t.]*$", re.MULTILINE)
_STATES = re.compile(
    r"\b(?:ruling|rule|rating|rate|score|verdict|judge?ment|final|finally|overall|conclu\w+|decision|decide|choose|therefore|so"
    r"|thus|hence|settle|give|change|revise|correct(?:ed|ion)|reflection|now|rather|actually|instead|mark)\b"
    r"|裁决|评分|结论|最终|综上|所以|因此|改为|应为|给",
    re.IGNORECASE,
)
"""Words of a sentence that rules, and of one that takes back what was ruled before."""
_OTHER_WORDS = re.compile(r"[A-Za-z]{2,}|[\u3400-\u9fff]")


class _Reading:
    def __init__(self, form: Form, n: int, quotes: Quotes, asked: Style | None = None, start: int = 0) -> None:
        self.form, self.n, self.quotes, self.asked, self.start = form, n, quotes, asked, start

    def ruling(self, text: str) -> Marks | None:
        """Marks, `ILLEGAL`, or None where nothing is ruled."""
        if self.asked is None:
            return self.any_form(text)
        ways: list[Callable[[str], Claim | None]] = [self.bracketed, self.in_objects]
        first, second = ways if self.asked == "marker" else ways[::-1]
        claim = first(text)
        if claim is not None and claim.kind != ECHO:
            return claim.marks
        if claim is not None:
            rest = _SENTENCE_END.search(text, claim.end)
            text = " " * rest.end() + text[rest.end() :] if rest else ""
        other = second(text)
        if other is not None and other.kind != ECHO:
            return other.marks if self.at_end(text, other) and not self.shown(text, other) else ILLEGAL
        marks = self.in_words(self.without_markers(text))
        return ILLEGAL if marks is None and claim is not None else marks

    def closing(self, text: str) -> Marks | None:
        """What a reply that was cut off rules: its last words, where they are a whole ruling in the form asked for.

        What came before may have been weighed against what was cut off, so that nothing else in it is taken for one.
        """
        ending = _ending(text[self.start :], self.asked)
        if not ending:
            return None
        claim = Claim(text.rfind(ending), len(text.rstrip()), ILLEGAL)
        if self.shown(text, claim) or mentioned(text, claim):
            return None
        marks = self.ruling(text)
        return marks if marks == _Reading(self.form, self.n, Quotes(()), self.asked).ruling(ending) else None

    def any_form(self, text: str) -> Marks | None:
        if "{" in text and (claim := self.in_objects(text)) is not None:
            later = self.bracketed(text, claim.end)
            if later is None or later.kind == ECHO:
                return claim.marks
            return later.marks
        return self.in_text(text)

    def in_text(self, text: str) -> Marks | None:
        claim = self.bracketed(text)
        if claim is not None and claim.kind != ECHO:
            return claim.marks
        if claim is not None:
            rest = _SENTENCE_END.search(text, claim.end)
            return (self.in_words(text[rest.end() :]) if rest else None) or ILLEGAL
        return self.in_words(self.without_markers(text))

    def bracketed(self, text: str, start: int = 0) -> Claim | None:
        """The last ruling in double brackets that is the judge's."""
        if "[[" not in text and "]]" not in text:
            return None
        start = max(start, self.start)
        own = text
        if self.quotes:
            spans = [match.span() for match in MARKER.finditer(text)][-CHECKED:]
            own = _blank(text, [span for span in spans if self.quotes.standing(text, *span) == "quoted"])
        claims = Markers(self.form, self.n).claims(own)
        return self.last(text, [claim for claim in claims if claim.start >= start])

    def in_objects(self, text: str) -> Claim | None:
        """The ruling in the last object that is the judge's."""
        if "{" not in text:
            return None
        objects = Objects(self.form, self.n, self.in_text)
        if self.asked is not None and (tail := objects.tail(text)) is not None:
            own = self.quotes.standing(text, tail.start, tail.end) == "own"
            if own and tail.start >= self.start:
                return tail
        return self.last(text, [claim for claim in objects.claims(text) if claim.start >= self.start])

    def last(self, text: str, claims: list[Claim]) -> Claim | None:
        """The last claim that is the judge's own; one of which that is unclear, only where it is the only one."""
        unclear: Claim | None = None
        for claim in claims[: -CHECKED - 1 : -1]:
            standing = self.quotes.standing(text, claim.start, claim.end)
            if standing == "quoted" or (claim.kind != ECHO and mentioned(text, claim)):
                continue
            if standing == "own":
                if unclear is not None and (claim.kind == ECHO or self.final(text, unclear, claim)):
                    return unclear
                return self.formal(text, claims, claim)
            unclear = unclear or claim
        return unclear if unclear is not None and self.apart(text, unclear) else None

    def formal(self, text: str, claims: list[Claim], last: Claim) -> Claim:
        """The last claim; where it only occurs in a sentence that rules nothing, an earlier one on its own line."""
        if last.kind == ECHO or not last.marks or _STATES.search(text, *_line(text, last)) or _bare(text, last):
            return last
        for claim in claims[: -CHECKED - 1 : -1]:
            if claim.start < last.start and claim.kind != ECHO and claim.marks and _bare(text, claim):
                return claim if self.quotes.standing(text, claim.start, claim.end) == "own" else last
        return last

    def final(self, text: str, unclear: Claim, own: Claim) -> bool:
        """Whether a claim of which it is unclear whose it is goes before an earlier one that is the judge's own.

        The judge's words on its line call it final; or it ends the reply on a line of its own, and the earlier one only
        occurs in a sentence.
        """
        run = self.quotes.run(text, unclear.start, unclear.end)
        if CUE.search(text[text.rfind("\n", 0, run.start) + 1 : run.start]):
            return True
        ends = _bare(text, unclear) and not text[unclear.end :].strip()
        return ends and not _bare(text, own) and not _STATES.search(text, *_line(text, own))

    def apart(self, text: str, claim: Claim) -> bool:
        """Whether it stands alone on its line, ends the reply, or is called a ruling by the words before it."""
        if not text[claim.end :].strip(" \n.!。\"'"):
            return True
        run = self.quotes.run(text, claim.start, claim.end)
        before = text[text.rfind("\n", 0, run.start) + 1 : run.start]
        after = text[run.end : (text + "\n").find("\n", run.end)]
        return _STATES.search(before) is not None or not _OTHER_WORDS.search(before + after)

    def shown(self, text: str, claim: Claim) -> bool:
        """Whether the ruling stands in what was shown to the judge."""
        return bool(self.quotes) and self.quotes.hold(text, claim.start, claim.end)

    def at_end(self, text: str, claim: Claim) -> bool:
        rest = text[claim.end :].strip()
        return "\n" not in rest and len(rest) <= _TAIL

    def without_markers(self, text: str) -> str:
        """The text with what stands in double brackets blanked out: it was weighed, and is no ruling."""
        return _ANY_MARKER.sub(lambda match: " " * len(match[0]), text) if "[[" in text else text

    def in_words(self, text: str) -> Marks | None:
        begin = max(self.start, len(text) - LONGEST)
        text = " " * (begin if begin == self.start else 0) + text[begin:]
        ways: tuple[Callable[[], list[Claim]], ...] = (
            lambda: self.form.labelled(text, self.n),
            lambda: self.form.sentences(text, self.n),
            lambda: self.on_lines(text, single=True),
            lambda: self.on_lines(text, single=False),
        )
        return next((marks for way in ways if (marks := self.decide(text, way())) is not None), None)

    def decide(self, text: str, claims: list[Claim]) -> Marks | None:
        """The last claim that counts: a decisive one first; others only when they do not contradict each other."""
        claims = [claim for claim in claims[-CHECKED:] if self.counts(text, claim)]
        if not claims:
            return None
        if decisive := [claim for claim in claims if not claim.kind]:
            last = decisive[-1]
        else:
            last = claims[-1]
            same_label = len({claim.kind for claim in claims}) == 1 and last.kind != PROSE
            if not same_label and len({claim.marks for claim in claims}) > 1:
                return ILLEGAL
        return last.marks if self.asked is None or self.at_end(text, last) else ILLEGAL

    def counts(self, text: str, claim: Claim) -> bool:
        """Whether a ruling in words is the judge's; strictly, where another form was asked for."""
        if mentioned(text, claim):
            return False
        if not self.quotes:
            return True
        alone = not text[: claim.start].strip() and not text[claim.end :].strip(" \n.")
        if self.asked is None or alone:
            return self.quotes.standing(text, claim.start, claim.end) != "quoted"
        return not self.shown(text, claim)

    def on_lines(self, text: str, single: bool) -> list[Claim]:
        """Rulings alone on a line: in single brackets on any line, bare on the last or else the first."""
        if single:
            matches = _ALONE.finditer(text)
            return [Claim(m.start(), m.end(), self.form.phrase(m[1], self.n) or ILLEGAL) for m in matches]
        body = text.strip()
        lines = dict.fromkeys((body, body.rpartition("\n")[2], body.partition("\n")[0]))
        for line in lines:
            if (LISTED.match(line) and line != body) or line.endswith(":"):
                continue
            marks = self.form.bare(line, self.n) if len(line) < 80 else None
            if marks or (marks is not None and len(line) < 12):
                start = text.find(line) if body.startswith(line) else text.rfind(line)
                return [Claim(start, start + len(line), marks)]
        return []


def _line(text: str, claim: Claim) -> tuple[int, int]:
    """Where the line of a claim begins and ends."""
    end = text.find("\n", claim.end)
    return text.rfind("\n", 0, claim.start) + 1, len(text) if end == -1 else end


def _bare(text: str, claim: Claim) -> bool:
    """Whether a claim stands alone on its line, but for a label in front."""
    start, end = _line(text, claim)
    label = text[start : claim.start].rstrip()
    return not _OTHER_WORDS.search(text, claim.end, end) and (not label or label.endswith((":", ">", "#")))


def _ending(body: str, asked: Style | None) -> str:
    """The double brackets, or the whole object, that a text ends with; empty where it ends with anything else."""
    body = body.rstrip().removesuffix(".")
    if body.endswith("]]") and asked in {None, "marker"}:
        markers = _LAST_MARKERS.search(body, max(0, len(body) - LONGEST))
        return markers[0] if markers and not PLACEHOLDER.fullmatch(trim(markers[0])) else ""
    if body.endswith("}") and asked != "marker":
        start = body.find("{")
        try:
            json.loads(body[start:], strict=False)
        except ValueError:
            return ""
        return body[start:]
    return ""


def _blank(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text with spaces in some places."""
    if not spans:
        return text
    parts, at = [], 0
    for start, end in spans:
        parts += [text[at:start], " " * (end - start)]
        at = end
    return "".join([*parts, text[at:]])
