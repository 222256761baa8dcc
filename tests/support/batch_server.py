"""Batch services that run in a thread, do their work when they are looked at, and misbehave when told to.

    with BatchService(reply=lambda body, turn: "[[4]]", troubles={"upload": [500]}) as service:
        ... service.url, service.batches, service.asked

`BatchService` speaks OpenAI's protocol, `AnthropicService` and `GeminiService` those of the others; what they say is
checked against the providers' own client libraries (`tests/models/test_batch_services.py`). `troubles` names, for each
step (upload, create, find, poll, content, cancel), what becomes of its first attempts: a status, or `"drop"`, which
does what was asked and then hangs up without a word. `spoil` changes the lines of the output file.
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

    key_header = "Authorization"
    version = "v1"

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
        self.lost: Callable[[str], None] = lambda step: None
        self.reply, self.looks, self.spoil, self.on, self.lists = reply, looks, spoil, on, lists
        self.troubles = {step: list(whole) for step, whole in (troubles or {}).items()}
        self.ends = list(ends or [])
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.asked: Counter[str] = Counter()
        self.steps: Counter[str] = Counter()
        self.headers: list[str | None] = []
        self.all_headers: list[str] = []
        self.elsewhere = ""
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
        self.url = f"http://127.0.0.1:{self._server.server_port}/{self.version}"
        return self

    def __exit__(self, *rest: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def serve(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        path = urlsplit(handler.path)
        step = self.step(handler.command, path.path)
        with self._lock:
            self.steps[step] += 1
            self.headers.append(handler.headers.get(self.key_header))
            self.all_headers.append(str(handler.headers))
            if step == "content" and self.elsewhere:
                answer(handler, 302, b"", {"Location": self.elsewhere})
                return
            waiting = self.troubles.get(step) or []
            trouble = waiting.pop(0) if waiting else None
            if isinstance(trouble, int):
                self.lost(step)
                extra = {"retry-after-ms": "5"} if trouble == 429 else {}
                answer(handler, trouble, json.dumps({"error": {"message": f"{step} hurts"}}).encode(), extra)
                return
            status, content, *extra = getattr(self, step)(handler, path, body)
        self.on(step)
        if trouble == "drop":
            handler.close_connection = True
            handler.connection.close()
            return
        answer(handler, status, content, *extra)

    def step(self, method: str, path: str) -> str:
        last = path.rsplit("/", 1)[-1]
        whole = {"POST /v1/files": "upload", "POST /v1/batches": "create", "GET /v1/batches": "find"}
        return whole.get(f"{method} {path}", last if last in {"content", "cancel"} else "poll")

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
        lines = [json.loads(line) for line in self.files[asked["input_file_id"]].splitlines()]
        name = self.made(lines, "custom_id", asked["metadata"])
        return 200, self._shown(name)

    def stranger(self, requests: int) -> None:
        """Somebody else makes a batch."""
        self.made([{"custom_id": f"x{n}", "key": f"x{n}", "body": {}, "params": {}, "request": {}}
                   for n in range(requests)], "custom_id")  # fmt: skip

    def made(self, lines: Lines, name: str, metadata: Any = None) -> str:
        """Begin a batch; its id."""
        assert lines
        assert len({line[name] for line in lines}) == len(lines)
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", line[name]) for line in lines)
        batch = f"batch_{len(self.batches)}"
        self.batches[batch] = {
            "id": batch, "status": "validating", "metadata": metadata, "lines": lines, "looks": 0,
            "request_counts": {"total": len(lines), "completed": 0, "failed": 0},
        }  # fmt: skip
        return batch

    def find(self, handler: BaseHTTPRequestHandler, path: Any, body: bytes) -> tuple[int, bytes]:
        if not self.lists:
            return 404, b'{"detail":"Not Found"}'
        page, more = self.page(parse_qs(path.query).get("after"))
        return 200, json.dumps({"data": [json.loads(self._shown(name)) for name in page], "has_more": more}).encode()

    def page(self, after: list[str] | None, size: int = 2) -> tuple[list[str], bool]:
        """The newest two batches, or the two before another, and whether there are more."""
        names = sorted(self.batches, key=lambda name: -int(name.split("_")[1]))
        start = names.index(after[0]) + 1 if after else 0
        return names[start : start + size], start + size < len(names)

    def poll(self, handler: BaseHTTPRequestHandler, path: Any, body: bytes) -> tuple[int, bytes]:
        name = path.path.split("/")[-1]
        self.looked(name)
        return 200, self._shown(name)

    def looked(self, name: str) -> None:
        """Time passes when somebody looks."""
        batch = self.batches[name]
        batch["looks"] += 1
        if batch["status"] == "cancelling" or (
            batch["looks"] > self.looks and batch["status"] in {"validating", "in_progress"}
        ):
            self._work(name)
        elif batch["looks"] <= self.looks:
            batch["status"] = "in_progress"

    def cancel(self, handler: BaseHTTPRequestHandler, path: Any, body: bytes) -> tuple[int, bytes]:
        name = path.path.split("/")[-2]
        self.batches[name]["status"] = "cancelling"
        return 200, self._shown(name)

    def content(self, handler: BaseHTTPRequestHandler, path: Any, body: bytes) -> tuple[int, bytes]:
        return 200, self.files[path.path.split("/")[-2]]

    def _shown(self, name: str) -> bytes:
        hidden = {"lines", "looks"}
        return json.dumps({key: value for key, value in self.batches[name].items() if key not in hidden}).encode()

    def _work(self, name: str) -> None:
        batch = self.batches[name]
        cancelled = batch["status"] == "cancelling"
        batch["status"] = "cancelled" if cancelled else self.ends.pop(0) if self.ends else "completed"
        if batch["status"] == "failed":
            batch["errors"] = {"data": [{"code": "token_limit_exceeded", "message": "enqueued token limit reached"}]}
            return
        lines = batch["lines"]
        half = batch["status"] in {"expired", "cancelled"}
        good, bad = self.served(lines[: len(lines) // 2] if half else lines, lines[len(lines) // 2 :] if half else [],
                                batch["status"])  # fmt: skip
        random.Random(len(good)).shuffle(good)
        for kind, rows in (("output_file_id", self.spoil(good)), ("error_file_id", bad)):
            if rows:
                batch[kind] = f"{name}-{kind}"
                self.files[batch[kind]] = "".join(f"{row}\n" for row in rows).encode()
        batch["request_counts"] = {"total": len(lines), "completed": len(good), "failed": len(bad)}

    def served(self, lines: Lines, late: Lines, end: str) -> tuple[list[str], list[str]]:
        """What came of the lines, good and bad; `late` are those that were never asked."""
        good, bad = [], []
        for line in lines:
            status, content = self.answered(line["custom_id"], line["body"])
            content = content if status == 200 else {"error": content}
            row = {"id": "r", "custom_id": line["custom_id"], "error": None,
                   "response": {"status_code": status, "request_id": "q", "body": content}}  # fmt: skip
            (good if status == 200 else bad).append(json.dumps(row, ensure_ascii=False))
        error = {"code": "batch_expired", "message": "This request could not be executed in time."}
        if end == "expired":
            bad += [json.dumps({"custom_id": line["custom_id"], "response": None, "error": error}) for line in late]
        return good, bad

    def answered(self, name: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Ask the model; the status and the body."""
        self.asked[name] += 1
        said = self.reply(body, self.asked[name])
        return (200, self.said(said)) if isinstance(said, str) else (said[0], {"message": said[1]})

    def said(self, text: str) -> dict[str, Any]:
        return chat(text)


class AnthropicService(BatchService):
    """Anthropic's Message Batches: requests in the order itself, one file of results."""

    key_header = "x-api-key"

    def step(self, method: str, path: str) -> str:
        last = path.rsplit("/", 1)[-1]
        if path == "/v1/messages/batches":
            return "create" if method == "POST" else "find"
        return {"results": "content", "cancel": "cancel"}.get(last, "poll")

    def create(self, handler: BaseHTTPRequestHandler, path: Any, body: bytes) -> tuple[int, bytes]:
        assert handler.headers["anthropic-version"]
        lines = json.loads(body)["requests"]
        assert all(line["params"]["max_tokens"] > 0 and line["params"]["messages"] for line in lines)
        return 200, self._shown(self.made(lines, "custom_id"))

    def find(self, handler: BaseHTTPRequestHandler, path: Any, body: bytes) -> tuple[int, bytes]:
        asked = parse_qs(path.query)
        page, more = self.page(asked.get("after_id"), min(2, int(asked["limit"][0])))
        shown = [json.loads(self._shown(name)) for name in page]
        ends = {"first_id": page[0] if page else None, "last_id": page[-1] if page else None}
        return 200, json.dumps({"data": shown, "has_more": more, **ends}).encode()

    def content(self, handler: BaseHTTPRequestHandler, path: Any, body: bytes) -> tuple[int, bytes]:
        return 200, self.files[f"{path.path.split('/')[-2]}-output_file_id"]

    def _shown(self, name: str) -> bytes:
        batch = self.batches[name]
        status = {"validating": "in_progress", "in_progress": "in_progress", "cancelling": "canceling"}
        now = status.get(batch["status"], "ended")
        counts = {"processing": len(batch["lines"]), "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}
        if now == "ended":
            counts = {**counts, "processing": 0, **batch["counts"]}
        return json.dumps({
            "id": name, "type": "message_batch", "processing_status": now, "request_counts": counts,
            "created_at": "2026-11-01T00:00:00Z", "expires_at": "2026-11-02T00:00:00Z",
            "ended_at": "2026-11-01T01:00:00Z" if now == "ended" else None, "archived_at": None,
            "cancel_initiated_at": None,
            "results_url": f"{self.url}/messages/batches/{name}/results" if now == "ended" else None,
        }).encode()  # fmt: skip

    def _work(self, name: str) -> None:
        super()._work(name)
        batch = self.batches[name]
        kinds = Counter(json.loads(row)["result"]["type"] for row in batch["all"])
        batch["counts"] = dict(kinds)

    def served(self, lines: Lines, late: Lines, end: str) -> tuple[list[str], list[str]]:
        rows = []
        for line in lines:
            status, content = self.answered(line["custom_id"], line["params"])
            fault = {"type": "invalid_request_error" if status == 400 else "api_error", **content}
            result = {"type": "succeeded", "message": content} if status == 200 else {
                "type": "errored", "error": {"type": "error", "error": fault, "request_id": "req_1"},
            }  # fmt: skip
            rows.append({"custom_id": line["custom_id"], "result": result})
        kind = "canceled" if end == "cancelled" else "expired"
        rows += [{"custom_id": line["custom_id"], "result": {"type": kind}} for line in late]
        written = [json.dumps(row, ensure_ascii=False) for row in rows]
        next(batch for batch in self.batches.values() if batch["lines"][0] is (lines or late)[0])["all"] = written
        return written, []

    def said(self, text: str) -> dict[str, Any]:
        return {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "judge",
            "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 1000, "output_tokens": 100},
        }  # fmt: skip


class GeminiService(BatchService):
    """Gemini's batch mode by files: two steps up, an operation in between, one file down."""

    key_header = "x-goog-api-key"
    version = "v1beta"

    def step(self, method: str, path: str) -> str:
        if path.startswith("/upload/v1beta/files"):
            return "upload"
        if path.endswith(":batchGenerateContent"):
            return "create"
        if path == "/v1beta/batches":
            return "find"
        return "content" if path.endswith(":download") else "cancel" if path.endswith(":cancel") else "poll"

    def upload(self, handler: BaseHTTPRequestHandler, path: Any, body: bytes) -> tuple[Any, ...]:
        command = handler.headers["X-Goog-Upload-Command"]
        if command == "start":
            assert handler.headers["X-Goog-Upload-Protocol"] == "resumable"
            self.expected = int(handler.headers["X-Goog-Upload-Header-Content-Length"])
            place = f"{self.url.removesuffix('/v1beta')}/upload/v1beta/files?upload_id=1"
            return 200, b"{}", {"X-Goog-Upload-URL": place, "X-Goog-Upload-Status": "active"}
        assert command == "upload, finalize"
        assert (int(handler.headers["X-Goog-Upload-Offset"]), len(body)) == (0, self.expected)
        name = f"files/in-{len(self.files)}"
        self.files[name] = body
        shown = {"file": {"name": name, "state": "ACTIVE", "mimeType": "application/jsonl"}}
        return 200, json.dumps(shown).encode(), {"X-Goog-Upload-Status": "final"}

    def create(self, handler: BaseHTTPRequestHandler, path: Any, body: bytes) -> tuple[int, bytes]:
        asked = json.loads(body)["batch"]
        lines = [json.loads(line) for line in self.files[asked["inputConfig"]["fileName"]].splitlines()]
        assert all(line["request"]["contents"] for line in lines)
        return 200, self._shown(self.made(lines, "key", asked["displayName"]))

    def find(self, handler: BaseHTTPRequestHandler, path: Any, body: bytes) -> tuple[int, bytes]:
        page, more = self.page(parse_qs(path.query).get("pageToken"))
        shown = {"operations": [json.loads(self._shown(name)) for name in page]}
        return 200, json.dumps(shown | ({"nextPageToken": page[-1]} if more else {})).encode()

    def content(self, handler: BaseHTTPRequestHandler, path: Any, body: bytes) -> tuple[int, bytes]:
        assert parse_qs(path.query)["alt"] == ["media"]
        return 200, self.files[path.path.removeprefix("/v1beta/files/").removesuffix(":download")]

    def cancel(self, handler: BaseHTTPRequestHandler, path: Any, body: bytes) -> tuple[int, bytes]:
        self.batches[path.path.split("/")[-1].removesuffix(":cancel")]["status"] = "cancelling"
        return 200, b"{}"

    def _shown(self, name: str) -> bytes:
        batch = self.batches[name]
        states = {"validating": "PENDING", "in_progress": "RUNNING", "cancelling": "RUNNING", "completed": "SUCCEEDED"}
        state = states.get(batch["status"], batch["status"].upper())
        counts = batch["request_counts"]
        about = {
            "@type": "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch",
            "name": f"batches/{name}", "displayName": batch["metadata"], "model": "models/judge",
            "state": f"BATCH_STATE_{state}", "createTime": "2026-11-01T00:00:00Z",
            "batchStats": {"requestCount": str(counts["total"]), "successfulRequestCount": str(counts["completed"]),
                           "failedRequestCount": str(counts["failed"])},
        }  # fmt: skip
        shown: dict[str, Any] = {"name": f"batches/{name}", "metadata": about, "done": batch["status"] == "completed"}
        if "output_file_id" in batch:
            about["output"] = shown["response"] = {"responsesFile": f"files/{batch['output_file_id']}"}
        if "errors" in batch:
            shown["error"] = {"code": 8, "message": batch["errors"]["data"][0]["message"]}
        return json.dumps(shown).encode()

    def served(self, lines: Lines, late: Lines, end: str) -> tuple[list[str], list[str]]:
        rows: Lines = []
        for line in lines:
            status, content = self.answered(line["key"], line["request"])
            row = {"response": content} if status == 200 else {"error": {"code": 13 if status == 500 else 3, **content}}
            rows.append({"key": line["key"], **row})
        return [json.dumps(row, ensure_ascii=False) for row in rows], []

    def said(self, text: str) -> dict[str, Any]:
        return {
            "candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 1000, "candidatesTokenCount": 100, "totalTokenCount": 1100},
        }  # fmt: skip


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
