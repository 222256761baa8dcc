"""Servers that draw: OpenAI's image endpoints and all that speak like them, and Gemini's models that draw."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any, ClassVar

import orjson

from fullbench.core.model import Prompt
from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.models.dialects.base import Answer, Dialect, splice
from fullbench.models.dialects.gemini import Gemini
from fullbench.models.model_settings import Sampling
from fullbench.models.wire.image_encoding import Limit, encoded
from fullbench.models.wire.reasoning_text import written
from fullbench.models.wire.untrusted_json import Misshapen, count, list_of, mapping_of, text_of, usage_of, whole

_ALWAYS_BYTES = re.compile(r"(?:^|/)(?:gpt-image|chatgpt-image)")
"""Models that send bytes unasked, and refuse a request that asks for them."""
BOUNDARY = "fullbench-7c1e2b5d4f9a48b0a6d3"


def picture_of(data: Any, what: str) -> Picture:
    """A picture that came in base64, whatever it is; judges recuse themselves from what is none."""
    try:
        raw = base64.b64decode(text_of(data, what), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Misshapen(f"{what} is no base64") from error
    return Picture.as_given(raw, raw)


class OpenAIImages(Dialect):
    """Image generations: a picture for a prompt in words.

    Where a price is per picture, each picture counts as one token that comes out.
    """

    name = "openai-images"
    home = "https://api.openai.com/v1"
    tail = "+images"
    draws = True
    marks = ("data", "created")
    path: ClassVar[str] = "generations"

    def __init__(self, *, own: bool = False, per_picture: bool = False) -> None:
        """`own`: it is OpenAI's server, which takes no seed; `per_picture`: pictures are counted, not tokens."""
        self._own, self._per_picture = own, per_picture

    def url(self, base: str, model: str) -> str:
        return f"{base}/images/{self.path}"

    def headers(self, key: str | None) -> dict[str, str]:
        return {} if key is None else {"Authorization": f"Bearer {key}"}

    def kept(self, prompt: Prompt, sampling: Sampling) -> Mapping[str, str]:
        seed = self.seed(prompt, sampling)
        return {} if seed is None else {"seed": str(seed)}

    def seed(self, prompt: Prompt, sampling: Sampling) -> int | None:
        """The seed of a sample: each one has its own, the first that of the settings."""
        return None if self._own else (sampling.seed or 0) + (prompt.seed or 0)

    def body(self, model: str, prompt: Prompt, sampling: Sampling) -> bytes:
        if any(turn.pictures for turn in prompt.turns):
            raise InputError("it draws from words alone and the item has pictures; image-edit:NAME takes them")
        return orjson.dumps(self._fields(model, prompt, sampling))

    def _fields(self, model: str, prompt: Prompt, sampling: Sampling) -> dict[str, Any]:
        fields = {
            "model": model,
            "prompt": "\n".join(filter(None, (sampling.system, *(turn.text for turn in prompt.turns)))),
            "n": 1,
            "seed": self.seed(prompt, sampling),
            "response_format": None if _ALWAYS_BYTES.search(model) else "b64_json",
            **sampling.extra,
        }
        return {name: value for name, value in fields.items() if value is not None}

    def parse(self, payload: Mapping[str, Any]) -> Answer | None:
        data = list_of(payload.get("data"), "data")
        if not data:
            return None
        if not data[0].get("b64_json"):
            where = "an address in its place, which is not fetched" if data[0].get("url") else "no picture"
            raise Misshapen(f"its data hold {where}")
        picture = picture_of(data[0]["b64_json"], "b64_json")
        tokens = (0, 1) if self._per_picture else self.used(payload)
        revised = text_of(data[0].get("revised_prompt"), "revised_prompt")
        return Answer(revised, "stop", *tokens, served=whole(written(payload.get("model"))), pictures=(picture,))

    def used(self, payload: Mapping[str, Any]) -> tuple[int | None, int | None]:
        if self._per_picture:  # its price is for a picture, and there is none
            return 0, 0
        usage = usage_of(payload.get("usage"))
        return count(usage.get("input_tokens")), count(usage.get("output_tokens"))


class OpenAIEdits(OpenAIImages):
    """Image edits: the pictures of the item, changed as its words say; sent as a form."""

    name = "openai-edits"
    tail = "+edits"
    path = "edits"
    media = f"multipart/form-data; boundary={BOUNDARY}"
    pictures = Limit(media=("image/png", "image/jpeg", "image/webp"))

    def body(self, model: str, prompt: Prompt, sampling: Sampling) -> bytes:
        shown = [picture for turn in prompt.turns for picture in turn.pictures]
        if not shown:
            raise InputError("it edits pictures and the item has none; image:NAME draws from words")
        parts = [
            _field(f'name="{name}"', value if isinstance(value, str) else orjson.dumps(value).decode())
            for name, value in self._fields(model, prompt, sampling).items()
        ]
        name = "image" if len(shown) == 1 else "image[]"
        for place, picture in enumerate(shown):
            media, data = encoded(picture, self.limit(sampling))
            file = f'name="{name}"; filename="{place}.{media.removeprefix("image/")}"'
            parts.append(_field(file, base64.b64decode(data), media))
        return b"".join([*parts, f"--{BOUNDARY}--\r\n".encode()])


def _field(named: str, value: str | bytes, media: str = "") -> bytes:
    kind = f"Content-Type: {media}\r\n" if media else ""
    raw = value.encode("utf-8", "replace") if isinstance(value, str) else value
    return f"--{BOUNDARY}\r\nContent-Disposition: form-data; {named}\r\n{kind}\r\n".encode() + raw + b"\r\n"


class GeminiImages(Gemini):
    """Gemini's models that draw: from words, or from words and pictures."""

    name = "gemini-images"
    tail = "+images"
    draws = True

    def __init__(self, *, per_picture: bool = False) -> None:
        self._per_picture = per_picture

    def kept(self, prompt: Prompt, sampling: Sampling) -> Mapping[str, str]:
        return {"seed": str(self._seed(prompt, sampling))}

    def _seed(self, prompt: Prompt, sampling: Sampling) -> int:
        return (sampling.seed or 0) + (prompt.seed or 0)

    def body(self, model: str, prompt: Prompt, sampling: Sampling) -> bytes:
        written_body = orjson.loads(super().body(model, prompt, sampling))
        config = written_body.setdefault("generationConfig", {})
        config.setdefault("responseModalities", ["TEXT", "IMAGE"])
        config["seed"] = self._seed(prompt, sampling)
        contents = orjson.dumps(written_body.pop("contents"))
        return splice(written_body, b'"contents":' + contents)

    def parse(self, payload: Mapping[str, Any]) -> Answer | None:
        answer = super().parse(payload)
        candidates = list_of(payload.get("candidates"), "candidates")
        if answer is None or not candidates:
            return answer
        parts = list_of(mapping_of(candidates[0].get("content"), "its content").get("parts"), "parts")
        drawn = [mapping_of(part.get("inlineData"), "inlineData") for part in parts if not part.get("thought")]
        pictures = tuple(picture_of(part["data"], "inlineData") for part in drawn if part.get("data"))[:1]
        stop = answer.stop if pictures or answer.stop != "stop" else "words"
        tokens = (0, len(pictures)) if self._per_picture else (answer.tokens_in, answer.tokens_out)
        return Answer(answer.text, stop, *tokens, answer.reasoning, answer.served, pictures=pictures)

    def used(self, payload: Mapping[str, Any]) -> tuple[int | None, int | None]:
        return (0, 0) if self._per_picture else super().used(payload)
