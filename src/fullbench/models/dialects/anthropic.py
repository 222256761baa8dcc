"""Anthropic Messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from fullbench.core.item import Part
from fullbench.core.model import Prompt
from fullbench.models.dialects.base import Answer, Dialect, joined_words, json_text, splice, system_words, with_system
from fullbench.models.model_settings import Sampling
from fullbench.models.wire.image_encoding import Limit, encoded
from fullbench.models.wire.reasoning_text import written
from fullbench.models.wire.untrusted_json import count, list_of, text_of, total, usage_of, whole

REPLY_TOKENS = 4_096
"""What every model of theirs may write, the oldest included."""

_ADAPTS = re.compile(r"claude-(?:[a-z]+-)?(?:4[-.][6-9]|[5-9])|claude-mythos")
"""Models that settle themselves how long they think, within an effort; older ones take a number of tokens."""

_BUDGETS = {"minimal": 1_024, "low": 1_024, "medium": 4_096, "high": 16_384}


def thinking_room(effort: str | None) -> int:
    """The tokens that a limit must have on top for what is thought; none where nothing is said, or not to think."""
    return 0 if effort in {None, "none"} else _BUDGETS.get(str(effort), _BUDGETS["high"])


def _thinking(model: str, effort: str | None) -> tuple[dict[str, Any], int]:
    """The settings that make a model think, and the tokens that its limit must have on top for that.

    Newer models keep what they thought to themselves unless a summary is asked for.
    """
    if not (budget := thinking_room(effort)):
        return {}, 0
    if _ADAPTS.search(model):
        return {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": effort}}, budget
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}, budget


class Anthropic(Dialect):
    """Anthropic Messages. It wants a limit on the reply, `REPLY_TOKENS` where none is set, and takes no blank text.

    With `cache`, the end of what a prompt shares with others (the picture, the question) is marked, so that the server
    keeps it for five minutes: a tenth of the price when it comes again, a quarter more when it is first sent.
    """

    name = "anthropic"
    home = "https://api.anthropic.com/v1"
    takes_seed = False
    marks = ("content",)
    pictures = Limit(pixels=2_000)
    _STOPS: ClassVar = {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
        "refusal": "refused",
        "tool_use": "tool",
    }

    def __init__(self, *, cache: bool = False) -> None:
        self._cache = cache

    def url(self, base: str, model: str) -> str:
        return f"{base}/messages"

    def headers(self, key: str | None) -> dict[str, str]:
        return {"anthropic-version": "2023-06-01"} | ({} if key is None else {"x-api-key": key})

    def body(self, model: str, prompt: Prompt, sampling: Sampling) -> bytes:
        turns = with_system(prompt, sampling)
        thinking, room = _thinking(model, sampling.effort)
        settings = {
            "model": model,
            "max_tokens": (sampling.max_tokens or REPLY_TOKENS) + room,
            "temperature": sampling.sent_temperature,
            "top_p": sampling.top_p,
            "system": system_words(turns),
            **thinking,
            **sampling.extra,
        }
        limit = self.limit(sampling)
        shared = prompt.shared if self._cache else 0
        messages = []
        for turn in turns:
            if turn.role != "system":
                parts = self._content(turn.parts, shared, limit)
                messages.append(b'{"role":"' + turn.role.encode() + b'","content":[' + b",".join(parts) + b"]}")
                shared = 0
        return splice(settings, b'"messages":[' + b",".join(messages) + b"]")

    def _content(self, parts: Sequence[Part], shared: int, limit: Limit) -> Iterator[bytes]:
        """The blocks of a message; the last of those that other prompts share is marked for the server's cache."""
        first = joined_words(parts[:shared]) if shared else []
        for place, part in enumerate([*first, *joined_words(parts[shared:])], 1):
            block = self._part(part, limit)
            yield block if place != len(first) else block[:-1] + b',"cache_control":{"type":"ephemeral"}}'

    def _part(self, part: Part, limit: Limit) -> bytes:
        if isinstance(part, str):
            return b'{"type":"text","text":' + json_text(part) + b"}"
        media, data = encoded(part, limit)
        source = b'{"type":"base64","media_type":"' + media.encode() + b'","data":"' + data + b'"}'
        return b'{"type":"image","source":' + source + b"}"

    def parse(self, payload: Mapping[str, Any]) -> Answer | None:
        blocks = list_of(payload.get("content"), "its content")
        reason = text_of(payload.get("stop_reason"), "stop_reason") or "stop"
        stop = self._STOPS.get(reason, reason)
        if not blocks and stop == "stop" and reason != "end_turn":
            return None
        text = "".join(text_of(block.get("text"), "a text block") for block in blocks if block.get("type") == "text")
        thought = "".join(
            text_of(block.get("thinking"), "a thinking block") for block in blocks if block.get("type") == "thinking"
        )
        return Answer(text, stop, *self.used(payload), thought, whole(written(payload.get("model"))))

    def used(self, payload: Mapping[str, Any]) -> tuple[int | None, int | None]:
        usage = usage_of(payload.get("usage"))
        fresh = count(usage.get("input_tokens"))
        cached = total(usage.get(name) for name in ("cache_read_input_tokens", "cache_creation_input_tokens"))
        return None if fresh is None else fresh + (cached or 0), count(usage.get("output_tokens"))

    def cached(self, payload: Mapping[str, Any]) -> tuple[int | None, int | None]:
        usage = usage_of(payload.get("usage"))
        return count(usage.get("cache_read_input_tokens")), count(usage.get("cache_creation_input_tokens"))
