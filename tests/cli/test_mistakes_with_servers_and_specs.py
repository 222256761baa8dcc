"""Servers that are absent, speak another protocol or hang, and impossible specs, keys and proxies: one sentence."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fullbench.models import model_test_calls
from fullbench.models.net.rate_limits import START
from tests.support.tls_proxy import certificate

KEY = "sk-proj-0123456789abcdef"


class Odd(BaseHTTPRequestHandler):
    """What it does is the first word of the path: `/moved/v1`, `/hang/v1`, `/page/v1`; all that it is sent is kept."""

    seen: list[tuple[str, str | None]]
    let_go: threading.Event
    elsewhere: str

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.seen.append((self.path, self.headers.get("Authorization")))
        word = self.path.split("/")[1]
        if word == "hang":
            self.let_go.wait()
        status = {"moved": 307, "busy": 429, "away": 429}.get(word, 200)
        body = {
            "stream": b'data: {"choices": [{"delta": {"content": "A"}}]}\n\n',
            "thinks": b'{"choices": [{"message": {"content": null, "reasoning_content": "Hm. [[A]]"}}]}',
            "silent": b'{"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]}',
            "other": b'{"model": "other-7b", "choices": [{"message": {"content": "[[A]]"}, "finish_reason": "stop"}]}',
            "none": b'{"data": []}', "page": b"<html>Sign in</html>",
            "mumbles": b'{"choices": [{"message": {"content": "Hm, hard to say."}, "finish_reason": "stop"}]}',
        }.get(word, b"{}")  # fmt: skip
        self.send_response(status)
        if word == "moved":
            self.send_header("Location", f"{self.elsewhere}{self.path}")
        if word in {"busy", "away"}:
            self.send_header("Retry-After", {"busy": "1", "away": "86400"}[word])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def serving(**more: object) -> ThreadingHTTPServer:
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), type("Handler", (Odd,), {"seen": [], "let_go": threading.Event(), **more})
    )
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def address(server: ThreadingHTTPServer, scheme: str = "http") -> str:
    return f"{scheme}://127.0.0.1:{server.server_address[1]}"


@pytest.fixture
def odd() -> Iterator[ThreadingHTTPServer]:
    other = serving()
    server = serving(elsewhere=address(other))
    server.other = other  # type: ignore[attr-defined]
    yield server
    for each in (server, other):
        each.RequestHandlerClass.let_go.set()
        each.shutdown()
        each.server_close()


@pytest.fixture
def desk(tmp_path) -> Path:
    items = [{"id": f"q{number}", "question": "?"} for number in range(2)]
    said = [{"item": item["id"], "contestant": who, "text": who} for item in items for who in "xy"]
    for name, rows in (("items", items), ("said", said)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def judged(spec: str) -> tuple[str, ...]:
    words = "judge --items items.jsonl --responses said.jsonl --ballot choice --quiet --judge"
    return (*words.split(), spec)


SPECS = [
    ("openai:m@http://localhost:99999/v1", "has no port that can be"),
    ("openai:m@http://localhost:abc/v1", "has no port that can be"),
    ("openai:m@http://::1:8000/v1", "which stands in brackets"),
    ("openai:m@http://[::1:8000/v1", "which stands in brackets"),
    ("openai:m@http://localhost:8000/my path/v1", "holds a space"),
    ('"openai:m@http://localhost:8000/v1"', "leave out the quotes"),
    ("“openai:m@http://localhost:8000/v1”", "leave out the quotes"),
    ("openai:m?price_in=-1&price_out=1", "'price_in' of 'openai:m' cannot be '-1'"),
    ("openai:m?max_tokens=0", "'max_tokens' of 'openai:m' cannot be '0'"),
    ('openai:m?extra={"messages": []}', "'extra' cannot contain 'messages'"),
    ('openai:m?extra={"model": "other"}', "'extra' cannot contain 'model'"),
    ('openai:m?extra={"stream": true}', "'extra' cannot contain 'stream'"),
]


@pytest.mark.parametrize(("spec", "told"), SPECS)
def test_specs_that_cannot_be(cli, desk, spec, told):
    code, out, err = cli(*judged(spec))
    assert (code, out) == (2, ""), err
    assert told in err
    assert not (desk / "fullbench.ledger").exists()


@pytest.mark.parametrize("target", ["http://localhost:99999/v1", "http://localhost:abc/v1", "http:/localhost:8000/v1"])
def test_addresses_that_cannot_be_checked(cli, desk, target):
    code, _, err = cli("check", target)
    assert code == 2
    assert "no port that can be" in err or "Write http://localhost:8000/v1" in err


def test_a_key_in_the_place_of_its_variable_is_not_shown(cli, desk):
    code, out, err = cli(*judged(f"openai:gpt-4o?key_env={KEY}"))
    assert code == 2
    assert "key_env must be the name of a variable" in err
    assert KEY not in out + err


@pytest.mark.parametrize("held", [f'"{KEY}"', f"'{KEY}'"])
def test_a_key_in_quotes_is_refused_before_it_is_sent(cli, desk, odd, monkeypatch, held):
    monkeypatch.setenv("SOME_KEY", held)
    code, _, err = cli(*judged(f"openai:m@{address(odd)}/page/v1?key_env=SOME_KEY"))
    assert (code, "the variable SOME_KEY contains spaces, quotes" in err) == (2, True)
    assert odd.RequestHandlerClass.seen == []
    assert KEY not in err


def test_keys_that_powershell_wrote_are_found_and_missing_ones_told(cli, desk, odd, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (desk / ".env").write_bytes(f"OPENAI_API_KEY={KEY}\r\n".encode("utf-16"))
    cli(*judged(f"openai:m@{address(odd)}/page/v1?key_env=OPENAI_API_KEY"))
    assert {auth for _, auth in odd.RequestHandlerClass.seen} == {f"Bearer {KEY}"}
    (desk / ".env").write_text(f"OPENAI_API_KEY: {KEY}\n")
    code, _, err = cli(*judged("openai:gpt-4o"))
    assert (code, "a file .env here: there is one, without a line NAME=VALUE of that name" in err) == (2, True)


def test_a_server_that_has_moved_is_told_and_no_key_follows_it(cli, desk, odd, monkeypatch):
    monkeypatch.setenv("SOME_KEY", KEY)
    spec = f"openai:m@{address(odd)}/moved/v1?key_env=SOME_KEY"
    code, _, err = cli(*judged(spec))
    assert code == 2
    assert f"it sends us to {address(odd.other)}/moved/v1/chat/completions" in err
    assert "name it in the spec" in err
    code, _, err = cli("check", spec)
    assert code == 1
    assert f"307: it sends us to {address(odd.other)}/moved/v1/chat/completions" in err
    code, _, err = cli("check", f"{address(odd)}/moved/v1")
    assert (code, f"it answers 307 and sends us to {address(odd.other)}/moved/v1/models" in err) == (2, True)
    assert {auth for _, auth in odd.RequestHandlerClass.seen} >= {f"Bearer {KEY}"}
    assert odd.other.RequestHandlerClass.seen == []


def test_what_keeps_a_server_from_listing_its_models_is_said(cli, desk, odd):
    for place, told in (("page", "what it sends is no JSON"), ("none", "serves no model. Load"), ("v0", "no list of")):
        code, _, err = cli("check", f"{address(odd)}/{place}/v1")
        assert code == 2
        assert told in err


def test_a_server_that_hangs_is_checked_soon(cli, desk, odd, monkeypatch):
    """It hangs until the test ends: two attempts, and one look at its models, none longer than the timeout."""
    waits: list[float] = []
    send = model_test_calls._fetch_json

    def note_wait(*words, wait: float = model_test_calls._WAIT):
        waits.append(wait)
        return send(*words, wait=wait)

    monkeypatch.setattr(model_test_calls, "_fetch_json", note_wait)
    code, out, err = cli("check", f"openai:m@{address(odd)}/hang/v1?timeout=0.3")
    assert code == 1
    assert "no answer after 2 attempts; the last one: no whole answer within 0.3 s" in err
    assert [path.removeprefix("/hang/v1/") for path, _ in odd.RequestHandlerClass.seen] == [
        "chat/completions",
        "chat/completions",
        "models",
    ]
    assert waits == [0.3]
    assert "no " in out


def count_refused(server: ThreadingHTTPServer) -> list[Exception]:
    """Return a list that gets each error of a connection which did not become one."""
    refused: list[Exception] = []
    accept = server.get_request

    def get_request():
        try:
            return accept()
        except OSError as error:
            refused.append(error)
            raise

    server.get_request = get_request  # type: ignore[method-assign]
    return refused


def test_certificates_and_their_absence_are_told_apart(cli, desk, odd, tmp_path):
    certificate(tmp_path)
    secure = serving()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    secure.socket = context.wrap_socket(secure.socket, server_side=True)
    refused = count_refused(secure)
    try:
        for target in (f"openai:m@{address(secure, 'https')}/page/v1", f"{address(secure, 'https')}/page/v1"):
            code, _, err = cli("check", target)
            assert code in {1, 2}
            assert "its certificate is not trusted: self-signed certificate; name the certificate's file in SSL_" in err
        code, _, err = cli(*judged(f"openai:m@{address(odd, 'https')}/page/v1"))
        assert (code, "it speaks no TLS there; write http:// in place of https://" in err) == (2, True)
        for words in (judged(f"openai:m@{address(secure)}/page/v1"), ("check", f"{address(secure)}/page/v1")):
            refused.clear()
            code, _, err = cli(*words)
            assert (code, "speaks TLS there; write https:// in place of http://" in err) == (2, True), err
            assert 0 < len(refused) <= START, "none is tried again for all of the patience of 600 s"
    finally:
        secure.shutdown()
        secure.server_close()


def test_a_proxy_that_cannot_be_is_named_by_its_variable_and_keeps_its_password(cli, desk, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("https_proxy", "http://me:hush-hush@proxy:abc")
    for words in (judged("openai:gpt-4o"), ("check", "openai:gpt-4o")):
        code, out, err = cli(*words)
        assert code in {1, 2}
        assert "the proxy that https_proxy names has no port that can be" in err
        assert "hush-hush" not in out + err
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    code, _, err = cli(*judged("openai:gpt-4o?attempts=1&backoff=0.01"))
    assert code == 1
    assert "no connection through the proxy 127.0.0.1:9 (" in err


def test_a_study_that_nobody_answers_says_why(cli, desk, odd):
    where = address(odd)
    (desk / "study.toml").write_text(
        'name = "s"\nitems = "items.jsonl"\njudges = ["length"]\nballots = ["choice"]\n'
        f'contestants = ["openai:a@{where}/mumble/v1?attempts=1", "openai:b@{where}/mumble/v1?attempts=1"]\n'
    )
    code, out, err = cli("run", "study.toml", "--quiet")
    assert (code, out) == (2, "")
    last = err.splitlines()[-1]
    assert last.startswith("fullbench: none of the 4 answers came, so there is nothing to judge: a: no answer"), err
    assert last.count("200 without an answer in it") == 2, "each says why"
    assert last.endswith("the same command asks again")


def test_a_judge_that_rules_nothing_is_quoted_however_few_cases_there_are(cli, desk, odd):
    code, _, err = cli(*judged(f"openai:m@{address(odd)}/mumbles/v1"))
    assert code == 1
    assert "4 of 4 replies could not be read. Last reply: 'Hm, hard to say.'" in err


def test_init_names_the_file_that_was_asked_for_and_what_is_not_there(cli, desk):
    told = ("init", "--items", "items.jsonl", "--responses", "gone.jsonl", "--judge", "length")
    code, _, err = cli(*told, "--ballot", "choose", "mine.toml")
    assert (code, err.startswith("fullbench: mine.toml:19: unknown ballot 'choose'")) == (2, True), err
    code, _, err = cli(*told, "--ballot", "choice", "mine.toml")
    assert code == 0
    assert "gone.jsonl: no such file or folder yet" in err
    assert "items.jsonl:" not in err


SAID = [
    ("stream", 2, "it sends a stream of events", "let it answer in one piece"),
    ("away", 2, "asks to be left alone for 86,400 s", "or waits with ?patience=172800"),
    ("thinks", 1, "4 of 4 replies contain only thinking and give no verdict", "?max_tokens=4096"),
    ("silent", 1, "4 of 4 replies have no text and give no verdict", "`fullbench check`"),
    ("other", 0, "the server reports the model other-7b instead of m (4 of 4 replies)", "Called 4, reused 0, failed 0"),
]


@pytest.mark.parametrize("come", SAID)
def test_what_comes_back_is_said_at_the_end(cli, desk, odd, come):
    how, code, what, more = come
    left, _, err = cli(*judged(f"openai:m@{address(odd)}/{how}/v1"))
    assert left == code, err
    assert what in err
    assert more in err


def test_a_server_that_is_busy_is_told_of_and_check_does_not_wait_for_it_for_ever(cli, desk, odd, monkeypatch):
    monkeypatch.setattr("fullbench.models.model_test_calls.LONGEST", 7.0)
    code, _, err = cli("check", f"openai:m@{address(odd)}/busy/v1")
    assert code == 1
    assert "has too much to do (429" in err
    assert err.count("calls wait for it, 7 s at the most") >= 1


def test_proxies_of_socks_are_refused_and_none_stands_before_this_machine(cli, desk, odd, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ALL_PROXY", "socks5://me:hush-hush@127.0.0.1:9")
    code, out, err = cli(*judged("openai:gpt-4o"))
    assert code == 2
    assert "all_proxy names a SOCKS proxy, which is not supported" in err
    assert "hush-hush" not in out + err
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    code, _, err = cli(*judged("openai:gpt-4o?attempts=1&backoff=0.01"))
    assert "no connection through the proxy 127.0.0.1:9 (" in err
    code, _, err = cli("check", f"{address(odd)}/none/v1")
    assert "serves no model. Load" in err, "this machine is asked without a proxy, by check too"


def test_nothing_is_paid_for_that_leaves_nothing_to_judge(cli, desk, odd):
    lines = ['name = "s"', 'items = "items.jsonl"', 'judges = ["length"]', 'ballots = ["choice", "ranking"]']
    lines.append(f'contestants = ["openai:m@{address(odd)}/other/v1"]')
    (desk / "study.toml").write_text("\n".join(lines))
    for command in ("run", "plan"):
        code, out, err = cli(command, "study.toml")
        assert (code, out) == (2, "")
        assert "as many responses as the ballots show at once (one at the most); let another contestant answer" in err
    assert odd.RequestHandlerClass.seen == [], "nobody was asked"  # type: ignore[attr-defined]
