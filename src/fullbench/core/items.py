"""Items (what is asked) and responses (what a contestant answered)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar, overload

from fullbench.core.pictures import Picture

Part = str | Picture
Role = Literal["system", "user", "assistant"]
ROLES: tuple[Role, ...] = ("system", "user", "assistant")
SENSITIVE = "sensitive"
"""The tag of items and responses whose pictures nobody should see unasked."""

_plain = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _encoder() -> Callable[[Any], str]:
    """JSON in one spelling. The compiled encoder is made once: `JSONEncoder` makes one for each value, and keys are
    made by the million. Where there is none, or it is made otherwise, the plain way gives the same text."""
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    try:
        chunks = make(None, _plain.default, json.encoder.encode_basestring, None, ":", ",", True, False, True)
        good = "".join(chunks({"b": [1, 0.5, None], "a": "好\n"}, 0)) == _plain.encode(
            {"b": [1, 0.5, None], "a": "好\n"}
        )
    except TypeError:
        return _plain.encode
    return (lambda value: "".join(chunks(value, 0))) if good else _plain.encode


_encode = _encoder()


_Value = TypeVar("_Value")


class once(Generic[_Value]):  # noqa: N801
    """A property that is computed when first asked for and then kept.

    As `functools.cached_property`, without the lock that it takes until Python 3.12: keys are made by the million.
    """

    def __init__(self, compute: Callable[[Any], _Value]) -> None:
        self._compute, self._name, self.__doc__ = compute, compute.__name__, compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> once[_Value]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> _Value: ...
    def __get__(self, instance: object | None, owner: type) -> once[_Value] | _Value:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)
        return value


def digest(value: Any) -> str:
    """32 hexadecimal digits that stand for a JSON value, the same on every machine.

    >>> digest({"b": 1, "a": "好"}) == digest({"a": "好", "b": 1})
    True
    """
    return hashlib.blake2b(_encode(value).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def parts_content(parts: Sequence[Part]) -> list[Any]:
    """Parts as a JSON value: text as it is, a picture by its digest."""
    return [part if isinstance(part, str) else {"picture": part.digest} for part in parts]


def parts_text(parts: Sequence[Part]) -> str:
    """The words of some parts, pictures left out."""
    return "\n".join(part for part in parts if isinstance(part, str))


def parts_pictures(parts: Sequence[Part]) -> tuple[Picture, ...]:
    """The pictures of some parts, in order."""
    return tuple(part for part in parts if isinstance(part, Picture))


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a conversation."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        return parts_text(self.parts)

    @property
    def pictures(self) -> tuple[Picture, ...]:
        return parts_pictures(self.parts)


@dataclass(frozen=True)
class Item:
    """One question put to every contestant.

    The last turn is the question; earlier ones are the dialogue so far. `captions` describe the pictures, in their
    order, for judges that do not see; `tags` say what the item belongs to (data set, task, family, language...).
    """

    id: str
    turns: tuple[Turn, ...]
    reference: str | None = None
    captions: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def ask(cls, id: str, question: str, *pictures: Picture, **rest: Any) -> Item:  # noqa: A002
        """The usual item: some pictures and a question about them."""
        return cls(id, (Turn("user", (*pictures, question)),), **rest)

    @property
    def question(self) -> str:
        return self.turns[-1].text

    @once
    def pictures(self) -> tuple[Picture, ...]:
        return tuple(picture for turn in self.turns for picture in turn.pictures)

    @once
    def key(self) -> str:
        """Name and content, as a digest. Tags are labels for reports and do not enter."""
        turns = [[turn.role, parts_content(turn.parts)] for turn in self.turns]
        return digest([self.id, turns, self.reference, list(self.captions)])


@dataclass(frozen=True)
class Response:
    """What one contestant answered to one item: words, pictures, or both."""

    item: str
    contestant: str
    parts: tuple[Part, ...]
    tags: Mapping[str, str] = field(default_factory=dict)
    trial: int = 0

    @classmethod
    def say(cls, item: str, contestant: str, text: str, **rest: Any) -> Response:
        """The usual response: words."""
        return cls(item, contestant, (text,), **rest)

    @property
    def text(self) -> str:
        return parts_text(self.parts)

    @property
    def pictures(self) -> tuple[Picture, ...]:
        return parts_pictures(self.parts)

    @once
    def key(self) -> str:
        return digest([self.item, self.contestant, parts_content(self.parts)])
