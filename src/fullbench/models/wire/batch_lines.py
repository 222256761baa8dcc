"""Requests by the file: the lines that batch services take, and the lines that come back.

OpenAI's lines are read and written by vLLM's offline mode as well. Anthropic's and Gemini's follow the providers' own
client libraries (`anthropic`, `google-genai`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import orjson

from fullbench.core.call import FailureKind
from fullbench.core.model import Model, Prompt, Reply
from fullbench.models.chat_model import ChatModel
from fullbench.models.dialects import Answer
from fullbench.models.wire.reply_parsing import Tally, Trouble, read_payload, refused
from fullbench.models.wire.untrusted_json import loaded

ENDPOINT = "/v1/chat/completions"
RATE = 0.5
"""What a request costs in a batch, as a share of its live price; providers ask for half."""


class Form(ABC):
    """How one service writes a request into a line, and what came of it into another."""

    @abstractmethod
    def line(self, name: str, body: bytes) -> bytes:
        """The line that asks, without its line break; `name` comes back with the reply."""

    @abstractmethod
    def result(self, line: Mapping[str, Any]) -> Any:
        """The body that a live call would have brought, parsed, or the `Trouble` why there is none."""


class OpenAIForm(Form):
    """OpenAI puts an error into the response's body, vLLM beside the response."""

    _UNASKED: ClassVar = {
        "batch_expired": "the batch expired before this was asked",
        "batch_cancelled": "the batch was cancelled before this was asked",
    }

    def line(self, name: str, body: bytes) -> bytes:
        head = orjson.dumps({"custom_id": name, "method": "POST", "url": ENDPOINT})
        return head[:-1] + b',"body":' + body + b"}"

    def result(self, line: Mapping[str, Any]) -> Any:
        response = _mapping(line.get("response"))
        status, body = response.get("status_code"), response.get("body")
        if status == 200 and body is not None:
            return body
        code = _mapping(line.get("error")).get("code")
        if status is None and isinstance(code, str) and code in self._UNASKED:
            return Trouble("again", self._UNASKED[code])
        failed = status if isinstance(status, int) and 400 <= status < 600 else 500
        return refused(failed, body or {"error": line.get("error")})


class AnthropicForm(Form):
    """Anthropic names the kind of each result; what expired or was cancelled was never asked."""

    _STATUS: ClassVar = {
        "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
        "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "timeout_error": 504,
        "overloaded_error": 529,
    }  # fmt: skip
    _UNASKED: ClassVar = {
        "expired": "the batch expired before this was asked",
        "canceled": "the batch was cancelled before this was asked",
    }

    def line(self, name: str, body: bytes) -> bytes:
        return orjson.dumps({"custom_id": name})[:-1] + b',"params":' + body + b"}"

    def result(self, line: Mapping[str, Any]) -> Any:
        result = _mapping(line.get("result"))
        kind = result.get("type")
        if kind == "succeeded" and result.get("message") is not None:
            return result["message"]
        if kind in self._UNASKED:
            return Trouble("again", self._UNASKED[kind])
        error = _mapping(_mapping(result.get("error")).get("error"))
        return refused(self._STATUS.get(str(error.get("type")), 500), {"error": error or None})


class GeminiForm(Form):
    """Gemini gives a response or a status, whose code is HTTP's or gRPC's."""

    _STATUS: ClassVar = {3: 400, 4: 504, 5: 404, 7: 403, 8: 429, 9: 400, 11: 400, 14: 503, 16: 401}

    def line(self, name: str, body: bytes) -> bytes:
        return orjson.dumps({"key": name})[:-1] + b',"request":' + body + b"}"

    def result(self, line: Mapping[str, Any]) -> Any:
        if line.get("response") is not None:
            return line["response"]
        error = _mapping(line.get("error") or line.get("status"))
        code = error.get("code")
        code = code if isinstance(code, int) else 500
        status = code if 400 <= code < 600 else self._STATUS.get(code, 500)
        return refused(status, {"error": error or None})


FORMS: Mapping[str, Form] = {"openai": OpenAIForm(), "anthropic": AnthropicForm(), "gemini": GeminiForm()}


def takes_batches(model: Model) -> bool:
    """Whether a model can be asked by the file: one behind a server that speaks a dialect with batches."""
    return isinstance(model, ChatModel) and model.dialect.name in FORMS


def request_line(model: ChatModel, name: str, prompt: Prompt) -> bytes:
    """The line that asks a model a prompt, with its line break; `name` comes back with the reply."""
    body = model.dialect.body(model.model, prompt, model.sampling)
    return FORMS[model.dialect.name].line(name, body) + b"\n"


def named(line: bytes) -> tuple[str, Mapping[str, Any]] | None:
    """The name and content of a line that came back; None where it cannot be read."""
    try:
        content = loaded(line)
    except ValueError:
        return None
    if not isinstance(content, Mapping):
        return None
    name = content.get("custom_id", content.get("key"))
    return (name, content) if isinstance(name, str) else None


def reply_of(model: ChatModel, prompt: Prompt, line: Mapping[str, Any], rate: float = RATE) -> Reply:
    """The reply in a line that came back, priced at `rate` times the live price."""
    tally = Tally(shares=model.shares)
    result = _result(model, prompt, line, tally)
    price = None if model.price is None else (model.price[0] * rate, model.price[1] * rate)
    if isinstance(result, Answer):
        return result.reply(prompt, tally.usage(price))
    if result.kind == "refused":
        return Reply(prompt, usage=tally.usage(price), stop="refused")
    kind: FailureKind = "permanent" if result.kind == "prompt" else "passing"
    return Reply(prompt, usage=tally.usage(price), error=result.message, failure=kind)


def _result(model: ChatModel, prompt: Prompt, line: Mapping[str, Any], tally: Tally) -> Answer | Trouble:
    body = FORMS[model.dialect.name].result(line)
    if isinstance(body, Trouble):
        tally.retries += 1
        return body
    tally.calls += 1
    return read_payload(model.dialect, body, prompt, tally, model.model)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
