"""Gemini generateContent API."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import orjson

from fullbench.core.item import Part
from fullbench.core.media import Media
from fullbench.core.model import Prompt, Reply
from fullbench.errors import InputError
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
from fullbench.models.wire.untrusted_json import list_of, mapping_of, storable_text, text_of, token_count, usage_of

LARGEST_INLINE = 14 * 2**20
"""A request has at most 20 MB, and base64 takes a third more: ai.google.dev/gemini-api/docs/video-understanding."""

_LEVELS = re.compile(r"gemini-(?:[3-9]|\d\d)")
"""Models that take a level of thinking; older ones take a number of tokens."""

_BUDGETS = {"none": 0, "minimal": 512, "low": 1_024, "medium": 8_192, "high": 24_576}


def _thinking_config(model: str, effort: str | None) -> dict[str, Any] | None:
    if effort is None:
        return None
    if _LEVELS.search(model):
        return {"thinkingLevel": effort, "includeThoughts": True}
    return {"thinkingBudget": _BUDGETS.get(effort, _BUDGETS["high"]), "includeThoughts": effort != "none"}


_VIDEO_TYPES = {
    "video/mp4": "video/mp4", "video/webm": "video/webm", "video/quicktime": "video/mov",
    "video/x-msvideo": "video/avi",
}  # fmt: skip
"""Videos that the API takes, and its names for them: ai.google.dev/gemini-api/docs/video-understanding."""


def _sent_type(part: Media) -> str:
    """Return the API's name of a file's type, or refuse a video that it does not take."""
    if part.kind != "video":
        return part.media_type
    if part.media_type not in _VIDEO_TYPES:
        raise InputError(
            f"the video {part.digest[:12]} is {part.media_type}, which Gemini's API does not take; save it as MP4, or "
            "send frames with video=frames",
            path=part.source if isinstance(part.source, Path) else None,
        )
    return _VIDEO_TYPES[part.media_type]


def _video_metadata(sampling: Sampling) -> bytes:
    """Return the member that tells which part of a video the model gets, and at which rate."""
    members: dict[str, float | str | None] = {"fps": sampling.fps}
    offsets = {"startOffset": sampling.start, "endOffset": sampling.end}
    members |= {name: f"{seconds:g}s" for name, seconds in offsets.items() if seconds is not None}
    set_members = {name: value for name, value in members.items() if value is not None}
    return b',"videoMetadata":' + orjson.dumps(set_members) if set_members else b""


class Gemini(Dialect):
    """Gemini generateContent."""

    name = "gemini"
    home = "https://generativelanguage.googleapis.com/v1beta"
    signature_fields = ("candidates", "promptFeedback", "usageMetadata")
    pictures = Limit(pixels=3_072, media=("image/jpeg", "image/png", "image/webp"))
    native_kinds = frozenset({"video", "audio", "document"})
    chooses_frames = True
    takes_sound_with_frames = True
    _FILTER_REASONS = (
        "SAFETY", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "RECITATION",
        "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "LANGUAGE",
    )  # fmt: skip
    _STOPS: ClassVar = {
        "STOP": "stop",
        "MAX_TOKENS": "length",
        **dict.fromkeys(_FILTER_REASONS, "filter"),
        **dict.fromkeys(("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"), "tool"),
    }

    def url(self, base: str, model: str) -> str:
        return f"{base}/models/{quote(model)}:generateContent"

    def headers(self, key: str | None) -> dict[str, str]:
        return {} if key is None else {"x-goog-api-key": key}

    def files_to_upload(self, prompt: Prompt) -> list[Media]:
        """Return the largest files of a prompt, so many that the others fit into a request."""
        files = {part.digest: part for turn in prompt.turns for part in turn.media if part.kind in self.native_kinds}
        if not files:
            return []
        sizes = {digest: part.byte_count for digest, part in files.items()}
        largest_first = sorted(files, key=lambda digest: (-sizes[digest], digest))
        uploaded: list[Media] = []
        left = sum(sizes.values())
        while left > LARGEST_INLINE:
            digest = largest_first[len(uploaded)]
            uploaded.append(files[digest])
            left -= sizes[digest]
        return uploaded

    def body(self, model: str, prompt: Prompt, sampling: Sampling) -> bytes:
        return self.body_with_files(model, prompt, sampling, {})

    def body_with_files(self, model: str, prompt: Prompt, sampling: Sampling, addresses: Mapping[str, str]) -> bytes:
        turns = turns_with_system(prompt, sampling)
        system = system_text(turns)
        config = {
            "temperature": sampling.sent_temperature,
            "topP": sampling.top_p,
            "maxOutputTokens": sampling.max_tokens,
            "seed": sampling.seed if prompt.seed is None else prompt.seed,
            "responseMimeType": "application/json" if prompt.json else None,
            "thinkingConfig": _thinking_config(model, sampling.effort),
        }
        settings = {
            "systemInstruction": None if system is None else {"parts": [{"text": system}]},
            "generationConfig": {name: value for name, value in config.items() if value is not None} or None,
            **sampling.extra,
        }
        limit = self.limit(sampling)
        contents = b",".join(
            b'{"role":"' + (b"model" if turn.role == "assistant" else b"user") + b'","parts":['
            + b",".join(self._part(part, limit, sampling, addresses) for part in join_text_parts(turn.parts)) + b"]}"
            for turn in turns if turn.role != "system"
        )  # fmt: skip
        return splice_json(settings, b'"contents":[' + contents + b"]")

    def _part(self, part: Part, limit: Limit, sampling: Sampling, addresses: Mapping[str, str]) -> bytes:
        if isinstance(part, str):
            return b'{"text":' + json_text(part) + b"}"
        if part.kind in self.native_kinds:
            media_type, address = _sent_type(part).encode(), addresses.get(part.digest)
            if address is None:
                data = encode_media(part, "Gemini's API", LARGEST_INLINE)
                file = b'"inlineData":{"mimeType":"' + media_type + b'","data":"' + data + b'"}'
            else:
                file = b'"fileData":{"mimeType":"' + media_type + b'","fileUri":' + json_text(address) + b"}"
            return b"{" + file + (_video_metadata(sampling) if part.kind == "video" else b"") + b"}"
        media, data = encode_picture(require_picture(part), limit)
        return b'{"inlineData":{"mimeType":"' + media.encode() + b'","data":"' + data + b'"}}'

    def parse(self, payload: Mapping[str, Any], prompt: Prompt) -> Reply | None:
        served_model = storable_text(collect_text(payload.get("modelVersion")))
        candidates = list_of(payload.get("candidates"), "candidates")
        if not candidates:
            block_reason = mapping_of(payload.get("promptFeedback"), "promptFeedback").get("blockReason")
            return Reply(prompt, stop="filter", served=served_model) if block_reason else None
        parts = list_of(mapping_of(candidates[0].get("content"), "its content").get("parts"), "parts")
        text, reasoning = (
            "".join(
                text_of(part.get("text"), "the text of a part")
                for part in parts
                if bool(part.get("thought")) is is_thought
            )
            for is_thought in (False, True)
        )
        reason = text_of(candidates[0].get("finishReason"), "finishReason") or "STOP"
        is_tool_call = not text.strip() and any("functionCall" in part for part in parts)
        stop = "tool" if is_tool_call else self._STOPS.get(reason, reason.lower())
        return Reply(prompt, text, stop=stop, reasoning=reasoning, served=served_model)

    def token_usage(self, payload: Mapping[str, Any]) -> tuple[int | None, int | None]:
        usage = usage_of(payload.get("usageMetadata"))
        visible, thinking = token_count(usage.get("candidatesTokenCount")), token_count(usage.get("thoughtsTokenCount"))
        # Without candidates nothing was written, so a missing count is no gap.
        is_missing = visible is None and thinking is None and bool(payload.get("candidates"))
        tokens_out = None if is_missing else (visible or 0) + (thinking or 0)
        return token_count(usage.get("promptTokenCount")), tokens_out

    def cache_usage(self, payload: Mapping[str, Any]) -> tuple[int | None, int | None]:
        return token_count(usage_of(payload.get("usageMetadata")).get("cachedContentTokenCount")), None

    def audio_tokens(self, payload: Mapping[str, Any]) -> int:
        details = usage_of(payload.get("usageMetadata")).get("promptTokensDetails")
        counts = [
            token_count(entry.get("tokenCount"))
            for entry in (details if isinstance(details, list) else ())
            if isinstance(entry, Mapping) and entry.get("modality") == "AUDIO"
        ]
        return sum(count or 0 for count in counts)
