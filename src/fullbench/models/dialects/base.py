"""`Dialect`, the base class of all request and reply formats, and helpers that write JSON.

A dialect writes a request and parses its reply; it knows nothing of retries, limits or prices. Bodies are spliced
from JSON fragments, so that the base64 of a picture is encoded once and then only copied.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import orjson

from fullbench.core.item import Part, Turn
from fullbench.core.media import Media
from fullbench.core.model import Prompt, Reply
from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.models.model_settings import Sampling
from fullbench.models.wire.image_encoding import Limit


class Dialect(ABC):
    """Format of requests and replies. `takes_seed` and `takes_schemas` tell whether these can be sent.

    Every reply of this API has at least one of `signature_fields`; JSON without any comes from another kind of
    server.
    """

    name: ClassVar[str]
    home: ClassVar[str]
    """Address of the dialect's own provider; the name of a model on any other server includes its address."""
    tail: ClassVar[str] = ""
    """Suffix of a model's name if its provider has two APIs that may answer differently."""
    takes_seed: ClassVar[bool] = True
    takes_schemas: ClassVar[bool] = False
    per_picture: bool = False
    """True if the price is per picture: a picture counts as one token out, and nothing else is counted."""
    draws: ClassVar[bool] = False
    """True if it answers with pictures."""
    media: ClassVar[str] = "application/json"
    """Media type of the request body."""
    signature_fields: ClassVar[tuple[str, ...]]
    pictures: ClassVar[Limit] = Limit()

    native_kinds: frozenset[str] = frozenset()
    """Kinds of media other than pictures that it takes as they are."""
    chooses_frames: ClassVar[bool] = False
    """True if the frames of a video follow from the request, so that videos are sent as they are by default."""
    takes_sound_with_frames: ClassVar[bool] = False
    """True if all its models take pictures and recordings in one prompt."""

    @abstractmethod
    def url(self, base: str, model: str) -> str:
        """Return the URL to post to."""

    @abstractmethod
    def headers(self, key: str | None) -> dict[str, str]:
        """Return the headers of a request."""

    @abstractmethod
    def body(self, model: str, prompt: Prompt, sampling: Sampling) -> bytes:
        """Return the body of the request."""

    def files_to_upload(self, prompt: Prompt) -> list[Media]:
        """Return the files of a prompt that are too large for the request and are uploaded before it."""
        return []

    def body_with_files(self, model: str, prompt: Prompt, sampling: Sampling, addresses: Mapping[str, str]) -> bytes:
        """Return the body of a request in which uploaded files are named by address; `addresses` are by digest."""
        raise NotImplementedError(f"the {self.name} dialect uploads no files")

    @abstractmethod
    def parse(self, payload: Mapping[str, Any], prompt: Prompt) -> Reply | None:
        """Return the reply without its usage, or None if the payload has none.

        Raises `Misshapen` for a value of the wrong type.
        """

    @abstractmethod
    def token_usage(self, payload: Mapping[str, Any]) -> tuple[int | None, int | None]:
        """Return the server's token counts in and out, None if missing. Replies without an answer are billed too."""

    def cache_usage(self, payload: Mapping[str, Any]) -> tuple[int | None, int | None]:
        """Return how many tokens in were read from the server's cache and written to it; None if unknown."""
        return None, None

    def audio_tokens(self, payload: Mapping[str, Any]) -> int:
        """Return how many tokens in were of sound, which some servers bill at another price; 0 if not reported."""
        return 0

    def reply_tags(self, prompt: Prompt, sampling: Sampling) -> Mapping[str, str]:
        """Return what to store with the answer about the request, such as a generator's seed."""
        return {}

    def sent_kinds(self, sampling: Sampling) -> frozenset[str]:
        """Return the kinds of media other than pictures that are sent as they are with these settings."""
        left_out = set()
        if sampling.video == "frames" or sampling.frames or (sampling.video is None and not self.chooses_frames):
            left_out.add("video")
        if sampling.pages:
            left_out.add("document")
        return self.native_kinds - left_out

    def limit(self, sampling: Sampling) -> Limit:
        """Return the limits of pictures."""
        if sampling.pixels is None:
            return self.pictures
        return Limit(sampling.pixels, self.pictures.size, self.pictures.media)


def require_picture(part: Media) -> Picture:
    """Return a picture, or refuse a part that this model does not take."""
    if isinstance(part, Picture):
        return part
    raise InputError(f"this model does not take a {part.noun}")


def json_text(text: str) -> bytes:
    """Encode a text as a JSON string."""
    try:
        return orjson.dumps(text)
    except orjson.JSONEncodeError:
        return orjson.dumps(_replace_surrogates(text))


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, by question marks."""
    return text.encode("utf-8", "replace").decode()


def open_json_object(settings: Mapping[str, Any]) -> bytes:
    """Return the start of a JSON object with these settings, without those that are None and without `}`."""
    set_values = {name: value for name, value in settings.items() if value is not None}
    return orjson.dumps(set_values)[:-1] + b"," if set_values else b"{"


BLANK = "(no words)"
"""Replaces an empty turn for APIs that refuse one."""


def join_text_parts(parts: Iterable[Part]) -> list[Part]:
    r"""Join neighbouring texts of a turn and drop blank ones, for APIs that refuse blank blocks.

    >>> join_text_parts(["a", "\n", "b"]), join_text_parts(["\n", ""])
    (['a\nb'], ['(no words)'])
    """
    merged_parts: list[Part] = []
    for part in parts:
        if isinstance(part, str) and merged_parts and isinstance(merged_parts[-1], str):
            merged_parts[-1] += part
        else:
            merged_parts.append(part)
    return [part for part in merged_parts if not isinstance(part, str) or part.strip()] or [BLANK]


def splice_json(settings: Mapping[str, Any], last_members: bytes) -> bytes:
    return open_json_object(settings) + last_members + b"}"


def turns_with_system(prompt: Prompt, sampling: Sampling) -> tuple[Turn, ...]:
    return prompt.turns if sampling.system is None else (Turn("system", (sampling.system,)), *prompt.turns)


def system_text(turns: Iterable[Turn]) -> str | None:
    words = [turn.text for turn in turns if turn.role == "system"]
    return _replace_surrogates("\n\n".join(words)) if any(word.strip() for word in words) else None
