"""A server on this machine that judges pictures in chat and draws pictures, by functions that a test gives.

    with PictureServer(judge=lambda words, pictures: "[[4]]", draw=lambda request: png()) as server:
        ... server.url, server.requests

`judge` is told the words and the bytes of the pictures of a chat, and gives its words, or these and more of the choice
(`logprobs`); `draw` the request (its prompt, and the pictures to
edit) and gives the bytes of a picture, or a dict, which is sent with status 400 as the error of a provider.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class PictureServer:
    def __init__(
        self,
        judge: Callable[[str, list[bytes]], str | tuple[str, dict[str, Any]]] | None = None,
        draw: Callable[[dict[str, Any]], bytes | dict[str, Any]] | None = None,
    ) -> None:
        self.judge, self.draw = judge, draw
        self.requests: list[dict[str, Any]] = []
        self.log = threading.Lock()
        handler = type("Handler", (_Handler,), {"owner": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def asked(self, path: str) -> list[dict[str, Any]]:
        """The requests to one path."""
        return [request for request in self.requests if request["path"].endswith(path)]


class _Handler(BaseHTTPRequestHandler):
    owner: PictureServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        kind = self.headers.get("Content-Type", "")
        request: dict[str, Any] = _form(body, kind) if kind.startswith("multipart/") else json.loads(body)
        request["path"] = self.path
        with self.owner.log:
            self.owner.requests.append(request)
        status, reply = self.reply(request)
        data = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def reply(self, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if self.path.endswith("/chat/completions") and self.owner.judge is not None:
            said = self.owner.judge(*_said(request))
            text, more = (said, {}) if isinstance(said, str) else said
            message = {"role": "assistant", "content": text}
            choice = {"index": 0, "message": message, "finish_reason": "stop", **more}
            return 200, {
                "model": request["model"], "choices": [choice],
                "usage": {"prompt_tokens": 100, "completion_tokens": 10},
            }  # fmt: skip
        if self.owner.draw is None:
            return 404, {"error": {"message": "there is nothing here"}}
        if ":generateContent" in self.path:
            return self.gemini(request)
        drawn = self.owner.draw(request)
        if isinstance(drawn, dict):
            return 400, {"error": drawn}
        usage = {"input_tokens": 12, "output_tokens": 1056, "total_tokens": 1068}
        return 200, {"created": 1, "data": [{"b64_json": base64.b64encode(drawn).decode()}], "usage": usage}

    def gemini(self, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        assert self.owner.draw is not None
        parts = [part for turn in request["contents"] for part in turn["parts"]]
        words = " ".join(part["text"] for part in parts if "text" in part)
        seen = [base64.b64decode(part["inlineData"]["data"]) for part in parts if "inlineData" in part]
        drawn = self.owner.draw({"prompt": words, "pictures": seen})
        used = {"promptTokenCount": 12, "candidatesTokenCount": 1290}
        if isinstance(drawn, dict):
            return 200, {"candidates": [{"finishReason": "IMAGE_SAFETY"}], "usageMetadata": used}
        part = {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(drawn).decode()}}
        found = {"content": {"role": "model", "parts": [{"text": "Here it is."}, part]}, "finishReason": "STOP"}
        return 200, {"candidates": [found], "usageMetadata": used}


def _said(request: dict[str, Any]) -> tuple[str, list[bytes]]:
    """The words and the pictures of a chat."""
    words: list[str] = []
    pictures: list[bytes] = []
    for message in request["messages"]:
        content = message["content"]
        parts: list[dict[str, Any]] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for part in parts:
            if part["type"] == "text":
                words.append(part["text"])
            else:
                pictures.append(base64.b64decode(part["image_url"]["url"].partition(",")[2]))
    return "\n".join(words), pictures


def _form(body: bytes, kind: str) -> dict[str, Any]:
    """The fields of a form; files are in `pictures`."""
    header = Message()
    header["Content-Type"] = kind
    boundary = str(header.get_param("boundary")).encode()
    fields: dict[str, Any] = {"pictures": []}
    for part in body.split(b"--" + boundary)[1:-1]:
        head, _, value = part.strip(b"\r\n").partition(b"\r\n\r\n")
        disposition = Message()
        disposition["Content-Disposition"] = head.decode().split("\r\n")[0].partition(":")[2].strip()
        name = disposition.get_param("name", header="Content-Disposition")
        if disposition.get_param("filename", header="Content-Disposition"):
            fields["pictures"].append(value)
        else:
            fields[str(name)] = value.decode()
    return fields
