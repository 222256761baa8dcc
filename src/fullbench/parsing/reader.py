"""The rule by which a judge's reply becomes marks; docs/explanation/replies.md has it in plain words.

1. A form that carries the check code wins.
2. Else the last complete form on a line of its own, before any prompt marker; else the last one in a sentence.
3. Quoted, attributed and hypothetical forms, and those labelled with another criterion, do not count.
4. Else the reply is unreadable, or refused if it declines.

Forms are brackets and objects, the requested kind first. Words count only if there is neither. The responses are
looked at for three questions only: is the whole reply a copy, is the passage around the form an introduced copy, and
which of several different verdicts is a copy. So a response cannot make a single verdict of the judge disappear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from fullbench.core.ballot import MarksOrFault, Style
from fullbench.core.reasoning_tags import CLOSES, END, reasoning_span
from fullbench.parsing.bracket_verdicts import MENU, bracket_claims
from fullbench.parsing.json_verdicts import Objects, find_objects, read_schema_object, whole_object
from fullbench.parsing.quoted_hypothetical_and_copied_passages import (
    OWN_LETTERS,
    QUOTED,
    ShownTexts,
    is_attributed,
    is_copied_whole,
    is_hypothetical,
    is_in_quotation_marks,
    is_stock,
    own_letters,
    rest_of_line,
    squeezed,
    without_quotations,
)
from fullbench.parsing.random_check_codes import signed_marks
from fullbench.parsing.reply_patterns_and_plain_text_conversion import (
    ASPECTS,
    TIED_OPTION,
    late_pattern,
    plain,
    refuses,
)
from fullbench.parsing.verdict_phrase_label_and_sentence_forms import ILLEGAL, PROSE, Claim, Form, Marks

_WORDS_AT_END, _WORDS_AT_START = 2_000, 300
"""Parts of a reply in which verdicts in words are looked for."""
_BARE, _IN_SENTENCE, _LABEL, _ASPECT = range(4)
"""Ranks of forms: on a line of their own, in a sentence, after an unknown label, after that of another criterion."""


@dataclass(frozen=True)
class JudgeReply:
    """A reply and its circumstances; see `parsing.read`."""

    text: str
    shown: Sequence[str] | Callable[[], Sequence[str]] = ()
    responses: Sequence[str] = ()
    asked: Style | None = None
    nonce: str = ""
    cut: bool = False
    thought: str = ""
    constrained: bool = False
    criterion: str = "overall"


def read_verdict(form: Form, reply: JudgeReply, n: int) -> tuple[MarksOrFault, bool]:
    """Return the marks of a reply in the order shown, or the fault, and True if the verdict carries the check code."""
    return _Reading(form, reply, n).verdict()


_PROMPT_MARKER = re.compile(
    r"\n[ \t]*(?:#{2,3} ?(?:Instructions?|Input|Human|User|Question|Task|Prompt|System|New Task)\b[:.]*[ \t]*(?=\n|\Z)"
    r"|#{2,3} ?(?:Instructions?|Input|Human|User):|(?:User|USER|Human|Instruction):|\[INST\]|\[User( Question)?\]"
    r"|\[Question\][ \t]*\n|user\n"
    # Honest replies have these, too, but not right after their verdict.
    r"|(?<=[\]}]\n)[ \t\n]*(?:Question|Q):|(?<=[\]}]\n)[ \t\n]*#{2,3} ?(?:Response|Assistant|Output|Answer):)"
)
_LINE_LABEL = late_pattern(r"[\W_]*([^\W\d_][\w &/()-]{0,40}?)[\s*_]*(?:[:|=]|-)[\s\W]*$")
_FOR_ASPECT = late_pattern(r"\W{0,4}(?:(?:for|on|in)\s(?:its\s|the\s)?)(\w+)", re.IGNORECASE)
_ALONE = late_pattern(r"^[ \t]*\[([^\[\]\n]{1,60})\][ \t.]*$", re.MULTILINE)
_CLAUSE_END = late_pattern(r"[.!?;,](?:\W|$)")
_LISTED = late_pattern(r"\s*(?:[-•·]|\d[.)])\s")


class _Reading:
    """One reply while it is read."""

    def __init__(self, form: Form, reply: JudgeReply, n: int) -> None:
        self.form, self.reply, self.n = form, reply, n

    @cached_property
    def shown(self) -> ShownTexts:
        shown = self.reply.shown
        return ShownTexts([*self.reply.responses, *(shown() if callable(shown) else shown)])

    @cached_property
    def responses(self) -> ShownTexts:
        return ShownTexts(self.reply.responses)

    def verdict(self) -> tuple[MarksOrFault, bool]:
        reply = self.reply
        if reply.constrained:
            marks, code = read_schema_object(self.form, reply.text[self.speech_start() :], self.n, reply.criterion)
            return marks or "unreadable", bool(reply.nonce) and code.casefold() == reply.nonce
        body, start = self.body()
        if reply.nonce and reply.nonce in reply.text.casefold():
            marks = signed_marks(self.form, self.n, plain(body[start:]), reply.nonce, cut=reply.cut)
            if marks is not None:
                return marks or "unreadable", True
        if self.is_copy(reply.text):
            return "unreadable", False
        before = plain(body[:start])
        text = before + (whole_object(body[start:]) or without_quotations(body[start:], self.responses))
        marks = self.last_words(text) if reply.cut else self.decide(text, len(before))
        if marks:
            return marks, False
        return "refused" if marks is None and not reply.cut and refuses(text[len(before) :]) else "unreadable", False

    def speech_start(self) -> int:
        """Return where the answer starts behind the model's reasoning."""
        text = self.reply.text
        start = reasoning_span(text)[2]
        if not start or not any(tag in words for words in self.reply.responses for tag in CLOSES.values()):
            return start

        # A contestant wrote a closing tag, and the judge may have quoted it: such a tag ends nothing.
        def is_quoted(at: int, end: int) -> bool:
            return self.responses.hold(" ".join(squeezed(text[max(0, at - 40) : end]).split()[-4:]))

        return reasoning_span(text, is_quoted)[2] if text.lstrip().startswith(tuple(CLOSES)) else 0

    def body(self) -> tuple[str, int]:
        """Return the text without the reasoning, and where the judge starts to speak in it."""
        start, text = self.speech_start(), self.reply.text
        if self.reply.thought and not start and any(END in words for words in self.reply.responses):
            # The server may have taken a contestant's tag for the end of the reasoning.
            before = f"{self.reply.thought[-300:]}{END}"
            return before + text, len(before)
        return text[start:], 0

    def is_copy(self, text: str) -> bool:
        """Return True if the whole reply stands in a response.

        A reply that is nothing but a form is what a terse judge writes. It is a copy only if it favours the response
        that contains it, which states no other verdict: nobody gains by silencing a judge that way.
        """
        responses = self.reply.responses
        if not responses or self.reply.thought or not is_copied_whole(text, responses):
            return False
        words = plain(text)
        if own_letters(squeezed(words).split()) >= OWN_LETTERS:
            return True
        marks = _Reading(self.form, JudgeReply(words), self.n).decide(words)
        for place, response in enumerate(responses):
            if marks and self.favours(marks, place) and ShownTexts([response]).hold(text):
                stated = plain(response)
                others = bracket_claims(self.form, self.n, stated) or self.objects(stated)
                if all(claim.marks == marks for claim in others):
                    return True
        return not marks and len(text.strip()) > 3

    def favours(self, marks: Marks, place: int) -> bool:
        """Return True if marks are good for the response at this place."""
        if len(marks) > 1:
            return place < len(marks) and marks[place] == max(marks) > min(marks)
        low, high = getattr(self.form, "low", 1.0), getattr(self.form, "high", len(getattr(self.form, "ranks", "12")))
        return bool(marks) and marks[0] > (low + high) / 2

    def decide(self, text: str, start: int = 0) -> Marks | None:
        """Return marks, `ILLEGAL`, or None if nothing is decided; what follows a prompt marker counts last."""
        for match in _PROMPT_MARKER.finditer(text, start):
            if text[start : match.start()].strip() and not self.responses.copies(text, *match.span()):
                if marks := self.decide_before_marker(text[: match.start()], start):
                    return marks
                break
        return self.decide_before_marker(text, start)

    def decide_before_marker(self, text: str, start: int) -> Marks | None:
        brackets = [claim for claim in bracket_claims(self.form, self.n, text) if claim.start >= start]
        objects = [claim for claim in self.objects(text) if claim.start >= start]
        whole = [claim for claim in objects if text[claim.end - 1] == "}"]
        brackets = [claim for claim in brackets if not any(o.start <= claim.start < o.end for o in whole)]
        if self.reply.asked is None:
            ways = [sorted(brackets + objects)]
        else:
            ways = [brackets, objects] if self.reply.asked == "marker" else [objects, brackets]
        for claims in ways:
            if claims and (claim := self.last_own(text, claims)) is not None:
                return claim.marks
        marks = self.in_words(_blank(text, objects), start)
        return ILLEGAL if marks is None and (brackets or objects) else marks

    def objects(self, text: str) -> list[Claim]:
        return Objects(self.form, self.n, self.in_value, self.reply.criterion).claims(text) if "{" in text else []

    def in_value(self, text: str) -> Marks | None:
        """Return the marks of a value of an object that is prose."""
        claims = [claim for claim in bracket_claims(self.form, self.n, text) if claim.kind != MENU]
        return claims[-1].marks if claims else self.in_words(text, 0, is_value=True)

    def last_own(self, text: str, claims: Sequence[Claim]) -> Claim | None:
        """Return the last claim that is the judge's: on a line of its own, else in a sentence, else after a label."""
        ranked = [(self.rank(text, claim), claim) for claim in claims if self.counts(text, claim)]
        ranked = [(rank, claim) for rank, claim in ranked if rank < 3]
        if not ranked:
            return None
        if len({claim.marks for _, claim in ranked}) > 1:
            ranked = [
                (rank, claim) for rank, claim in ranked
                if not (self.shown.copies(text, *claim[:2]) or self.shown.introduces(text, *claim[:2], by_name=True))
            ] or ranked  # fmt: skip
        if any(sign in words for words in self.reply.responses for sign in "[{【［<"):
            ranked = [(rank, claim) for rank, claim in ranked if not self.responses.introduces(text, *claim[:2])]
        best = min((rank for rank, _ in ranked), default=3)
        chosen = [claim for rank, claim in ranked if rank == best]
        if best == 2 and len({claim.marks for claim in chosen}) > 1:
            return Claim(chosen[0].start, chosen[-1].end, ILLEGAL)
        return chosen[-1] if chosen else None

    def counts(self, text: str, claim: Claim) -> bool:
        """Return True if a form is neither an option of a menu, nor quoted, nor attributed, nor hypothetical."""
        start, end = claim.start, claim.end
        return claim.kind != MENU and not (
            is_in_quotation_marks(text, start, end)
            or is_attributed(text, start, end)
            or is_hypothetical(text, start, end)
        )

    def rank(self, text: str, claim: Claim) -> int:
        """Return the rank of a form by the words on its line."""
        head, tail = rest_of_line(text, claim.start, claim.end)
        if "|" in head:  # a row of a table: its cells are read like labels
            cells = [cell for cell in head.split("|") if cell.strip()]
            if head.count("|") == 1 and not tail.strip(" |") and text[: claim.start].rstrip(" |").endswith("-|\n"):
                return _ASPECT  # the only column of a table is a quotation
            if tail.partition("|")[0].strip() or not is_stock(head.rpartition("|")[2]):
                return _ASPECT
            head, tail = f"{cells[0]}: " if cells else "", ""
        is_bare = is_stock(head) and is_stock(tail)
        return self.label(head, tail) or (_BARE if is_bare else _IN_SENTENCE)

    def label(self, head: str, tail: str) -> int:
        """Return the rank of a form with a label of another criterion, or of something unknown; else 0."""
        words = _CLAUSE_END.split(head[-80:])[-1].casefold().replace("-", " ").split()
        near = [word.strip("\"'():=,.|") for word in words[-4:]]
        of_all = {"overall", "final", "total", "总体", "综合"} & {*near, *tail.casefold().split()[:2]}
        if of_all or TIED_OPTION.match(head):
            return 0
        after = _FOR_ASPECT.match(tail)
        own = self.reply.criterion.casefold()
        named = {after[1].casefold()} if after else set(near[-3:])
        if ASPECTS & named - {own}:
            return _ASPECT
        label = _LINE_LABEL.fullmatch(head)
        is_known = label is None or is_stock(label[1]) or label[1].casefold() == own or len(label[1].split()) > 4
        return 0 if is_known else _LABEL

    def last_words(self, text: str) -> Marks | None:
        """Return the verdict of a reply that was cut off: the last thing in it, complete and not shown to the judge."""
        body = text.rstrip().removesuffix(".")
        objects = list(find_objects(body))
        last_object = objects[-1] if objects and objects[-1].end >= len(body) else None
        claims: list[Claim] = []
        if last_object is None and self.reply.asked != "json":
            claims = bracket_claims(self.form, self.n, body)
        elif last_object is not None and last_object.value is not None and self.reply.asked != "marker":
            claims = self.objects(body)
        if not claims or claims[-1].end < len(body) or self.rank(body, claims[-1]) >= _LABEL:
            return None
        is_shown = self.shown.hold(body[claims[-1].start :])
        return claims[-1].marks if self.counts(body, claims[-1]) and not is_shown else None

    def in_words(self, text: str, start: int, *, is_value: bool = False) -> Marks | None:
        """Return the verdict in words of the end of a reply, else of its start."""
        n, forms = self.n, self.form
        last = text.rfind("\n", start, len(text.rstrip())) + 1
        if not is_value and last > start:
            own = [claim for claim in _shifted(forms.labelled(text[last:], n), last) if not claim.kind and claim.marks]
            if own and (marks := self.decide_in_words(text, own, is_value=False)) is not None:
                return marks
        first = max(start, len(text) - _WORDS_AT_END)
        parts = [(first, text[first:])]
        if first > start:
            parts.append((start, text[start : start + _WORDS_AT_START].rpartition("\n")[0]))
        for place, part in parts:
            for claims in (forms.labelled, self.lines, forms.sentences):
                own = _shifted(claims(part, n), place)
                if (marks := self.decide_in_words(text, own, is_value=is_value)) is not None:
                    return marks
        return None

    def decide_in_words(self, text: str, claims: list[Claim], *, is_value: bool) -> Marks | None:
        """Return the last claim that counts, a decisive one first; others only if they do not contradict each other."""
        own = [claim for claim in claims if self.is_own_sentence(text, claim.start, claim.end, is_value)]
        if not own:
            return None
        if decisive := [claim for claim in own if not claim.kind]:
            return decisive[-1].marks
        last = own[-1]
        same_label = len({claim.kind for claim in own}) == 1 and last.kind != PROSE
        return last.marks if same_label or len({claim.marks for claim in own}) == 1 else ILLEGAL

    def is_own_sentence(self, text: str, start: int, end: int, is_value: bool) -> bool:
        if is_value or is_hypothetical(text, start, end):
            return not is_hypothetical(text, start, end)
        if is_in_quotation_marks(text, start, end) or is_attributed(text, start, end):
            return False
        is_all = not text[:start].strip() and not text[end:].strip(" \n.")
        if is_all or not self.shown.texts or not self.shown.may_hold(text[start:end]):
            return True
        return not (self.shown.copies(text, start, end) or self.shown.introduces(text, start, end))

    def lines(self, text: str, n: int) -> list[Claim]:
        """Return a verdict alone on a line: in single brackets on any line, bare on the last or else the first."""
        if matches := list(_ALONE.finditer(text)):
            return [Claim(m.start(), m.end(), self.form.phrase(m[1], n) or ILLEGAL) for m in matches]
        body = text.strip()
        # "A" on the first line of a requested choice is a heading as often as a verdict.
        is_heading = self.reply.asked is not None and n > 1
        places = [(0, body), (body.rfind("\n") + 1, body.rpartition("\n")[2]), (0, body.partition("\n")[0])]
        for at, line in places[:2] if is_heading else places:
            if (_LISTED.match(line) and line != body) or line.endswith(":") or len(line) >= 80:
                continue
            marks = self.form.bare(line, n)
            if marks or (marks is not None and len(line) < 12):
                start = at + len(text) - len(text.lstrip())
                return [Claim(start, start + len(line), marks)]
        return []


def _shifted(claims: Sequence[Claim], places: int) -> list[Claim]:
    return [claim._replace(start=claim.start + places, end=claim.end + places) for claim in claims]


def _blank(text: str, objects: Sequence[Claim]) -> str:
    """Return the text without brackets and objects: they were weighed, and are no words."""
    for claim in objects:
        text = text[: claim.start] + QUOTED * (claim.end - claim.start) + text[claim.end :]
    return re.sub(r"\[\[[^\[\]]{0,120}\]\]?", lambda match: QUOTED * len(match[0]), text) if "[[" in text else text
