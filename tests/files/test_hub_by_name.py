"""A data set of Hugging Face by its name: the real client against a hub of the test's own."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

SHA = "a" * 40
ROWS = [{"prompt": f"那里有什么 {number}?", "one": "a car", "两": "nothing", "winner": "one"} for number in range(3)]
DATA = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS).encode()
OPTIONS = ("question=prompt", "response.first=one", "response.second=两", "winner=winner")


class Hub(BaseHTTPRequestHandler):
    def do_HEAD(self):
        self._send(body=False)

    def do_GET(self):
        self._send(body=True)

    def _send(self, *, body):
        path = self.path.partition("?")[0]
        if path.startswith("/api/datasets/org/set/tree/"):
            file = {"type": "file", "path": "data.jsonl", "size": len(DATA), "oid": hashlib.sha256(DATA).hexdigest()}
            data = json.dumps([file]).encode()
        elif path == "/api/datasets/org/set" or path.startswith("/api/datasets/org/set/revision/"):
            data = json.dumps({"id": "org/set", "sha": SHA, "siblings": [{"rfilename": "data.jsonl"}]}).encode()
        elif path == f"/datasets/org/set/resolve/{SHA}/data.jsonl":
            data = DATA
        else:
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("ETag", f'"{hashlib.sha256(data).hexdigest()}"')
        self.send_header("X-Repo-Commit", SHA)
        self.end_headers()
        if body:
            self.wfile.write(data)

    def log_message(self, *_):
        """Nothing is said."""


@pytest.fixture
def hub():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join(10)


def imported(folder, name, address=""):
    options = [word for option in OPTIONS for word in ("--option", option)]
    command = [sys.executable, "-m", "fullbench", "import", "huggingface", name, "--out", "mine", *options]
    variables = {**os.environ, "HF_ENDPOINT": address, "HF_HOME": str(folder / "home"), "HF_HUB_DISABLE_XET": "1"}
    return subprocess.run(command, env=variables, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def test_a_data_set_is_imported_by_its_name(tmp_path, hub):
    pytest.importorskip("huggingface_hub")
    done = imported(tmp_path, "org/set", hub)
    assert done.returncode == 0, done.stderr
    items = [json.loads(line) for line in (tmp_path / "mine" / "items.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [item["question"] for item in items] == [row["prompt"] for row in ROWS]
    (tmp_path / "lost").mkdir()
    lost = imported(tmp_path / "lost", "org/gone", hub)
    assert (lost.returncode, lost.stderr.count("\n")) == (2, 1)
    assert "cannot be fetched from Hugging Face" in lost.stderr


@pytest.mark.skipif(importlib.util.find_spec("huggingface_hub") is not None, reason="the client is installed")
def test_without_the_client_a_name_is_one_sentence(tmp_path):
    done = imported(tmp_path, "org/set")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "fetching the data set 'org/set' from Hugging Face needs an optional part" in done.stderr
