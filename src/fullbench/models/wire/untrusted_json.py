"""What a server sent, taken for nothing until it was looked at: JSON of any shape, counts and texts of any type."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

import orjson

LARGEST = 64 << 20
"""The most bytes that a reply may have, unpacked; an honest one has thousands."""
MOST_TOKENS = 1 << 40
"""A count above that is no count: no model takes or writes so many tokens."""
_ENCODINGS = {"gzip": 31, "x-gzip": 31, "deflate": 47}
ENCODINGS = "gzip, deflate"


class Misshapen(Exception):
    """Something in a reply is of another type than its API says: one sentence."""


class TooLarge(Exception):
    """A reply is larger than any honest one."""

    def __str__(self) -> str:
        return f"a reply of more than {LARGEST >> 20} MiB"


def unpacked(raw: bytes, encoding: str) -> bytes:
    """A body without its compression; one that unpacks to more than `LARGEST` is `TooLarge`."""
    if encoding in {"", "identity"}:
        return raw
    if encoding not in _ENCODINGS:
        raise Misshapen(f"a body packed as {encoding[:20]!r}, which was not asked for")
    try:
        unpacker = zlib.decompressobj(_ENCODINGS[encoding])
        body = unpacker.decompress(raw, LARGEST)
    except zlib.error as error:
        raise Misshapen(f"a body that cannot be unpacked ({error})") from error
    if unpacker.unconsumed_tail:
        raise TooLarge
    if not unpacker.eof:
        raise Misshapen("a body that cannot be unpacked (it is cut off)")
    return body


def loaded(raw: bytes) -> Any:
    """The JSON in a body. What strict readers refuse but a person could read is read: a byte order mark, NaN, halves of
    characters and bytes that are no UTF-8 (these become U+FFFD). Raises `ValueError` where it is no JSON at all."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        text = raw.decode("utf-8-sig", "replace")
    try:
        return json.loads(text, strict=False)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def whole(text: str) -> str:
    """The text with what no database holds, half characters and NUL, as U+FFFD.

    >>> whole("a\\x00b"), whole("\\ud83d!"), whole("好")
    ('a\ufffdb', '\ufffd!', '好')
    """
    if text.isascii():
        return text.replace("\x00", "\ufffd") if "\x00" in text else text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\x00", "\ufffd")


def count(value: Any) -> int | None:
    """A number of tokens, as a number or in digits; None where it is neither, negative, or beyond belief.

    >>> count(7), count("7"), count(7.0), count(-7), count(2**63), count("many"), count(True)
    (7, 7, 7, None, None, None, None)
    """
    if type(value) is int:  # as nearly all are
        return value if 0 <= value < MOST_TOKENS else None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < MOST_TOKENS:
        return None
    return value


def total(values: Iterable[Any]) -> int | None:
    """The sum of counts, of which those that are missing are nothing; None where none is there."""
    counts = [number for number in map(count, values) if number is not None]
    return sum(counts) if counts else None


def text_of(value: Any, what: str) -> str:
    """The text in a field; empty where the field is."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Misshapen(f"{what} is {named(value)}, not text")
    return whole(value)


def mapping_of(value: Any, what: str) -> Mapping[str, Any]:
    """The object in a field; an empty one where the field is empty."""
    if value is None:
        return {}
    if not is_object(value):
        raise Misshapen(f"{what} is {named(value)}, not an object")
    return value


def list_of(value: Any, what: str) -> list[Mapping[str, Any]]:
    """The list of objects in a field; an empty one where the field is empty."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise Misshapen(f"{what} is {named(value)}, not a list")
    for part in value:
        if not is_object(part):
            raise Misshapen(f"{named(part)} where a part of {what} was expected")
    return value


def usage_of(value: Any) -> Mapping[str, Any]:
    """What a server counted; nothing where that is no object: the answer is an answer all the same."""
    return value if is_object(value) else {}


def is_object(value: Any) -> TypeGuard[Mapping[str, Any]]:
    """Whether a JSON value is an object. What was parsed is a `dict`; to ask for any `Mapping` takes ten times as long,
    and a reply is asked for it a dozen times."""
    return isinstance(value, (dict, Mapping))


def named(value: Any) -> str:
    """What a JSON value is, in words.

    >>> named({}), named([]), named(5), named(True), named(None), named("x")
    ('an object', 'a list', 'a number', 'true or false', 'null', 'text')
    """
    if isinstance(value, bool):
        return "true or false"
    kinds = ((Mapping, "an object"), (list, "a list"), (str, "text"), (int | float, "a number"))
    return next((words for kind, words in kinds if isinstance(value, kind)), "null")


def looks(raw: bytes) -> str:
    """What a body that is no JSON looks like.

    >>> looks(b"<!doctype html><p>Hi"), looks(b"data: {}"), looks(b'{"a": ['), looks(b"SSH-2.0")
    ('an HTML page', 'a stream of events', 'a broken body', 'no JSON')
    """
    start = raw.lstrip(b"\xef\xbb\xbf \t\r\n")[:200].lower()
    if start.startswith((b"<!doctype", b"<html", b"<?xml", b"<head", b"<body")):
        return "an HTML page"
    if start.startswith((b"data:", b"event:", b"id:", b": ")):
        return "a stream of events"
    return "a broken body" if not start or start.startswith(b"{") else "no JSON"
