"""What a server sent back, read: an answer, or the trouble in its place; and what it used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from fullbench.models.dialects import Answer, Dialect
from fullbench.models.net import complaints
from fullbench.models.net.complaints import Kind
from fullbench.models.tokens import estimate, words
from fullbench.nouns.call import Usage
from fullbench.nouns.model import Prompt


@dataclass(slots=True)
class Tally:
    """What one prompt has used so far."""

    calls: int = 0
    retries: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0

    def usage(self, price: tuple[float, float] | None) -> Usage:
        dollars: float | None = 0.0
        if self.calls:
            dollars = None if price is None else (self.tokens_in * price[0] + self.tokens_out * price[1]) / 1e6
        return Usage(self.calls, self.retries, self.tokens_in, self.tokens_out, dollars, self.seconds)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why an attempt brought no answer, and the seconds the server asks us to wait."""

    kind: Kind
    message: str
    wait: float | None = None
    status: int = 0
    complaint: complaints.Complaint | None = None
    unconnected: bool = False


def read(dialect: Dialect, raw: bytes, prompt: Prompt, tally: Tally) -> Answer | Trouble:
    """The answer in a body that came with 200. What the server did not count is estimated, never zero."""
    answer, payload = None, None
    try:
        payload = orjson.loads(raw)
        answer = dialect.parse(payload)
    except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError):
        pass
    if answer is None:
        tally.tokens_in += estimate(prompt)
        if isinstance(payload, Mapping) and payload.get("error"):
            return refusal(_status_in(payload), raw, {})
        return Trouble("again", "200 without an answer in it" if payload is not None else "200 with a broken body")
    tally.tokens_in += estimate(prompt) if answer.tokens_in is None else answer.tokens_in
    tally.tokens_out += words(answer.reasoning + answer.text) if answer.tokens_out is None else answer.tokens_out
    return answer


def refusal(status: int, raw: bytes, headers: Mapping[str, str]) -> Trouble:
    """What a server complains of, sorted, with the wait that it asks for."""
    try:
        payload = orjson.loads(raw)
    except orjson.JSONDecodeError:
        payload = None
    complaint = complaints.read(payload, raw)
    wait = complaints.retry_after(headers)
    kind = complaints.sort(status, complaint)
    wait = complaint.wait if wait is None else wait
    return Trouble(kind, f"{status}: {complaint.message}", wait, status, complaint)


def _status_in(payload: Mapping[str, Any]) -> int:
    """Some servers send an error with status 200 and the true status inside."""
    error = payload["error"]
    code = error.get("code") if isinstance(error, Mapping) else None
    return code if isinstance(code, int) and code >= 400 else 500
