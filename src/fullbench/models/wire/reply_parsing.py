"""Parsing of server replies: a `Reply` or the `Trouble` in its place, and the tokens and dollars used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from fullbench.core.model import Prompt, Reply
from fullbench.core.model_call import Usage, sum_of_known
from fullbench.models.dialects import Dialect
from fullbench.models.model_prices import FRESH, Shares
from fullbench.models.net import error_meanings
from fullbench.models.net.error_meanings import Kind
from fullbench.models.wire.media_token_estimates import text_tokens
from fullbench.models.wire.token_estimates import estimate_tokens
from fullbench.models.wire.untrusted_json import Misshapen, describe_body, is_object, json_type_name, parse_json


@dataclass(slots=True)
class UsageCounter:
    """Usage of one prompt so far.

    `cached` tokens were read from the server's cache and `stored` ones written to it; None if unknown. `counted` is
    the sum of tokens in over replies that reported cached tokens. `shares` are the prices of both; a fresh token
    costs 1. `audio` tokens in are of sound, and `audio_share` is their price.
    """

    calls: int = 0
    retries: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    cached: int | None = None
    stored: int | None = None
    counted: int = 0
    shares: Shares = FRESH
    audio: int = 0
    audio_share: float = 1.0

    def dollars(self, price: tuple[float, float] | None) -> float:
        """Return the cost so far, 0 if the price is unknown."""
        if price is None:
            return 0.0
        weighted_tokens: float = self.tokens_in + self.audio * (self.audio_share - 1)
        if self.cached or self.stored:
            weighted_tokens += (self.cached or 0) * (self.shares[0] - 1) + (self.stored or 0) * (self.shares[1] - 1)
        return (weighted_tokens * price[0] + self.tokens_out * price[1]) / 1e6

    def usage(self, price: tuple[float, float] | None) -> Usage:
        dollars: float | None = 0.0
        if self.calls:
            dollars = None if price is None else self.dollars(price)
        return Usage(
            self.calls, self.retries, self.tokens_in, self.tokens_out, dollars, self.seconds, self.cached, self.stored,
            self.counted,
        )  # fmt: skip

    def count_cached(self, tokens_in: int, cached_tokens: int | None, stored_tokens: int | None) -> None:
        """Add the cache counts of a reply to `tokens_in` tokens, limited to that number."""
        if cached_tokens is not None:
            cached_tokens = min(cached_tokens, tokens_in)
            self.cached = sum_of_known(self.cached, cached_tokens)
            self.counted += tokens_in
        if stored_tokens is not None:
            self.stored = sum_of_known(self.stored, min(stored_tokens, tokens_in - (cached_tokens or 0)))


@dataclass(frozen=True, slots=True)
class Trouble:
    """Reason why an attempt got no answer, and the wait that the server requested.
    `alien` names a reply that this API would never send: a page, a stream, JSON of another kind.
    """

    kind: Kind
    message: str
    wait: float | None = None
    status: int = 0
    complaint: error_meanings.Complaint | None = None
    is_unconnected: bool = False
    alien: str = ""


def read_body(dialect: Dialect, raw: bytes, prompt: Prompt, counter: UsageCounter, model: str = "") -> Reply | Trouble:
    """Return the reply in a body with status 200, without its usage. Missing token counts are estimated, never zero.
    No body raises an exception: one that cannot be parsed is a `Trouble` with a reason.
    """
    try:
        payload = parse_json(raw)
    except ValueError:
        counter.tokens_in += estimate_tokens(prompt, model)
        body_kind = describe_body(raw)
        kind: Kind = "garbled" if body_kind == "a stream of events" else "again"
        return Trouble(
            kind, f"200 with {body_kind}{_body_excerpt(raw)}", alien="" if body_kind == "a broken body" else body_kind
        )
    return read_payload(dialect, payload, prompt, counter, model)


def read_payload(
    dialect: Dialect, payload: Any, prompt: Prompt, counter: UsageCounter, model: str = ""
) -> Reply | Trouble:
    """Return the reply in a parsed body, for example in a line of a batch."""
    result = _parse_payload(dialect, payload, prompt)
    reply = result if isinstance(result, Reply) else Reply(prompt)
    if not is_object(payload):
        tokens_in, tokens_out = None, None
    elif dialect.per_picture:
        tokens_in, tokens_out = 0, len(reply.pictures)
    else:  # also without a reply: for reasoning without an end, or for an answer of another form
        tokens_in, tokens_out = dialect.token_usage(payload)
    counter.tokens_in += estimate_tokens(prompt, model) if tokens_in is None else tokens_in
    counter.tokens_out += text_tokens(reply.reasoning + reply.text) if tokens_out is None else tokens_out
    if tokens_in:
        counter.audio += dialect.audio_tokens(payload)
        counter.count_cached(tokens_in, *dialect.cache_usage(payload))
    is_estimated = tokens_in is None or tokens_out is None
    return replace(result, estimated=True) if is_estimated and isinstance(result, Reply) else result


def _parse_payload(dialect: Dialect, payload: Any, prompt: Prompt) -> Reply | Trouble:
    if not is_object(payload):
        return Trouble(
            "garbled", f"200 with JSON, but no answer: it is {json_type_name(payload)}", alien="JSON of another kind"
        )
    if payload.get("error"):
        return trouble_from_payload(_status_in(payload), payload)
    try:
        reply = dialect.parse(payload, prompt)
    except Misshapen as error:
        return Trouble("garbled", f"200 with an answer of another form: {error}")
    except RecursionError:
        return Trouble("garbled", "200 with an answer that is nested too deeply")
    if reply is not None:
        return reply
    alien = "" if any(mark in payload for mark in dialect.signature_fields) else "JSON of another kind"
    return Trouble("again", "200 without an answer in it", alien=alien)


def _body_excerpt(raw: bytes) -> str:
    start = error_meanings.printable_line(raw[:200].decode("utf-8", "replace"))[:60]
    return f" ({start}...)" if start else ""


def trouble_from_response(status: int, raw: bytes, headers: Mapping[str, str]) -> Trouble:
    """Classify an error reply, with the wait that the server requested."""
    try:
        payload = parse_json(raw)
    except ValueError:
        payload = None
    return trouble_from_payload(status, payload, raw, headers)


def trouble_from_payload(
    status: int, payload: Any, raw: bytes = b"", headers: Mapping[str, str] | None = None
) -> Trouble:
    """Classify an error reply whose body was parsed before."""
    headers = headers or {}
    complaint = error_meanings.read_complaint(payload, raw)
    if 300 <= status < 400 and (place := headers.get("location")):
        complaint = replace(complaint, message=f"it sends us to {error_meanings.printable_line(place)[:200]}")
    wait = error_meanings.retry_after(headers)
    kind = error_meanings.classify_complaint(status, complaint)
    wait = complaint.wait if wait is None else wait
    return Trouble(kind, f"{status}: {complaint.message}", wait, status, complaint)


def _status_in(payload: Mapping[str, Any]) -> int:
    """Return the true status in the body of an error that some servers send with status 200."""
    error = payload["error"]
    code = error.get("code") if isinstance(error, Mapping) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 500
