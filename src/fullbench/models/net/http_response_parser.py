"""`ResponseParser`: HTTP/1.1 responses parsed by llhttp, with limits on heads, chunk lines, trailers and bodies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import httptools

from fullbench.models.wire.untrusted_json import LARGEST, TooLarge

LONGEST_HEAD = 1 << 16
"""Maximum bytes of a status line with its headers, of a chunk line, and of trailers. llhttp itself has no limit."""
_NO_BODY = frozenset({204, 304})
Phase = Literal["connect", "tls", "request"]


class BrokenOff(Exception):
    """The connection ended before the reply did; the message says where."""


class NoHttp(Exception):
    """The reply is not valid HTTP."""


@dataclass(slots=True)
class Exchange:
    """One request and its reply so far; the status is set before the body."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    """Keys are lower-case. Values of a repeated header are joined by commas."""
    body: bytes = b""
    sink: Callable[[bytes], object] | None = None
    """Takes the parts of a body with status 200 in place of `body`; then its size has no limit."""
    phase: Phase = "connect"
    sent_bytes: int = 0
    received_bytes: int = 0


class ResponseParser:
    """Parse the response of one exchange from the bytes of its connection, in pieces of any size."""

    __slots__ = (
        "_body", "_error", "_exchange", "_head_bytes", "_headers", "_is_interim", "_is_tunnel", "_parser",
        "_unframed_bytes", "ends_with_connection", "is_complete", "keeps_connection",
    )  # fmt: skip

    def __init__(self, exchange: Exchange, *, is_tunnel: bool = False) -> None:
        self._exchange = exchange
        self._is_tunnel = is_tunnel
        self._parser = httptools.HttpResponseParser(self)
        # Both occur in practice and leave no doubt about where a body ends.
        self._parser.set_dangerous_leniencies(lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True)
        self._headers: dict[str, str] = {}
        self._body = bytearray()
        self._head_bytes = 0
        self._unframed_bytes = 0
        """Bytes since the head, a chunk line or a part of the body was last completed."""
        self._error: Exception | None = None
        self._is_interim = False
        self.ends_with_connection = False
        self.is_complete = False
        self.keeps_connection = False
        """The connection may be used for another request."""

    def feed(self, data: bytes | memoryview) -> bool:
        """Parse more bytes. Return True if the response is complete.

        Raises `NoHttp` or `TooLarge`. The status in `exchange` is then set if it was received.
        """
        self._unframed_bytes += len(data)
        self._exchange.received_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if self.is_complete:  # more data than the response has
                self.keeps_connection = False
                return True
            raise self._fail(self._error or NoHttp(f"what came is no valid HTTP: {error}")) from None
        if self.is_complete:
            return True
        if max(self._unframed_bytes, self._head_bytes) > LONGEST_HEAD:
            raise self._fail(NoHttp(f"a head, chunk line or trailer of more than {LONGEST_HEAD >> 10} KiB"))
        if self._exchange.received_bytes > LARGEST + LONGEST_HEAD and not self._has_sink:
            raise self._fail(TooLarge())
        return False

    def end_connection(self) -> bool:
        """Return True if the end of the connection completes the response, for one without a length."""
        self._note_status()
        if self.ends_with_connection and not self.is_complete:
            self._complete()
        return self.is_complete

    # Callbacks of httptools. They can stop it only by raising an error.

    def on_message_begin(self) -> None:
        if self.is_complete:
            raise NoHttp

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_bytes += len(name) + len(value)
        if self._exchange.status:
            return  # a trailer
        # llhttp does not take `chunked` with a tab for chunked, so a tab stays.
        key, text = name.decode("latin-1").lower(), value.decode("latin-1").strip(" ")
        self._headers[key] = f"{self._headers[key]}, {text}" if key in self._headers else text

    def on_headers_complete(self) -> None:
        status, headers, exchange = self._parser.get_status_code(), self._headers, self._exchange
        encoding, length = headers.get("transfer-encoding"), headers.get("content-length")
        if status < 200:
            if status == 101 or encoding is not None or length is not None:
                self._stop_parsing(NoHttp(f"what came is no valid HTTP: status {status} out of place"))
            self._is_interim, self._headers = True, {}
            return
        exchange.status, exchange.headers = status, headers
        self._unframed_bytes = 0
        self.keeps_connection = self._parser.should_keep_alive()
        if self._head_bytes > LONGEST_HEAD:
            self._stop_parsing(NoHttp(f"a head of more than {LONGEST_HEAD >> 10} KiB"))
        if status in _NO_BODY or (self._is_tunnel and status == 200):
            self.keeps_connection |= self._is_tunnel
            self._complete()
        elif encoding is not None and encoding.lower() != "chunked":
            self._stop_parsing(NoHttp(f"a body in the transfer encoding {encoding[:40]!r}, which was not requested"))
        elif encoding is not None:
            # In chunks, a line end without CR would hide that a chunk is one byte too short.
            self._parser.set_dangerous_leniencies(lenient_optional_cr_before_lf=False)
        elif length is None:
            self.ends_with_connection = True
        elif int(length) > LARGEST and not self._has_sink:
            self._stop_parsing(TooLarge())

    def on_body(self, part: bytes) -> None:
        self._unframed_bytes = 0
        if self.is_complete:
            raise NoHttp
        if not self._has_sink:
            self._body += part
            return
        try:
            self._exchange.sink(part)  # type: ignore[misc]
        except OSError as error:
            self._stop_parsing(error)

    def on_chunk_header(self) -> None:
        self._unframed_bytes = 0

    def on_chunk_complete(self) -> None:
        self._unframed_bytes = 0

    def on_message_complete(self) -> None:
        if self._is_interim:
            self._is_interim = False
        elif not self.is_complete:
            self._complete()

    @property
    def _has_sink(self) -> bool:
        return self._exchange.sink is not None and self._exchange.status == 200

    def _complete(self) -> None:
        self.is_complete = True
        self._exchange.body = bytes(self._body)

    def _stop_parsing(self, error: Exception) -> None:
        self._error = error
        raise error

    def _fail(self, error: Exception) -> Exception:
        self._note_status()
        self.keeps_connection = False
        return error

    def _note_status(self) -> None:
        """Set the status also if the head is incomplete: a server that sent 200 has billed the call."""
        status = self._parser.get_status_code()
        if not self._exchange.status and status >= 200:
            self._exchange.status = status
