"""HTTP server of the protocol in `remote_scorer`, for any judge that returns numbers."""

from __future__ import annotations

import base64
import binascii
import io
import json
import secrets
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from PIL import Image

from fullbench.core.ballot import Number
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.judge import Judge
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.errors import FullbenchError, InputError, ModelError
from fullbench.judges.scorers.remote_scorer import PROTOCOL

LARGEST = 512 * 2**20
"""Maximum bytes of one request; a batch of large photos fits."""
MOST_IN_FLIGHT = 16_384
"""Default for the most pictures or cases on their way; further requests get 503."""
_READ_SECONDS = 300.0
"""Longest wait for the next bytes of a request."""


class ServerBusyError(ModelError):
    """The server cannot answer now. The client gets 503 and tries again."""


class ScoreServer(ThreadingHTTPServer):
    """Listens at `host:port`; requests are scored one after the other, since they share one model.

    With a token, every request needs the header `Authorization: Bearer TOKEN`.
    """

    daemon_threads = True
    request_queue_size = 128
    handler_class: type[BaseHTTPRequestHandler]

    def __init__(
        self, judge: Judge, host: str, port: int, *, token: str = "", most_in_flight: int = MOST_IN_FLIGHT
    ) -> None:
        self.judge, self.token, self.most_in_flight = judge, token, most_in_flight
        self._turn, self._counting = threading.Lock(), threading.Lock()
        self._counts = {"requests": 0, "scores": 0, "unscorable": 0}
        self._seconds, self._in_flight = 0.0, 0
        try:
            super().__init__((host, port), self.handler_class)
        except OSError as error:
            raise InputError(f"cannot listen on {host}:{port} ({error.strerror}); choose another --port") from error

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
        start_time = time.monotonic()
        with self._counting:
            self._in_flight += len(cases)
        try:
            with self._turn:
                scores = [_score_or_reason(outcome) for outcome in self.judge.judge(cases)]
        finally:
            with self._counting:
                self._in_flight -= len(cases)
        with self._counting:
            self._counts["requests"] += 1
            self._counts["scores"] += len(scores)
            self._counts["unscorable"] += sum(isinstance(score, dict) for score in scores)
            self._seconds += time.monotonic() - start_time
        return scores

    @property
    def in_flight(self) -> int:
        """The number of pictures or cases on their way."""
        return self._in_flight

    def metrics_text(self) -> str:
        """Return the counters in the text format of Prometheus."""
        with self._counting:
            counts = self._counts
            lines = [
                *metric_lines("score_requests_total", "Requests answered.", counts["requests"]),
                *metric_lines("score_scores_total", "Scores returned.", counts["scores"]),
                *metric_lines("score_unscorable_total", "Pictures without a score.", counts["unscorable"]),
                *metric_lines("score_request_seconds_total", "Seconds of all requests.", self._seconds),
                *metric_lines("score_pictures_in_flight", "Pictures on their way.", self._in_flight, kind="gauge"),
            ]
        return "\n".join(lines) + "\n"


def metric_lines(name: str, about: str, value: float, *, kind: str = "counter") -> list[str]:
    """Return the lines of one number in the text format of Prometheus."""
    return [f"# HELP fullbench_{name} {about}", f"# TYPE fullbench_{name} {kind}", f"fullbench_{name} {value}"]


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
    """Answers `GET /`, `GET /metrics` and `POST /scores`."""

    server: ScoreServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = _READ_SECONDS
    paths: tuple[str, ...] = ("/scores",)

    def do_GET(self) -> None:
        if self.refuse():
            return
        if self.path == "/":
            self.send_json(200, self.server.about())
        elif self.path == "/metrics":
            self.send_body(200, self.server.metrics_text().encode(), "text/plain; version=0.0.4")
        else:
            self.send_json(404, {"error": f"there is GET /, GET /metrics and POST {' and '.join(self.paths)}"})

    def refuse(self) -> bool:
        """Return True if the request lacks the server's token, after sending the refusal."""
        token = self.server.token
        if not token or secrets.compare_digest(
            self.headers.get("Authorization", "").encode(), f"Bearer {token}".encode()
        ):
            return False
        self.close_connection = True  # the body is not read
        self.send_json(401, {"error": "this server needs its token, as the header Authorization: Bearer TOKEN"})
        return True

    def do_POST(self) -> None:
        if self.refuse():
            return
        length_text = self.headers.get("Content-Length") or ""
        length = int(length_text) if length_text.isdecimal() else 0
        if self.path not in self.paths or not 0 < length <= LARGEST:
            self.close_connection = True  # the unread body would be taken for the next request
            error = f"POST {' and '.join(self.paths)} takes up to {LARGEST:,} bytes"
            self.send_json(413 if length > LARGEST else 404, {"error": error})
            return
        try:
            request = json.loads(self.rfile.read(length))
        except (ValueError, RecursionError) as error:
            self.send_json(400, {"error": f"the request is no JSON ({error})"})
            return
        if (count := self.server.in_flight) > self.server.most_in_flight:
            self.send_json(503, {"error": f"{count:,} are on their way; try again"})
            return
        try:
            payload = self.reply(request)
        except ServerBusyError as error:
            self.send_json(503, {"error": str(error)})
            return
        except (FullbenchError, ValueError) as error:
            self.send_json(400, {"error": str(error)})
            return
        self.send_json(200, payload)

    def reply(self, request: Any) -> Mapping[str, Any]:
        """Return the payload for a posted request."""
        return {"scores": self.server.scores(request)}

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
