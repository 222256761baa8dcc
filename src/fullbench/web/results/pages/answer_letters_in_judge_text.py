"""Tag letters such as A and B in a judge's text with the names of the contestants they mean.

A judge sees `Response A` and `Response B`, in an order that may change with the next verdict; readers see names. Tags
are inserted into HTML that `render_prose` has rendered and cleaned. They contain no text, so without them the text is
the same, character by character. A letter is tagged only if its meaning is certain: after a word such as *response*, in
a decision, in a comparison. If the question itself has options A, B, C, only words that never refer to options are
accepted. Code, formulas and links are not changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import unescape

from markupsafe import Markup, escape

from fullbench.core.ballot import LETTERS
from fullbench.web.rich_text import render_prose

_PART = re.compile(
    r"(?P<whole><(?P<name>math|code|pre|a)[ >].*?</(?P=name)>)|(?P<tag><[^>]*>)|(?P<entity>&#?\w+;)|(?P<text>[^<&]+|&)",
    re.DOTALL,
)
_INLINE = re.compile(r"</?(?:strong|em|s|span)\b")
_ELSEWHERE = "\x00"
"""Placeholder for anything but plain text, so that no pattern matches across it."""


@dataclass(frozen=True)
class Tag:
    """Meaning of a letter: the name on the page, the full name, and the colour number."""

    name: str
    full: str
    colour: int


def tag_letters(text: str, tags: Sequence[Tag], question: str = "") -> Markup:
    r"""Render a text with `render_prose` and tag the letters that mean answers, in the order of `tags`.

    >>> one, two = Tag("gpt", "gpt-4", 0), Tag("llava", "llava", 1)
    >>> str(tag_letters("Response B says more. A dog is in it.", [one, two]))
    '<p>Response <span class="letter seat-1" data-name="llava" title="llava">B</span> says more. A dog is in it.</p>\n'
    """
    html = str(render_prose(text))
    if len(tags) < 2:
        return Markup(html)  # noqa: S704 - prose cleaned it
    plain_text, places = _plain_text(html)
    tags_by_letter = dict(zip((letter for letter in LETTERS if letter != "I"), tags, strict=False))
    pieces: list[str] = []
    copied_end = 0
    for at in sorted(set(_certain_places(plain_text, tags_by_letter, question))):
        tag, place = tags_by_letter[plain_text[at]], places[at]
        title = f'data-name="{escape(tag.name)}" title="{escape(tag.full)}"'
        pieces += [
            html[copied_end:place],
            f'<span class="letter seat-{tag.colour % 8}" {title}>{plain_text[at]}</span>',
        ]
        copied_end = place + 1
    return Markup("".join((*pieces, html[copied_end:])))  # noqa: S704 - prose cleaned it; tags hold escaped names alone


_OPTION = re.compile(r"(?:^|[\s(（])([A-H])\s?[.．)）、:：]\s?\S")


def has_options(question: str) -> bool:
    """Return True if a question has its own options with letters.

    >>> has_options("Which? A. a cat B. a dog"), has_options("Is it a cat?"), has_options("哪个？(A) 猫 (B) 狗")
    (True, False, True)
    """
    return {"A", "B"} <= set(_OPTION.findall(question))


def _plain_text(html: str) -> tuple[str, list[int]]:
    """Also return the position in `html` of each character."""
    characters: list[str] = []
    places: list[int] = []
    for part in _PART.finditer(html):
        if part["text"]:
            characters += part["text"]
            places += range(part.start(), part.end())
            continue
        if part["tag"] and _INLINE.match(part["tag"]):
            continue  # "Response <strong>A</strong>" must match like "Response A"
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
# A bare letter is a name only at the start or end of a clause, unlike in "vitamin A is better" or "a B movie".
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


def _certain_places(plain_text: str, tags_by_letter: Mapping[str, Tag], question: str) -> Iterator[int]:
    # Not `\b`: Chinese characters match `\w` and may touch a letter that means an answer.
    letter_pattern = rf"(?<![A-Za-z0-9_.\-])[{''.join(tags_by_letter)}](?![A-Za-z0-9_]|-\w)"
    options = has_options(question)
    letters = re.compile(letter_pattern)
    for pattern in _answer_patterns(letter_pattern, options=options):
        for match in pattern.finditer(plain_text):
            if match[0].casefold() not in question.casefold():
                yield from (letter.start() for letter in letters.finditer(plain_text, match.start(), match.end()))
    for match in re.finditer(rf"{letter_pattern}(?: ?[>≻=] ?{letter_pattern})+", plain_text):
        if set(letters.findall(match[0])) == set(tags_by_letter) and {">", "≻"} & set(match[0]):
            yield from (letter.start() for letter in letters.finditer(plain_text, match.start(), match.end()))


@cache
def _answer_patterns(letter_pattern: str, *, options: bool) -> Sequence[re.Pattern[str]]:
    words = _SURE if options else f"{_SURE}|{_LIKELY}"
    joint = rf"{_CLOSING}\s?(?:,? ?(?:and|or|vs\.?|versus|nor|&|/)|[,、和与及或])\s?"
    named_patterns = [
        rf"(?<![A-Za-z])(?:{words})[ \u00a0]?{_OPENING}{letter_pattern}(?:{joint}{_OPENING}{letter_pattern})*",
        rf"\[\[{letter_pattern}\]\]",
    ]
    bare_patterns = [
        rf"{_BEGINS}{letter_pattern} (?:is|was|seems|looks) {_HOW}(?:{_BETTER})\b",
        rf"(?:{_BETTER}) than {letter_pattern}{_ENDS}",
        rf"{_BEGINS}{letter_pattern} (?:wins|loses|beats|outperforms)\b(?: (?:over |to |against "
        rf")?{letter_pattern}{_ENDS})?",
        rf"\b(?:prefer|choose|chose|pick|favou?r|vote for) {letter_pattern}(?: (?:over|to) {letter_pattern})?{_ENDS}",
        rf"\b(?:winner|verdict|better one|best one)(?: is|:|：) ?{_OPENING}{letter_pattern}{_CLOSING}{_ENDS}",
        rf"\b(?:both|neither) {letter_pattern} (?:and|nor) {letter_pattern}\b",
        rf"{_BEGINS_ZH}{letter_pattern}\s?(?:{_BETTER_ZH})",
        rf"{_THAN_ZH}\s?{letter_pattern}(?=\s?(?:$|[更要好差略稍得的。，；！\s\x00]))",
    ]
    return [
        re.compile(pattern, re.IGNORECASE | re.MULTILINE)
        for pattern in (named_patterns if options else named_patterns + bare_patterns)
    ]
