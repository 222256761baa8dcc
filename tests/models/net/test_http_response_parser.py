"""The response parser on mutated responses, compared with h11; and its limits."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

from fullbench.models.net.http_response_parser import LONGEST_HEAD, Exchange, NoHttp, ResponseParser
from fullbench.models.wire.untrusted_json import LARGEST, TooLarge
from tests.models.net.mutated_responses import h11_outcome, mutated_response, our_outcome, pieces_of

ONLY_H11_REFUSES = re.compile(
    r"no response line received"  # line breaks before the status line
    r"|illegal status line"  # control characters in the reason phrase, or a CR before the status line
    r"|Only Transfer-Encoding: chunked|multiple Transfer-Encoding"  # of a status without a body, or in a trailer
    r"|illegal chunk header"  # spaces after the size of a chunk
)
ONLY_WE_REFUSE = re.compile(
    r"whitespace after header value|Expected space after|header (value|field) char"  # folded lines, control characters
    r"|Transfer-Encoding can't be present|Content-Length can't be present|Duplicate Content-Length"  # two lengths
    r"|chunk exten|chunk size|Missing expected [CL][RF]|transfer encoding|LF after"
    r"|out of place|HTTP version|Data after `Connection: close`"
)


def compare(count: int, seed: int) -> Counter[str]:
    """Compare both parsers on mutated responses, and ours on the same bytes in pieces."""
    randomness, counts = random.Random(seed), Counter[str]()
    for _ in range(count):
        raw = mutated_response(randomness)
        ours, theirs = our_outcome([raw]), h11_outcome(raw)
        assert our_outcome(pieces_of(raw, randomness))[:2] == ours[:2], raw
        if isinstance(ours.status, int) and isinstance(theirs.status, int):
            assert ours[:2] == theirs[:2], raw
            counts["both read it"] += 1
        elif isinstance(ours.status, int):
            assert ONLY_H11_REFUSES.search(theirs.reason), (raw, ours, theirs)
            counts["only we read it"] += 1
        elif isinstance(theirs.status, int):
            assert ONLY_WE_REFUSE.search(ours.reason), (raw, ours, theirs)
            counts["only h11 reads it"] += 1
        else:
            counts["neither reads it"] += 1
    return counts


@pytest.mark.parametrize(
    ("count", "seed"), [(15_000, 1), pytest.param(400_000, 2, marks=pytest.mark.slow)], ids=["share", "whole"]
)
def test_mutated_responses_are_read_as_h11_reads_them(count, seed):
    counts = compare(count, seed)
    assert counts["both read it"] > count / 4
    assert counts["neither reads it"] > count / 4
    assert counts["only we read it"] + counts["only h11 reads it"] < count / 25


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def feed_until_refused(start: bytes, part: bytes) -> tuple[Exchange, Exception]:
    """Feed the same part again and again until the parser refuses it."""
    exchange = Exchange()
    parser = ResponseParser(exchange)
    assert not parser.feed(start)
    while exchange.received_bytes < 2 * LARGEST:
        try:
            parser.feed(part)
        except (NoHttp, TooLarge) as error:
            return exchange, error
    pytest.fail("it takes more than it may")


@pytest.mark.parametrize(
    ("start", "part"),
    [
        (OK + b"X-Long: ", b"x" * 1000), (OK, b"X-Many: 1\r\n" * 100), (b"HTTP/1.1 200 ", b"OK" * 500),
        (CHUNKED + b"5;x=", b"y" * 1000), (CHUNKED + b"0\r\n", b"X-Sum: 1\r\n" * 100),
        (CHUNKED + b"0\r\nX-Sum: ", b"z" * 1000),
    ],
    ids=["long header", "many headers", "long reason", "chunk line", "trailers", "long trailer"],
)  # fmt: skip
def test_a_head_chunk_line_or_trailer_without_end_is_refused_early_and_its_status_is_known(start, part):
    exchange, error = feed_until_refused(start, part)
    assert isinstance(error, NoHttp)
    assert exchange.received_bytes < 2 * LONGEST_HEAD
    assert exchange.status == 200


def test_interim_responses_without_end_are_refused():
    exchange, error = feed_until_refused(
        b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 102 Processing\r\nX: 1\r\n\r\n" * 30
    )
    assert isinstance(error, NoHttp)
    assert (exchange.status, exchange.received_bytes < 2 * LONGEST_HEAD) == (0, True)


@pytest.mark.parametrize("start", [OK + b"\r\n", CHUNKED], ids=["until closed", "chunks"])
def test_a_body_above_the_limit_is_refused(start):
    exchange, error = feed_until_refused(start, b"8000\r\n" + bytes(0x8000) + b"\r\n")
    assert isinstance(error, TooLarge)
    assert exchange.received_bytes <= LARGEST + 2 * LONGEST_HEAD


def test_a_sink_takes_a_body_of_any_size_of_a_status_200_only():
    sizes: list[int] = []
    exchange = Exchange(sink=lambda part: sizes.append(len(part)))
    parser = ResponseParser(exchange)
    parser.feed(OK + b"Content-Length: %d\r\n\r\n" % (LARGEST + 8))
    while not parser.feed(bytes(8 << 20)):
        pass
    assert (sum(sizes), exchange.body) == (LARGEST + 8, b"")
    refused = Exchange(sink=lambda part: sizes.append(-1))
    assert ResponseParser(refused).feed(b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\n{}")
    assert (refused.body, sizes[-1]) == (b"{}", 8)


def test_a_connection_is_kept_only_if_nothing_follows_the_response():
    for rest, keeps in ((b"", True), (b"HTTP/1.1 200 OK\r\n", False), (b"x", False)):
        exchange = Exchange()
        parser = ResponseParser(exchange)
        assert parser.feed(OK + b"Content-Length: 5\r\n\r\nhello" + rest)
        assert (exchange.body, parser.keeps_connection) == (b"hello", keeps)
