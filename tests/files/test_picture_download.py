"""Pictures that data files name by an address: fetched where the user agrees, never from a private network unasked."""

from __future__ import annotations

import gzip
import json
import os
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest

from fullbench import Ledger
from fullbench.core import picture as pictures
from fullbench.core.media import UNKNOWN
from fullbench.errors import InputError
from fullbench.files import picture_download
from fullbench.files.item_response_verdict_files import read_items, read_responses
from fullbench.files.picture_access_policy import allow_picture_folders
from fullbench.studies.study_file import Study
from tests.support.commands import Done
from tests.support.data_builders import png
from tests.support.forked_command import run_forked


def drawn(number: int) -> bytes:
    return png((number, 0, 0))


class Site:
    """A server of this machine that gives pictures, and much else."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.elsewhere = ""
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked[self.path] += 1
                site.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_port}"
        self.url = f"http://{self.host}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        path = handler.path
        if path.startswith("/to/"):
            handler.send_response(302)
            handler.send_header(
                "Location", {"/to/circle": "/to/circle", "/to/near": "/1.png"}.get(path, self.elsewhere)
            )
            handler.end_headers()
            return
        tired = path == "/tired.png" and self.asked[path] < 3
        handler.send_response(404 if path == "/none.png" else 503 if tired else 200)
        body = b"<html>hello</html>" if path == "/page.png" else drawn(len(path))
        if path == "/packed.png":
            handler.send_header("Content-Encoding", "gzip")
            body = gzip.compress(body)
        if path == "/claims.png":
            handler.send_header("Content-Length", str(pictures.LARGEST + 1))
        elif path == "/torn.png":
            handler.send_header("Content-Length", str(len(body) + 10))
        handler.end_headers()
        handler.wfile.write(body)
        if path == "/endless.png":
            try:
                while True:
                    handler.wfile.write(bytes(65_536))
            except OSError:
                return


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.server.shutdown()
    site.server.server_close()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("FULLBENCH_FETCH_PRIVATE", raising=False)
    return tmp_path / "cache"


def read(folder: Path, address: str) -> bytes:
    (folder / "items.jsonl").write_text(json.dumps({"id": "q", "question": "?", "picture": address}), encoding="utf-8")
    with allow_picture_folders(urls=True):
        (item,) = read_items(folder / "items.jsonl")
    return item.pictures[0].data()


LOCAL = [
    "http://127.0.0.1:{port}/1.png", "http://localhost:{port}/1.png", "http://2130706433:{port}/1.png",
    "http://0x7f.1:{port}/1.png", "http://[::ffff:127.0.0.1]:{port}/1.png", "http://0.0.0.0:{port}/1.png",
    "http://169.254.169.254/latest", "http://10.1.2.3/1.png", "http://[fe80::1]/1.png", "http://[fd00::1]/1.png",
    "http://[64:ff9b::7f00:1]/1.png", "http://[2002:7f00:1::]/1.png",
]  # fmt: skip


@pytest.mark.parametrize("address", LOCAL)
def test_nothing_of_a_private_network_is_asked(tmp_path, site, address):
    with pytest.raises(InputError, match=r"an address of a private network|no answer from") as caught:
        read(tmp_path, address.format(port=site.server.server_port))
    assert "items.jsonl:1: " in str(caught.value)
    assert not site.asked


def test_a_redirect_into_a_private_network_is_not_followed(tmp_path, site, monkeypatch):
    other = Site()
    site.elsewhere = f"{other.url}/1.png"
    monkeypatch.setenv("FULLBENCH_FETCH_PRIVATE", site.host)
    with pytest.raises(InputError, match=rf"set FULLBENCH_FETCH_PRIVATE={other.host}"):
        read(tmp_path, f"{site.url}/to/other")
    assert not other.asked
    assert read(tmp_path, f"{site.url}/to/near") == drawn(len("/1.png"))
    monkeypatch.setenv("FULLBENCH_FETCH_PRIVATE", f"{site.host}, {other.host}")
    assert read(tmp_path, f"{site.url}/to/other") == drawn(len("/1.png"))
    with pytest.raises(InputError, match="it redirects more than 5 times"):
        read(tmp_path, f"{site.url}/to/circle")
    site.elsewhere = "file:///etc/passwd"
    with pytest.raises(InputError, match="file:// is not supported"):
        read(tmp_path, f"{site.url}/to/file")
    other.server.shutdown()
    other.server.server_close()


WRONG = {
    "/none.png": "answered 404", "/page.png": "is not a picture we know", "/packed.png": "sent it compressed",
    "/claims.png": "more than 128 MiB", "/torn.png": "it broke off",
}  # fmt: skip


@pytest.mark.parametrize("path", WRONG)
def test_what_is_no_picture_is_told_with_the_line(tmp_path, site, monkeypatch, path):
    monkeypatch.setenv("FULLBENCH_FETCH_PRIVATE", "127.0.0.1")
    monkeypatch.setattr(picture_download, "PAUSE", 0.01)
    with pytest.raises(InputError, match=WRONG[path]) as caught:
        read(tmp_path, site.url + path)
    assert "items.jsonl:1: " in str(caught.value)


def test_what_never_ends_is_cut_off_by_size_and_by_time(tmp_path, site, monkeypatch):
    monkeypatch.setenv("FULLBENCH_FETCH_PRIVATE", "127.0.0.1")
    monkeypatch.setattr(picture_download, "LARGEST", 10**6)
    with pytest.raises(InputError, match=r"it has more than 0 MiB"):
        read(tmp_path, f"{site.url}/endless.png")
    monkeypatch.setattr(picture_download, "LARGEST", 10**12)
    monkeypatch.setattr(picture_download, "WHOLE_SECONDS", 0.2)
    with pytest.raises(InputError, match=r"it did not arrive within 0\.2 s"):
        read(tmp_path, f"{site.url}/endless.png")


def test_a_server_that_is_tired_is_asked_again_and_what_was_fetched_is_not(tmp_path, site, cache, monkeypatch):
    monkeypatch.setenv("FULLBENCH_FETCH_PRIVATE", "127.0.0.1")
    monkeypatch.setattr(picture_download, "PAUSE", 0.01)
    for _ in range(2):
        assert read(tmp_path, f"{site.url}/tired.png") == drawn(len("/tired.png"))
    assert site.asked["/tired.png"] == 3
    (kept,) = (file for file in (cache / "web").iterdir() if not file.suffix)
    kept.write_bytes(b"something else")
    assert read(tmp_path, f"{site.url}/tired.png") == drawn(len("/tired.png"))
    assert site.asked["/tired.png"] == 4, "what was changed is fetched anew"
    assert read(tmp_path, f"{site.url}/图 片.png") == drawn(len(quote("/图 片.png")))


def test_responses_too_and_only_within_the_consent(tmp_path, site, monkeypatch):
    monkeypatch.setenv("FULLBENCH_FETCH_PRIVATE", "127.0.0.1")
    row = {"item": "q", "contestant": "a", "pictures": [f"{site.url}/page.png", f"{site.url}/1.png"]}
    (tmp_path / "answers.jsonl").write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(InputError, match="--fetch-urls"):
        list(read_responses(tmp_path / "answers.jsonl"))
    assert not site.asked
    with allow_picture_folders(urls=True):
        (answer,) = read_responses(tmp_path / "answers.jsonl")
    assert [picture.media_type for picture in answer.pictures] == [UNKNOWN, "image/png"]


def run(folder: Path, *words: str, private: str = "") -> Done:
    done = run_forked(folder, *words, environment={**os.environ, "FULLBENCH_FETCH_PRIVATE": private})
    assert "Traceback" not in done.stderr
    return done


def test_from_the_command_line_and_a_study(tmp_path, site):
    """What a user types and sees: it is refused for what it is, then it works, and the ledger has the pictures."""
    rows = [{"id": f"q{n}", "question": "什么？", "picture": f"{site.url}/{'x' * n}.png"} for n in range(3)]
    answers = [{"item": row["id"], "contestant": who, "text": who * 3} for row in rows for who in "ab"]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, answers)), encoding="utf-8")
    judge = [
        "judge",
        "--items",
        "items.jsonl",
        "--responses",
        "answers.jsonl",
        "--judge",
        "length",
        "--ballot",
        "choice",
    ]
    private = run(tmp_path, *judge, "--fetch-urls")
    assert (private.returncode, "an address of a private network" in private.stderr) == (2, True)
    assert not (tmp_path / "fullbench.ledger").exists()
    assert not site.asked
    done = run(tmp_path, *judge, "--fetch-urls", private=site.host)
    assert done.returncode == 0, done.stderr
    with Ledger(tmp_path / "fullbench.ledger", read_only=True) as ledger:
        seen = {item.id: item.pictures[0].data() for item in ledger.items()}
        assert not ledger.verify()
    assert seen == {f"q{n}": drawn(len(f"/{'x' * n}.png")) for n in range(3)}
    toml = 'name = "s"\nitems = "items.jsonl"\nresponses = "answers.jsonl"\njudges = ["length"]\nballots = ["choice"]\n'
    (tmp_path / "s.toml").write_text(f"{toml}fetch_urls = true\n", encoding="utf-8")
    safe = run(tmp_path, "run", "s.toml", "--safe", private=site.host)
    assert (safe.returncode, "it fetches pictures from addresses on the web" in safe.stderr) == (2, True)
    done = run(tmp_path, "run", "s.toml", "--quiet")
    assert done.returncode == 0, done.stderr
    assert "it fetches pictures from addresses on the web" in done.stderr
    assert run(tmp_path, "replay", "s.toml").returncode == 0
    assert set(site.asked.values()) == {1}, "each picture was fetched once"
    (tmp_path / "s.toml").write_text(f"{toml}fetch_urls = 1\n", encoding="utf-8")
    with pytest.raises(InputError, match="fetch_urls is true or false; found 1"):
        Study.read(tmp_path / "s.toml")
