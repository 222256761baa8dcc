"""The server of the protocol that `remote` describes: any judge that gives numbers, behind an address."""

from __future__ import annotations

import base64
import binascii
import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.judge import Judge
from fullbench.core.number_ballot import Number
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.errors import FullbenchError, InputError
from fullbench.judges.scorers.remote_scorer import PROTOCOL

LARGEST = 512 * 2**20
"""The most bytes of one request; a batch of large photos fits."""


class ScoreServer(ThreadingHTTPServer):
    """Answers at `host:port`; requests are scored one after the other, for they share one model."""

    daemon_threads = True

    def __init__(self, judge: Judge, host: str, port: int) -> None:
        self.judge, self.turn = judge, threading.Lock()
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise InputError(f"nothing can listen on {host}:{port} ({error.strerror}); name another --port") from error

    @property
    def url(self) -> str:
        return f"http://{self.server_address[0]!s}:{self.server_address[1]}"

    def about(self) -> dict[str, Any]:
        """What the judge is, for `GET /`."""
        scorer = getattr(self.judge, "scorer", None)
        return {
            "protocol": PROTOCOL, "name": self.judge.name, "settings": dict(self.judge.settings),
            "span": getattr(scorer, "span", None),
        }  # fmt: skip

    def scores(self, asked: Any) -> list[float | dict[str, str]]:
        """A score for each prompt and picture, or why there is none."""
        if not isinstance(asked, Mapping):
            raise InputError("a request is an object with 'prompts' and 'pictures'")
        prompts, pictures = asked.get("prompts"), asked.get("pictures")
        if not isinstance(prompts, list) or not isinstance(pictures, list) or len(prompts) != len(pictures):
            raise InputError("'prompts' and 'pictures' are lists of the same length")
        cases = [_case(place, *row) for place, row in enumerate(zip(prompts, pictures, strict=True))]
        with self.turn:
            return [_mark(outcome) for outcome in self.judge.hear(cases)]


def _case(place: int, prompt: Any, picture: Any) -> Case:
    if not isinstance(prompt, str) or not isinstance(picture, str):
        raise InputError(f"prompt {place} is a text and picture {place} a text in base64")
    try:
        data = base64.b64decode(picture, validate=True)
    except binascii.Error as error:
        raise InputError(f"picture {place} is not valid base64 ({error})") from error
    item = Item.ask(str(place), prompt)
    return Case(item, (Response(item.id, "somebody", (Picture.as_given(data, data),)),), Number())


def _mark(outcome: Any) -> float | dict[str, str]:
    if isinstance(outcome, Verdict) and outcome.marks:
        return float(outcome.marks[0])
    if isinstance(outcome, Verdict):
        return {"unscorable": outcome.text or str(outcome.fault)}
    raise InputError(f"the model behind this server failed: {outcome.error}")


class _Handler(BaseHTTPRequestHandler):
    server: ScoreServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/":
            self._answer(200, self.server.about())
        else:
            self._answer(404, {"error": "there is GET / and POST /scores"})

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        if self.path != "/scores" or not 0 < length <= LARGEST:
            self.close_connection = True
            self._answer(413 if length > LARGEST else 404, {"error": f"POST /scores takes up to {LARGEST:,} bytes"})
            return
        try:
            asked = json.loads(self.rfile.read(length))
            self._answer(200, {"scores": self.server.scores(asked)})
        except (FullbenchError, ValueError) as error:
            self._answer(400, {"error": str(error)})

    def _answer(self, status: int, said: Mapping[str, Any]) -> None:
        body = json.dumps(said, default=str).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Says nothing for each request."""
