"""Classification of servers' error replies: retry, slow down, this prompt is at fault, or no prompt can succeed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import time
from typing import Any, Literal

Kind = Literal["again", "busy", "garbled", "refused", "prompt", "unclear", "model"]
"""again: retry. busy: retry with fewer calls at a time. garbled: retry once, the reply had a wrong form. refused: the
prompt was declined. prompt: this prompt can never succeed. unclear: perhaps no prompt can. model: no prompt can.
"""

_POLICY = re.compile(
    r"content_policy|content policy|content_filter|content management policy|responsible.?ai|safety system"
    r"|moderation|flagged|prohibited content|blocked by .*(safety|filter)",
    re.IGNORECASE,
)
_PROMPT = re.compile(
    r"context.?(length|window|size)|too (long|large|many (tokens|images|pictures))|maximum.{0,20}(length|tokens|size)"
    r"|exceed|image|picture|media.?type|mime|base64|messages\[|messages\.\d|contents\[",
    re.IGNORECASE,
)
_MODEL = re.compile(
    r"api.?key|unsupported_(parameter|value)|unknown.?(parameter|field|name)|unrecognized|model_not_found"
    r"|does not exist|model.{0,80}not found|no such model|is not supported (with|by|for) this model",
    re.IGNORECASE,
)
_BLIND = re.compile(
    r"does not support (image|vision|picture)|image input is not supported|is not a multimodal model", re.IGNORECASE
)
_MONEY = re.compile(r"insufficient_quota|credit balance|billing|insufficient (balance|credits|funds)", re.IGNORECASE)


PROXY_LOGIN = 407
MOST_WORDS = 20_000
DEEPEST = 20
"""Only the first characters and upper levels of a complaint are read; no honest one has more."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """A server's error reply: its sentence, all its words for classification, and the requested wait."""

    message: str
    words: str
    wait: float | None = None


def read_complaint(payload: Any, raw: bytes = b"") -> Complaint:
    """Extract the complaint from an error body of any server; from its first bytes if it is not JSON.

    >>> read_complaint({"error": {"message": "too long", "code": "context_length_exceeded"}}).message
    'too long'
    >>> read_complaint({"error": "model 'x' not found"}).message
    "model 'x' not found"
    """
    body = payload
    if isinstance(payload, list) and payload:
        body = payload[0]
    if isinstance(body, Mapping):
        body = body.get("error") or body.get("detail") or body
    words = " ".join(_flatten_words(body))[:MOST_WORDS] if body is not None else raw[:400].decode("utf-8", "replace")
    message = body.get("message") if isinstance(body, Mapping) else None
    text = message if isinstance(message, str) and message else words
    return Complaint(printable_line(text)[:300] or "no reason given", words, _retry_info(body))


_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]+")


def printable_line(text: str) -> str:
    r"""Return a server's text on one line, without characters that move a terminal's cursor or reverse its text.

    >>> printable_line("bad\x1b]0;x\x07 key\n\u202egnorw")
    'bad ]0;x key gnorw'
    """
    return " ".join(_CONTROLS.sub(" ", text).split())


def _flatten_words(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, Mapping | list) and depth > DEEPEST:
        return
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield str(name)
            yield from _flatten_words(part, depth + 1)
    elif isinstance(value, list):
        for part in value:
            yield from _flatten_words(part, depth + 1)
    elif value is not None:
        yield str(value)


def _retry_info(body: Any) -> float | None:
    """Return the seconds to wait that Gemini writes into the body: `"retryDelay": "20s"`."""
    details = body.get("details") if isinstance(body, Mapping) else None
    for detail in details if isinstance(details, list) else []:
        delay = detail.get("retryDelay") if isinstance(detail, Mapping) else None
        if isinstance(delay, str) and (match := re.fullmatch(r"(\d+(?:\.\d+)?)s", delay)):
            return float(match[1])
    return None


def classify_complaint(status: int, complaint: Complaint) -> Kind:
    """Return what to do about a complaint.

    >>> classify_complaint(503, read_complaint(None, b"upstream died"))
    'busy'
    >>> classify_complaint(400,
    ...     read_complaint({"error": {"message": "This model's maximum context length is 8192 tokens"}}))
    'prompt'
    """
    words = complaint.words
    if status == 402 or (status in {400, 403, 429} and _MONEY.search(words)) or _BLIND.search(words):
        return "model"
    if status in {429, 503, 529}:
        return "busy"
    if 300 <= status < 400 or status in {408, 409, 425} or status >= 500:
        return "again"
    if status in {400, 403, 422} and _POLICY.search(words):
        return "refused"
    if status == 413:
        return "prompt"
    if status in {400, 422}:
        return "model" if _MODEL.search(words) else "prompt" if _PROMPT.search(words) else "unclear"
    return "model"


def describe_complaint(status: int, complaint: Complaint, *, server: str, model: str, key: str) -> str:
    """Return one sentence for the user: what is wrong, which server, what to do."""
    reply = f"{status}: {complaint.message}"
    if status == 402 or _MONEY.search(complaint.words):
        return f"{server} says that the account is used up ({reply}); top it up or use another key"
    if status in {401, 403} or re.search(r"api.?key", complaint.words, re.IGNORECASE):
        return f"{server} refused the key ({reply}); check {key}"
    if status == PROXY_LOGIN:
        return describe_proxy_refusal(server, reply)
    if 300 <= status < 400:
        return (
            f"{server} is elsewhere ({reply}), and neither keys nor pictures are sent after it; where you trust that "
            "address, name it in the spec, up to /v1"
        )
    if status in {404, 405}:
        return (
            f"{server} has no model {model!r} at this address ({reply}); check the name and the URL, which is given up "
            "to /v1 (http://HOST:PORT/v1, without /chat/completions); `fullbench check URL` lists what is served"
        )
    if "temperature" in complaint.words.lower():
        hint = "say temperature=default to leave it to the server"
        return f"{server} will not serve {model!r} as it is asked ({reply}); {hint}"
    return f"{server} will not serve {model!r} as it is asked ({reply}); check the name and its settings"


def describe_proxy_refusal(server: str, reply: str) -> str:
    """Return one sentence about a proxy that wants other credentials; it may be one that no variable names."""
    return (
        f"a proxy in front of {server} refuses the request ({reply}); set http_proxy or https_proxy to "
        "http://USER:PASSWORD@HOST:PORT, or no_proxy to the server's host"
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the wait in seconds that a server requests in milliseconds, in seconds or as a date.

    >>> retry_after({"Retry-After": "7"}), retry_after({"retry-after-ms": "250"}), retry_after({})
    (7.0, 0.25, None)
    """
    lower = {name.lower(): value for name, value in headers.items() if name.lower().startswith("retry-after")}
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = lower.get(name, "")
        if re.fullmatch(r"\d+(\.\d+)?", value):
            return float(value) * unit
    try:
        return max(0.0, parsedate_to_datetime(lower["retry-after"]).timestamp() - time())
    except (KeyError, ValueError, OverflowError):
        return None
