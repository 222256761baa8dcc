"""Malformed API replies are read if possible, else they fail with a reason, and all are billed."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

from fullbench.errors import ModelError
from fullbench.models.chat_model import ChatModel
from fullbench.models.model_settings import Limits
from tests.models.conftest import ask
from tests.support.fake_chat_server import POISONS, READABLE, UNREADABLE, FakeServer
from tests.support.wait_until import LONG

QUICK = Limits(backoff=0.005, concurrency=4)
REASONS = {
    "array": "JSON, but no answer", "message text": "message is text", "deep": "no JSON", "stream": "stream of events",
    "bomb": "more than 64 MiB", "torn gzip": "cannot be unpacked", "object": "content is an object",
    "number": "content is a number", "true": "content is true or false", "numbers": "a number where a part",
    "texts": "text where a part", "part text": "text of a part is a number",
}  # fmt: skip


def test_every_poison_is_read_or_is_a_failure_that_says_what_came_and_all_are_billed():
    """All at once, each several times: a good reply comes first, so that the server is known to be an API."""
    assert set(REASONS) == set(UNREADABLE)
    plan = dict.fromkeys((kind for kind in POISONS if kind != "bomb"), 0.9 / len(POISONS)) | {"bomb": 0.005}
    with FakeServer(plan, seed=3, says="[[4]]") as server:
        model = ChatModel("x", server.url, limits=QUICK, listed_price=(1.0, 1.0))
        replies = list(model.answer(map(ask, range(900))))
        books = server.books()
    assert set(books["sent"]) == {"good", *POISONS}, "every poison was met"
    assert len(replies) == 900
    assert sum(reply.usage.calls for reply in replies) == sum(books["answered"].values())
    assert sum(reply.usage.retries for reply in replies) == 0
    for reply in replies:
        assert (reply.error is None) == ("[[4]]" in reply.text)
        assert 0 < reply.usage.tokens_in < 1000
        assert 0 <= reply.usage.tokens_out < 1000
        assert "\0" not in reply.text
        reply.text.encode()


@pytest.mark.parametrize("kind", [kind for kind in UNREADABLE if kind != "bomb"])
def test_a_reply_that_cannot_be_read_is_a_failure_that_says_what_came(kind):
    with FakeServer({kind: 1.0}, says="[[4]]") as server:
        (reply,) = ChatModel("x", server.url, limits=Limits(backoff=0.005, attempts=2)).answer([ask(1)])
    assert (reply.text, reply.usage.calls, reply.failure) == ("", 2, "passing")
    assert REASONS[kind] in (reply.error or "")


@pytest.mark.parametrize("kind", READABLE)
def test_a_ruling_that_can_be_read_is_read(kind):
    with FakeServer({kind: 1.0}, says="[[4]]") as server:
        (reply,) = ChatModel("x", server.url, limits=QUICK).answer([ask(1)])
    assert reply.error is None
    assert reply.text.endswith("[[4]]")
    assert reply.usage.calls == 1


def test_a_reply_that_unpacks_to_gigabytes_takes_no_gigabytes():
    code = """
import re, sys
from pathlib import Path
from fullbench.models.chat_model import ChatModel
from fullbench.models.model_settings import Limits
from tests.models.conftest import ask
replies = ChatModel("x", sys.argv[1], limits=Limits(backoff=0.005, concurrency=1)).answer([ask(1)])
errors = [reply.error for reply in replies]
# not getrusage: there a child begins with the peak of whoever started it
print(errors, re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""
    with FakeServer({"bomb": 1.0}) as server:
        done = subprocess.run(
            [sys.executable, "-c", code, server.url], capture_output=True, text=True, check=True, timeout=120
        )
    errors, peak = done.stdout.rsplit(" ", 1)
    assert "more than 64 MiB" in errors
    assert int(peak) < 300_000, "kilobytes: the libraries, one capped reply, and its chunks"


@pytest.mark.parametrize(
    ("kind", "named"), [("html", "an HTML page"), ("stream", "a stream of events"), ("array", "JSON")]
)
def test_a_server_that_is_no_api_is_named_as_such(kind, named):
    with FakeServer({kind: 1.0}) as server:
        replies = []
        with pytest.raises(ModelError, match=f"is no API .*{named}") as trouble:
            replies.extend(ChatModel("x", server.url, limits=Limits(backoff=0.005)).answer(map(ask, range(50))))
        books = server.books()
    assert ("in one piece" if kind == "stream" else "check the URL") in str(trouble.value)
    assert sum(reply.usage.calls for reply in replies) == sum(books["answered"].values()), "what it sent was paid for"
    assert sum(books["answered"].values()) < 40


def test_a_port_that_speaks_no_http_is_named_as_no_api():
    """Such as that of a database or of ssh: it greets, whatever it is told."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(LONG)

    def greet() -> None:
        with listener, suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n" * 10)

    threading.Thread(target=greet, daemon=True).start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    with pytest.raises(ModelError, match=r"is no API .* it sends something that is no HTTP"):
        list(ChatModel("x", url, limits=QUICK).answer(map(ask, range(20))))
    listener.close()
