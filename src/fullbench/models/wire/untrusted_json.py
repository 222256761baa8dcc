"""Checked access to servers' replies: JSON of any shape, counts and texts of any type."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

import orjson

LARGEST = 64 << 20
"""Maximum bytes of an unpacked reply; an honest one has thousands."""
MOST_TOKENS = 1 << 40
"""Larger counts are invalid: no model reads or writes that many tokens."""
_ENCODINGS = {"gzip": 31, "x-gzip": 31, "deflate": 47}
ENCODINGS = "gzip, deflate"


class Misshapen(Exception):
    """A value in a reply has another type than its API specifies."""


class TooLarge(Exception):
    """A reply is larger than `LARGEST`."""

    def __str__(self) -> str:
        return f"a reply of more than {LARGEST >> 20} MiB"


def decompress_body(raw: bytes, encoding: str) -> bytes:
    """Decompress a body; one that unpacks to more than `LARGEST` bytes raises `TooLarge`."""
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


def parse_json(raw: bytes) -> Any:
    """Parse the JSON in a body, more leniently than strict parsers. Raises `ValueError` if it is not JSON.
    Accepted are a byte order mark, NaN, lone surrogates, and bytes that are not UTF-8 (these become U+FFFD).
    """
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        text = raw.decode("utf-8-sig", "replace")
    try:
        return json.loads(text, strict=False, parse_int=_parse_integer)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _parse_integer(digits: str) -> int | float:
    """Parse an integer of any length: Python refuses those of more than some thousand digits."""
    return int(digits) if len(digits) < 400 else float(digits)


def storable_text(text: str) -> str:
    r"""Replace what no database stores, lone surrogates and NUL, by U+FFFD.

    >>> storable_text("a\x00b"), storable_text("\ud83d!"), storable_text("好")
    ('a�b', '�!', '好')
    """
    if text.isascii():
        return text.replace("\x00", "\ufffd") if "\x00" in text else text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\x00", "\ufffd")


def token_count(value: Any) -> int | None:
    """Return a number of tokens given as number or digits; None if it is neither, negative or implausible.

    >>> (token_count(7), token_count("7"), token_count(7.0), token_count(-7), token_count(2**63),
    ...  token_count("many"), token_count(True))
    (7, 7, 7, None, None, None, None)
    """
    if type(value) is int:  # fast path: nearly all are
        return value if 0 <= value < MOST_TOKENS else None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < MOST_TOKENS:
        return None
    return value


def sum_token_counts(values: Iterable[Any]) -> int | None:
    """Return the sum of the counts that are present, or None if none is."""
    counts = [number for number in map(token_count, values) if number is not None]
    return sum(counts) if counts else None


def text_of(value: Any, what: str) -> str:
    """Return the text in a field; empty if the field is null."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Misshapen(f"{what} is {json_type_name(value)}, not text")
    return storable_text(value)


def mapping_of(value: Any, what: str) -> Mapping[str, Any]:
    """Return the object in a field; empty if the field is null."""
    if value is None:
        return {}
    if not is_object(value):
        raise Misshapen(f"{what} is {json_type_name(value)}, not an object")
    return value


def list_of(value: Any, what: str) -> list[Mapping[str, Any]]:
    """Return the list of objects in a field; empty if the field is null."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise Misshapen(f"{what} is {json_type_name(value)}, not a list")
    for part in value:
        if not is_object(part):
            raise Misshapen(f"{json_type_name(part)} where a part of {what} was expected")
    return value


def usage_of(value: Any) -> Mapping[str, Any]:
    """Return the server's token counts; empty if malformed, since the answer is still valid."""
    return value if is_object(value) else {}


def is_object(value: Any) -> TypeGuard[Mapping[str, Any]]:
    """Return True if a JSON value is an object.
    `dict` comes first: a check for `Mapping` takes ten times as long, and each reply needs a dozen checks.
    """
    return isinstance(value, (dict, Mapping))


def json_type_name(value: Any) -> str:
    """Return the type of a JSON value in words.

    >>> (json_type_name({}), json_type_name([]), json_type_name(5), json_type_name(True), json_type_name(None),
    ...  json_type_name("x"))
    ('an object', 'a list', 'a number', 'true or false', 'null', 'text')
    """
    if isinstance(value, bool):
        return "true or false"
    kinds = ((Mapping, "an object"), (list, "a list"), (str, "text"), (int | float, "a number"))
    return next((words for kind, words in kinds if isinstance(value, kind)), "null")


def describe_body(raw: bytes) -> str:
    """Describe a body that is not JSON.

    >>> (describe_body(b"<!doctype html><p>Hi"), describe_body(b"data: {}"), describe_body(b'{"a": ['),
    ...  describe_body(b"SSH-2.0"))
    ('an HTML page', 'a stream of events', 'a broken body', 'no JSON')
    """
    start = raw.lstrip(b"\xef\xbb\xbf \t\r\n")[:200].lower()
    if start.startswith((b"<!doctype", b"<html", b"<?xml", b"<head", b"<body")):
        return "an HTML page"
    if start.startswith((b"data:", b"event:", b"id:", b": ")):
        return "a stream of events"
    return "a broken body" if not start or start.startswith(b"{") else "no JSON"
