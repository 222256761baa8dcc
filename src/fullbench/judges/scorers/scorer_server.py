"""HTTP server of the protocol in `remote_scorer`, for any judge that returns numbers."""

from __future__ import annotations

import base64
import binascii
import io
import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from PIL import Image

from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.judge import Judge
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.unbounded_number_ballot import Number
from fullbench.core.verdict import Verdict
from fullbench.errors import FullbenchError, InputError
from fullbench.judges.scorers.remote_scorer import PROTOCOL

LARGEST = 512 * 2**20
"""Maximum bytes of one request; a batch of large photos fits."""


class ScoreServer(ThreadingHTTPServer):
    """Listens at `host:port`; requests are scored one after the other, since they share one model."""

    daemon_threads = True
    request_queue_size = 128
    handler_class: type[BaseHTTPRequestHandler]

    def __init__(self, judge: Judge, host: str, port: int) -> None:
        self.judge, self.turn = judge, threading.Lock()
        try:
            super().__init__((host, port), self.handler_class)
        except OSError as error:
            raise InputError(f"nothing can listen on {host}:{port} ({error.strerror}); name another --port") from error

    @property
    def url(self) -> str:
        return f"http://{self.server_address[0]!s}:{self.server_address[1]}"

    def check_ready(self) -> None:
        """Load the model by scoring a small picture, so that a missing package or model is an error at the start."""
        image = io.BytesIO()
        Image.new("RGB", (64, 64), "grey").save(image, "PNG")
        self.scores({"prompts": ["a grey square"], "pictures": [base64.b64encode(image.getvalue()).decode()]})

    def about(self) -> dict[str, Any]:
        """Return the judge's description, for `GET /`."""
        scorer = getattr(self.judge, "scorer", None)
        return {
            "protocol": PROTOCOL, "name": self.judge.name, "settings": dict(self.judge.settings),
            "span": getattr(scorer, "span", None),
        }  # fmt: skip

    def scores(self, request: Any) -> list[float | dict[str, str]]:
        """Return a score for each prompt and picture, or why there is none."""
        if not isinstance(request, Mapping):
            raise InputError("a request is an object with 'prompts' and 'pictures'")
        prompts, pictures = request.get("prompts"), request.get("pictures")
        if not isinstance(prompts, list) or not isinstance(pictures, list) or len(prompts) != len(pictures):
            raise InputError("'prompts' and 'pictures' are lists of the same length")
        cases = [_make_case(place, *row) for place, row in enumerate(zip(prompts, pictures, strict=True))]
        with self.turn:
            return [_score_or_reason(outcome) for outcome in self.judge.judge(cases)]


def _make_case(place: int, prompt: Any, picture: Any) -> Case:
    if not isinstance(prompt, str) or not isinstance(picture, str):
        raise InputError(f"prompt {place} is a text and picture {place} a text in base64")
    try:
        data = base64.b64decode(picture, validate=True)
    except binascii.Error as error:
        raise InputError(f"picture {place} is not valid base64 ({error})") from error
    item = Item.ask(str(place), prompt)
    return Case(item, (Response(item.id, "somebody", (Picture.from_any_bytes(data, data),)),), Number())


def _score_or_reason(outcome: Any) -> float | dict[str, str]:
    if isinstance(outcome, Verdict) and outcome.marks:
        return float(outcome.marks[0])
    if isinstance(outcome, Verdict):
        return {"unscorable": outcome.text or str(outcome.fault)}
    raise InputError(f"the model behind this server failed: {outcome.error}")


class ScoreHandler(BaseHTTPRequestHandler):
    """Answers `GET /` and `POST /scores`."""

    server: ScoreServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    paths: tuple[str, ...] = ("/scores",)

    def do_GET(self) -> None:
        if self.refuse():
            return
        if self.path == "/":
            self.send_json(200, self.server.about())
        elif page := self.page():
            self.send_body(200, page.encode(), "text/plain; version=0.0.4")
        else:
            self.send_json(404, {"error": f"there is GET / and POST {' and '.join(self.paths)}"})

    def refuse(self) -> bool:
        """Return True if the request may not be answered, after sending the refusal."""
        return False

    def page(self) -> str:
        """Return the text of a page other than `/`, or ""."""
        return ""

    def do_POST(self) -> None:
        if self.refuse():
            return
        length = int(self.headers.get("Content-Length") or 0)
        if self.path not in self.paths or not 0 < length <= LARGEST:
            self.close_connection = True  # the unread body would be taken for the next request
            error = f"POST {' and '.join(self.paths)} takes up to {LARGEST:,} bytes"
            self.send_json(413 if length > LARGEST else 404, {"error": error})
            return
        try:
            request = json.loads(self.rfile.read(length))
            self.send_json(*self.reply(request))
        except (FullbenchError, ValueError) as error:
            self.send_json(400, {"error": str(error)})

    def reply(self, request: Any) -> tuple[int, Mapping[str, Any]]:
        """Return status and payload for a posted request."""
        return 200, {"scores": self.server.scores(request)}

    def send_json(self, status: int, payload: Mapping[str, Any]) -> None:
        self.send_body(status, json.dumps(payload, default=str).encode(), "application/json")

    def send_body(self, status: int, body: bytes, media_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


ScoreServer.handler_class = ScoreHandler
