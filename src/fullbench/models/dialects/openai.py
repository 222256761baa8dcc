"""OpenAI chat completions API."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import orjson

from fullbench.core.item import Turn
from fullbench.core.media import Media
from fullbench.core.model import Prompt, Reply
from fullbench.models.dialects.base import Dialect, json_text, open_json_object, require_picture, turns_with_system
from fullbench.models.model_settings import Sampling
from fullbench.models.wire.image_encoding import Limit, encode_picture
from fullbench.models.wire.media_encoding import audio_format, encode_media
from fullbench.models.wire.reasoning_text import collect_text, split_reasoning
from fullbench.models.wire.untrusted_json import list_of, mapping_of, storable_text, text_of, token_count, usage_of

LARGEST_FILE = 50 * 2**20
"""Largest document in a request: developers.openai.com/api/docs/guides/file-inputs."""
LAST_TOKENS = 64
"""Number of tokens kept from the end of a reply, with their probabilities: the verdict is there."""


class OpenAI(Dialect):
    """Chat completions: OpenAI, vLLM, SGLang, Ollama, OpenRouter, llama.cpp and many others."""

    name = "openai"
    home = "https://api.openai.com/v1"
    takes_schemas = True
    signature_fields = ("choices",)
    _STOPS: ClassVar = {"content_filter": "filter", "tool_calls": "tool", "function_call": "tool"}

    def __init__(
        self,
        length: str = "max_tokens",
        seed: str = "seed",
        kinds: frozenset[str] = frozenset(),
        audio_formats: tuple[str, ...] = ("wav", "mp3"),
        *,
        audio_urls: bool = False,
        videos_as_files: bool = False,
    ) -> None:
        self.length, self._seed = length, seed
        """The server's names for the reply limit and the seed."""
        self.native_kinds = kinds
        self._audio_formats = audio_formats
        self._audio_urls = audio_urls
        """Formats of recordings that it takes; with `audio_urls`, others are sent as a data URL."""
        self._videos_as_files = videos_as_files
        """True if a video is a part of type `file`, as litellm translates it for Gemini and vLLM."""

    def url(self, base: str, model: str) -> str:
        return f"{base}/chat/completions"

    def headers(self, key: str | None) -> dict[str, str]:
        return {} if key is None else {"Authorization": f"Bearer {key}"}

    def body(self, model: str, prompt: Prompt, sampling: Sampling) -> bytes:
        settings = {
            "model": model,
            "temperature": sampling.sent_temperature,
            "top_p": sampling.top_p,
            self.length: sampling.max_tokens,
            self._seed: sampling.seed if prompt.seed is None else prompt.seed,
            "response_format": _response_format(prompt),
            "reasoning_effort": sampling.effort,
            **sampling.extra,
        }
        pieces = [open_json_object(settings), b'"messages":[']
        limit, comma = self.limit(sampling), b""
        for turn in turns_with_system(prompt, sampling):
            pieces.append(comma)
            self._message(turn, limit, pieces)
            comma = b","
        pieces.append(b"]}")
        return b"".join(pieces)

    def _message(self, turn: Turn, limit: Limit, pieces: list[bytes]) -> None:
        """Append the pieces of a message. They are joined once at the end, since copying a picture is slow."""
        pieces.append(b'{"role":"' + turn.role.encode() + b'","content":')
        if len(turn.parts) == 1 and isinstance(turn.parts[0], str):
            pieces += (json_text(turn.parts[0]), b"}")
            return
        comma = b"["
        for part in turn.parts:
            if isinstance(part, str):
                pieces += (comma, b'{"type":"text","text":', json_text(part), b"}")
            elif part.kind in self.native_kinds:
                pieces += (comma, self._media(part))
            else:
                media, data = encode_picture(require_picture(part), limit)
                head = b'{"type":"image_url","image_url":{"url":"data:' + media.encode() + b";base64,"
                pieces += (comma, head, data, b'"}}')
            comma = b","
        pieces.append(b"[]}" if comma == b"[" else b"]}")

    def _media(self, part: Media) -> bytes:
        if part.kind == "document":
            data = encode_media(part, "the chat API", LARGEST_FILE)
            head = b'{"type":"file","file":{"filename":"document.pdf","file_data":"data:application/pdf;base64,'
            return head + data + b'"}}'
        if part.kind == "audio" and not (self._audio_urls and part.media_type not in {"audio/wav", "audio/mpeg"}):
            name = audio_format(part, "this API", self._audio_formats).encode()
            head = b'{"type":"input_audio","input_audio":{"data":"'
            return head + encode_media(part, "this API") + b'","format":"' + name + b'"}}'
        media_type = part.media_type.encode()
        if part.kind == "video" and self._videos_as_files:
            head = b'{"type":"file","file":{"file_data":"data:' + media_type + b";base64,"
            return head + encode_media(part, "this server") + b'"}}'
        kind = b"audio_url" if part.kind == "audio" else b"video_url"
        head = b'{"type":"' + kind + b'","' + kind + b'":{"url":"data:' + media_type + b";base64,"
        return head + encode_media(part, "this server") + b'"}}'

    def parse(self, payload: Mapping[str, Any], prompt: Prompt) -> Reply | None:
        choices = list_of(payload.get("choices"), "choices")
        if not choices:
            return None
        message = mapping_of(choices[0].get("message"), "its message")
        # litellm puts fields that are not OpenAI's into `provider_specific_fields`.
        provider_fields = mapping_of(message.get("provider_specific_fields"), "provider_specific_fields")
        refusal = text_of(message.get("refusal") or provider_fields.get("refusal"), "the refusal")
        reason = text_of(choices[0].get("finish_reason"), "finish_reason") or "stop"
        content = message.get("content")
        reasoning = collect_text(
            message.get("reasoning_content") or message.get("reasoning") or provider_fields.get("reasoning_content")
        )
        if isinstance(content, list):
            parts = list_of(content, "the content")
            reasoning = reasoning or collect_text([part for part in parts if part.get("type") == "thinking"])
            content = "".join(text_of(part.get("text"), "the text of a part") for part in parts)
        text, inline = split_reasoning(text_of(content, "its content"))
        is_tool_call = bool(message.get("tool_calls") or message.get("function_call")) and not text.strip()
        return Reply(
            prompt,
            refusal or text,
            stop="refused" if refusal else "tool" if is_tool_call else self._STOPS.get(reason, reason),
            reasoning=storable_text(reasoning) or inline,
            served=storable_text(collect_text(payload.get("model"))),
            fingerprint=storable_text(collect_text(payload.get("system_fingerprint"))),
            tokens=_last_tokens(choices[0].get("logprobs")),
            first=_first_tokens(choices[0].get("logprobs")),
        )

    def token_usage(self, payload: Mapping[str, Any]) -> tuple[int | None, int | None]:
        usage = usage_of(payload.get("usage"))
        return token_count(usage.get("prompt_tokens")), token_count(usage.get("completion_tokens"))

    def cache_usage(self, payload: Mapping[str, Any]) -> tuple[int | None, int | None]:
        usage = usage_of(payload.get("usage"))
        details = usage_of(usage.get("prompt_tokens_details"))
        cached_tokens = token_count(details.get("cached_tokens"))
        # DeepSeek has its own field for cached tokens. Only OpenRouter and litellm report tokens written to a cache.
        return token_count(
            usage.get("prompt_cache_hit_tokens")
        ) if cached_tokens is None else cached_tokens, token_count(details.get("cache_write_tokens"))

    def audio_tokens(self, payload: Mapping[str, Any]) -> int:
        details = usage_of(usage_of(payload.get("usage")).get("prompt_tokens_details"))
        return token_count(details.get("audio_tokens")) or 0


def _first_tokens(logprobs: Any) -> dict[str, float]:
    if logprobs is None:
        return {}
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    return _token_probabilities(content[0]) if isinstance(content, list) and content else {}


def _last_tokens(logprobs: Any) -> tuple[tuple[str, dict[str, float]], ...]:
    if logprobs is None:
        return ()
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    entries = content[-LAST_TOKENS:] if isinstance(content, list) else ()
    token_texts = [entry.get("token") if isinstance(entry, Mapping) else None for entry in entries]
    return tuple(
        (token, _token_probabilities(entry))
        for token, entry in zip(token_texts, entries, strict=True)
        if isinstance(token, str)
    )


def _token_probabilities(entry: Any) -> dict[str, float]:
    top = entry.get("top_logprobs") if isinstance(entry, Mapping) else None
    probabilities: dict[str, float] = {}
    for candidate in top if isinstance(top, list) else ():
        token, value = (
            (candidate.get("token"), candidate.get("logprob")) if isinstance(candidate, Mapping) else (None, None)
        )
        if isinstance(token, str) and isinstance(value, int | float) and value <= 0:
            probabilities[token] = probabilities.get(token, 0.0) + math.exp(value)
    return probabilities


def _response_format(prompt: Prompt) -> dict[str, Any] | None:
    if prompt.schema:
        schema_format = {"name": "verdict", "strict": True, "schema": orjson.Fragment(prompt.schema)}
        return {"type": "json_schema", "json_schema": schema_format}
    return {"type": "json_object"} if prompt.json else None
