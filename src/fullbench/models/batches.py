"""Requests by the file: the lines of OpenAI's batch files, which vLLM's offline mode reads and writes as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from fullbench.core.models import Model, Prompt, Reply
from fullbench.models.chat import ChatModel
from fullbench.models.dialects import Answer, OpenAI
from fullbench.models.replies import Tally, Trouble, read, refusal

ENDPOINT = "/v1/chat/completions"
RATE = 0.5
"""What a request costs in a batch, as a share of its live price; providers ask for half."""


def takes_batches(model: Model) -> bool:
    """Whether a model can be asked by the file: one behind a server that speaks OpenAI's chat completions."""
    return isinstance(model, ChatModel) and isinstance(model.dialect, OpenAI)


def request_line(model: ChatModel, name: str, prompt: Prompt) -> bytes:
    """The line that asks a model a prompt, with its line break; `name` comes back with the reply."""
    body = model.dialect.body(model.model, prompt, model.sampling)
    head = orjson.dumps({"custom_id": name, "method": "POST", "url": ENDPOINT})
    return head[:-1] + b',"body":' + body + b"}\n"


def named(line: bytes) -> tuple[str, Mapping[str, Any]] | None:
    """The name and content of a line that came back; None where it cannot be read."""
    try:
        content = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    name = content.get("custom_id") if isinstance(content, Mapping) else None
    return (name, content) if isinstance(name, str) else None


def reply_of(model: ChatModel, prompt: Prompt, line: Mapping[str, Any], rate: float = RATE) -> Reply:
    """The reply in a line that came back, priced at `rate` times the live price."""
    tally = Tally()
    result = _result(model, prompt, line, tally)
    price = None if model.price is None else (model.price[0] * rate, model.price[1] * rate)
    if isinstance(result, Answer):
        return Reply(prompt, result.text, tally.usage(price), stop=result.stop)
    if result.kind == "refused":
        return Reply(prompt, usage=tally.usage(price), stop="refused")
    return Reply(prompt, usage=tally.usage(price), error=result.message)


def _result(model: ChatModel, prompt: Prompt, line: Mapping[str, Any], tally: Tally) -> Answer | Trouble:
    """What a line says: OpenAI puts an error into the response's body, vLLM beside the response."""
    response = line.get("response")
    found: Mapping[str, Any] = response if isinstance(response, Mapping) else {}
    status, body = found.get("status_code"), found.get("body")
    if status == 200 and body is not None:
        tally.calls += 1
        return read(model.dialect, orjson.dumps(body), prompt, tally)
    tally.retries += 1
    failed = status if isinstance(status, int) and status != 200 else 500
    return refusal(failed, orjson.dumps(body or {"error": line.get("error")}), {})
