"""What a server sent back, read: an answer, or the trouble in its place; and what it used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from fullbench.core.call import Usage, known_sum
from fullbench.core.model import Prompt
from fullbench.models.dialects import Answer, Dialect
from fullbench.models.model_prices import FRESH, Shares
from fullbench.models.net import error_meanings
from fullbench.models.net.error_meanings import Kind
from fullbench.models.wire.token_estimates import estimate, words
from fullbench.models.wire.untrusted_json import Misshapen, is_object, loaded, looks, named


@dataclass(slots=True)
class Tally:
    """What one prompt has used so far.

    `cached` tokens came from the server's cache and `stored` ones went into it, None where it does not say; `counted`
    are the tokens in of replies that said so. `shares` is what one of each costs, where a fresh one costs 1.
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

    def dollars(self, price: tuple[float, float] | None) -> float:
        """What it cost so far, as far as a price is known."""
        if price is None:
            return 0.0
        weighed: float = self.tokens_in
        if self.cached or self.stored:
            weighed += (self.cached or 0) * (self.shares[0] - 1) + (self.stored or 0) * (self.shares[1] - 1)
        return (weighed * price[0] + self.tokens_out * price[1]) / 1e6

    def usage(self, price: tuple[float, float] | None) -> Usage:
        dollars: float | None = 0.0
        if self.calls:
            dollars = None if price is None else self.dollars(price)
        return Usage(
            self.calls, self.retries, self.tokens_in, self.tokens_out, dollars, self.seconds, self.cached, self.stored,
            self.counted,
        )  # fmt: skip

    def count_cached(self, tokens_in: int, cached: int | None, stored: int | None) -> None:
        """Add what a server said of its cache in a reply to so many tokens; more than these it cannot be."""
        if cached is not None:
            cached = min(cached, tokens_in)
            self.cached = known_sum(self.cached, cached)
            self.counted += tokens_in
        if stored is not None:
            self.stored = known_sum(self.stored, min(stored, tokens_in - (cached or 0)))


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why an attempt brought no answer, and the seconds the server asks us to wait.

    `alien` says what came where it is nothing that this API would send: a page, a stream, JSON of another kind.
    """

    kind: Kind
    message: str
    wait: float | None = None
    status: int = 0
    complaint: error_meanings.Complaint | None = None
    unconnected: bool = False
    alien: str = ""


def read(dialect: Dialect, raw: bytes, prompt: Prompt, tally: Tally, model: str = "") -> Answer | Trouble:
    """The answer in a body that came with 200. What the server did not count is estimated for this model, never zero.

    Nothing that a body may hold is raised: what cannot be read is the trouble of its prompt, with a reason.
    """
    try:
        payload = loaded(raw)
    except ValueError:
        tally.tokens_in += estimate(prompt, model)
        seems = looks(raw)
        kind: Kind = "garbled" if seems == "a stream of events" else "again"
        return Trouble(kind, f"200 with {seems}{_quoted(raw)}", alien="" if seems == "a broken body" else seems)
    return read_payload(dialect, payload, prompt, tally, model)


def read_payload(dialect: Dialect, payload: Any, prompt: Prompt, tally: Tally, model: str = "") -> Answer | Trouble:
    """The same of a body that was parsed before, as in a line of a batch."""
    result = _understood(dialect, payload)
    if isinstance(result, Answer):
        tokens_in, tokens_out, unread = result.tokens_in, result.tokens_out, result.reasoning + result.text
    else:  # the server may have counted all the same: reasoning that found no end, or an answer of another form
        tokens_in, tokens_out = dialect.used(payload) if is_object(payload) else (None, None)
        unread = ""
    tally.tokens_in += estimate(prompt, model) if tokens_in is None else tokens_in
    tally.tokens_out += words(unread) if tokens_out is None else tokens_out
    if tokens_in:
        tally.count_cached(tokens_in, *dialect.cached(payload))
    return result


def _understood(dialect: Dialect, payload: Any) -> Answer | Trouble:
    if not is_object(payload):
        return Trouble("garbled", f"200 with JSON, but no answer: it is {named(payload)}", alien="JSON of another kind")
    if payload.get("error"):
        return refused(_status_in(payload), payload)
    try:
        answer = dialect.parse(payload)
    except Misshapen as error:
        return Trouble("garbled", f"200 with an answer of another form: {error}")
    except RecursionError:
        return Trouble("garbled", "200 with an answer that is nested too deeply")
    if answer is not None:
        return answer
    alien = "" if any(mark in payload for mark in dialect.marks) else "JSON of another kind"
    return Trouble("again", "200 without an answer in it", alien=alien)


def _quoted(raw: bytes) -> str:
    """The first words of a body, for the person to recognise."""
    start = error_meanings.plain(raw[:200].decode("utf-8", "replace"))[:60]
    return f" ({start}...)" if start else ""


def refusal(status: int, raw: bytes, headers: Mapping[str, str]) -> Trouble:
    """What a server complains of, sorted, with the wait that it asks for."""
    try:
        payload = loaded(raw)
    except ValueError:
        payload = None
    return refused(status, payload, raw, headers)


def refused(status: int, payload: Any, raw: bytes = b"", headers: Mapping[str, str] | None = None) -> Trouble:
    """The same of a body that was parsed before."""
    headers = headers or {}
    complaint = error_meanings.read(payload, raw)
    if 300 <= status < 400 and (place := headers.get("location")):
        complaint = replace(complaint, message=f"it sends us to {error_meanings.plain(place)[:200]}")
    wait = error_meanings.retry_after(headers)
    kind = error_meanings.sort(status, complaint)
    wait = complaint.wait if wait is None else wait
    return Trouble(kind, f"{status}: {complaint.message}", wait, status, complaint)


def _status_in(payload: Mapping[str, Any]) -> int:
    """Some servers send an error with status 200 and the true status inside."""
    error = payload["error"]
    code = error.get("code") if isinstance(error, Mapping) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 500
