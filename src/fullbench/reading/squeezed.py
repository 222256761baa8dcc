"""Texts without all that quoting changes: marks, spaces, line breaks, emphasis, list signs and escapes.

What is left are letters, digits, brackets and braces in small type: the same words compare equal whether they are
quoted in a block, in a string of JSON, in a table or in HTML.
"""

from __future__ import annotations

import html
import re

_ESCAPED = r"\\u[0-9a-fA-F]{4}|\\[nrt]|&(?:#\d{1,6}|#x[0-9a-fA-F]{1,5}|[a-z]{2,6});|<br ?/?>"
_LINE_SIGNS = r"(?:^|(?<=\n))[ \t]*(?:(?:[>|+•·-]|\d{1,3}[.)](?=\s))[ \t]*)+"
_TOKEN = re.compile(rf"(?P<escape>{_ESCAPED})|(?P<signs>{_LINE_SIGNS})|(?P<kept>[^\W_]|[\[\]{{}}])")
_RARE = re.compile(rf"{_ESCAPED}|{_LINE_SIGNS}")
_DROPPED = re.compile(r"[^\w\[\]{}]+|_+")


def _meant(escape: str) -> str:
    if escape.startswith("\\u"):
        return chr(int(f"0x{escape[2:]}", 0))
    return html.unescape(escape) if escape.startswith("&") else " "


def _decoded(match: re.Match[str]) -> str:
    return _meant(match[0]) if match[0][0] in "\\&<" else " "


def squeezed(text: str) -> str:
    """The letters, digits, brackets and braces of a text.

    >>> squeezed("> Eight legs.\\n> **[[A]]**"), squeezed('"Eight legs.\\\\n[[A]]"')
    ('eightlegs[[a]]', 'eightlegs[[a]]')
    """
    return _DROPPED.sub("", _RARE.sub(_decoded, text)).casefold()


class Window:
    """A part of a text, squeezed, that knows where each sign of it stands."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self.start, self.end = start, end
        self.text = text
        signs: list[str] = []
        places: list[int] = []
        for match in _TOKEN.finditer(text, start, end):
            if match.lastgroup == "signs":
                continue
            kept = _DROPPED.sub("", _meant(match[0]) if match.lastgroup == "escape" else match[0]).casefold()
            signs.append(kept)
            places += [match.start()] * len(kept)
        self.signs, self.places = "".join(signs), places

    def ending(self, shown: str) -> int:
        """Where the longest end begins that is also an end of this squeezed text, at the beginning of a word."""
        same = 0
        most = min(len(self.signs), len(shown))
        while same < most and self.signs[-1 - same] == shown[-1 - same]:
            same += 1
        at = self.places[-same] if same else self.end
        return self._word(at)

    def opening(self, shown: str) -> int:
        """Where the longest beginning ends that is also a beginning of this squeezed text."""
        same = 0
        most = min(len(self.signs), len(shown))
        while same < most and self.signs[same] == shown[same]:
            same += 1
        at = self.places[same - 1] + 1 if same else self.start
        while self.start < at < self.end and _ascii_letter(self.text[at - 1]) and _ascii_letter(self.text[at]):
            at -= 1
        return at

    def _word(self, at: int) -> int:
        """The beginning of the next word, where this is in the middle of one."""
        if self.text[at - 2 : at] in {"\\n", "\\r", "\\t"}:
            return at
        if self.start < at < self.end and _ascii_letter(self.text[at - 1]):
            while at < self.end and _ascii_letter(self.text[at]):
                at += 1
            while at < self.end and _DROPPED.match(self.text[at]):
                at += 1
        return at


def _ascii_letter(sign: str) -> bool:
    return sign.isascii() and sign.isalpha()
