"""OpenAI responses API, in which reasoning models return a summary of their reasoning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import orjson

from fullbench.core.item import Turn
from fullbench.core.model import Prompt, Reply
from fullbench.models.dialects.base import Dialect, json_text, open_json_object, require_picture, turns_with_system
from fullbench.models.dialects.openai import LARGEST_FILE, OpenAI
from fullbench.models.model_settings import Sampling
from fullbench.models.wire.image_encoding import encode_picture
from fullbench.models.wire.media_encoding import encode_media
from fullbench.models.wire.reasoning_text import collect_text
from fullbench.models.wire.untrusted_json import list_of, mapping_of, storable_text, text_of, token_count, usage_of


class Responses(Dialect):
    """OpenAI responses. The server stores nothing; if an effort is set, a reasoning summary is requested."""

    name = "responses"
    home = OpenAI.home
    tail = "+responses"
    takes_seed = False
    takes_schemas = True
    signature_fields = ("output", "incomplete_details")
    native_kinds = frozenset({"document"})
    _STOPS: ClassVar = {"max_output_tokens": "length", "content_filter": "filter"}

    def url(self, base: str, model: str) -> str:
        return f"{base}/responses"

    def headers(self, key: str | None) -> dict[str, str]:
        return {} if key is None else {"Authorization": f"Bearer {key}"}

    def body(self, model: str, prompt: Prompt, sampling: Sampling) -> bytes:
        effort = sampling.effort
        settings = {
            "model": model,
            "temperature": sampling.sent_temperature,
            "top_p": sampling.top_p,
            "max_output_tokens": sampling.max_tokens,
            "text": _text_format(prompt),
            "reasoning": None if effort is None else {"effort": effort, "summary": "auto"},
            "store": False,
            **sampling.extra,
        }
        pieces = [open_json_object(settings), b'"input":[']
        for number, turn in enumerate(turns_with_system(prompt, sampling)):
            pieces.append(b"," if number else b"")
            self._message(turn, sampling, pieces)
        pieces.append(b"]}")
        return b"".join(pieces)

    def _message(self, turn: Turn, sampling: Sampling, pieces: list[bytes]) -> None:
        kind = b"output_text" if turn.role == "assistant" else b"input_text"
        pieces.append(b'{"role":"' + turn.role.encode() + b'","content":')
        comma = b"["
        for part in turn.parts:
            if isinstance(part, str):
                pieces += (comma, b'{"type":"', kind, b'","text":', json_text(part), b"}")
            elif part.kind == "document":
                head = b'{"type":"input_file","filename":"document.pdf","file_data":"data:application/pdf;base64,'
                pieces += (comma, head, encode_media(part, "the responses API", LARGEST_FILE), b'"}')
            else:
                media, data = encode_picture(require_picture(part), self.limit(sampling))
                pieces += (comma, b'{"type":"input_image","detail":"auto","image_url":"data:', media.encode())
                pieces += (b";base64,", data, b'"}')
            comma = b","
        pieces.append(b"[]}" if comma == b"[" else b"]}")

    def parse(self, payload: Mapping[str, Any], prompt: Prompt) -> Reply | None:
        output = list_of(payload.get("output"), "its output")
        details = mapping_of(payload.get("incomplete_details"), "incomplete_details")
        reason = text_of(details.get("reason"), "the reason why it is incomplete")
        if not output and not reason:
            return None
        texts, refusals, thoughts, is_tool_call = [], [], [], False
        for entry in output:
            kind = entry.get("type")
            is_tool_call = is_tool_call or kind == "function_call"
            if kind == "reasoning":
                thoughts.append(collect_text(entry.get("summary")) or collect_text(entry.get("content")))
            for part in list_of(entry.get("content"), "the content of an output") if kind == "message" else ():
                texts.append(text_of(part.get("text"), "the text of a part"))
                refusals.append(text_of(part.get("refusal"), "the refusal"))
        text, refusal = "".join(texts), "".join(refusals)
        stop = self._STOPS.get(reason, reason) or ("tool" if is_tool_call and not text.strip() else "stop")
        return Reply(
            prompt, refusal or text, stop="refused" if refusal else stop,
            reasoning=storable_text("\n\n".join(filter(None, thoughts))),
            served=storable_text(collect_text(payload.get("model"))),
        )  # fmt: skip

    def token_usage(self, payload: Mapping[str, Any]) -> tuple[int | None, int | None]:
        usage = usage_of(payload.get("usage"))
        return token_count(usage.get("input_tokens")), token_count(usage.get("output_tokens"))

    def cache_usage(self, payload: Mapping[str, Any]) -> tuple[int | None, int | None]:
        usage = usage_of(payload.get("usage"))
        return token_count(usage_of(usage.get("input_tokens_details")).get("cached_tokens")), None


def _text_format(prompt: Prompt) -> dict[str, Any] | None:
    if prompt.schema:
        schema_format = {
            "type": "json_schema",
            "name": "verdict",
            "strict": True,
            "schema": orjson.Fragment(prompt.schema),
        }
        return {"format": schema_format}
    return {"format": {"type": "json_object"}} if prompt.json else None
