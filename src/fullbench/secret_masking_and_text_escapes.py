"""Make foreign text safe to show: mask secrets, escape terminal sequences and spreadsheet formulas."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable
from typing import Any, TextIO
from urllib.parse import quote, quote_plus

_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters except tab and line feed, bidirectional marks, and lone surrogates."""
_PAGE_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_COLOURS = re.compile(r"(\x1b\[(?!(?:[0-9;]*;)?0?8[;m])[0-9;]*m)")
"""Terminal sequences for colour and weight, except the one that conceals text."""
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?\d[\d.,]*(?:[eE][+-]?\d+)?%?")
SHORTEST_SECRET = 6
"""Shorter texts are not masked as secrets, because they occur in normal sentences."""


def neutralise_text(text: str) -> str:
    r"""Escape control characters and bidirectional marks as JSON does, so that they cannot affect a terminal.

    >>> neutralise_text("a\x1b]0;pwned\x07b"), neutralise_text("\u202egnp.exe"), neutralise_text("好\tand\r\nso on")
    ('a\\u001b]0;pwned\\u0007b', '\\u202egnp.exe', '好\tand\nso on')
    """
    return _CONTROLS.sub(_escape_character, text.replace("\r\n", "\n"))


def replace_controls(html: str) -> str:
    r"""Replace control characters, which no page needs and which a terminal obeys, by U+FFFD.

    >>> replace_controls("<b>a\x1b[2Jb\x85</b>\n")
    '<b>a�[2Jb�</b>\n'
    """
    return _PAGE_CONTROLS.sub("\ufffd", html)


def _escape_character(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def mask_secrets(text: str, secrets: Iterable[str | None]) -> str:
    """Replace these secrets by `***`, also in JSON and URL spelling. Call it before the text is truncated.

    >>> mask_secrets("bad key sk-12/34+5; Bearer sk-12%2F34%2B5", ["sk-12/34+5", None])
    'bad key ***; Bearer ***'
    """
    for secret in secrets:
        if secret and len(secret) >= SHORTEST_SECRET:
            for spelling in _secret_spellings(secret):
                text = text.replace(spelling, "***")
    return text


def mask_secret_in_bytes(data: bytes, secret: str | None) -> bytes:
    """Replace the secret by `***` in raw bytes of a server, before they are decoded."""
    if not secret or len(secret) < SHORTEST_SECRET:
        return data
    for spelling in _secret_spellings(secret):
        data = data.replace(spelling.encode(), b"***")
    return data


def _secret_spellings(secret: str) -> list[str]:
    in_json = json.dumps(secret)[1:-1]
    spellings = {secret, in_json, in_json.replace("/", "\\/"), quote(secret, safe=""), quote_plus(secret)}
    return sorted(spellings, key=len, reverse=True)


def escape_formula(text: str) -> str:
    """Return a cell that spreadsheets treat as text, not as a formula. Numbers stay unchanged.

    >>> escape_formula("=HYPERLINK(1)"), escape_formula("-5.2"), escape_formula("'=x"), escape_formula("legs")
    ("'=HYPERLINK(1)", '-5.2', "''=x", 'legs')
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def unescape_formula(cell: str) -> str:
    """Undo `escape_formula`.

    >>> [unescape_formula(escape_formula(text)) for text in ("=x", "'=x", "''@", "'x", "-1")]
    ['=x', "'=x", "''@", "'x", '-1']
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


class NeutralStream:
    """Stream wrapper that neutralises written text. On a terminal, colour sequences pass through."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        if not self.stream.isatty():
            self.stream.write(neutralise_text(text))
        else:
            parts = _COLOURS.split(text)
            self.stream.write("".join(part if place % 2 else neutralise_text(part) for place, part in enumerate(parts)))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def underlying_stream(stream: Any) -> Any:
    """Return the wrapped stream, for our own displays that move the cursor."""
    return stream.stream if isinstance(stream, NeutralStream) else stream


class NeutralFormatter(logging.Formatter):
    """Log formatter that neutralises lines, because they may quote servers."""

    def format(self, record: logging.LogRecord) -> str:
        return neutralise_text(super().format(record))
