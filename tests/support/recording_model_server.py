"""A server that speaks every dialect, keeps the bodies that arrive, and gives the same answer to all."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def _reply(path: str, model: str, text: str) -> dict[str, Any]:
    if path.endswith("/chat/completions"):
        message = {"role": "assistant", "content": text}
        return {"model": model, "choices": [{"message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 10, "completion_tokens": 5}}  # fmt: skip
    if path.endswith("/messages"):
        return {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "model": model,
                "usage": {"input_tokens": 10, "output_tokens": 5}}  # fmt: skip
    if path.endswith("/responses"):
        content = [{"type": "output_text", "text": text}]
        return {"model": model, "status": "completed", "output": [{"type": "message", "content": content}],
                "usage": {"input_tokens": 10, "output_tokens": 5}}  # fmt: skip
    candidate = {"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}
    return {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5}}


class RecordingServer:
    """Keeps (path, body) of every request; `says` gets the text of a prompt and returns the reply."""

    def __init__(self, says: Callable[[str], str]) -> None:
        self.bodies: list[tuple[str, bytes]] = []
        kept = self.bodies

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                kept.append((self.path, raw))
                body = json.loads(raw)
                text = "\n".join(part for part in strings_of(body) if len(part) < 5_000)
                data = json.dumps(_reply(self.path, body.get("model", "gemini"), says(text))).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *words: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> RecordingServer:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def sent_to(self, path: str) -> list[dict[str, Any]]:
        """Return the bodies that arrived at paths with this text."""
        return [json.loads(raw) for place, raw in self.bodies if path in place]


def strings_of(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings_of(inner)
