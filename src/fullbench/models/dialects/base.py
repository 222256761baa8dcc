"""What all dialects share.

A dialect writes a request and reads its reply; it knows nothing of retries, limits or prices. Bodies are spliced from
pieces of JSON, so that the base64 of a picture, encoded once, is only ever copied.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import orjson

from fullbench.core.call import Usage
from fullbench.core.item import Part, Turn
from fullbench.core.model import Prompt, Reply
from fullbench.core.picture import Picture
from fullbench.models.model_settings import Sampling
from fullbench.models.wire.image_encoding import Limit


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered. Tokens are None where it did not count them.

    `stop` is `stop` (it was done), `length` (it ran into its limit), `refused` (it would not), `filter` (a filter cut
    it off), `tool` (it called a tool instead of answering), or the server's own word for anything else. `reasoning` is
    what it thought, never part of `text`; `served` and `fingerprint` are what the server says that it is.
    """

    text: str
    stop: str
    tokens_in: int | None
    tokens_out: int | None
    reasoning: str = ""
    served: str = ""
    fingerprint: str = ""
    pictures: tuple[Picture, ...] = ()
    first: Mapping[str, float] = field(default_factory=dict)
    tokens: tuple[tuple[str, Mapping[str, float]], ...] = ()

    def reply(self, prompt: Prompt, usage: Usage) -> Reply:
        """The reply that this answer is to a prompt."""
        return Reply(
            prompt, self.text, usage, stop=self.stop, reasoning=self.reasoning, served=self.served,
            fingerprint=self.fingerprint, estimated=self.tokens_in is None or self.tokens_out is None,
            pictures=self.pictures, first=self.first, tokens=self.tokens,
        )  # fmt: skip


class Dialect(ABC):
    """How to write a request and read its reply. `takes_seed`, `takes_schemas`: whether such can be sent.

    `marks` are fields of which every reply of this API has one, so that another server's JSON is known as such.
    """

    name: ClassVar[str]
    home: ClassVar[str]
    """The address of the provider whose dialect it is; any other server is named with its address."""
    tail: ClassVar[str] = ""
    """What a model's name needs where its provider has two APIs, by which it may answer differently."""
    takes_seed: ClassVar[bool] = True
    takes_schemas: ClassVar[bool] = False
    draws: ClassVar[bool] = False
    """Whether it answers with pictures."""
    media: ClassVar[str] = "application/json"
    """What the body of a request is."""
    marks: ClassVar[tuple[str, ...]]
    pictures: ClassVar[Limit] = Limit()

    @abstractmethod
    def url(self, base: str, model: str) -> str:
        """Where to post."""

    @abstractmethod
    def headers(self, key: str | None) -> dict[str, str]:
        """What to send besides the body."""

    @abstractmethod
    def body(self, model: str, prompt: Prompt, sampling: Sampling) -> bytes:
        """The request, as JSON."""

    @abstractmethod
    def parse(self, payload: Mapping[str, Any]) -> Answer | None:
        """The answer; None where there is none in it. Raises `Misshapen` where something is of another type than the
        API says."""

    @abstractmethod
    def used(self, payload: Mapping[str, Any]) -> tuple[int | None, int | None]:
        """The tokens that the server counted, in and out; None where it did not. A reply without an answer has a bill
        as well."""

    def cached(self, payload: Mapping[str, Any]) -> tuple[int | None, int | None]:
        """Of the tokens in, how many came from the server's cache and how many went into it; None where it does not
        say."""
        return None, None

    def kept(self, prompt: Prompt, sampling: Sampling) -> Mapping[str, str]:
        """What is kept with the answer of how it was asked for; a generator's seed."""
        return {}

    def limit(self, sampling: Sampling) -> Limit:
        """What pictures must fit into."""
        if sampling.pixels is None:
            return self.pictures
        return Limit(sampling.pixels, self.pictures.size, self.pictures.media)


def json_text(text: str) -> bytes:
    """A JSON string."""
    try:
        return orjson.dumps(text)
    except orjson.JSONEncodeError:
        return orjson.dumps(_whole(text))


def _whole(text: str) -> str:
    """The text with half surrogate pairs, which UTF-8 cannot carry, as question marks."""
    return text.encode("utf-8", "replace").decode()


def head(settings: Mapping[str, Any]) -> bytes:
    """The opening of an object that goes on after these settings; those that are None are left out."""
    set_values = {name: value for name, value in settings.items() if value is not None}
    return orjson.dumps(set_values)[:-1] + b"," if set_values else b"{"


BLANK = "(no words)"
"""Stands for a turn that says nothing, where an API takes no empty one."""


def joined_words(parts: Iterable[Part]) -> list[Part]:
    """The parts of a turn with neighbouring words joined and blank ones left out, for APIs that refuse blank blocks.

    >>> joined_words(["a", "\\n", "b"]), joined_words(["\\n", ""])
    (['a\\nb'], ['(no words)'])
    """
    joined: list[Part] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part)
    return [part for part in joined if not isinstance(part, str) or part.strip()] or [BLANK]


def splice(settings: Mapping[str, Any], rest: bytes) -> bytes:
    return head(settings) + rest + b"}"


def with_system(prompt: Prompt, sampling: Sampling) -> tuple[Turn, ...]:
    return prompt.turns if sampling.system is None else (Turn("system", (sampling.system,)), *prompt.turns)


def system_words(turns: Iterable[Turn]) -> str | None:
    words = [turn.text for turn in turns if turn.role == "system"]
    return _whole("\n\n".join(words)) if any(word.strip() for word in words) else None
