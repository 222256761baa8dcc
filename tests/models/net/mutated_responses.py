"""Mutated HTTP responses, and what our parser and h11 make of the same bytes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

import h11

from fullbench.models.net.http_response_parser import BrokenOff, Exchange, NoHttp, ResponseParser
from fullbench.models.wire.untrusted_json import TooLarge

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
BODY = b'{"choices": [{"message": {"content": "[[4]]"}}], "usage": {"prompt_tokens": 9}}'
RESPONSES = (
    HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY,
    HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(
        b"%x\r\n%b\r\n" % (len(part), part) for part in (BODY[:16], BODY[16:17], BODY[17:])
    ) + b"0\r\n\r\n",
    HEAD + b"Transfer-Encoding: chunked\r\n\r\n4f;name=value\r\n" + BODY + b"\r\n0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n",
    HEAD + b"Connection: close\r\n\r\n" + BODY,
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\n{}",
    b"HTTP/1.0 500 Oops\r\nServer: old\r\nContent-Length: 5\r\n\r\nsorry",
    b"HTTP/1.1 204 No Content\r\nX-Org: \xc3\x85bo\r\n\r\n",
)  # fmt: skip
PIECES = (
    b"\r\n", b"\n", b"\r", b" ", b"\t", b":", b";", b"0", b"00000000", b"0x", b"-1", b"9" * 30, b"\x00", b"\x85",
    b"\xff",
    b"Content-Length: 3\r\n", b"Content-Length: 79\r\n", b"content-length:79\r\n", b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: xchunkedx\r\n", b"Transfer-Encoding: gzip, chunked\r\n", b"Connection: close\r\n",
    b" folded\r\n",
    b"0\r\n\r\n", b"5\r\nhello\r\n", b"HTTP/1.1 200 OK\r\n", b"Upgrade: x\r\nConnection: upgrade\r\n",
)  # fmt: skip


class Outcome(NamedTuple):
    """A complete reply, or the kind of failure in place of its status."""

    status: int | str
    body: bytes = b""
    reason: str = ""


def mutated_response(randomness: random.Random) -> bytes:
    """Return a response with one to four changes: bytes replaced, inserted, removed, repeated or moved."""
    raw = bytearray(randomness.choice(RESPONSES))
    for _ in range(randomness.choice((1, 1, 2, 4))):
        place = randomness.randrange(len(raw) + 1)
        end = place + randomness.choice((1, 1, 2, 8, 40))
        match randomness.randrange(6):
            case 0:
                raw[place : place + 1] = bytes([randomness.randrange(256)])
            case 1 | 2:
                raw[place:place] = randomness.choice(PIECES)
            case 3:
                del raw[place:end]
            case 4:
                raw[place:place] = raw[place:end]
            case 5:  # at the start of a line, where it is most likely to matter
                line = raw.find(b"\n", place) + 1
                raw[line:line] = randomness.choice(PIECES)
    return bytes(raw)


def pieces_of(raw: bytes, randomness: random.Random) -> Iterator[bytes]:
    start = 0
    while start < len(raw):
        size = randomness.choice((1, 2, 7, 50, 1000))
        yield raw[start : start + size]
        start += size


def our_outcome(pieces: Iterator[bytes] | list[bytes]) -> Outcome:
    exchange = Exchange()
    parser = ResponseParser(exchange)
    try:
        if any(parser.feed(piece) for piece in pieces) or parser.end_connection():
            return Outcome(exchange.status, exchange.body)
    except (NoHttp, TooLarge, BrokenOff) as error:
        return Outcome("refused", reason=str(error))
    return Outcome("cut off")


def h11_outcome(raw: bytes) -> Outcome:
    """Return what h11 reads after a POST request was sent."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="POST", target="/", headers=[("Host", "x"), ("Content-Length", "0")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(raw)
    is_ended, status, body = False, 0, b""
    try:
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                if is_ended:
                    return Outcome("cut off")
                connection.receive_data(b"")
                is_ended = True
            elif isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                return Outcome(status, body)
            elif event is h11.PAUSED or isinstance(event, h11.ConnectionClosed):
                return Outcome("cut off")
    except h11.RemoteProtocolError as error:
        return Outcome("cut off" if "without sending complete message" in str(error) else "refused", reason=str(error))
