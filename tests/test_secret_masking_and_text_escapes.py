"""Secrets, terminal sequences and formulas in what comes from elsewhere: through real processes and servers."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fullbench import Ledger
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.table import Table
from fullbench.errors import LedgerError
from fullbench.files.item_response_verdict_files import read_items, read_responses, write_items, write_responses
from fullbench.files.row_readers import read_rows
from fullbench.ledger.postgres.database import url_without_password
from fullbench.reports.table_formats import render_table
from fullbench.secret_masking_and_text_escapes import NeutralStream, mask_secrets, neutralise_text
from tests.support.commands import Done
from tests.support.forked_command import run_forked

KEY = "sk-live/0123456789abcdef+XYZ"
ATTACK = "bad \x1b]0;pwned\x07\x1b[2J\x9b31m \u202etxt.exe\u2066"


class Server:
    """Answers every call in one way, and remembers the headers."""

    def __init__(self, status: int, body: bytes) -> None:
        seen = self.headers = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                seen.append(dict(self.headers))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Server:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def data(tmp_path) -> Path:
    rows = [{"id": f"q{n}", "question": f"What is {n}?"} for n in range(2)]
    answers = [{"item": row["id"], "contestant": "ann", "text": "Eight."} for row in rows]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, answers)), encoding="utf-8")
    return tmp_path


def judge(data: Path, spec: str, *more: str) -> Done:
    files = ["--items", "items.jsonl", "--responses", "answers.jsonl"]
    environment = {**os.environ, "OPENAI_API_KEY": KEY, "OTHER_KEY": KEY}
    return run_forked(data, "judge", *files, "--judge", spec, "--ballot", "score:1-5", *more, environment=environment)


def everything(data: Path, done: Done) -> str:
    """All that a run printed and kept."""
    files = [path.read_bytes().decode("utf-8", "replace") for path in data.rglob("*") if path.is_file()]
    return "\n".join([done.stdout, done.stderr, *files])


@pytest.mark.parametrize("lead", [285, pytest.param(0, marks=pytest.mark.slow)])
def test_a_key_that_a_server_repeats_is_masked_wherever_the_text_is_cut(data, lead):
    for body in ({"error": {"message": "x" * lead + f" Bearer {KEY} is not right"}}, {"detail": "y" * lead + KEY}):
        with Server(400, json.dumps(body).encode()) as server:
            done = judge(data, f"openai:judge@{server.url}?key_env=OTHER_KEY&attempts=1&backoff=0.01&mode=direct")
            assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
        told = everything(data, done)
        for length in range(10, len(KEY) + 1):
            assert KEY[:length] not in told, (lead, length)


def test_a_key_in_a_reply_is_kept_nowhere(data):
    message = {"role": "assistant", "content": f"Your key is {KEY}. [[4]]"}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": {}}
    with Server(200, json.dumps(body).replace("/", "\\/").encode()) as server:
        done = judge(data, f"openai:judge@{server.url}?key_env=OTHER_KEY&mode=direct", "--report", "page.html")
    assert done.returncode == 0, done.stderr
    assert KEY[:12] not in everything(data, done)
    with Ledger(data / "fullbench.ledger", read_only=True) as ledger:
        assert {v.text for v in ledger.verdicts()} == {"Your key is ***. [[4]]"}


def test_a_providers_key_goes_to_that_provider_alone(data):
    body = json.dumps({"choices": [{"message": {"role": "assistant", "content": "[[4]]"}, "finish_reason": "stop"}]})
    with Server(200, body.encode()) as server:
        done = judge(data, f"openai:judge@{server.url}?mode=direct")
        assert done.returncode == 0, done.stderr
        assert server.headers
        assert not [headers for headers in server.headers if KEY in str(headers)]
    with Server(401, b'{"error": {"message": "no key"}}') as server:
        done = judge(data, f"openai:other@{server.url}?mode=direct")
    assert "key_env=NAME" in done.stderr, "the sentence says how to give it one"


@pytest.mark.parametrize("url", [
    "postgresql://me:pa ss wördlein@127.0.0.1:1/db", "postgresql://me:sec#retword@127.0.0.1:1/db",
    "postgresql://me:sec?retword@127.0.0.1:1/db", "postgresql://me:secretword@127.0.0.1:port/db",
    "postgresql://me@127.0.0.1:1/db?password=secretword&nonsense=1", "postgresql://me:secret%zzword@127.0.0.1:1/db",
])  # fmt: skip
def test_a_password_of_a_server_is_never_shown(url):
    with pytest.raises(LedgerError) as caught:
        Ledger(url)
    for piece in ("pa ss", "wördlein", "retword", "secret", "zzword"):
        assert piece not in str(caught.value)
    assert "me@127.0.0.1" in url_without_password(url)


def test_a_servers_words_do_not_steer_the_terminal(data):
    with Server(401, json.dumps({"error": {"message": ATTACK}}).encode()) as server:
        done = judge(data, f"openai:judge@{server.url}?mode=direct")
    assert done.returncode == 2
    assert "pwned" in done.stderr, "its words are told"
    assert not set("\x1b\x07\x9b\u202e\u2066") & set(done.stderr + done.stdout)


@pytest.mark.slow
def test_on_a_real_terminal_neither_tables_nor_show_nor_errors_are_steered(data):
    rows = [json.loads(line) for line in (data / "answers.jsonl").read_text().splitlines()]
    for row in rows:
        row.update(contestant=f"ann{ATTACK}", text=f"8 {ATTACK}")
    (data / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert judge(data, "chance").returncode == 0
    with Ledger(data / "fullbench.ledger", read_only=True) as ledger:
        case = next(iter(ledger.verdicts())).case
    for words in (["report"], ["show", case], ["ledger", "show"], ["report", "--study", ATTACK.replace("\x07", "")]):
        out = on_a_terminal(data, *words)
        hostile = [sign for sign in ("\x1b]", "\x1b[2J", "\x9b", "\x07", "\u202e", "\u2066") if sign in out]
        assert not hostile, (words, hostile)
    assert "txt.exe" in out


def on_a_terminal(folder: Path, *words: str) -> str:
    """What a command writes when it speaks to a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "fullbench", *words], cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(theirs)
    chunks = []
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # the other side is closed
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(ours)
    process.wait(timeout=60)
    return b"".join(chunks).decode("utf-8", "replace")


def test_colours_pass_on_a_terminal_and_nothing_else_does():
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    NeutralStream(out).write("\x1b[1;31mred\x1b[0m \x1b[8mhidden\x1b[0;8mtoo \x1b[2J\r好")
    assert out.getvalue() == "\x1b[1;31mred\x1b[0m \\u001b[8mhidden\\u001b[0;8mtoo \\u001b[2J\\u000d好"
    piped = io.StringIO()
    NeutralStream(piped).write("\x1b[1mbold")
    assert piped.getvalue() == "\\u001b[1mbold"


def test_json_that_is_printed_stays_the_same_value():
    value = {"name": ATTACK, "中": "\ud800"}
    assert json.loads(neutralise_text(json.dumps(value, ensure_ascii=False, indent=2))) == value


def test_masking_leaves_what_is_too_short_to_be_a_secret():
    assert mask_secrets("a cat sat", ["a", "", None]) == "a cat sat"


FORMULAS = [
    '=HYPERLINK("http://x","y")', "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "'=already", "-5", "5%", "plain",
    "'s", '"', "",
]  # fmt: skip


def test_exports_hold_no_formulas_and_read_back_as_they_were(tmp_path):
    items = [Item.ask(f"i{n}", text or "?", reference=text) for n, text in enumerate(FORMULAS)]
    said = [Response.say("i0", f"{text}{n}" or "x", text) for n, text in enumerate(FORMULAS)]
    write_items(tmp_path / "items.csv", items)
    write_responses(tmp_path / "answers.csv", said)
    for name in ("items.csv", "answers.csv"):
        with (tmp_path / name).open(newline="", encoding="utf-8") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        live = [cell for cell in cells if cell[:1] in "=+-@\t\r" and cell and not cell.strip("-+").isdigit()]
        assert live == []
    assert list(read_items(tmp_path / "items.csv")) == items
    assert list(read_responses(tmp_path / "answers.csv")) == said


def test_raw_exports_hold_texts_as_they_are(tmp_path):
    said = [Response.say("i0", f"c{n}", text) for n, text in enumerate(FORMULAS)]
    with Ledger(tmp_path / "x.ledger") as ledger:
        for response in said:
            ledger.add_response(Item.ask("i0", "?"), response)
    for flag, first in (([], "'=HYPERLINK"), (["--raw"], "=HYPERLINK")):
        words = ["ledger", "export", "x.ledger", "--what", "responses", "--to", f"{len(flag)}.csv", *flag]
        done = run_forked(tmp_path, *words)
        assert done.returncode == 0, done.stderr
        with (tmp_path / f"{len(flag)}.csv").open(newline="", encoding="utf-8") as file:
            assert next(csv.DictReader(file))["text"].startswith(first)


def test_a_file_of_somebody_elses_keeps_its_apostrophes(tmp_path):
    (tmp_path / "theirs.csv").write_text("id,question\nq,'-ing or '-ed?\n", encoding="utf-8")
    assert [row for _, row in read_rows(tmp_path / "theirs.csv")] == [{"id": "q", "question": "'-ing or '-ed?"}]


def test_tables_as_csv_hold_no_formulas():
    table = Table("t", "T", ("=judge", "n"), [["=cmd()", 3], ["-2.5", 4]])
    rows = list(csv.reader(io.StringIO(render_table(table, "csv"))))
    assert rows[0][0] == "'=judge"
    assert [row[0] for row in rows[1:3]] == ["'=cmd()", "-2.5"]
