"""Text that came from elsewhere, made safe to show: without secrets, terminal sequences, or spreadsheet formulas."""

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
"""Control characters but tab and line feed, marks that turn the direction of writing, halves of characters."""
_COLOURS = re.compile(r"(\x1b\[(?!(?:[0-9;]*;)?0?8[;m])[0-9;]*m)")
"""A terminal's sequence for colours or weight, but for the one that conceals."""
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?\d[\d.,]*(?:[eE][+-]?\d+)?%?")
SHORTEST = 6
"""Shorter texts are not taken for secrets: they would stand in any sentence."""


def neutral(text: str) -> str:
    r"""The text with whatever could steer a terminal or turn lines around spelt out, as JSON does it.

    >>> neutral("a\x1b]0;pwned\x07b"), neutral("\u202egnp.exe"), neutral("好\tand\r\nso on")
    ('a\\u001b]0;pwned\\u0007b', '\\u202egnp.exe', '好\tand\nso on')
    """
    return _CONTROLS.sub(_spelt, text.replace("\r\n", "\n"))


def _spelt(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def masked(text: str, secrets: Iterable[str | None]) -> str:
    """The text without these secrets, also as JSON and URLs spell them. To be done before anything is cut off.

    >>> masked("bad key sk-12/34+5; Bearer sk-12%2F34%2B5", ["sk-12/34+5", None])
    'bad key ***; Bearer ***'
    """
    for secret in secrets:
        if secret and len(secret) >= SHORTEST:
            for spelt in _spellings(secret):
                text = text.replace(spelt, "***")
    return text


def masked_bytes(data: bytes, secret: str | None) -> bytes:
    """The same for what a server sent, before it is read."""
    if not secret or len(secret) < SHORTEST:
        return data
    for spelt in _spellings(secret):
        data = data.replace(spelt.encode(), b"***")
    return data


def _spellings(secret: str) -> list[str]:
    in_json = json.dumps(secret)[1:-1]
    spelt = {secret, in_json, in_json.replace("/", "\\/"), quote(secret, safe=""), quote_plus(secret)}
    return sorted(spelt, key=len, reverse=True)


def no_formula(text: str) -> str:
    """A cell that a spreadsheet takes for text and not for a formula; numbers stay as they are.

    >>> no_formula("=HYPERLINK(1)"), no_formula("-5.2"), no_formula("'=x"), no_formula("legs")
    ("'=HYPERLINK(1)", '-5.2', "''=x", 'legs')
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def as_written(cell: str) -> str:
    """The text that `no_formula` made a cell of.

    >>> [as_written(no_formula(text)) for text in ("=x", "'=x", "''@", "'x", "-1")]
    ['=x', "'=x", "''@", "'x", '-1']
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


class Neutral:
    """A stream for people to read: what is written is neutral, but for colours on a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        if not self.stream.isatty():
            self.stream.write(neutral(text))
        else:
            parts = _COLOURS.split(text)
            self.stream.write("".join(part if place % 2 else neutral(part) for place, part in enumerate(parts)))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def terminal(stream: Any) -> Any:
    """The stream itself, for a display of our own that moves the cursor."""
    return stream.stream if isinstance(stream, Neutral) else stream


class NeutralFormatter(logging.Formatter):
    """Log lines that are neutral: servers' words stand in them."""

    def format(self, record: logging.LogRecord) -> str:
        return neutral(super().format(record))
