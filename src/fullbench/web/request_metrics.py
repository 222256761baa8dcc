"""What an operator sees of the app: a line for each request where wished for, counts and times for a monitor.

It also answers `HEAD` as `GET` does, without the body, and keeps clients that leave early out of the log of defects.
"""

from __future__ import annotations

import logging
import re
import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fullbench.web.page_access import SESSION

log = logging.getLogger("fullbench.web.access")
_SECRET = re.compile(r"^(?P<door>/(?:join|back|take/[^/]*))/.+", re.DOTALL)
SMALLEST = 1024
"""Answers of fewer bytes are sent as they are."""


def logged(path: str) -> str:
    """A path as a line of the log has it: without the secrets of links, for whoever reads the log could use them, and
    without what would begin another line.

    >>> logged("/take/4f0c/s3cret"), logged("/join/s3cret"), logged("/verdicts/x\\ny")
    ('/take/4f0c/…', '/join/…', '/verdicts/x\\\\x0ay')
    """
    path = _SECRET.sub(r"\g<door>/…", path)
    return "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in path)


class Monitor:
    """Counts and times of one process; a site with several workers has one in each."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "fullbench_requests",
            "Requests answered, by method and status.",
            ["method", "status"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "fullbench_request_seconds", "From a request to the end of its answer.", registry=self.registry,
            buckets=(0.01, 0.03, 0.1, 0.3, 1, 3, 10),
        )  # fmt: skip
        self.open = Gauge("fullbench_requests_open", "Requests that are being answered.", registry=self.registry)
        self.left = Counter("fullbench_clients_left", "Clients that left before the end.", registry=self.registry)

    def text(self) -> bytes:
        """All of it in the form that Prometheus reads."""
        return generate_latest(self.registry)


class Watch:
    """Around everything else: the time, the status and the size of every answer."""

    def __init__(self, app: ASGIApp, monitor: Monitor) -> None:
        self.app, self.monitor = app, monitor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status, size = time.perf_counter(), 0, 0
        whole = left = False
        method = scope["method"]
        headless = method == "HEAD"

        async def sending(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "http.response.body":
                size += len(message.get("body", b""))
                if headless:
                    message = {**message, "body": b""}
            await send(message)

        async def receiving() -> Message:
            nonlocal whole, left
            message = await receive()
            # Whoever goes away with all that was to be sent has only stopped reading, as open streams do all the time.
            left = left or (message["type"] == "http.disconnect" and not whole)
            whole = whole or not message.get("more_body", False)
            return message

        self.monitor.open.inc()
        try:
            await self.app({**scope, "method": "GET"} if headless else scope, receiving, sending)
        except ClientDisconnect:
            left = True
        finally:
            if left:
                self.monitor.left.inc()
                log.info("%s %s: the client left", method, logged(scope["path"]))
            took = time.perf_counter() - began
            self.monitor.open.dec()
            self.monitor.requests.labels(method, str(status)).inc()
            self.monitor.seconds.observe(took)
            log.info("%s %s %d %d bytes %.0f ms", method, logged(scope["path"]), status, size, 1000 * took)


class Compress:
    """Pages, scripts and charts packed for those who are not signed in.

    A signed-in page holds a secret of its form beside words of its address, and how well the two pack together would
    tell the secret to somebody who can make many such pages be loaded (BREACH): such pages are sent as they are.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.plain, self.packed = app, GZipMiddleware(app, minimum_size=SMALLEST)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        signed_in = scope["type"] == "http" and f"{SESSION}=" in Headers(scope=scope).get("cookie", "")
        await (self.plain if signed_in else self.packed)(scope, receive, send)
