"""OpenAI chat completions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import orjson

from fullbench.core.item import Turn
from fullbench.core.model import Prompt
from fullbench.models.dialects.base import Answer, Dialect, head, json_text, with_system
from fullbench.models.model_settings import Sampling
from fullbench.models.wire.image_encoding import Limit, encoded
from fullbench.models.wire.reasoning_text import apart, written
from fullbench.models.wire.untrusted_json import count, list_of, mapping_of, text_of, usage_of, whole

LAST = 64
"""So many tokens at the end of a reply are kept with their chances: the ruling stands there."""


class OpenAI(Dialect):
    """Chat completions: OpenAI, vLLM, SGLang, Ollama, OpenRouter, llama.cpp and many others."""

    name = "openai"
    home = "https://api.openai.com/v1"
    takes_schemas = True
    marks = ("choices",)
    _STOPS: ClassVar = {"content_filter": "filter", "tool_calls": "tool", "function_call": "tool"}

    def __init__(self, length: str = "max_tokens", seed: str = "seed") -> None:
        self.length, self._seed = length, seed
        """What this server calls the limit on a reply, and the seed."""

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
            "response_format": _format(prompt),
            "reasoning_effort": sampling.effort,
            **sampling.extra,
        }
        pieces = [head(settings), b'"messages":[']
        limit, comma = self.limit(sampling), b""
        for turn in with_system(prompt, sampling):
            pieces.append(comma)
            self._message(turn, limit, pieces)
            comma = b","
        pieces.append(b"]}")
        return b"".join(pieces)

    def _message(self, turn: Turn, limit: Limit, pieces: list[bytes]) -> None:
        """The pieces of a message; joined once at the very end, since a picture is long to copy."""
        pieces.append(b'{"role":"' + turn.role.encode() + b'","content":')
        if len(turn.parts) == 1 and isinstance(turn.parts[0], str):
            pieces += (json_text(turn.parts[0]), b"}")
            return
        comma = b"["
        for part in turn.parts:
            if isinstance(part, str):
                pieces += (comma, b'{"type":"text","text":', json_text(part), b"}")
            else:
                media, data = encoded(part, limit)
                head = b'{"type":"image_url","image_url":{"url":"data:' + media.encode() + b";base64,"
                pieces += (comma, head, data, b'"}}')
            comma = b","
        pieces.append(b"[]}" if comma == b"[" else b"]}")

    def parse(self, payload: Mapping[str, Any]) -> Answer | None:
        choices = list_of(payload.get("choices"), "choices")
        if not choices:
            return None
        message = mapping_of(choices[0].get("message"), "its message")
        more = mapping_of(message.get("provider_specific_fields"), "provider_specific_fields")
        refusal = text_of(message.get("refusal") or more.get("refusal"), "the refusal")
        reason = text_of(choices[0].get("finish_reason"), "finish_reason") or "stop"
        content = message.get("content")
        thought = written(message.get("reasoning_content") or message.get("reasoning") or more.get("reasoning_content"))
        if isinstance(content, list):
            parts = list_of(content, "the content")
            thought = thought or written([part for part in parts if part.get("type") == "thinking"])
            content = "".join(text_of(part.get("text"), "the text of a part") for part in parts)
        text, inline = apart(text_of(content, "its content"))
        called = bool(message.get("tool_calls") or message.get("function_call")) and not text.strip()
        return Answer(
            refusal or text, "refused" if refusal else "tool" if called else self._STOPS.get(reason, reason),
            *self.used(payload),
            whole(thought) or inline, whole(written(payload.get("model"))),
            whole(written(payload.get("system_fingerprint"))), tokens=_last_tokens(choices[0].get("logprobs")),
            first=_first_tokens(choices[0].get("logprobs")),
        )  # fmt: skip

    def used(self, payload: Mapping[str, Any]) -> tuple[int | None, int | None]:
        usage = usage_of(payload.get("usage"))
        return count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))

    def cached(self, payload: Mapping[str, Any]) -> tuple[int | None, int | None]:
        usage = usage_of(payload.get("usage"))
        details = usage_of(usage.get("prompt_tokens_details"))
        told = count(details.get("cached_tokens"))
        # DeepSeek has a word of its own for it. What went into a cache is told by OpenRouter and by litellm.
        return count(usage.get("prompt_cache_hit_tokens")) if told is None else told, count(
            details.get("cache_write_tokens")
        )


def _first_tokens(logprobs: Any) -> dict[str, float]:
    """How likely each first token was, where the server was asked; nothing where it does not say, or says it badly."""
    if logprobs is None:
        return {}
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    return _chances(content[0]) if isinstance(content, list) and content else {}


def _last_tokens(logprobs: Any) -> tuple[tuple[str, dict[str, float]], ...]:
    """The last tokens with the chances of what might have stood there; nothing where the server does not say."""
    if logprobs is None:
        return ()
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    entries = content[-LAST:] if isinstance(content, list) else ()
    written_ = [entry.get("token") if isinstance(entry, Mapping) else None for entry in entries]
    return tuple(
        (token, _chances(entry)) for token, entry in zip(written_, entries, strict=True) if isinstance(token, str)
    )


def _chances(entry: Any) -> dict[str, float]:
    """How likely each token was at a place."""
    top = entry.get("top_logprobs") if isinstance(entry, Mapping) else None
    chances: dict[str, float] = {}
    for other in top if isinstance(top, list) else ():
        token, value = (other.get("token"), other.get("logprob")) if isinstance(other, Mapping) else (None, None)
        if isinstance(token, str) and isinstance(value, int | float) and value <= 0:
            chances[token] = chances.get(token, 0.0) + math.exp(value)
    return chances


def _format(prompt: Prompt) -> dict[str, Any] | None:
    """What the reply is held to: a schema, any JSON object, or nothing."""
    if prompt.schema:
        held = {"name": "ruling", "strict": True, "schema": orjson.Fragment(prompt.schema)}
        return {"type": "json_schema", "json_schema": held}
    return {"type": "json_object"} if prompt.json else None
