"""Three ways of speaking to a server: OpenAI chat completions, Anthropic Messages, Gemini generateContent.

A dialect writes a request and reads its reply; it knows nothing of retries, limits or prices. Bodies are spliced from
pieces of JSON, so that the base64 of a picture, encoded once, is only ever copied.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import quote

import orjson

from fullbench.models.pictures import Limit, encoded
from fullbench.models.settings import Sampling
from fullbench.models.thinking import apart, written
from fullbench.nouns.call import Usage
from fullbench.nouns.item import Part, Turn
from fullbench.nouns.model import Prompt, Reply


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

    def reply(self, prompt: Prompt, usage: Usage) -> Reply:
        """The reply that this answer is to a prompt."""
        return Reply(
            prompt, self.text, usage, stop=self.stop, reasoning=self.reasoning, served=self.served,
            fingerprint=self.fingerprint,
        )  # fmt: skip


class Dialect(ABC):
    """How to write a request and read its reply. `takes_seed`, `takes_schemas`: whether such can be sent."""

    name: ClassVar[str]
    home: ClassVar[str]
    """The address of the provider whose dialect it is; any other server is named with its address."""
    takes_seed: ClassVar[bool] = True
    takes_schemas: ClassVar[bool] = False
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
        """The answer; None where there is none in it. May raise `LookupError`, `TypeError` or `AttributeError` on
        what is not of the expected shape."""

    def limit(self, sampling: Sampling) -> Limit:
        """What pictures must fit into."""
        if sampling.pixels is None:
            return self.pictures
        return Limit(sampling.pixels, self.pictures.size, self.pictures.media)


class OpenAI(Dialect):
    """Chat completions: OpenAI, vLLM, SGLang, Ollama, OpenRouter, llama.cpp and many others."""

    name = "openai"
    home = "https://api.openai.com/v1"
    takes_schemas = True
    _STOPS: ClassVar = {"content_filter": "filter", "tool_calls": "tool", "function_call": "tool"}

    def __init__(self, length: str = "max_tokens") -> None:
        self._length = length

    def url(self, base: str, model: str) -> str:
        return f"{base}/chat/completions"

    def headers(self, key: str | None) -> dict[str, str]:
        return {} if key is None else {"Authorization": f"Bearer {key}"}

    def body(self, model: str, prompt: Prompt, sampling: Sampling) -> bytes:
        settings = {
            "model": model,
            "temperature": sampling.sent_temperature,
            "top_p": sampling.top_p,
            self._length: sampling.max_tokens,
            "seed": sampling.seed if prompt.seed is None else prompt.seed,
            "response_format": _format(prompt),
            **sampling.extra,
        }
        pieces = [_head(settings), b'"messages":[']
        limit, comma = self.limit(sampling), b""
        for turn in _with_system(prompt, sampling):
            pieces.append(comma)
            self._message(turn, limit, pieces)
            comma = b","
        pieces.append(b"]}")
        return b"".join(pieces)

    def _message(self, turn: Turn, limit: Limit, pieces: list[bytes]) -> None:
        """The pieces of a message; joined once at the very end, since a picture is long to copy."""
        pieces.append(b'{"role":"' + turn.role.encode() + b'","content":')
        if len(turn.parts) == 1 and isinstance(turn.parts[0], str):
            pieces += (_json(turn.parts[0]), b"}")
            return
        comma = b"["
        for part in turn.parts:
            if isinstance(part, str):
                pieces += (comma, b'{"type":"text","text":', _json(part), b"}")
            else:
                media, data = encoded(part, limit)
                head = b'{"type":"image_url","image_url":{"url":"data:' + media.encode() + b";base64,"
                pieces += (comma, head, data, b'"}}')
            comma = b","
        pieces.append(b"[]}" if comma == b"[" else b"]}")

    def parse(self, payload: Mapping[str, Any]) -> Answer | None:
        choices = payload["choices"]
        if not choices:
            return None
        message = choices[0]["message"]
        more = message.get("provider_specific_fields") or {}
        refusal = message.get("refusal") or more.get("refusal")
        reason = str(choices[0].get("finish_reason") or "stop")
        usage = payload.get("usage") or {}
        content = message.get("content")
        thought = written(message.get("reasoning_content") or message.get("reasoning") or more.get("reasoning_content"))
        if isinstance(content, list):
            thought = thought or written([part for part in content if part.get("type") == "thinking"])
            content = "".join(part.get("text") or "" for part in content)
        text, inline = apart(content or "")
        return Answer(
            refusal or text, "refused" if refusal else self._STOPS.get(reason, reason),
            usage.get("prompt_tokens"), usage.get("completion_tokens"),
            thought or inline, written(payload.get("model")), written(payload.get("system_fingerprint")),
        )  # fmt: skip


def _format(prompt: Prompt) -> dict[str, Any] | None:
    """What the reply is held to: a schema, any JSON object, or nothing."""
    if prompt.schema:
        held = {"name": "ruling", "strict": True, "schema": orjson.Fragment(prompt.schema)}
        return {"type": "json_schema", "json_schema": held}
    return {"type": "json_object"} if prompt.json else None


class Anthropic(Dialect):
    """Anthropic Messages. It wants a limit on the reply; 1024 tokens where none is set."""

    name = "anthropic"
    home = "https://api.anthropic.com/v1"
    takes_seed = False
    pictures = Limit(pixels=2_000)
    _STOPS: ClassVar = {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
        "refusal": "refused",
        "tool_use": "tool",
    }

    def url(self, base: str, model: str) -> str:
        return f"{base}/messages"

    def headers(self, key: str | None) -> dict[str, str]:
        return {"anthropic-version": "2023-06-01"} | ({} if key is None else {"x-api-key": key})

    def body(self, model: str, prompt: Prompt, sampling: Sampling) -> bytes:
        turns = _with_system(prompt, sampling)
        settings = {
            "model": model,
            "max_tokens": sampling.max_tokens or 1024,
            "temperature": sampling.sent_temperature,
            "top_p": sampling.top_p,
            "system": _system_words(turns),
            **sampling.extra,
        }
        limit = self.limit(sampling)
        messages = b",".join(
            b'{"role":"' + turn.role.encode() + b'","content":['
            + b",".join(self._part(part, limit) for part in turn.parts) + b"]}"
            for turn in turns if turn.role != "system"
        )  # fmt: skip
        return _splice(settings, b'"messages":[' + messages + b"]")

    def _part(self, part: Part, limit: Limit) -> bytes:
        if isinstance(part, str):
            return b'{"type":"text","text":' + _json(part) + b"}"
        media, data = encoded(part, limit)
        source = b'{"type":"base64","media_type":"' + media.encode() + b'","data":"' + data + b'"}'
        return b'{"type":"image","source":' + source + b"}"

    def parse(self, payload: Mapping[str, Any]) -> Answer | None:
        blocks = payload["content"]
        reason = payload.get("stop_reason") or "stop"
        stop = self._STOPS.get(reason, reason)
        if not blocks and stop == "stop" and reason != "end_turn":
            return None
        usage = payload.get("usage") or {}
        cached = (usage.get("cache_read_input_tokens") or 0) + (usage.get("cache_creation_input_tokens") or 0)
        tokens_in = usage.get("input_tokens")
        text = "".join(block.get("text") or "" for block in blocks if block.get("type") == "text")
        thought = "".join(block.get("thinking") or "" for block in blocks if block.get("type") == "thinking")
        return Answer(
            text, stop, None if tokens_in is None else tokens_in + cached, usage.get("output_tokens"),
            thought, written(payload.get("model")),
        )  # fmt: skip


class Gemini(Dialect):
    """Gemini generateContent."""

    name = "gemini"
    home = "https://generativelanguage.googleapis.com/v1beta"
    pictures = Limit(pixels=3_072, media=("image/jpeg", "image/png", "image/webp"))
    _FILTERED = (
        "SAFETY", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "RECITATION",
        "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "LANGUAGE",
    )  # fmt: skip
    _STOPS: ClassVar = {
        "STOP": "stop",
        "MAX_TOKENS": "length",
        **dict.fromkeys(_FILTERED, "filter"),
        **dict.fromkeys(("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"), "tool"),
    }

    def url(self, base: str, model: str) -> str:
        return f"{base}/models/{quote(model)}:generateContent"

    def headers(self, key: str | None) -> dict[str, str]:
        return {} if key is None else {"x-goog-api-key": key}

    def body(self, model: str, prompt: Prompt, sampling: Sampling) -> bytes:
        turns = _with_system(prompt, sampling)
        system = _system_words(turns)
        config = {
            "temperature": sampling.sent_temperature,
            "topP": sampling.top_p,
            "maxOutputTokens": sampling.max_tokens,
            "seed": sampling.seed if prompt.seed is None else prompt.seed,
            "responseMimeType": "application/json" if prompt.json else None,
        }
        settings = {
            "systemInstruction": None if system is None else {"parts": [{"text": system}]},
            "generationConfig": {name: value for name, value in config.items() if value is not None} or None,
            **sampling.extra,
        }
        limit = self.limit(sampling)
        contents = b",".join(
            b'{"role":"' + (b"model" if turn.role == "assistant" else b"user") + b'","parts":['
            + b",".join(self._part(part, limit) for part in turn.parts) + b"]}"
            for turn in turns if turn.role != "system"
        )  # fmt: skip
        return _splice(settings, b'"contents":[' + contents + b"]")

    def _part(self, part: Part, limit: Limit) -> bytes:
        if isinstance(part, str):
            return b'{"text":' + _json(part) + b"}"
        media, data = encoded(part, limit)
        return b'{"inlineData":{"mimeType":"' + media.encode() + b'","data":"' + data + b'"}}'

    def parse(self, payload: Mapping[str, Any]) -> Answer | None:
        usage = payload.get("usageMetadata") or {}
        tokens_in, visible = usage.get("promptTokenCount"), usage.get("candidatesTokenCount")
        tokens_out = None if visible is None else visible + (usage.get("thoughtsTokenCount") or 0)
        served = written(payload.get("modelVersion"))
        candidates = payload.get("candidates")
        if not candidates:
            blocked = (payload.get("promptFeedback") or {}).get("blockReason")
            return Answer("", "filter", tokens_in, tokens_out or 0, served=served) if blocked else None
        parts = (candidates[0].get("content") or {}).get("parts") or []
        text = "".join(part.get("text") or "" for part in parts if not part.get("thought"))
        thought = "".join(part.get("text") or "" for part in parts if part.get("thought"))
        reason = str(candidates[0].get("finishReason") or "STOP")
        return Answer(text, self._STOPS.get(reason, reason.lower()), tokens_in, tokens_out, thought, served)


DIALECTS: Mapping[str, type[Dialect]] = {dialect.name: dialect for dialect in (OpenAI, Anthropic, Gemini)}


def _json(text: str) -> bytes:
    """A JSON string."""
    try:
        return orjson.dumps(text)
    except orjson.JSONEncodeError:
        return orjson.dumps(_whole(text))


def _whole(text: str) -> str:
    """The text with half surrogate pairs, which UTF-8 cannot carry, as question marks."""
    return text.encode("utf-8", "replace").decode()


def _head(settings: Mapping[str, Any]) -> bytes:
    """The opening of an object that goes on after these settings; those that are None are left out."""
    set_values = {name: value for name, value in settings.items() if value is not None}
    return orjson.dumps(set_values)[:-1] + b"," if set_values else b"{"


def _splice(settings: Mapping[str, Any], rest: bytes) -> bytes:
    return _head(settings) + rest + b"}"


def _with_system(prompt: Prompt, sampling: Sampling) -> tuple[Turn, ...]:
    return prompt.turns if sampling.system is None else (Turn("system", (sampling.system,)), *prompt.turns)


def _system_words(turns: Iterable[Turn]) -> str | None:
    words = [turn.text for turn in turns if turn.role == "system"]
    return _whole("\n\n".join(words)) if words else None
