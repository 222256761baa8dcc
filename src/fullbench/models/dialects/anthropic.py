"""Anthropic Messages API."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from fullbench.core.item import Part
from fullbench.core.model import Prompt, Reply
from fullbench.models.dialects.base import (
    Dialect,
    join_text_parts,
    json_text,
    require_picture,
    splice_json,
    system_text,
    turns_with_system,
)
from fullbench.models.model_settings import Sampling
from fullbench.models.wire.image_encoding import Limit, encode_picture
from fullbench.models.wire.media_encoding import encode_media
from fullbench.models.wire.reasoning_text import collect_text
from fullbench.models.wire.untrusted_json import (
    list_of,
    storable_text,
    sum_token_counts,
    text_of,
    token_count,
    usage_of,
)

REPLY_TOKENS = 4_096
"""Reply limit that every Claude model accepts, including the oldest."""

LARGEST_DOCUMENT = 22 * 2**20
"""A request has at most 32 MB, and base64 takes a third more: docs.claude.com/en/docs/build-with-claude/pdf-support."""

_ADAPTIVE_MODELS = re.compile(r"claude-(?:[a-z]+-)?(?:4[-.][6-9]|[5-9])|claude-mythos")
"""Models that choose how long they think, within an effort; older ones take a number of tokens."""

_BUDGETS = {"minimal": 1_024, "low": 1_024, "medium": 4_096, "high": 16_384}


def thinking_room(effort: str | None) -> int:
    """Return the tokens to add to the reply limit for thinking; 0 if effort is None or `none`."""
    return 0 if effort in {None, "none"} else _BUDGETS.get(str(effort), _BUDGETS["high"])


def _thinking_settings(model: str, effort: str | None) -> tuple[dict[str, Any], int]:
    """Return the settings that make a model think (newer ones show thoughts on request) and extra reply tokens."""
    if not (budget := thinking_room(effort)):
        return {}, 0
    if _ADAPTIVE_MODELS.search(model):
        return {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": effort}}, budget
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}, budget


class Anthropic(Dialect):
    """Anthropic Messages. The API requires a reply limit (`REPLY_TOKENS` by default) and refuses blank text.

    With `cache`, the end of the part that a prompt shares with others (picture, question) is marked. The server keeps
    it for five minutes: reading it costs a tenth of the price, writing it a quarter more.
    """

    name = "anthropic"
    home = "https://api.anthropic.com/v1"
    takes_seed = False
    signature_fields = ("content",)
    pictures = Limit(pixels=2_000)
    native_kinds = frozenset({"document"})
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
        turns = turns_with_system(prompt, sampling)
        thinking, room = _thinking_settings(model, sampling.effort)
        settings = {
            "model": model,
            "max_tokens": (sampling.max_tokens or REPLY_TOKENS) + room,
            "temperature": sampling.sent_temperature,
            "top_p": sampling.top_p,
            "system": system_text(turns),
            **thinking,
            **sampling.extra,
        }
        limit = self.limit(sampling)
        shared_parts = prompt.shared if self._cache else 0
        messages = []
        for turn in turns:
            if turn.role != "system":
                parts = self._content(turn.parts, shared_parts, limit)
                messages.append(b'{"role":"' + turn.role.encode() + b'","content":[' + b",".join(parts) + b"]}")
                shared_parts = 0
        return splice_json(settings, b'"messages":[' + b",".join(messages) + b"]")

    def _content(self, parts: Sequence[Part], shared_parts: int, limit: Limit) -> Iterator[bytes]:
        first = join_text_parts(parts[:shared_parts]) if shared_parts else []
        for place, part in enumerate([*first, *join_text_parts(parts[shared_parts:])], 1):
            block = self._part(part, limit)
            yield block if place != len(first) else block[:-1] + b',"cache_control":{"type":"ephemeral"}}'

    def _part(self, part: Part, limit: Limit) -> bytes:
        if isinstance(part, str):
            return b'{"type":"text","text":' + json_text(part) + b"}"
        if part.kind == "document":
            data = encode_media(part, "Anthropic's API", LARGEST_DOCUMENT)
            source = b'{"type":"base64","media_type":"application/pdf","data":"' + data + b'"}'
            return b'{"type":"document","source":' + source + b"}"
        media, data = encode_picture(require_picture(part), limit)
        source = b'{"type":"base64","media_type":"' + media.encode() + b'","data":"' + data + b'"}'
        return b'{"type":"image","source":' + source + b"}"

    def parse(self, payload: Mapping[str, Any], prompt: Prompt) -> Reply | None:
        blocks = list_of(payload.get("content"), "its content")
        reason = text_of(payload.get("stop_reason"), "stop_reason") or "stop"
        stop = self._STOPS.get(reason, reason)
        if not blocks and stop == "stop" and reason != "end_turn":
            return None
        text = "".join(text_of(block.get("text"), "a text block") for block in blocks if block.get("type") == "text")
        reasoning = "".join(
            text_of(block.get("thinking"), "a thinking block") for block in blocks if block.get("type") == "thinking"
        )
        served_model = storable_text(collect_text(payload.get("model")))
        return Reply(prompt, text, stop=stop, reasoning=reasoning, served=served_model)

    def token_usage(self, payload: Mapping[str, Any]) -> tuple[int | None, int | None]:
        usage = usage_of(payload.get("usage"))
        # Unlike other APIs, Anthropic's `input_tokens` excludes cached tokens.
        fresh = token_count(usage.get("input_tokens"))
        cached_tokens = sum_token_counts(
            usage.get(name) for name in ("cache_read_input_tokens", "cache_creation_input_tokens")
        )
        return None if fresh is None else fresh + (cached_tokens or 0), token_count(usage.get("output_tokens"))

    def cache_usage(self, payload: Mapping[str, Any]) -> tuple[int | None, int | None]:
        usage = usage_of(payload.get("usage"))
        return token_count(usage.get("cache_read_input_tokens")), token_count(usage.get("cache_creation_input_tokens"))
