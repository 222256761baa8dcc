"""A chat server of a test's own: models that answer by a function, on a free port of this machine.

    with ScriptedServer({"good": lambda asked: "..."}) as server:
        f"vllm:good@{server.url}"

`asked` is what arrived: the model, the words of the last turn and of all turns, and the digests of the pictures.
`server.asked` keeps everything that arrived, in its order.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Asked:
    """A request as the model sees it."""

    model: str
    turns: tuple[tuple[str, str], ...]
    pictures: tuple[str, ...]
    body: Mapping[str, Any]

    @property
    def words(self) -> str:
        return "\n".join(text for _, text in self.turns)

    @property
    def last(self) -> str:
        return self.turns[-1][1]


def _asked(body: Mapping[str, Any]) -> Asked:
    turns, pictures = [], []
    for message in body["messages"]:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        turns.append((message["role"], "".join(part["text"] for part in parts if part["type"] == "text")))
        for part in parts:
            if part["type"] == "image_url":
                data = base64.b64decode(part["image_url"]["url"].partition(",")[2])
                pictures.append(hashlib.sha256(data).hexdigest())
    return Asked(body["model"], tuple(turns), tuple(pictures), body)


class _Server(ThreadingHTTPServer):
    """A server whose clients may be killed: that they are gone is no error of its own."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class ScriptedServer:
    """Answers chat requests by each model's function, and keeps what arrived."""

    def __init__(self, models: Mapping[str, Callable[[Asked], str]]) -> None:
        self.asked: list[Asked] = []
        arrived = self.asked

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body go out in one packet: else each reply waits for an acknowledgement.
            wbufsize = -1
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                asked = _asked(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                arrived.append(asked)
                message = {"role": "assistant", "content": models[asked.model](asked)}
                reply = {
                    "model": asked.model,
                    "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 10, "completion_tokens": 5},
                }
                data = json.dumps(reply).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
                self.wfile.flush()

            def log_message(self, *_: object) -> None:
                """Nothing is said."""

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def of(self, model: str) -> list[Asked]:
        """What one model was asked."""
        return [asked for asked in self.asked if asked.model == model]
