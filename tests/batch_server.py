"""A batch service that runs in a thread, does its work when it is looked at, and misbehaves when told to.

    with BatchService(reply=lambda body, turn: "[[4]]", troubles={"upload": [500]}) as service:
        ... service.url, service.batches, service.asked

`troubles` names, for each step (upload, create, find, poll, content), what becomes of its first attempts: a status, or
`"drop"`, which does what was asked and then hangs up without a word. `spoil` changes the lines of the output file.
"""

from __future__ import annotations

import json
import random
import re
import threading
from collections import Counter
from collections.abc import Callable
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Lines = list[dict[str, Any]]


class BatchService:
    """Files, batches, and the books on both."""

    def __init__(
        self,
        reply: Callable[[dict[str, Any], int], str | tuple[int, str]] = lambda body, turn: "[[4]]",
        *,
        troubles: dict[str, list[int | str]] | None = None,
        looks: int = 1,
        ends: list[str] | None = None,
        spoil: Callable[[list[str]], list[str]] = lambda lines: lines,
        on: Callable[[str], None] = lambda step: None,
        lists: bool = True,
    ) -> None:
        self.reply, self.looks, self.spoil, self.on, self.lists = reply, looks, spoil, on, lists
        self.troubles = {step: list(whole) for step, whole in (troubles or {}).items()}
        self.ends = list(ends or [])
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.asked: Counter[str] = Counter()
        self.steps: Counter[str] = Counter()
        self.headers: list[str | None] = []
        self._lock = threading.RLock()

    def __enter__(self) -> BatchService:
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *rest: object) -> None:
                pass

            def do_GET(self) -> None:
                service.serve(self, b"")

            def do_POST(self) -> None:
                service.serve(self, read_body(self))

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        return self

    def __exit__(self, *rest: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def serve(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        path = urlsplit(handler.path)
        step = {
            "POST /v1/files": "upload", "POST /v1/batches": "create", "GET /v1/batches": "find",
        }.get(f"{handler.command} {path.path}", "content" if path.path.endswith("/content") else "poll")  # fmt: skip
        with self._lock:
            self.steps[step] += 1
            self.headers.append(handler.headers.get("Authorization"))
            waiting = self.troubles.get(step) or []
            trouble = waiting.pop(0) if waiting else None
            if isinstance(trouble, int):
                extra = {"retry-after-ms": "5"} if trouble == 429 else {}
                answer(handler, trouble, json.dumps({"error": {"message": f"{step} hurts"}}).encode(), extra)
                return
            status, content = getattr(self, step)(handler, path, body)
        self.on(step)
        if trouble == "drop":
            handler.close_connection = True
            handler.connection.close()
            return
        answer(handler, status, content)

    def upload(self, handler: BaseHTTPRequestHandler, path: Any, body: bytes) -> tuple[int, bytes]:
        head = f"Content-Type: {handler.headers['Content-Type']}\r\n\r\n".encode()
        parts = {part.get_param("name", header="content-disposition"): part.get_payload(decode=True)
                 for part in BytesParser().parsebytes(head + body).get_payload()}  # fmt: skip
        assert parts["purpose"] == b"batch"
        name = f"file-{len(self.files)}"
        self.files[name] = parts["file"]
        return 200, json.dumps({"id": name, "object": "file"}).encode()

    def create(self, handler: BaseHTTPRequestHandler, path: Any, body: bytes) -> tuple[int, bytes]:
        asked = json.loads(body)
        assert asked["endpoint"] == "/v1/chat/completions"
        name = f"batch_{len(self.batches)}"
        lines = [json.loads(line) for line in self.files[asked["input_file_id"]].splitlines()]
        assert len({line["custom_id"] for line in lines}) == len(lines)
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", line["custom_id"]) for line in lines)
        self.batches[name] = {
            "id": name, "status": "validating", "metadata": asked["metadata"], "lines": lines, "looks": 0,
            "request_counts": {"total": len(lines), "completed": 0, "failed": 0},
        }  # fmt: skip
        return 200, self._shown(name)

    def find(self, handler: BaseHTTPRequestHandler, path: Any, body: bytes) -> tuple[int, bytes]:
        if not self.lists:
            return 404, b'{"detail":"Not Found"}'
        names = sorted(self.batches, key=lambda name: -int(name.split("_")[1]))
        after = parse_qs(path.query).get("after")
        start = names.index(after[0]) + 1 if after else 0
        page = names[start : start + 2]
        shown = {"data": [json.loads(self._shown(name)) for name in page], "has_more": start + 2 < len(names)}
        return 200, json.dumps(shown).encode()

    def poll(self, handler: BaseHTTPRequestHandler, path: Any, body: bytes) -> tuple[int, bytes]:
        name = path.path.split("/")[-1]
        batch = self.batches[name]
        batch["looks"] += 1
        if batch["looks"] > self.looks and batch["status"] in {"validating", "in_progress"}:
            self._work(name)
        elif batch["looks"] <= self.looks:
            batch["status"] = "in_progress"
        return 200, self._shown(name)

    def content(self, handler: BaseHTTPRequestHandler, path: Any, body: bytes) -> tuple[int, bytes]:
        return 200, self.files[path.path.split("/")[-2]]

    def _shown(self, name: str) -> bytes:
        hidden = {"lines", "looks"}
        return json.dumps({key: value for key, value in self.batches[name].items() if key not in hidden}).encode()

    def _work(self, name: str) -> None:
        batch = self.batches[name]
        batch["status"] = self.ends.pop(0) if self.ends else "completed"
        if batch["status"] == "failed":
            batch["errors"] = {"data": [{"code": "token_limit_exceeded", "message": "enqueued token limit reached"}]}
            return
        lines = batch["lines"]
        served = lines[: len(lines) // 2] if batch["status"] in {"expired", "cancelled"} else lines
        good, bad = [], []
        for line in served:
            self.asked[line["custom_id"]] += 1
            said = self.reply(line["body"], self.asked[line["custom_id"]])
            status, content = (200, chat(said)) if isinstance(said, str) else (said[0], {"error": {"message": said[1]}})
            row = {"id": "r", "custom_id": line["custom_id"], "error": None,
                   "response": {"status_code": status, "request_id": "q", "body": content}}  # fmt: skip
            (good if status == 200 else bad).append(json.dumps(row, ensure_ascii=False))
        late = {"code": "batch_expired", "message": "This request could not be executed in time."}
        if batch["status"] == "expired":
            bad += [json.dumps({"custom_id": line["custom_id"], "response": None, "error": late})
                    for line in lines[len(served) :]]  # fmt: skip
        random.Random(len(good)).shuffle(good)
        for kind, rows in (("output_file_id", self.spoil(good)), ("error_file_id", bad)):
            if rows:
                batch[kind] = f"{name}-{kind}"
                self.files[batch[kind]] = "".join(f"{row}\n" for row in rows).encode()
        batch["request_counts"] = {"total": len(lines), "completed": len(good), "failed": len(bad)}


def chat(text: str) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"choices": [choice], "usage": {"prompt_tokens": 1000, "completion_tokens": 100}}


def read_body(handler: BaseHTTPRequestHandler) -> bytes:
    if "chunked" not in handler.headers.get("Transfer-Encoding", ""):
        return handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
    whole = b""
    while size := int(handler.rfile.readline(), 16):
        whole += handler.rfile.read(size)
        handler.rfile.readline()
    handler.rfile.readline()
    return whole


def answer(handler: BaseHTTPRequestHandler, status: int, body: bytes, extra: dict[str, str] | None = None) -> None:
    try:
        handler.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **(extra or {}),
        }.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)
    except (BrokenPipeError, ConnectionResetError):
        handler.close_connection = True
