"""POST over HTTP/1.1 to one address, on connections that are used again: what a call to a model needs and no more."""

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
"""A connection that was idle for longer is not used again: many servers close it about then."""
LONGEST_HEAD = 1 << 16
RECEIVED_AT_ONCE = 1 << 16
_NO_BODY = frozenset({204, 304})
_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_HEXADECIMAL = re.compile(rb"[0-9A-Fa-f]{1,8}")


class NoConnection(Exception):
    """The server, or the proxy before it, was not reached: why, in words."""


class BrokenOff(Exception):
    """The connection ended before the reply did: where, in words."""


class NoHttp(Exception):
    """What came is no HTTP."""


@dataclass(slots=True)
class Exchange:
    """One request and what has come back of it so far; the status is there before the body is."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    """By their names in small letters."""
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
        sent = {"Host": _host(self._address), **headers, "User-Agent": "fullbench"}
        if self._proxy is not None and not self._secure:
            target = f"http://{_host(self._address)}{target}"
            sent |= _credentials(self._proxy)
        self._head = _lines(f"POST {target} HTTP/1.1", sent) + b"Content-Length: %d\r\n\r\n"

    async def post(self, body: bytes, exchange: Exchange) -> None:
        """Send a body and wait for all of the reply, which `exchange` holds then; its connection is free again, or
        closed where anything went wrong."""
        connection = self._rested() or await self._connected()
        try:
            await connection.ask(b"".join((self._head % len(body), body)), exchange)
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

    def _rested(self) -> _Connection | None:
        """The connection that was used last, since the others may be closed soon."""
        while self._idle:
            connection = self._idle.pop()
            if connection.reusable and time.monotonic() - connection.idle_since < IDLE_SECONDS:
                return connection
            connection.drop()
        return None

    async def _connected(self) -> _Connection:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                if self._proxy is None:
                    return await self._reach(self._address)
                connection = await self._reach(self._proxy)
                if self._secure:
                    await self._tunnel(connection, self._proxy)
                return connection
        except TimeoutError:
            raise NoConnection("no connection in time") from None
        except OSError as error:
            raise NoConnection(f"no connection{self._by}({why_unconnected(error)})") from error
        except (BrokenOff, NoHttp) as error:
            raise NoConnection(f"no connection (of the proxy: {error})") from error

    @property
    def _by(self) -> str:
        return " " if self._proxy is None else f" through the proxy {_host(self._proxy)} "

    async def _reach(self, where: SplitResult) -> _Connection:
        connection, name = _Connection(self, self._buffer), _name(where)
        # A name of the web may have several addresses, one of which leads nowhere: the next is tried soon. Where
        # there is one, trying it alone leaves no socket open when a call is cancelled in the middle of it.
        race = None if is_local(where.geturl()) else 0.25
        await asyncio.get_running_loop().create_connection(
            lambda: connection, name, where.port or {"http": 80, "https": 443}[where.scheme],
            ssl=_trust() if where.scheme == "https" else None, happy_eyeballs_delay=race,
        )  # fmt: skip
        self._open.add(connection)
        return connection

    async def _tunnel(self, connection: _Connection, proxy: SplitResult) -> None:
        """Have the proxy connect us to the address, and speak to that under a key of its own."""
        name, port = _name(self._address), self._address.port or 443
        place = f"[{name}]:{port}" if ":" in name else f"{name}:{port}"
        exchange = Exchange()
        head = _lines(f"CONNECT {place} HTTP/1.1", {"Host": place, **_credentials(proxy)})
        try:
            await connection.ask(head + b"\r\n", exchange, tunnel=True)
            if exchange.status != 200:
                raise OSError(f"the proxy says {exchange.status}")
            await connection.secure(_trust(), name)
        except BaseException:
            connection.drop()
            raise


class _Connection(asyncio.BufferedProtocol):
    """One connection, with at most one request on its way."""

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
        self._left = -1
        """The bytes that the body still lacks; -1 before its head is read, -2 in chunks, -3 until the server closes."""
        self.idle_since = 0.0

    @property
    def reusable(self) -> bool:
        transport = self._transport
        # A server that answers before it has read all will not read the rest as the start of another request.
        return transport is not None and not self._close_after and not (
            transport.is_closing() or transport.get_write_buffer_size()
        )  # fmt: skip

    async def ask(self, request: bytes, exchange: Exchange, *, tunnel: bool = False) -> None:
        transport = self._transport
        if transport is None:
            raise BrokenOff("before the request")
        self._exchange, self._tunnel, self._left = exchange, tunnel, -1
        self._waiter = waiter = asyncio.get_running_loop().create_future()
        transport.write(request)
        await waiter

    async def secure(self, context: ssl.SSLContext, name: str) -> None:
        transport = self._transport
        if transport is None:
            raise BrokenOff("before the request")
        secured = await asyncio.get_running_loop().start_tls(transport, self, context, server_hostname=name)
        if secured is None:
            raise BrokenOff("before the request")
        self._transport = secured

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
        if self._left == -3 and error is None:
            self._finish(bytes(self._received))
            return
        begun = self._exchange.status or self._received
        self._fail(BrokenOff("in the middle of the reply" if begun else "before the reply"))

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._waiter is None or self._waiter.done():
            self._close_after = True  # nobody asked for this
            return
        self._received += self._buffer[:nbytes]
        try:
            while self._left == -1 and self._waiter is not None:
                if not self._head():
                    return
            self._body()
        except (NoHttp, TooLarge) as error:
            self._close_after = True
            self._fail(error)

    def _head(self) -> bool:
        """Read the status and the headers, where they are whole; those of a reply before the reply (1xx) are passed."""
        received = self._received
        if not (received[:5] == b"HTTP/" or b"HTTP/".startswith(received[:5])):
            raise NoHttp("what came is no HTTP")
        end = _END_OF_HEAD.search(received, 0, LONGEST_HEAD)
        if end is None:
            if len(received) > LONGEST_HEAD:
                raise NoHttp("what came is no HTTP")
            return False
        first, *lines = received[: end.start()].decode("latin-1").splitlines()
        del received[: end.end()]
        version, _, rest = first.partition(" ")
        if not rest[:3].isdecimal():
            raise NoHttp("what came is no HTTP")
        status = int(rest[:3])
        if 100 <= status < 200:
            return bool(received)
        headers: dict[str, str] = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        self._exchange.status, self._exchange.headers = status, headers
        self._close_after = version != "HTTP/1.1" or "close" in headers.get("connection", "").lower()
        self._left = self._length(status, headers)
        if self._left > LARGEST:
            raise TooLarge
        return True

    def _length(self, status: int, headers: Mapping[str, str]) -> int:
        if status in _NO_BODY or (self._tunnel and status == 200):
            return 0
        if "chunked" in headers.get("transfer-encoding", "").lower():
            self._parts, self._size = [], 0
            return -2
        told = headers.get("content-length")
        if told is None:
            self._close_after = True
            return -3
        if not told.isdecimal():
            raise NoHttp("what came is no HTTP")
        return int(told)

    def _body(self) -> None:
        if self._left == -2:
            self._chunks()
        elif self._left >= 0 and len(self._received) >= self._left:
            body = bytes(self._received[: self._left])
            del self._received[: self._left]
            self._finish(body)
        elif len(self._received) > LARGEST:
            raise TooLarge

    def _chunks(self) -> None:
        """Take whole chunks off what was received; the last one is empty, and other headers may follow it."""
        received, start = self._received, 0
        while (line := received.find(b"\n", start)) >= 0:
            size = _HEXADECIMAL.match(received, start)
            if size is None:
                raise NoHttp("what came is no HTTP")
            length = int(size[0], 16)
            if length == 0:
                if _END_OF_HEAD.search(received, line) is None:
                    break
                received.clear()
                self._finish(b"".join(self._parts))
                return
            if self._size + length > LARGEST:
                raise TooLarge
            end = line + 1 + length
            after = received.find(b"\n", end, end + 2)
            if after < 0:
                if len(received) >= end + 2:
                    raise NoHttp("what came is no HTTP")
                break
            self._parts.append(bytes(received[line + 1 : end]))
            self._size += length
            start = after + 1
        del received[:start]

    def _finish(self, body: bytes) -> None:
        waiter, self._waiter = self._waiter, None
        if self._received:  # more than was asked for
            self._close_after = True
        self._left = -1
        if waiter is not None and not waiter.done():
            self._exchange.body = body
            waiter.set_result(None)

    def _fail(self, error: Exception) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)


@functools.cache
def _trust() -> ssl.SSLContext:
    """What makes a server the one that it says it is; made once, since reading all certificates takes 20 ms."""
    import ssl

    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


async def speaks_tls(url: str) -> bool:
    """Whether the server at an address would speak TLS, whoever it is: nothing is sent to it."""
    import ssl

    parts = urlsplit(url)
    anybody = ssl.create_default_context()
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(_name(parts), parts.port or 80, ssl=anybody)
    except (OSError, TimeoutError):
        return False
    writer.transport.abort()
    return True


def why_unconnected(error: OSError) -> str:
    """Why there is no connection; what a user can do about a certificate or a missing one stands with it."""
    unproven = getattr(error, "verify_message", "")
    if unproven:
        return f"its certificate is not trusted: {unproven}; name the certificate's file in SSL_CERT_FILE"
    if getattr(error, "reason", "") == "WRONG_VERSION_NUMBER":
        return "it speaks no TLS there; write http:// in place of https://"
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there"
    return str(error.strerror or error)


def _name(where: SplitResult) -> str:
    name = where.hostname or ""
    return name if name.isascii() else name.encode("idna").decode()


def _host(where: SplitResult) -> str:
    """The name of a server as the header Host has it."""
    name = _name(where)
    shown = f"[{name}]" if ":" in name else name
    return shown if where.port in {None, {"http": 80, "https": 443}[where.scheme]} else f"{shown}:{where.port}"


def _credentials(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    words = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {base64.b64encode(words.encode()).decode()}"}


def _lines(first: str, headers: Mapping[str, str]) -> bytes:
    text = "".join([f"{first}\r\n", *(f"{name}: {value}\r\n" for name, value in headers.items())])
    if text.count("\n") != len(headers) + 1 or text.count("\r") != len(headers) + 1:
        raise InputError("the key of a server must not have line breaks in it; look at what key_env or key_file names")
    return text.encode().replace(b"%", b"%%")
