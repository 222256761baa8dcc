"""Lines of batch files: the requests that batch services take, and the results that come back.

vLLM's offline mode also reads and writes OpenAI's lines. Anthropic's and Gemini's follow the providers' own client
libraries (`anthropic`, `google-genai`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import orjson

from fullbench.core.model import Model, Prompt, Reply
from fullbench.core.model_call import FailureKind
from fullbench.models.chat_model import ChatModel
from fullbench.models.wire.reply_parsing import Trouble, UsageCounter, read_payload, trouble_from_payload
from fullbench.models.wire.untrusted_json import parse_json

ENDPOINT = "/v1/chat/completions"
BATCH_PRICE_SHARE = 0.5
"""Price of a batch request as a share of its live price; providers charge half."""


class Form(ABC):
    """Line format of one batch service."""

    @abstractmethod
    def line(self, name: str, body: bytes) -> bytes:
        """Return the request line without its line break; `name` comes back with the reply."""

    @abstractmethod
    def result(self, line: Mapping[str, Any]) -> Any:
        """Return the parsed body that a live call would have returned, or the `Trouble` if there is none."""


class OpenAIForm(Form):
    """OpenAI puts an error into the response's body, vLLM next to the response."""

    _NOT_SENT_REASONS: ClassVar = {
        "batch_expired": "the batch expired before this was asked",
        "batch_cancelled": "the batch was cancelled before this was asked",
    }

    def line(self, name: str, body: bytes) -> bytes:
        head = orjson.dumps({"custom_id": name, "method": "POST", "url": ENDPOINT})
        return head[:-1] + b',"body":' + body + b"}"

    def result(self, line: Mapping[str, Any]) -> Any:
        response = _as_mapping(line.get("response"))
        status, body = response.get("status_code"), response.get("body")
        if status == 200 and body is not None:
            return body
        code = _as_mapping(line.get("error")).get("code")
        if status is None and isinstance(code, str) and code in self._NOT_SENT_REASONS:
            return Trouble("again", self._NOT_SENT_REASONS[code])
        error_status = status if isinstance(status, int) and 400 <= status < 600 else 500
        return trouble_from_payload(error_status, body or {"error": line.get("error")})


class AnthropicForm(Form):
    """Anthropic names the kind of each result; expired and cancelled requests were never sent."""

    _STATUS: ClassVar = {
        "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
        "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "timeout_error": 504,
        "overloaded_error": 529,
    }  # fmt: skip
    _NOT_SENT_REASONS: ClassVar = {
        "expired": "the batch expired before this was asked",
        "canceled": "the batch was cancelled before this was asked",
    }

    def line(self, name: str, body: bytes) -> bytes:
        return orjson.dumps({"custom_id": name})[:-1] + b',"params":' + body + b"}"

    def result(self, line: Mapping[str, Any]) -> Any:
        result = _as_mapping(line.get("result"))
        kind = result.get("type")
        if kind == "succeeded" and result.get("message") is not None:
            return result["message"]
        if kind in self._NOT_SENT_REASONS:
            return Trouble("again", self._NOT_SENT_REASONS[kind])
        error = _as_mapping(_as_mapping(result.get("error")).get("error"))
        return trouble_from_payload(self._STATUS.get(str(error.get("type")), 500), {"error": error or None})


class GeminiForm(Form):
    """Gemini returns a response or a status, whose code is HTTP's or gRPC's."""

    _STATUS: ClassVar = {3: 400, 4: 504, 5: 404, 7: 403, 8: 429, 9: 400, 11: 400, 14: 503, 16: 401}

    def line(self, name: str, body: bytes) -> bytes:
        return orjson.dumps({"key": name})[:-1] + b',"request":' + body + b"}"

    def result(self, line: Mapping[str, Any]) -> Any:
        if line.get("response") is not None:
            return line["response"]
        error = _as_mapping(line.get("error") or line.get("status"))
        code = error.get("code")
        code = code if isinstance(code, int) else 500
        status = code if 400 <= code < 600 else self._STATUS.get(code, 500)
        return trouble_from_payload(status, {"error": error or None})


FORMS: Mapping[str, Form] = {"openai": OpenAIForm(), "anthropic": AnthropicForm(), "gemini": GeminiForm()}


def takes_batches(model: Model) -> bool:
    """Return True if a model's server speaks a dialect with batches."""
    return isinstance(model, ChatModel) and model.dialect.name in FORMS


def request_line(model: ChatModel, name: str, prompt: Prompt) -> bytes:
    """Return the line that sends a prompt, with its line break; `name` comes back with the reply."""
    body = model.dialect.body(model.model, prompt, model.sampling)
    return FORMS[model.dialect.name].line(name, body) + b"\n"


def parse_batch_line(line: bytes) -> tuple[str, Mapping[str, Any]] | None:
    """Return the name and content of a result line, or None if it is malformed."""
    try:
        content = parse_json(line)
    except ValueError:
        return None
    if not isinstance(content, Mapping):
        return None
    name = content.get("custom_id", content.get("key"))
    return (name, content) if isinstance(name, str) else None


def reply_from_line(
    model: ChatModel, prompt: Prompt, line: Mapping[str, Any], price_share: float = BATCH_PRICE_SHARE
) -> Reply:
    """Return the reply in a result line, priced at `price_share` times the live price."""
    counter = UsageCounter(shares=model.shares, audio_share=model.audio_share)
    result = _read_result(model, prompt, line, counter)
    price = None if model.price is None else (model.price[0] * price_share, model.price[1] * price_share)
    if isinstance(result, Reply):
        return result.with_usage(counter.usage(price))
    if result.kind == "refused":
        return Reply(prompt, usage=counter.usage(price), stop="refused")
    kind: FailureKind = "permanent" if result.kind == "prompt" else "passing"
    return Reply(prompt, usage=counter.usage(price), error=result.message, failure=kind)


def _read_result(model: ChatModel, prompt: Prompt, line: Mapping[str, Any], counter: UsageCounter) -> Reply | Trouble:
    body = FORMS[model.dialect.name].result(line)
    if isinstance(body, Trouble):
        counter.retries += 1
        return body
    counter.calls += 1
    return read_payload(model.dialect, body, prompt, counter, model.model)


def _as_mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
