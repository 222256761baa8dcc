"""Requests and replies over real connections: what comes is what Python's own client reads of the same bytes."""

from __future__ import annotations

import asyncio
import base64
import http.client
import io
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from fullbench.errors import InputError
from fullbench.models.net import http_client as ours
from fullbench.models.net.concurrent_calls import run_awaitable
from fullbench.models.net.http_client import Connections, NoConnection, ProxyRefusal
from fullbench.models.net.http_response_parser import BrokenOff, Exchange, NoHttp
from fullbench.models.wire.untrusted_json import LARGEST, TooLarge
from tests.support.tls_proxy import certificate
from tests.support.wait_until import LONG

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Text: \xe4\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
WHOLE = {
    "length": OK + b"Content-Length: 5\r\n\r\nhello",
    "nothing": OK + b"Content-Length: 0\r\n\r\n",
    "chunks": CHUNKED + b"3\r\nhel\r\n2;name=value\r\nlo\r\n0\r\n\r\n",
    "trailers": CHUNKED + b"A\r\n0123456789\r\n0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n",
    "until closed": OK + b"\r\nhello, to the end",
    "an older version": b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
    "no content": b"HTTP/1.1 204 No Content\r\n\r\n",
    "refused": b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\n{}",
    "without a reason": b"HTTP/1.1 500\r\nContent-Length: 2\r\n\r\n{}",
    "bare line ends": b"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi",
    "goes on first": b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 5\r\n\r\nhello",
}
HEADERS = b"HTTP/1.1 200 OK\r\n"
AS_WRITTEN = {
    "chunk size with zeros": CHUNKED + b"0000000005\r\nhello\r\n0\r\n\r\n",
    "byte 0x85 in a header": HEADERS + "X-Org: \u00c5content-length:3\r\nContent-Length: 5\r\n\r\nhello".encode(),
    "byte 0x85 after the length": HEADERS + "Content-Length: 5\r\nX-Org: \u00c5content-length:3\r\n\r\nhello".encode(),
}
Server = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class _Bytes(io.BytesIO):
    def makefile(self, mode: str) -> io.BytesIO:
        return self


def as_python_reads(raw: bytes) -> tuple[int, bytes, str | None]:
    response = http.client.HTTPResponse(_Bytes(raw), method="POST")
    response.begin()
    return response.status, response.read(), response.getheader("Retry-After")


async def request_of(reader: asyncio.StreamReader) -> tuple[str, dict[str, str], bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.splitlines()
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    return first, headers, await reader.readexactly(int(headers.get("content-length", 0)))


@asynccontextmanager
async def serving(one: Server, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    handled = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handled.append(asyncio.current_task())
        with suppress(ConnectionError, ssl.SSLError, asyncio.IncompleteReadError):
            await one(reader, writer)
            await reader.read()
        writer.transport.abort()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        if handled:
            await asyncio.wait(handled, timeout=LONG)
        await asyncio.sleep(0)


def saying(raw: bytes, step: int) -> Server:
    """A server that answers in pieces of so many bytes, and closes."""

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        for start in range(0, len(raw), step):
            writer.write(raw[start : start + step])
            await writer.drain()
            await asyncio.sleep(0)
        writer.close()

    return one


def asked(raw: bytes, step: int = 1 << 20) -> Exchange:
    async def play() -> Exchange:
        async with serving(saying(raw, step)) as port:
            connections, exchange = Connections(f"http://127.0.0.1:{port}/v1", {}), Exchange()
            try:
                async with asyncio.timeout(20):
                    await connections.post(b"{}", exchange)
            finally:
                connections.close()
            return exchange

    return run_awaitable(play())


@pytest.mark.parametrize("step", [1, 7, 1 << 20])
@pytest.mark.parametrize("kind", WHOLE)
def test_a_whole_reply_is_what_another_client_reads_however_it_is_cut(kind, step):
    exchange = asked(WHOLE[kind], step)
    assert (exchange.status, exchange.body, exchange.headers.get("retry-after")) == as_python_reads(WHOLE[kind])


@pytest.mark.parametrize("kind", AS_WRITTEN)
def test_a_length_is_read_as_it_is_written(kind):
    assert asked(AS_WRITTEN[kind]).body == b"hello"


@pytest.mark.parametrize(
    ("raw", "error", "status"),
    [
        (b"", BrokenOff, 0), (b"HTTP/1.1 200 O", BrokenOff, 200),
        (OK + b"Content-Length: 9\r\n\r\nhello", BrokenOff, 200),
        (CHUNKED + b"5\r\nhel", BrokenOff, 200), (CHUNKED + b"5\r\nhello\r\n", BrokenOff, 200),
        (CHUNKED + b"zz\r\nhello\r\n", NoHttp, 200), (CHUNKED + b"2\r\nhello\r\n0\r\n\r\n", NoHttp, 200),
        (b"SSH-2.0-OpenSSH_9.6\r\n", NoHttp, 0), (b"HTTP/1.1 many OK\r\n\r\n", NoHttp, 0),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", NoHttp, 200),
        (b"HTTP/1.1 200 " + b"x" * 70_000, NoHttp, 200),
        (OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\nhello", NoHttp, 200),
        (CHUNKED + b"0x5\r\nhello\r\n", NoHttp, 200),
        (OK + b"Content-Length: 5\r\nContent-Length: 3\r\n\r\nhello", NoHttp, 200),
        (OK + b"Transfer-Encoding: xchunkedx\r\n\r\nhello", NoHttp, 200),
        (OK + b"Content-Length: %d\r\n\r\n" % (LARGEST + 1), TooLarge, 200),
    ],
)  # fmt: skip
def test_what_is_no_whole_reply_is_an_error_and_its_status_is_known_as_far_as_it_came(raw, error, status):
    seen = []

    async def play() -> None:
        async with serving(saying(raw, 1 << 20)) as port:
            connections, exchange = Connections(f"http://127.0.0.1:{port}", {}), Exchange()
            try:
                async with asyncio.timeout(20):
                    await connections.post(b"{}", exchange)
            finally:
                connections.close()
                seen.append(exchange.status)

    with pytest.raises(error):
        run_awaitable(play())
    assert seen == [status]


def test_connections_are_used_again_unless_the_server_ends_them():
    requests, opened = [], []

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.append(writer)
        while not reader.at_eof():
            try:
                requests.append(await request_of(reader))
            except asyncio.IncompleteReadError:
                break
            ends = len(requests) == 3
            writer.write(OK + (b"Connection: close\r\n" if ends else b"") + b"Content-Length: 2\r\n\r\nhi")
            await writer.drain()
            if ends:
                break
        writer.close()

    async def play() -> int:
        async with serving(one) as port:
            connections = Connections(f"http://127.0.0.1:{port}/v1/chat?a=1%20b", {"Authorization": "Bearer 好"})
            for number in range(5):
                exchange = Exchange()
                await connections.post(f"body {number}".encode(), exchange)
                assert exchange.body == b"hi"
            connections.close()
        return port

    port = run_awaitable(play())
    assert len(opened) == 2
    assert [body for _, _, body in requests] == [f"body {number}".encode() for number in range(5)]
    first, headers, _ = requests[0]
    assert first == "POST /v1/chat?a=1%20b HTTP/1.1"
    assert (headers["host"], headers["authorization"]) == (f"127.0.0.1:{port}", "Bearer 好")


@pytest.fixture
def trusted(tmp_path, monkeypatch):
    """A server's side of a certificate that this process trusts, by the variable that every user has for it."""
    certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    ours._ssl_context.cache_clear()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    yield context
    ours._ssl_context.cache_clear()


def test_https_is_spoken_to_a_server_that_is_trusted_and_to_no_other(trusted, monkeypatch, tmp_path):
    async def play() -> bytes:
        async with serving(saying(WHOLE["length"], 3), trusted) as port:
            connections, exchange = Connections(f"https://localhost:{port}", {}), Exchange()
            try:
                await connections.post(bytes(300_000), exchange)
            finally:
                connections.close()
            return exchange.body

    assert run_awaitable(play()) == b"hello"
    (tmp_path / "none.pem").write_bytes(b"")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    ours._ssl_context.cache_clear()
    with pytest.raises(NoConnection, match="certificate"):
        run_awaitable(play())


def test_a_proxy_is_told_where_to_and_who_asks(trusted):
    heads = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        heads.append(head)
        if head.startswith("POST "):
            writer.write(WHOLE["length"])
            writer.close()
            return
        if "Proxy-Authorization" not in head:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            return
        there, onward = await asyncio.open_connection("127.0.0.1", int(head.split(" ")[1].split(":")[1]))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")

        async def pipe(source: asyncio.StreamReader, into: asyncio.StreamWriter) -> None:
            try:
                while data := await source.read(65536):
                    into.write(data)
            finally:
                into.close()

        await asyncio.gather(pipe(reader, onward), pipe(there, writer), return_exceptions=True)

    async def through(user: str, scheme: str) -> Exchange:
        async with serving(saying(WHOLE["chunks"], 5), trusted) as behind, serving(proxy) as port:
            address = f"{scheme}://localhost:{behind}/v1"
            connections, exchange = Connections(address, {}, f"http://{user}127.0.0.1:{port}"), Exchange()
            try:
                async with asyncio.timeout(20):
                    await connections.post(b"{}", exchange)
            finally:
                connections.close()
            return exchange

    assert run_awaitable(through("anna:s%40cret@", "https")).body == b"hello"
    words = base64.b64encode(b"anna:s@cret").decode()
    assert heads[0].startswith("CONNECT localhost:")
    assert f"Proxy-Authorization: Basic {words}\r\n" in heads[0]
    with pytest.raises(ProxyRefusal, match="answers 407"):
        run_awaitable(through("", "https"))
    assert run_awaitable(through("anna:s%40cret@", "http")).body == b"hello"
    assert heads[2].startswith("POST http://localhost:")
    assert f"Proxy-Authorization: Basic {words}\r\n" in heads[2]


def test_nobody_there_is_no_connection_and_a_key_of_two_lines_is_refused():
    async def play() -> None:
        async with serving(saying(b"", 1)) as port:
            pass
        await Connections(f"http://127.0.0.1:{port}", {}).post(b"{}", Exchange())

    with pytest.raises(NoConnection, match="no connection"):
        run_awaitable(play())
    with pytest.raises(InputError, match="line breaks"):
        Connections("http://127.0.0.1:1", {"Authorization": "Bearer a\r\nX-Other: b"})
