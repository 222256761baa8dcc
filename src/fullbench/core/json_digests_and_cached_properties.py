"""Digests of JSON values, and properties computed once. Both are fast, because keys are computed by the million."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

_plain = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _make_encoder() -> Callable[[Any], str]:
    """Canonical encoder, built once: `JSONEncoder` builds one for each value, slow for millions of keys."""
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    try:
        chunks = make(None, _plain.default, json.encoder.encode_basestring, None, ":", ",", True, False, True)
        is_same_text = "".join(chunks({"b": [1, 0.5, None], "a": "好\n"}, 0)) == _plain.encode(
            {"b": [1, 0.5, None], "a": "好\n"}
        )
    except TypeError:
        return _plain.encode
    return (lambda value: "".join(chunks(value, 0))) if is_same_text else _plain.encode


_encode = _make_encoder()


_Value = TypeVar("_Value")


class once(Generic[_Value]):  # noqa: N801
    """`functools.cached_property` without the lock that it takes before Python 3.12."""

    def __init__(self, compute: Callable[[Any], _Value]) -> None:
        self._compute, self._name, self.__doc__ = compute, compute.__name__, compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> once[_Value]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> _Value: ...
    def __get__(self, instance: object | None, owner: type) -> once[_Value] | _Value:
        if instance is None:
            return self
        # The instance dict shadows this descriptor from now on, and can be written even on frozen dataclasses.
        value = instance.__dict__[self._name] = self._compute(instance)
        return value


def digest(value: Any) -> str:
    """Return 32 hexadecimal digits for a JSON value, the same on every machine.

    >>> digest({"b": 1, "a": "好"}) == digest({"a": "好", "b": 1})
    True
    """
    return hashlib.blake2b(_encode(value).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
