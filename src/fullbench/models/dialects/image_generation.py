"""Image-generating APIs: OpenAI's image endpoints and compatible servers, and Gemini's image models."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import orjson

from fullbench.core.model import Prompt, Reply
from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.models.dialects.base import Dialect, splice_json
from fullbench.models.dialects.gemini import Gemini
from fullbench.models.model_settings import Sampling
from fullbench.models.wire.image_encoding import Limit, encode_picture
from fullbench.models.wire.reasoning_text import collect_text
from fullbench.models.wire.untrusted_json import (
    Misshapen,
    list_of,
    mapping_of,
    storable_text,
    text_of,
    token_count,
    usage_of,
)

_ALWAYS_BYTES = re.compile(r"(?:^|/)(?:gpt-image|chatgpt-image)")
"""Models that always send bytes, and refuse a request with `response_format`."""
BOUNDARY = "fullbench-7c1e2b5d4f9a48b0a6d3"


def picture_from_base64(data: Any, what: str) -> Picture:
    """Decode a base64 picture without checking it; judges abstain if it is not a picture."""
    try:
        raw = base64.b64decode(text_of(data, what), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Misshapen(f"{what} is no base64") from error
    return Picture.from_any_bytes(raw, raw)


class OpenAIImages(Dialect):
    """Image generations: one picture for a text prompt. Priced per picture, each picture counts as one token out."""

    name = "openai-images"
    home = "https://api.openai.com/v1"
    tail = "+images"
    draws = True
    signature_fields = ("data", "created")
    path: ClassVar[str] = "generations"

    def __init__(self, *, is_openai: bool = False, per_picture: bool = False) -> None:
        """`is_openai`: OpenAI's own server takes no seed. `per_picture` counts pictures, not tokens."""
        self._is_openai, self.per_picture = is_openai, per_picture

    def url(self, base: str, model: str) -> str:
        return f"{base}/images/{self.path}"

    def headers(self, key: str | None) -> dict[str, str]:
        return {} if key is None else {"Authorization": f"Bearer {key}"}

    def reply_tags(self, prompt: Prompt, sampling: Sampling) -> Mapping[str, str]:
        seed = self.seed(prompt, sampling)
        return {} if seed is None else {"seed": str(seed)}

    def seed(self, prompt: Prompt, sampling: Sampling) -> int | None:
        """Return the seed of a sample: the seed of the settings plus that of the prompt."""
        return None if self._is_openai else (sampling.seed or 0) + (prompt.seed or 0)

    def body(self, model: str, prompt: Prompt, sampling: Sampling) -> bytes:
        if any(turn.pictures for turn in prompt.turns):
            raise InputError("this model draws from text only, but the item has pictures; use image-edit:NAME")
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

    def parse(self, payload: Mapping[str, Any], prompt: Prompt) -> Reply | None:
        data = list_of(payload.get("data"), "data")
        if not data:
            return None
        if not data[0].get("b64_json"):
            where = "an address in its place, which is not fetched" if data[0].get("url") else "no picture"
            raise Misshapen(f"its data hold {where}")
        picture = picture_from_base64(data[0]["b64_json"], "b64_json")
        revised_prompt = text_of(data[0].get("revised_prompt"), "revised_prompt")
        served_model = storable_text(collect_text(payload.get("model")))
        return Reply(prompt, revised_prompt, stop="stop", served=served_model, pictures=(picture,))

    def token_usage(self, payload: Mapping[str, Any]) -> tuple[int | None, int | None]:
        usage = usage_of(payload.get("usage"))
        return token_count(usage.get("input_tokens")), token_count(usage.get("output_tokens"))


class OpenAIEdits(OpenAIImages):
    """Image edits: the item's pictures, changed as its text says; sent as a multipart form."""

    name = "openai-edits"
    tail = "+edits"
    path = "edits"
    media = f"multipart/form-data; boundary={BOUNDARY}"
    pictures = Limit(media=("image/png", "image/jpeg", "image/webp"))

    def body(self, model: str, prompt: Prompt, sampling: Sampling) -> bytes:
        pictures = [picture for turn in prompt.turns for picture in turn.pictures]
        if not pictures:
            raise InputError("this model edits pictures, but the item has none; use image:NAME")
        parts = [
            _form_field(f'name="{name}"', value if isinstance(value, str) else orjson.dumps(value).decode())
            for name, value in self._fields(model, prompt, sampling).items()
        ]
        name = "image" if len(pictures) == 1 else "image[]"
        # OpenAI's API names a single file `image`, several files `image[]`.
        for place, picture in enumerate(pictures):
            media, data = encode_picture(picture, self.limit(sampling))
            file = f'name="{name}"; filename="{place}.{media.removeprefix("image/")}"'
            parts.append(_form_field(file, base64.b64decode(data), media))
        return b"".join([*parts, f"--{BOUNDARY}--\r\n".encode()])


def _form_field(field_parameters: str, value: str | bytes, media: str = "") -> bytes:
    kind = f"Content-Type: {media}\r\n" if media else ""
    raw = value.encode("utf-8", "replace") if isinstance(value, str) else value
    return f"--{BOUNDARY}\r\nContent-Disposition: form-data; {field_parameters}\r\n{kind}\r\n".encode() + raw + b"\r\n"


class GeminiImages(Gemini):
    """Gemini models that draw, from text or from text and pictures."""

    name = "gemini-images"
    tail = "+images"
    draws = True

    def __init__(self, *, per_picture: bool = False) -> None:
        self.per_picture = per_picture

    def reply_tags(self, prompt: Prompt, sampling: Sampling) -> Mapping[str, str]:
        return {"seed": str(self._seed(prompt, sampling))}

    def _seed(self, prompt: Prompt, sampling: Sampling) -> int:
        return (sampling.seed or 0) + (prompt.seed or 0)

    def body(self, model: str, prompt: Prompt, sampling: Sampling) -> bytes:
        request_body = orjson.loads(super().body(model, prompt, sampling))
        config = request_body.setdefault("generationConfig", {})
        config.setdefault("responseModalities", ["TEXT", "IMAGE"])
        config["seed"] = self._seed(prompt, sampling)
        contents = orjson.dumps(request_body.pop("contents"))
        return splice_json(request_body, b'"contents":' + contents)

    def parse(self, payload: Mapping[str, Any], prompt: Prompt) -> Reply | None:
        reply = super().parse(payload, prompt)
        candidates = list_of(payload.get("candidates"), "candidates")
        if reply is None or not candidates:
            return reply
        parts = list_of(mapping_of(candidates[0].get("content"), "its content").get("parts"), "parts")
        inline_images = [mapping_of(part.get("inlineData"), "inlineData") for part in parts if not part.get("thought")]
        pictures = tuple(picture_from_base64(part["data"], "inlineData") for part in inline_images if part.get("data"))[
            :1
        ]
        stop = reply.stop if pictures or reply.stop != "stop" else "words"
        return replace(reply, stop=stop, pictures=pictures)
