"""HTTP/1.1 client for POST requests to one address over reused connections: only what a model call needs."""

from __future__ import annotations

import asyncio
import base64
import functools
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlsplit

from fullbench.errors import InputError
from fullbench.models.model_prices import is_local
from fullbench.models.wire.untrusted_json import LARGEST, TooLarge

if TYPE_CHECKING:
    import ssl

CONNECT_SECONDS = 10.0
IDLE_SECONDS = 15.0
"""A connection idle for longer is not reused: many servers close it about then."""
LONGEST_HEAD = 1 << 16
RECEIVED_AT_ONCE = 1 << 16
_NO_BODY = frozenset({204, 304})
_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_HEXADECIMAL = re.compile(rb"[0-9A-Fa-f]{1,8}")


class NoConnection(Exception):
    """The server, or the proxy before it, was not reached; the message says why."""


class BrokenOff(Exception):
    """The connection ended before the reply did; the message says where."""


class NoHttp(Exception):
    """The reply is not HTTP."""


@dataclass(slots=True)
class Exchange:
    """One request and its reply so far; the status is set before the body."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    """Keys are lower-case."""
    body: bytes = b""


class Connections:
    """Connections to one address, with the headers that every request has."""

    def __init__(self, url: str, headers: Mapping[str, str], proxy: str | None = None) -> None:
        self._address = urlsplit(url)
        self._proxy = None if proxy is None else urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        self._secure = self._address.scheme == "https"
        self._idle: list[_Connection] = []
        self._open: set[_Connection] = set()
        self._buffer = memoryview(bytearray(RECEIVED_AT_ONCE))
        target = (self._address.path or "/") + (f"?{self._address.query}" if self._address.query else "")
        request_headers = {"Host": _host_header(self._address), **headers, "User-Agent": "fullbench"}
        if self._proxy is not None and not self._secure:
            target = f"http://{_host_header(self._address)}{target}"
            request_headers |= _proxy_credentials(self._proxy)
        self._request_head = _encode_headers(f"POST {target} HTTP/1.1", request_headers) + b"Content-Length: %d\r\n\r\n"

    async def post(self, body: bytes, exchange: Exchange) -> None:
        """Send a body and wait for the whole reply, stored in `exchange`. The connection is closed on any error."""
        connection = self._take_idle() or await self._connect()
        try:
            await connection.send_request(b"".join((self._request_head % len(body), body)), exchange)
        except BaseException:
            connection.drop()
            raise
        if connection.reusable:
            connection.idle_since = time.monotonic()
            self._idle.append(connection)
        else:
            connection.drop()

    def close(self) -> None:
        for connection in tuple(self._open):
            connection.drop()

    def forget(self, connection: _Connection) -> None:
        self._open.discard(connection)

    def _take_idle(self) -> _Connection | None:
        """Return the connection used last, since the others may be closed soon."""
        while self._idle:
            connection = self._idle.pop()
            if connection.reusable and time.monotonic() - connection.idle_since < IDLE_SECONDS:
                return connection
            connection.drop()
        return None

    async def _connect(self) -> _Connection:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                if self._proxy is None:
                    return await self._open_connection(self._address)
                connection = await self._open_connection(self._proxy)
                if self._secure:
                    await self._tunnel(connection, self._proxy)
                return connection
        except TimeoutError:
            raise NoConnection("no connection in time") from None
        except OSError as error:
            raise NoConnection(f"no connection{self._proxy_phrase}({connection_failure_reason(error)})") from error
        except (BrokenOff, NoHttp) as error:
            raise NoConnection(f"no connection (of the proxy: {error})") from error

    @property
    def _proxy_phrase(self) -> str:
        return " " if self._proxy is None else f" through the proxy {_host_header(self._proxy)} "

    async def _open_connection(self, where: SplitResult) -> _Connection:
        connection, name = _Connection(self, self._buffer), _ascii_hostname(where)
        # A public host may have several addresses, some unreachable, so the next one is tried after 0.25 s. A local
        # host is tried alone: then a call cancelled while connecting leaves no socket open.
        connect_delay = None if is_local(where.geturl()) else 0.25
        await asyncio.get_running_loop().create_connection(
            lambda: connection, name, where.port or {"http": 80, "https": 443}[where.scheme],
            ssl=_ssl_context() if where.scheme == "https" else None, happy_eyeballs_delay=connect_delay,
        )  # fmt: skip
        self._open.add(connection)
        return connection

    async def _tunnel(self, connection: _Connection, proxy: SplitResult) -> None:
        name, port = _ascii_hostname(self._address), self._address.port or 443
        authority = f"[{name}]:{port}" if ":" in name else f"{name}:{port}"
        exchange = Exchange()
        head = _encode_headers(f"CONNECT {authority} HTTP/1.1", {"Host": authority, **_proxy_credentials(proxy)})
        try:
            await connection.send_request(head + b"\r\n", exchange, tunnel=True)
            if exchange.status != 200:
                raise OSError(f"the proxy says {exchange.status}")
            await connection.secure(_ssl_context(), name)
        except BaseException:
            connection.drop()
            raise


class _Connection(asyncio.BufferedProtocol):
    def __init__(self, owner: Connections, buffer: memoryview) -> None:
        self._owner = owner
        self._buffer = buffer
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._exchange = Exchange()
        self._tunnel = self._close_after = False
        self._received = bytearray()
        self._parts: list[bytes] = []
        self._size = 0
        self._remaining = -1
        """Bytes of the body still missing; -1 before the head is read, -2 for chunks, -3 until the server closes."""
        self.idle_since = 0.0

    @property
    def reusable(self) -> bool:
        transport = self._transport
        # If the server answered before it read the whole request, the rest would be taken for the next request.
        return transport is not None and not self._close_after and not (
            transport.is_closing() or transport.get_write_buffer_size()
        )  # fmt: skip

    async def send_request(self, request: bytes, exchange: Exchange, *, tunnel: bool = False) -> None:
        transport = self._transport
        if transport is None:
            raise BrokenOff("before the request")
        self._exchange, self._tunnel, self._remaining = exchange, tunnel, -1
        self._waiter = waiter = asyncio.get_running_loop().create_future()
        transport.write(request)
        await waiter

    async def secure(self, context: ssl.SSLContext, name: str) -> None:
        transport = self._transport
        if transport is None:
            raise BrokenOff("before the request")
        tls_transport = await asyncio.get_running_loop().start_tls(transport, self, context, server_hostname=name)
        if tls_transport is None:
            raise BrokenOff("before the request")
        self._transport = tls_transport

    def drop(self) -> None:
        self._owner.forget(self)
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._owner.forget(self)
        if self._remaining == -3 and error is None:
            self._finish_exchange(bytes(self._received))
            return
        has_reply_begun = self._exchange.status or self._received
        self._fail_exchange(BrokenOff("in the middle of the reply" if has_reply_begun else "before the reply"))

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._waiter is None or self._waiter.done():
            self._close_after = True  # data without a request
            return
        self._received += self._buffer[:nbytes]
        try:
            while self._remaining == -1 and self._waiter is not None:
                if not self._read_head():
                    return
            self._read_body()
        except (NoHttp, TooLarge) as error:
            self._close_after = True
            self._fail_exchange(error)

    def _read_head(self) -> bool:
        """Return False until status and headers are complete. Interim replies (1xx) are skipped."""
        received_bytes = self._received
        if not (received_bytes[:5] == b"HTTP/" or b"HTTP/".startswith(received_bytes[:5])):
            raise NoHttp("what came is no HTTP")
        end = _END_OF_HEAD.search(received_bytes, 0, LONGEST_HEAD)
        if end is None:
            if len(received_bytes) > LONGEST_HEAD:
                raise NoHttp("what came is no HTTP")
            return False
        first, *lines = received_bytes[: end.start()].decode("latin-1").splitlines()
        del received_bytes[: end.end()]
        version, _, status_text = first.partition(" ")
        if not status_text[:3].isdecimal():
            raise NoHttp("what came is no HTTP")
        status = int(status_text[:3])
        if 100 <= status < 200:
            return bool(received_bytes)
        headers: dict[str, str] = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        self._exchange.status, self._exchange.headers = status, headers
        self._close_after = version != "HTTP/1.1" or "close" in headers.get("connection", "").lower()
        self._remaining = self._body_length(status, headers)
        if self._remaining > LARGEST:
            raise TooLarge
        return True

    def _body_length(self, status: int, headers: Mapping[str, str]) -> int:
        if status in _NO_BODY or (self._tunnel and status == 200):
            return 0
        if "chunked" in headers.get("transfer-encoding", "").lower():
            self._parts, self._size = [], 0
            return -2
        content_length = headers.get("content-length")
        if content_length is None:
            self._close_after = True
            return -3
        if not content_length.isdecimal():
            raise NoHttp("what came is no HTTP")
        return int(content_length)

    def _read_body(self) -> None:
        if self._remaining == -2:
            self._read_chunks()
        elif self._remaining >= 0 and len(self._received) >= self._remaining:
            body = bytes(self._received[: self._remaining])
            del self._received[: self._remaining]
            self._finish_exchange(body)
        elif len(self._received) > LARGEST:
            raise TooLarge

    def _read_chunks(self) -> None:
        """The last chunk is empty and may be followed by trailers."""
        received_bytes, start = self._received, 0
        while (line := received_bytes.find(b"\n", start)) >= 0:
            size = _HEXADECIMAL.match(received_bytes, start)
            if size is None:
                raise NoHttp("what came is no HTTP")
            length = int(size[0], 16)
            if length == 0:
                if _END_OF_HEAD.search(received_bytes, line) is None:
                    break
                received_bytes.clear()
                self._finish_exchange(b"".join(self._parts))
                return
            if self._size + length > LARGEST:
                raise TooLarge
            end = line + 1 + length
            after = received_bytes.find(b"\n", end, end + 2)
            if after < 0:
                if len(received_bytes) >= end + 2:
                    raise NoHttp("what came is no HTTP")
                break
            self._parts.append(bytes(received_bytes[line + 1 : end]))
            self._size += length
            start = after + 1
        del received_bytes[:start]

    def _finish_exchange(self, body: bytes) -> None:
        waiter, self._waiter = self._waiter, None
        if self._received:  # more data than the reply has
            self._close_after = True
        self._remaining = -1
        if waiter is not None and not waiter.done():
            self._exchange.body = body
            waiter.set_result(None)

    def _fail_exchange(self, error: Exception) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    """Cached, since reading all certificates takes 20 ms."""
    import ssl

    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


async def speaks_tls(url: str) -> bool:
    """Return True if the server at an address accepts TLS with any certificate. Nothing is sent."""
    import ssl

    parts = urlsplit(url)
    anybody = ssl.create_default_context()
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(_ascii_hostname(parts), parts.port or 80, ssl=anybody)
    except (OSError, TimeoutError):
        return False
    writer.transport.abort()
    return True


def connection_failure_reason(error: OSError) -> str:
    """Return why there is no connection, with a remedy for certificate and TLS errors."""
    certificate_error = getattr(error, "verify_message", "")
    if certificate_error:
        return f"its certificate is not trusted: {certificate_error}; name the certificate's file in SSL_CERT_FILE"
    if getattr(error, "reason", "") == "WRONG_VERSION_NUMBER":
        return "it speaks no TLS there; write http:// in place of https://"
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there"
    return str(error.strerror or error)


def _ascii_hostname(where: SplitResult) -> str:
    name = where.hostname or ""
    return name if name.isascii() else name.encode("idna").decode()


def _host_header(where: SplitResult) -> str:
    name = _ascii_hostname(where)
    bracketed_name = f"[{name}]" if ":" in name else name
    return (
        bracketed_name
        if where.port in {None, {"http": 80, "https": 443}[where.scheme]}
        else f"{bracketed_name}:{where.port}"
    )


def _proxy_credentials(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    words = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {base64.b64encode(words.encode()).decode()}"}


def _encode_headers(first: str, headers: Mapping[str, str]) -> bytes:
    text = "".join([f"{first}\r\n", *(f"{name}: {value}\r\n" for name, value in headers.items())])
    if text.count("\n") != len(headers) + 1 or text.count("\r") != len(headers) + 1:
        raise InputError("the key of a server must not have line breaks in it; look at what key_env or key_file names")
    return text.encode().replace(b"%", b"%%")  # `post` fills in Content-Length with the % operator
