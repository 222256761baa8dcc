"""Azure OpenAI and Bedrock's runtime on this machine: each refuses what breaks its own rules, in its own words.

    with CloudServer() as clouds:
        ... clouds.url, clouds.asked

Deployments and models misbehave by their names: `busy` sends 429 once and names a wait, `filter` finds the prompt
against its policy, `cut` filters what it says, `gone` is none, `think` reasons first. Any key but `KEY` is refused.
"""

from __future__ import annotations

import base64
import json
import re
import threading
from collections import Counter
from dataclasses import dataclass
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

KEY = "cloud-key-0123456789"
THOUGHT = "The picture is red."
SAYS = "It is good. [[4]]"
Reply = tuple[int, dict[str, Any], dict[str, str]]
"""Status, body, further headers."""
_ONLY_DEFAULT = (
    "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value is supported."
)


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    path: str
    query: dict[str, list[str]]
    headers: Message
    body: dict[str, Any]
    name: str

    @property
    def api(self) -> str:
        return self.path.rsplit("/", 1)[-1]


class CloudServer:
    """Serves until its block ends; `asked` keeps what came, the refused ones too."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._busy: Counter[str] = Counter()
        clouds = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                parts = urlsplit(self.path)
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                path = unquote(parts.path)
                name = re.sub(r"^.*/(?:deployments|model)/|/(?:chat/completions|converse|invoke)$", "", path)
                asked = Asked(path, parse_qs(parts.query), self.headers, body, name)
                clouds.asked.append(asked)
                status, reply, headers = clouds.reply(asked)
                data = json.dumps(reply).encode()
                self.send_response(status)
                for header, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(header, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def reply(self, asked: Asked) -> Reply:
        if asked.path.startswith("/openai/deployments/"):
            return self._azure(asked)
        return self._bedrock(asked) if asked.path.startswith("/model/") else (404, {"message": "no such path"}, {})

    def _first_time(self, asked: Asked) -> bool:
        self._busy[asked.name] += 1
        return self._busy[asked.name] == 1

    def _azure(self, asked: Asked) -> Reply:
        if asked.headers["api-key"] != KEY:
            words = (
                "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key."
            )
            return 401, {"error": {"code": "401", "message": words}}, {}
        if not re.fullmatch(r"\d{4}-\d\d-\d\d(-preview)?", (asked.query.get("api-version") or [""])[0]):
            return 404, {"error": {"code": "404", "message": "Resource not found"}}, {}
        if "gone" in asked.name:
            words = "The API deployment for this resource does not exist."
            return 404, {"error": {"code": "DeploymentNotFound", "message": words}}, {}
        if "busy" in asked.name and self._first_time(asked):
            words = "Requests have exceeded the call rate limit of your current tier. Please retry after 1 second."
            return 429, {"error": {"code": "429", "message": words}}, {"Retry-After": "1"}
        if "filter" in asked.name:
            words = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."
            found = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {"violence": {"filtered": True}}}
            error = {"message": words, "type": None, "param": "prompt", "code": "content_filter", "status": 400}
            return 400, {"error": {**error, "innererror": found}}, {}
        if wrong := wrong_for_azure(asked.body, reasons="think" in asked.name or "gpt-5" in asked.name):
            return 400, {"error": {"message": wrong, "type": "invalid_request_error", "code": "unsupported_value"}}, {}
        message = {"role": "assistant", "content": None if "cut" in asked.name else SAYS, "refusal": None}
        usage = {
            "prompt_tokens": 1_000, "completion_tokens": 50, "total_tokens": 1_050,
            "prompt_tokens_details": {"cached_tokens": 600}, "completion_tokens_details": {"reasoning_tokens": 40},
        }  # fmt: skip
        choice = {"index": 0, "message": message, "finish_reason": "content_filter" if "cut" in asked.name else "stop"}
        body = {"id": "x", "object": "chat.completion", "created": 1, "model": "gpt-4o-2024-11-20", "usage": usage}
        return 200, {**body, "choices": [choice], "prompt_filter_results": []}, {}

    def _bedrock(self, asked: Asked) -> Reply:
        signed = re.fullmatch(
            r"AWS4-HMAC-SHA256 Credential=([^/]+)/\d{8}/[\w-]+/bedrock/aws4_request, SignedHeaders=([\w;-]+), "
            r"Signature=[0-9a-f]{64}", asked.headers["Authorization"] or "",
        )  # fmt: skip
        bearer = asked.headers["Authorization"] == f"Bearer {KEY}"
        if not bearer and (signed is None or signed[1] != KEY or not {"host", "x-amz-date"} <= {*signed[2].split(";")}):
            words = "The security token included in the request is invalid."
            return 403, {"message": words}, {"x-amzn-ErrorType": "UnrecognizedClientException"}
        if "gone" in asked.name:
            words = "The provided model identifier is invalid."
            return 400, {"message": words}, {"x-amzn-ErrorType": "ValidationException"}
        if "busy" in asked.name and self._first_time(asked):
            words = "Too many requests, please wait before trying again."
            return 429, {"message": words}, {"x-amzn-ErrorType": "ThrottlingException"}
        wrong = (wrong_for_converse if asked.api == "converse" else wrong_for_messages)(asked.body)
        if wrong:
            return 400, {"message": wrong}, {"x-amzn-ErrorType": "ValidationException"}
        if asked.api == "converse":
            thinks = "thinking" in asked.body.get("additionalModelRequestFields", {})
            thought = [{"reasoningContent": {"reasoningText": {"text": THOUGHT, "signature": "s"}}}] if thinks else []
            # What came from the cache is counted apart.
            usage = {"inputTokens": 300, "cacheReadInputTokens": 600, "cacheWriteInputTokens": 100, "outputTokens": 50}
            said = (
                "guardrail_intervened"
                if "filter" in asked.name
                else "content_filtered"
                if "cut" in asked.name
                else "end_turn"
            )
            message = {"role": "assistant", "content": [*thought, {"text": SAYS if said == "end_turn" else "No."}]}
            counted = {**usage, "totalTokens": 1_050}
            return (
                200,
                {"output": {"message": message}, "stopReason": said, "usage": counted, "metrics": {"latencyMs": 1}},
                {},
            )
        thought = [{"type": "thinking", "thinking": THOUGHT, "signature": "s"}] if "thinking" in asked.body else []
        stop = "refusal" if {"filter", "cut"} & {*re.findall(r"filter|cut", asked.name)} else "end_turn"
        usage = {
            "input_tokens": 300,
            "cache_read_input_tokens": 600,
            "cache_creation_input_tokens": 100,
            "output_tokens": 50,
        }
        content = [*thought, {"type": "text", "text": SAYS if stop == "end_turn" else "No."}]
        body = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": content}
        return 200, {**body, "stop_reason": stop, "stop_sequence": None, "usage": usage}, {}


def wrong_for_azure(body: dict[str, Any], *, reasons: bool) -> str:
    """What Azure's chat completions would refuse in a request; nothing where it is right."""
    if reasons and "max_tokens" in body:
        return (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
    if reasons and body.get("temperature", 1) != 1:
        return _ONLY_DEFAULT
    for message in body["messages"]:
        parts = message["content"]
        for part in [{"type": "text", "text": parts}] if isinstance(parts, str) else parts:
            if part["type"] == "image_url":
                if not re.fullmatch(
                    r"data:image/(png|jpeg|webp|gif);base64,[A-Za-z0-9+/]+=*", part["image_url"]["url"]
                ):
                    return "Invalid image data."
            elif part["type"] != "text":
                return f"Invalid value: {part['type']!r}."
    return ""


def wrong_for_converse(body: dict[str, Any]) -> str:
    """What Bedrock's Converse would refuse in a request; nothing where it is right."""
    known = {"messages", "system", "inferenceConfig", "additionalModelRequestFields", "toolConfig", "guardrailConfig",
             "promptVariables", "additionalModelResponseFieldPaths", "requestMetadata"}  # fmt: skip
    if extra := sorted(set(body) - known):
        return f"extraneous key {extra} is not permitted"
    config = body.get("inferenceConfig", {})
    if extra := sorted(set(config) - {"maxTokens", "temperature", "topP", "stopSequences"}):
        return f"extraneous key {extra} is not permitted in inferenceConfig"
    if body["messages"][0]["role"] != "user":
        return "A conversation must start with a user message."
    for message in body["messages"]:
        if not message["content"]:
            return "The content field in the Message object is empty."
        for block in message["content"]:
            if "text" in block and not block["text"].strip():
                return "The text field in the ContentBlock object is blank. Add text to the text field, and try again."
            if "image" in block:
                image = block["image"]
                if image["format"] not in {"png", "jpeg", "gif", "webp"} or set(image["source"]) != {"bytes"}:
                    return f"Value {image['format']!r} at 'image.format' failed to satisfy constraint"
                base64.b64decode(image["source"]["bytes"], validate=True)
    for block in body.get("system", []):
        if not block.get("text", "x").strip():
            return "The text field in the SystemContentBlock object is blank."
    thinking = body.get("additionalModelRequestFields", {}).get("thinking", {})
    return _wrong_thinking(thinking, config.get("maxTokens"), config.get("temperature"))


def wrong_for_messages(body: dict[str, Any]) -> str:
    """What InvokeModel would refuse in a request to Claude; nothing where it is right."""
    if body.get("anthropic_version") != "bedrock-2023-05-31":
        return "anthropic_version: Field required"
    if extra := sorted({"model", "stream", "seed", "response_format", "reasoning_effort"} & set(body)):
        return f"{extra[0]}: Extra inputs are not permitted"
    if "max_tokens" not in body:
        return "max_tokens: Field required"
    for place, message in enumerate(body["messages"]):
        if message["role"] not in {"user", "assistant"}:
            return f"messages.{place}.role: Input should be 'user' or 'assistant'"
        blocks = message["content"]
        for block in [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks:
            if block["type"] == "text" and not block["text"].strip():
                return "messages: text content blocks must contain non-whitespace text"
            if block["type"] == "image":
                base64.b64decode(block["source"]["data"], validate=True)
                if not re.fullmatch(r"image/(png|jpeg|webp|gif)", block["source"]["media_type"]):
                    return f"messages.{place}: media_type is not one of ours"
    return _wrong_thinking(body.get("thinking", {}), body["max_tokens"], body.get("temperature"))


def _wrong_thinking(thinking: dict[str, Any], most: int | None, temperature: float | None) -> str:
    if thinking and temperature not in {None, 1}:
        return "`temperature` may only be set to 1 when thinking is enabled."
    budget = thinking.get("budget_tokens", 0)
    if thinking.get("type") == "enabled" and not 1_024 <= budget < (most or 4_096):
        return "`max_tokens` must be greater than `thinking.budget_tokens`."
    return ""
