"""HTTP/1.1 client for requests to one address over reused connections: only what model calls and batches need."""

from __future__ import annotations

import asyncio
import base64
import functools
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlsplit

from fullbench.errors import InputError
from fullbench.models.model_prices import is_local
from fullbench.models.net.error_meanings import PROXY_LOGIN
from fullbench.models.net.http_response_parser import BrokenOff, Exchange, NoHttp, ResponseParser
from fullbench.models.wire.untrusted_json import TooLarge

if TYPE_CHECKING:
    import ssl

CONNECT_SECONDS = 10.0
IDLE_SECONDS = 15.0
"""A connection idle for longer is not reused: many servers close it about then."""
RECEIVED_AT_ONCE = 1 << 16


class NoConnection(Exception):
    """The server, or the proxy before it, was not reached; the message says why."""


class ProxyRefusal(NoConnection):
    """The proxy wants other credentials (407)."""


class Connections:
    """Connections to one address, with the headers that every request has."""

    def __init__(self, url: str, headers: Mapping[str, str], proxy: str | None = None, *, method: str = "POST") -> None:
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
        self._head = _encode_headers(f"{method} {target} HTTP/1.1", request_headers)

    async def post(self, body: bytes, exchange: Exchange) -> None:
        """Send a body and wait for the whole reply, stored in `exchange`. The connection is closed on any error."""
        await self._send(b"".join((self._head, b"Content-Length: %d\r\n\r\n" % len(body), body)), exchange)

    async def post_parts(self, parts: Iterable[bytes], size: int, exchange: Exchange) -> None:
        """Send a body of `size` bytes in parts, each when the connection has room for it."""
        await self._send(self._head + b"Content-Length: %d\r\n\r\n" % size, exchange, parts)

    async def get(self, exchange: Exchange) -> None:
        """Send a request without a body; `method` must be GET."""
        await self._send(self._head + b"\r\n", exchange)

    async def _send(self, request: bytes, exchange: Exchange, parts: Iterable[bytes] = ()) -> None:
        connection = self._take_idle() or await self._connect(exchange)
        try:
            await connection.send_request(request, exchange, parts)
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

    async def _connect(self, exchange: Exchange) -> _Connection:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                if self._proxy is None:
                    return await self._open_connection(self._address, exchange)
                connection = await self._open_connection(self._proxy, exchange)
                if self._secure:
                    await self._open_tunnel(connection, self._proxy, exchange)
                return connection
        except TimeoutError:
            raise NoConnection(connection_timeout_reason(exchange, CONNECT_SECONDS)) from None
        except OSError as error:
            reason = connection_failure_reason(error, is_in_handshake=exchange.phase == "tls")
            raise NoConnection(f"no connection{self._proxy_phrase}({reason})") from error
        except (BrokenOff, NoHttp, TooLarge) as error:
            raise NoConnection(f"no connection (of the proxy: {error})") from error

    @property
    def _proxy_phrase(self) -> str:
        return " " if self._proxy is None else f" through the proxy {_host_header(self._proxy)} "

    async def _open_connection(self, where: SplitResult, exchange: Exchange) -> _Connection:
        connection, name = _Connection(self, self._buffer), _ascii_hostname(where)
        exchange.phase = "connect"
        # A public host may have several addresses, some unreachable, so the next one is tried after 0.25 s. A local
        # host is tried alone: then a call cancelled while connecting leaves no socket open.
        connect_delay = None if is_local(where.geturl()) else 0.25
        await asyncio.get_running_loop().create_connection(
            lambda: connection, name, where.port or {"http": 80, "https": 443}[where.scheme],
            happy_eyeballs_delay=connect_delay,
        )  # fmt: skip
        self._open.add(connection)
        if where.scheme == "https":
            await connection.secure(_ssl_context(), name, exchange)
        return connection

    async def _open_tunnel(self, connection: _Connection, proxy: SplitResult, exchange: Exchange) -> None:
        name, port = _ascii_hostname(self._address), self._address.port or 443
        authority = f"[{name}]:{port}" if ":" in name else f"{name}:{port}"
        reply = Exchange()
        head = _encode_headers(f"CONNECT {authority} HTTP/1.1", {"Host": authority, **_proxy_credentials(proxy)})
        try:
            await connection.send_request(head + b"\r\n", reply, is_tunnel=True)
            if reply.status == PROXY_LOGIN:
                raise ProxyRefusal(f"the proxy {_host_header(proxy)} answers {PROXY_LOGIN}")
            if reply.status != 200:
                raise OSError(f"the proxy answered {reply.status}")
        except BaseException:
            connection.drop()
            raise
        await connection.secure(_ssl_context(), name, exchange)


class _Connection(asyncio.BufferedProtocol):
    def __init__(self, owner: Connections, buffer: memoryview) -> None:
        self._owner = owner
        self._buffer = buffer
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._resumed: asyncio.Future[None] | None = None
        self._exchange = Exchange()
        self._parser = ResponseParser(self._exchange)
        self._close_after = False
        self.idle_since = 0.0

    @property
    def reusable(self) -> bool:
        transport = self._transport
        # If the server answered before it read the whole request, the rest would be taken for the next request.
        return transport is not None and not self._close_after and not (
            transport.is_closing() or transport.get_write_buffer_size()
        )  # fmt: skip

    async def send_request(
        self, request: bytes, exchange: Exchange, parts: Iterable[bytes] = (), *, is_tunnel: bool = False
    ) -> None:
        """Send a request, with further parts of its body if given, and wait for the response."""
        transport = self._transport
        if transport is None:
            raise BrokenOff("before the request")
        self._exchange, self._parser = exchange, ResponseParser(exchange, is_tunnel=is_tunnel)
        exchange.phase = "request"
        self._waiter = waiter = asyncio.get_running_loop().create_future()
        transport.write(request)
        for part in parts:
            if waiter.done():  # the server refused the body before its end
                self._close_after = True
                break
            transport.write(part)
            exchange.sent_bytes += len(part)
            if self._resumed is not None:
                await asyncio.wait((waiter, self._resumed), return_when=asyncio.FIRST_COMPLETED)
        await waiter

    async def secure(self, context: ssl.SSLContext, name: str, exchange: Exchange) -> None:
        transport = self._transport
        if transport is None:
            raise BrokenOff("before the request")
        exchange.phase = "tls"
        try:
            self._transport = await asyncio.get_running_loop().start_tls(transport, self, context, server_hostname=name)
        except BaseException:
            self.drop()
            raise

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
        self.resume_writing()
        if self._waiter is None or self._waiter.done():
            return
        if self._parser.end_connection() and error is None:
            self._finish_exchange()
            return
        self._finish_exchange(
            BrokenOff("in the middle of the reply" if self._exchange.received_bytes else "before the reply")
        )

    def pause_writing(self) -> None:
        self._resumed = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        resumed, self._resumed = self._resumed, None
        if resumed is not None and not resumed.done():
            resumed.set_result(None)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._waiter is None or self._waiter.done():
            self._close_after = True  # data without a request
            return
        try:
            is_complete = self._parser.feed(self._buffer[:nbytes])
        except (NoHttp, TooLarge, OSError) as error:
            self._finish_exchange(error)
            return
        if is_complete:
            self._finish_exchange()

    def _finish_exchange(self, error: Exception | None = None) -> None:
        if error is not None or not self._parser.keeps_connection:
            self._close_after = True
        waiter, self._waiter = self._waiter, None
        if waiter is None or waiter.done():
            return
        if error is None:
            waiter.set_result(None)
        else:
            waiter.set_exception(error)


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    """Cached, since reading all certificates takes 20 ms."""
    import ssl

    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


async def speaks_tls(url: str, seconds: float = CONNECT_SECONDS) -> bool:
    """Return True if the server at an address accepts TLS with any certificate. Nothing is sent."""
    import ssl

    parts = urlsplit(url)
    anybody = ssl.create_default_context()
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    try:
        async with asyncio.timeout(min(seconds, CONNECT_SECONDS)):
            _, writer = await asyncio.open_connection(_ascii_hostname(parts), parts.port or 80, ssl=anybody)
    except (OSError, TimeoutError):
        return False
    writer.transport.abort()
    return True


_NO_TLS_REMEDY = "write http:// in place of https:// if no TLS is spoken there"


def connection_timeout_reason(exchange: Exchange, seconds: float) -> str:
    """Return why there is no connection after this many seconds."""
    if exchange.phase == "tls":
        return f"the TLS handshake did not end within {seconds:g} s; {_NO_TLS_REMEDY}"
    return f"no connection within {seconds:g} s"


def connection_failure_reason(error: OSError, *, is_in_handshake: bool = False) -> str:
    """Return why there is no connection, with a remedy for certificate and TLS errors."""
    certificate_error = getattr(error, "verify_message", "")
    if certificate_error:
        return f"its certificate is not trusted: {certificate_error}; name the certificate's file in SSL_CERT_FILE"
    if getattr(error, "reason", "") in _PLAIN_TEXT_REASONS:
        return "it speaks no TLS there; write http:// in place of https://"
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there"
    if is_in_handshake and (isinstance(error, ConnectionError) or getattr(error, "reason", "") in _CLOSED_REASONS):
        return f"it closed the connection during the TLS handshake; {_NO_TLS_REMEDY}"
    return str(error.strerror or error)


_PLAIN_TEXT_REASONS = {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"}
_CLOSED_REASONS = {"UNEXPECTED_EOF_WHILE_READING"}


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
        raise InputError(
            "the key of a server must not have line breaks in it; check the variable or file of key_env or key_file"
        )
    return text.encode()
