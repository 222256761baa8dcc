"""References by models, references in other words, and pictures that another set has too, by the command line."""

from __future__ import annotations

import csv
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from PIL import Image, ImageDraw

from tests.support.commands import invoke as run
from tests.support.data_builders import png


class Handler(BaseHTTPRequestHandler):
    """A writer: it gives references, and puts them into other words; one it repeats, and one it refuses."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        words = json.dumps(body["messages"], ensure_ascii=False)
        reason = "stop"
        if "other words" in words or "换一种说法" in words:
            reply = "五个苹果。" if "几个" in words else "Red is its colour."
        else:
            reply, reason = ("", "content_filter") if "secret" in words else ("A written reference.", "stop")
        choice = {"message": {"content": reply}, "finish_reason": reason}
        said = json.dumps({"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        pass


@pytest.fixture
def writer(monkeypatch):
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("FULLBENCH_TEST_KEY", "k")
    yield f"openai:writer@http://127.0.0.1:{httpd.server_port}/v1?key_env=FULLBENCH_TEST_KEY"
    httpd.shutdown()
    httpd.server_close()
    thread.join()


@pytest.fixture
def items(tmp_path):
    (tmp_path / "p.png").write_bytes(png())
    rows = [
        {"id": "zh", "question": "图中有几个苹果？", "image": "p.png", "reference": "五个苹果。"},
        {"id": "en", "question": "What colour is it?", "image": "p.png", "reference": "It is red."},
        {"id": "bare", "question": "What is it?", "image": "p.png"},
        {"id": "secret", "question": "What is the secret?", "image": "p.png"},
    ]
    path = tmp_path / "items.jsonl"
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    return path


def test_a_model_writes_the_references_that_are_missing_and_people_accept_them(items, writer, tmp_path):
    queue = tmp_path / "queue.csv"
    words = ["compose", "references", "--items", items, "--model", writer, "--out", queue, "--quiet", "--ledger",
             tmp_path / "w.ledger"]  # fmt: skip
    done = run(*words)
    assert "secret/reference" in done.stderr
    with queue.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["item"], row["reference"]) for row in rows] == [
        ("zh", "五个苹果。"), ("en", "It is red."), ("bare", "A written reference."),
    ]  # fmt: skip
    assert rows[2]["note"].startswith("written by writer")
    for row in rows:
        row["accept"] = "no" if row["item"] == "en" else "yes"
        row["reason"] = "incomplete" if row["item"] == "en" else ""
    with queue.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(rows)
    run("compose", "accept", "--items", items, "--references", queue, "--out", tmp_path / "done.jsonl")
    accepted = [json.loads(line) for line in (tmp_path / "done.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["id"]: row["reference"] for row in accepted} == {"zh": "五个苹果。", "bare": "A written reference."}


def test_references_in_other_words_are_a_contestants_answers(items, writer, tmp_path):
    done = run("compose", "rephrase", "--items", items, "--model", writer, "--out", tmp_path / "r.jsonl", "--quiet",
               "--ledger", tmp_path / "w.ledger")  # fmt: skip
    assert "zh: the very words of the reference" in done.stderr
    (row,) = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (row["item"], row["contestant"], row["text"]) == ("en", "rephrased reference", "Red is its colour.")


def drawing(seed: int) -> Image.Image:
    image = Image.new("RGB", (96, 96), (240, 240, 240))
    pen = ImageDraw.Draw(image)
    for place in range(12):
        x, y = (seed * 37 + place * 29) % 80, (seed * 53 + place * place * 17) % 80
        pen.rectangle((x, y, x + 14, y + 9), fill=((place * 40) % 255, (seed * 90) % 255, 60))
    return image


def test_pictures_that_another_set_has_too(tmp_path):
    for name in ("own", "sft", "old"):
        (tmp_path / name).mkdir()
    drawing(1).save(tmp_path / "own" / "a.png")
    drawing(2).save(tmp_path / "own" / "b.png")
    drawing(3).save(tmp_path / "own" / "c.png")
    (tmp_path / "sft" / "x.png").write_bytes((tmp_path / "own" / "a.png").read_bytes())
    (tmp_path / "sft" / "y.png").write_bytes((tmp_path / "own" / "a.png").read_bytes())
    drawing(2).resize((192, 192)).save(tmp_path / "old" / "big.jpg", quality=80)
    drawing(4).save(tmp_path / "old" / "other.png")
    words = ["compose", "duplicates", tmp_path / "own", "--against", tmp_path / "sft", "--against", tmp_path / "old"]
    tables = {table["name"]: table for table in json.loads(run(*words, "--json").stdout)}
    assert tables["alike"]["rows"] == []
    found = {(row[0], row[1].split(": ")[1], row[2]) for row in tables["across"]["rows"]}
    assert found == {
        ("a.png", "x.png", "the same file"), ("a.png", "y.png", "the same file"),
        ("b.png", "big.jpg", "nearly the same picture"),
    }  # fmt: skip
