"""A server with Gemini's generateContent and Files API as documented: two-step upload, processing, deletion.

`calls` has (method, path) of every request, `bodies` the bodies of generateContent, `uploads` the digests of the files
that arrived whole. `faults` maps a step (`start`, `upload`, `look` or `call`) to statuses that are sent before it
works; 0 drops the connection in the middle.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MISSING = "You do not have permission to access the File {name} or it may not exist."


@dataclass
class StoredFile:
    """A file at the server, and what it answers about it."""

    name: str
    media_type: str
    size: int
    digest: str = ""
    looks: int = 0
    is_deleted: bool = False


@dataclass
class GeminiFilesServer:
    """`processing_looks` is how often a file is still being processed; `broken` are digests that cannot be."""

    key: str = "k"
    largest_request: int = 20_000_000
    processing_looks: int = 2
    broken: frozenset[str] = frozenset()
    has_files_api: bool = True
    expires_after: timedelta = timedelta(hours=48)
    calls: list[tuple[str, str]] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    uploads: list[str] = field(default_factory=list)
    faults: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    files: dict[str, StoredFile] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> GeminiFilesServer:
        script = self

        class Handler(_Handler):
            server_script = script

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self.url = f"{self.address}/v1beta"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def delete_files(self) -> None:
        for file in self.files.values():
            file.is_deleted = True

    def next_fault(self, step: str) -> int | None:
        with self.lock:
            return self.faults[step].pop(0) if self.faults[step] else None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_script: GeminiFilesServer

    def do_POST(self) -> None:
        script, path = self.server_script, self.path
        script.calls.append(("POST", path))
        if path == "/upload/v1beta/files":
            self._start()
        elif path.startswith("/upload/session/"):
            self._receive(path.rpartition("/")[2])
        else:
            self._generate(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def do_GET(self) -> None:
        script = self.server_script
        script.calls.append(("GET", self.path))
        if self._fails("look"):
            return
        file = script.files.get(self.path.removeprefix("/v1beta/"))
        if file is None or file.is_deleted:
            self._complain(403, MISSING.format(name=self.path.rpartition("/")[2]))
            return
        file.looks += 1
        self._send(self._about(file))

    def _start(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        script = self.server_script
        if not script.has_files_api:
            self._complain(404, "Not Found")
            return
        if self._fails("start") or not self._has_key():
            return
        assert self.headers["X-Goog-Upload-Protocol"] == "resumable"
        assert self.headers["X-Goog-Upload-Command"] == "start"
        assert json.loads(raw)["file"]["mimeType"] == self.headers["X-Goog-Upload-Header-Content-Type"]
        with script.lock:
            name = f"files/{len(script.files)}-abc"
            size = int(self.headers["X-Goog-Upload-Header-Content-Length"])
            script.files[name] = StoredFile(name, self.headers["X-Goog-Upload-Header-Content-Type"], size)
        session = f"{script.address}/upload/session/{name.rpartition('/')[2]}"
        self._send({}, {"X-Goog-Upload-URL": session, "X-Goog-Upload-Status": "active"})

    def _receive(self, session: str) -> None:
        script = self.server_script
        file = script.files[f"files/{session}"]
        left = int(self.headers["Content-Length"])
        assert (self.headers["X-Goog-Upload-Command"], self.headers["X-Goog-Upload-Offset"]) == (
            "upload, finalize",
            "0",
        )
        assert left == file.size
        check = hashlib.sha256()
        fault = script.next_fault("upload")
        if fault == 0:
            self.rfile.read(min(left, 1_000))
            self.close_connection = True
            self.connection.close()
            return
        while left and (piece := self.rfile.read(min(left, 1 << 20))):
            check.update(piece)
            left -= len(piece)
        if fault is not None:
            self._complain(fault, "try again")
            return
        file.digest = check.hexdigest()
        script.uploads.append(file.digest)
        self._send({"file": self._about(file)}, {"X-Goog-Upload-Status": "final"})

    def _generate(self, body: dict[str, Any]) -> None:
        script = self.server_script
        if self._fails("call") or not self._has_key():
            return
        script.bodies.append(body)
        if int(self.headers["Content-Length"]) > script.largest_request:
            self._complain(400, "Request payload size exceeds the limit: 20971520 bytes.")
            return
        for content in body["contents"]:
            for part in content["parts"]:
                if "fileData" not in part:
                    continue
                name = "files/" + part["fileData"]["fileUri"].rpartition("/")[2]
                file = script.files.get(name)
                if file is None or file.is_deleted:
                    self._complain(403, MISSING.format(name=name))
                    return
                if self._about(file)["state"] != "ACTIVE":
                    self._complain(400, f"The File {name} is not in an ACTIVE state and usage is not allowed.")
                    return
        candidate = {"content": {"parts": [{"text": "[[4]]"}]}, "finishReason": "STOP"}
        self._send({"candidates": [candidate], "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 5}})

    def _about(self, file: StoredFile) -> dict[str, Any]:
        script = self.server_script
        is_ready = file.looks >= script.processing_looks
        state = "PROCESSING" if not is_ready else "FAILED" if file.digest in script.broken else "ACTIVE"
        expires = datetime.now(UTC) + script.expires_after
        about = {
            "name": file.name, "mimeType": file.media_type, "sizeBytes": str(file.size), "state": state,
            "uri": f"https://generativelanguage.googleapis.com/v1beta/{file.name}", "source": "UPLOADED",
            "expirationTime": expires.strftime("%Y-%m-%dT%H:%M:%S.123456789Z"),
        }  # fmt: skip
        return about | ({"error": {"code": 3, "message": "no video stream"}} if state == "FAILED" else {})

    def _has_key(self) -> bool:
        if self.headers.get("x-goog-api-key") == self.server_script.key:
            return True
        self._complain(400, "API key not valid. Please pass a valid API key.")
        return False

    def _fails(self, step: str) -> bool:
        status = self.server_script.next_fault(step)
        if status is not None:
            self._complain(status, "try again")
        return status is not None

    def _complain(self, status: int, message: str) -> None:
        self._send({"error": {"code": status, "message": message}}, status=status)

    def _send(self, value: Any, headers: dict[str, str] | None = None, *, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words: Any) -> None: ...
