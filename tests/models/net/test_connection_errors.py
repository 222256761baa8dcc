"""Sentences about connections that fail: proxies, TLS where none is spoken and the reverse, redirects, large heads."""

from __future__ import annotations

import json
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from fullbench.core.model import Reply
from fullbench.errors import ModelError
from fullbench.models.batch_services import batch_server
from fullbench.models.chat_model import ChatModel
from fullbench.models.model_settings import Key, Limits
from tests.models.conftest import ask
from tests.support.tls_proxy import certificate

ANSWER = json.dumps({
    "choices": [{"message": {"content": "[[4]]"}}], "usage": {"prompt_tokens": 9, "completion_tokens": 1},
}).encode()  # fmt: skip
GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(ANSWER) + ANSWER
LOGIN = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"


def read_request(file) -> bool:
    """Read one request; return False if the client has gone."""
    size = 0
    while (line := file.readline()) not in {b"\r\n", b""}:
        if line.lower().startswith(b"content-length:"):
            size = int(line.split(b":")[1])
    return line == b"\r\n" and len(file.read(size)) == size


@contextmanager
def raw_server(
    replies: Callable[[int], bytes | None], context: ssl.SSLContext | None = None
) -> Iterator[tuple[int, list]]:
    """A server that sends `replies(n)` to its request number n, and nothing if that is None."""
    seen: list[float] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                while read_request(self.rfile):
                    seen.append(time.monotonic())
                    reply = replies(len(seen) - 1)
                    if reply is not None:
                        self.wfile.write(reply)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def get_request(self):
            raw, address = super().get_request()
            return (raw if context is None else context.wrap_socket(raw, server_side=True)), address

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server.server_address[1], seen
        server.shutdown()


def chat_model(url: str, **limits) -> ChatModel:
    some_limits = Limits(backoff=0.005, concurrency=1, **limits)
    return ChatModel("x", url, key=Key(("SOME_KEY",)), limits=some_limits, listed_price=(2.0, 8.0))


def answers(url: str, count: int = 1, **limits) -> list[Reply]:
    return list(chat_model(url, **limits).answer(map(ask, range(count))))


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_wants_a_password_is_named_and_not_the_model(scheme, monkeypatch):
    with raw_server(lambda number: LOGIN) as (port, seen):
        monkeypatch.setenv(f"{scheme}_proxy", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("SOME_KEY", "sk-some-key")
        with pytest.raises(ModelError, match=r"a proxy in front of the server at .* \(.*407.*\); set http_proxy or"):
            answers(f"{scheme}://model.example/v1", 50)
        batches = batch_server(chat_model(f"{scheme}://model.example/v1"))
        with pytest.raises(ModelError, match=r"a proxy in front of the batch service at .*407.*; set http_proxy or"):
            batches.fetch_status("b-1")
    assert len(seen) < 5, "one refusal is enough"


def test_https_to_a_plain_server_that_keeps_silent_names_tls():
    """The server waits for a line of HTTP while we wait for its part of the handshake."""
    with raw_server(lambda number: None) as (port, _):
        started = time.monotonic()
        with pytest.raises(ModelError, match=r"the TLS handshake did not end within 0\.3 s; write http:// in place of"):
            answers(f"https://127.0.0.1:{port}/v1", 50, timeout=0.3, patience=60)
        assert time.monotonic() - started < 50, "it does not wait for `patience`"


def test_https_to_a_plain_server_that_answers_names_tls():
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1)
            self.request.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        with pytest.raises(ModelError, match=r"http:// in place of https://"):
            answers(f"https://127.0.0.1:{server.server_address[1]}/v1", 50)
        server.shutdown()


def test_http_to_a_tls_server_names_tls(tmp_path):
    certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    with (
        raw_server(lambda number: GOOD, context) as (port, _),
        pytest.raises(ModelError, match=r"speaks TLS there; write https:// in place of http://"),
    ):
        answers(f"http://127.0.0.1:{port}/v1", 50)


def test_a_server_that_hangs_up_and_then_keeps_silent_is_a_failed_call():
    """The check for TLS took longer than the limit of the call, whose end was a traceback."""
    seen: list[bytes] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                seen.append(self.rfile.readline())
                while len(seen) > 1 and self.rfile.read(1):
                    pass

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        (reply,) = answers(f"http://127.0.0.1:{server.server_address[1]}/v1", timeout=0.3, patience=1)
        server.shutdown()
    assert len(seen) > 1
    assert reply.failure is not None


MOVED = b"HTTP/1.1 302 Found\r\nLocation: https://login.example/\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize("place", [0, 3])
def test_one_redirect_does_not_end_a_run(place):
    with raw_server(lambda number: MOVED if number == place else GOOD) as (port, seen):
        replies = answers(f"http://127.0.0.1:{port}/v1", 6)
    assert [reply.text for reply in replies] == ["[[4]]"] * 6
    assert (len(seen), sum(reply.usage.calls for reply in replies), sum(reply.usage.retries for reply in replies)) == (
        7, 6, 1,
    )  # fmt: skip


def test_a_server_that_only_redirects_ends_the_run_with_the_place():
    with (
        raw_server(lambda number: MOVED) as (port, seen),
        pytest.raises(ModelError, match=r"is elsewhere \(302: it sends us to https://login\.example/\)"),
    ):
        answers(f"http://127.0.0.1:{port}/v1", 50)
    assert len(seen) == 5


def test_a_call_whose_head_is_too_large_is_on_the_bill():
    large = GOOD.replace(b"\r\n", b"\r\nX-Large: " + b"x" * 200_000 + b"\r\n", 1)
    with raw_server(lambda number: large if number < 2 else GOOD) as (port, seen):
        (reply,) = answers(f"http://127.0.0.1:{port}/v1")
    assert (reply.text, len(seen), reply.usage.calls, reply.usage.retries) == ("[[4]]", 3, 3, 0)


def test_an_integer_of_any_length_in_a_reply_is_read():
    body = ANSWER[:-1] + b', "created": ' + b"9" * 50_000 + b"}"
    with raw_server(lambda number: b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body) as (port, seen):
        (reply,) = answers(f"http://127.0.0.1:{port}/v1")
    assert (reply.text, len(seen)) == ("[[4]]", 1)
