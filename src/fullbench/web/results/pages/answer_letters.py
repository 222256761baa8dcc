"""Letters in what a judge said, tagged with the names of those whom it knew by them.

A judge sees `Response A` and `Response B`, in an order that may be another one in its next ruling; a reader sees names.
Tags go around the letters in the text that `prose` has rendered and cleaned, and hold no text themselves: without them
it is the same text again, character by character. A letter is tagged only where it can mean nothing else: behind a word
such as *response*, in a ruling, in a comparison. Where the question itself has options A, B, C, only a word that no
option goes by is enough. Code, formulas and links stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import unescape

from markupsafe import Markup, escape

from fullbench.core.ballot import LETTERS
from fullbench.web.rich_text import prose

_PART = re.compile(
    r"(?P<whole><(?P<name>math|code|pre|a)[ >].*?</(?P=name)>)|(?P<tag><[^>]*>)|(?P<entity>&#?\w+;)|(?P<text>[^<&]+|&)",
    re.DOTALL,
)
_INLINE = re.compile(r"</?(?:strong|em|s|span)\b")
_ELSEWHERE = "\x00"
"""Stands for what is no plain text, so that no pattern reaches across it."""


@dataclass(frozen=True)
class Tag:
    """The name that a letter stands for, as the page shows it; its full name; and the number of its colour."""

    name: str
    full: str
    seat: int


def lettered(text: str, tags: Sequence[Tag], question: str = "") -> Markup:
    """A text as `prose` shows it, with the letters tagged that stand for those answers, in the order of `tags`.

    >>> one, two = Tag("gpt", "gpt-4", 0), Tag("llava", "llava", 1)
    >>> str(lettered("Response B says more. A dog is in it.", [one, two]))
    '<p>Response <span class="letter seat-1" data-name="llava" title="llava">B</span> says more. A dog is in it.</p>\\n'
    """
    html = str(prose(text))
    if len(tags) < 2:
        return Markup(html)  # noqa: S704 - prose cleaned it
    plain, places = _plain(html)
    known = dict(zip((letter for letter in LETTERS if letter != "I"), tags, strict=False))
    pieces: list[str] = []
    done = 0
    for at in sorted(set(_certain(plain, known, question))):
        tag, place = known[plain[at]], places[at]
        title = f'data-name="{escape(tag.name)}" title="{escape(tag.full)}"'
        pieces += [html[done:place], f'<span class="letter seat-{tag.seat % 8}" {title}>{plain[at]}</span>']
        done = place + 1
    return Markup("".join((*pieces, html[done:])))  # noqa: S704 - prose cleaned it; tags hold escaped names alone


_OPTION = re.compile(r"(?:^|[\s(（])([A-H])\s?[.．)）、:：]\s?\S")


def has_options(question: str) -> bool:
    """Whether a question has options of its own that go by letters.

    >>> has_options("Which? A. a cat B. a dog"), has_options("Is it a cat?"), has_options("哪个？(A) 猫 (B) 狗")
    (True, False, True)
    """
    return {"A", "B"} <= set(_OPTION.findall(question))


def _plain(html: str) -> tuple[str, list[int]]:
    """The words of a text without its tags, and the place in it of each of their characters."""
    characters: list[str] = []
    places: list[int] = []
    for part in _PART.finditer(html):
        if part["text"]:
            characters += part["text"]
            places += range(part.start(), part.end())
            continue
        if part["tag"] and _INLINE.match(part["tag"]):
            continue  # "Response <strong>A</strong>" is read as one
        character = unescape(part["entity"])[:1] if part["entity"] else _ELSEWHERE
        characters.append(character)
        places.append(part.start())
    return "".join(characters), places


_SURE = r"responses?|assistants?|models?|candidates?|contestants?|回答|回复|答复|响应|助手|模型|选手"
_LIKELY = r"answers?|outputs?|repl(?:y|ies)|descriptions?|captions?|solutions?|explanations?|答案|描述|输出"
_OPENING = r"""["'“‘「『(\[（【《]?"""
_CLOSING = r"""["'”’」』)\]）】》]?"""
_BETTER = (
    r"better|worse|best|worst|stronger|weaker|superior|inferior|preferable|preferred|the winner|the loser|ahead"
    r"|more \w+|less \w+|closer|clearer|richer"
)
_HOW = (
    r"(?:(?:the|a|bit|little|lot|far|much|also|clearly|slightly|generally|overall|marginally|significantly|definitely)"
    r" ){0,3}"
)
# A bare letter is a name at the beginning of a clause, and at its end: "vitamin A is better" and "a B movie" are not.
_BEGINS = (
    r"(?:^|[.!?;:,\n(\x00]\s*|\b(?:so|that|but|and|because|since|while|thus|therefore|overall|think|believe|hence|as|"
    r"whereas|though|although) )"
)
_ENDS = (
    r"(?=\s*(?:$|[.,;:!?)\n\x00]"
    r"|(?:in|on|at|for|because|since|as|by|with|and|but|here|overall|due|when|while|over|to)\b))"
)
_BEGINS_ZH = r"(?:^|[\s。！？；：，、（(\x00]|所以|因此|但是?|而且?|认为|觉得|是|故|总体|综上)"
_BETTER_ZH = r"更|比|优于|好于|胜过|胜出|获胜|不如|劣于|差于|强于|较好|较差|略好|略胜"
_THAN_ZH = r"(?:优于|好于|胜过|不如|劣于|差于|强于|比)"


def _certain(plain: str, known: Mapping[str, Tag], question: str) -> Iterator[int]:
    """Where in a text a letter stands for an answer and can stand for nothing else."""
    # To `\w` Chinese characters are letters, and may stand beside ours.
    one = rf"(?<![A-Za-z0-9_.\-])[{''.join(known)}](?![A-Za-z0-9_]|-\w)"
    options = has_options(question)
    letters = re.compile(one)
    for pattern in _patterns(one, options=options):
        for match in pattern.finditer(plain):
            if match[0].casefold() not in question.casefold():
                yield from (found.start() for found in letters.finditer(plain, match.start(), match.end()))
    for match in re.finditer(rf"{one}(?: ?[>≻=] ?{one})+", plain):
        if set(letters.findall(match[0])) == set(known) and {">", "≻"} & set(match[0]):
            yield from (found.start() for found in letters.finditer(plain, match.start(), match.end()))


@cache
def _patterns(one: str, *, options: bool) -> Sequence[re.Pattern[str]]:
    """What stands around a letter that is an answer's; `one` finds a letter."""
    words = _SURE if options else f"{_SURE}|{_LIKELY}"
    joint = rf"{_CLOSING}\s?(?:,? ?(?:and|or|vs\.?|versus|nor|&|/)|[,、和与及或])\s?"
    named = [
        rf"(?<![A-Za-z])(?:{words})[ \u00a0]?{_OPENING}{one}(?:{joint}{_OPENING}{one})*",
        rf"\[\[{one}\]\]",
    ]
    bare = [
        rf"{_BEGINS}{one} (?:is|was|seems|looks) {_HOW}(?:{_BETTER})\b",
        rf"(?:{_BETTER}) than {one}{_ENDS}",
        rf"{_BEGINS}{one} (?:wins|loses|beats|outperforms)\b(?: (?:over |to |against )?{one}{_ENDS})?",
        rf"\b(?:prefer|choose|chose|pick|favou?r|vote for) {one}(?: (?:over|to) {one})?{_ENDS}",
        rf"\b(?:winner|verdict|better one|best one)(?: is|:|：) ?{_OPENING}{one}{_CLOSING}{_ENDS}",
        rf"\b(?:both|neither) {one} (?:and|nor) {one}\b",
        rf"{_BEGINS_ZH}{one}\s?(?:{_BETTER_ZH})",
        rf"{_THAN_ZH}\s?{one}(?=\s?(?:$|[更要好差略稍得的。，；！\s\x00]))",
    ]
    return [re.compile(pattern, re.IGNORECASE | re.MULTILINE) for pattern in (named if options else named + bare)]
