"""A small server in this process that speaks chat completions and really looks at pictures.

It names the colours of the left and the right half of the first picture, keeps to a JSON schema where one is given, and
gives the chances of tokens. `rules` makes its replies otherwise: it is called with the words and the pictures.
"""

from __future__ import annotations

import base64
import io
import json
import math
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from PIL import Image, ImageColor

NAMES = {ImageColor.getrgb(name): name for name in ("blue", "yellow", "red", "green", "white", "black")}
Rules = Callable[[str, list[bytes], dict[str, Any]], str]


def colours(_words: str, pictures: list[bytes], body: dict[str, Any]) -> str:
    if body.get("response_format"):
        return '{"legs": 8}'
    if not pictures:
        return "here"
    image = Image.open(io.BytesIO(pictures[0])).convert("RGB")
    sides = [image.getpixel((image.width * place // 4, image.height // 2)) for place in (1, 3)]
    return ", ".join(NAMES.get(side, "grey") for side in sides)


class TinyServer:
    """`with TinyServer() as server: ... server.url`. `asked` is what came; `chances` gives tokens and their chances."""

    def __init__(
        self, rules: Rules = colours, *, models: tuple[str, ...] = ("tiny",), logprobs: bool = True,
        chances: Callable[[str], dict[str, float]] | None = None,
    ) -> None:  # fmt: skip
        self.rules, self.models, self.logprobs, self.chances = rules, models, logprobs, chances
        self.asked: list[dict[str, Any]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                listed = {"data": [{"id": name} for name in outer.models]}
                self.reply(200, listed) if self.path == "/v1/models" else self.reply(404, {"error": "no"})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append(body)
                if not self.path.endswith("/v1/chat/completions"):
                    return self.reply(404, {"error": {"message": "Not Found"}})
                if body["model"] not in outer.models:
                    return self.reply(
                        404, {"error": {"message": f"no model {body['model']}", "code": "model_not_found"}}
                    )
                return self.reply(200, outer.answer(body))

            def reply(self, status: int, content: Any) -> None:
                data = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("x-ratelimit-limit-requests", "600")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        words, pictures = [], []
        for message in body["messages"]:
            parts = message["content"] if isinstance(message["content"], list) else [message["content"]]
            for part in parts:
                if isinstance(part, str) or part["type"] == "text":
                    words.append(part if isinstance(part, str) else part["text"])
                else:
                    pictures.append(base64.b64decode(part["image_url"]["url"].split(",", 1)[1]))
        said = self.rules("\n".join(words), pictures, body)
        choice: dict[str, Any] = {"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        if body.get("logprobs") and self.logprobs:
            choice["logprobs"] = {"content": [self.token(text) for text in re.findall(r"\d+|\W|\w+", said)]}
        used = {"prompt_tokens": 10, "completion_tokens": 3}
        return {"model": body["model"], "choices": [choice], "usage": used}

    def token(self, text: str) -> dict[str, Any]:
        chances = self.chances(text) if self.chances else {text: 1.0}
        listed = [{"token": token, "logprob": math.log(chance)} for token, chance in chances.items()]
        return {"token": text, "logprob": math.log(chances.get(text, 1e-9)), "top_logprobs": listed}

    def __enter__(self) -> TinyServer:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
