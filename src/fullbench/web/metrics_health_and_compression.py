"""Middleware for operators: access log, Prometheus metrics, compression.

It also answers `HEAD` like `GET` without the body. Clients that disconnect early are not logged as errors.
"""

from __future__ import annotations

import logging
import re
import time
from ipaddress import ip_address

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import JSONResponse, Response
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fullbench.version_and_code_digest import __version__
from fullbench.web import route_access_connection_and_csrf_checks
from fullbench.web.database import read_transaction
from fullbench.web.results.catalogue.fill_catalogue import fill_progress
from fullbench.web.route_access_connection_and_csrf_checks import SESSION
from fullbench.web.words import key

log = logging.getLogger("fullbench.web.access")
# Personal links: the part after this prefix is a secret.
_SECRET = re.compile(r"^(?P<door>/(?:join|back|take/[^/]*))/.+", re.DOTALL)
SMALLEST = 1024
"""Smaller responses (in bytes) are not compressed."""


def log_safe_path(path: str) -> str:
    r"""Return a path for the log, without the secrets of links and without line breaks.

    >>> log_safe_path("/take/4f0c/s3cret"), log_safe_path("/join/s3cret"), log_safe_path("/verdicts/x\ny")
    ('/take/4f0c/…', '/join/…', '/verdicts/x\\x0ay')
    """
    path = _SECRET.sub(r"\g<door>/…", path)
    return "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in path)


class RequestMetrics:
    """Request counts and durations of one process. Each worker has its own."""

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
        self.disconnects = Counter(
            "fullbench_clients_left", "Clients that left before the end.", registry=self.registry
        )

    def text(self) -> bytes:
        """Return all metrics in the Prometheus text format."""
        return generate_latest(self.registry)


class MetricsMiddleware:
    """Outermost middleware: records duration, status and size of every response."""

    def __init__(self, app: ASGIApp, monitor: RequestMetrics) -> None:
        self.app, self.monitor = app, monitor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status, size = time.perf_counter(), 0, 0
        is_body_complete = left = False
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
            nonlocal is_body_complete, left
            message = await receive()
            # A disconnect after the complete request body is normal: readers of open streams leave all the time.
            left = left or (message["type"] == "http.disconnect" and not is_body_complete)
            is_body_complete = is_body_complete or not message.get("more_body", False)
            return message

        self.monitor.open.inc()
        try:
            await self.app({**scope, "method": "GET"} if headless else scope, receiving, sending)
        except ClientDisconnect:
            left = True
        finally:
            if left:
                self.monitor.disconnects.inc()
                log.info("%s %s: the client left", method, log_safe_path(scope["path"]))
            took = time.perf_counter() - began
            self.monitor.open.dec()
            self.monitor.requests.labels(method, str(status)).inc()
            self.monitor.seconds.observe(took)
            log.info("%s %s %d %d bytes %.0f ms", method, log_safe_path(scope["path"]), status, size, 1000 * took)


class CompressionMiddleware:
    """Compress responses for visitors who are not signed in.

    A page of a signed-in user contains a secret form token and words from its URL. The compressed size of both together
    can reveal the token to an attacker who can trigger many requests (BREACH). So such pages are not compressed.
    Nor are videos and recordings: they are compressed already, and browsers ask for ranges of their bytes.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.plain_app, self.compressed_app = app, GZipMiddleware(app, minimum_size=SMALLEST)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_plain = scope["type"] == "http" and (
            scope["path"].startswith("/media/") or f"{SESSION}=" in Headers(scope=scope).get("cookie", "")
        )
        await (self.plain_app if is_plain else self.compressed_app)(scope, receive, send)


router = APIRouter(include_in_schema=False)


@router.get("/health")
def check_health(request: Request) -> JSONResponse:
    """200 when the database answers, 503 when it does not."""
    try:
        with read_transaction(route_access_connection_and_csrf_checks.engine_of(request)) as connection:
            connection.execute(text("SELECT 1"))
    except SQLAlchemyError:
        return JSONResponse({"status": "the database does not answer"}, 503)
    return JSONResponse({"status": "ok", "version": __version__})


@router.get("/ready")
def check_readiness(request: Request) -> JSONResponse:
    """200 once the ledger was read in and its figures computed, 503 before: for whoever sends visitors here.

    The answer says how far it is; it stays 200 while further verdicts come.
    """
    ledger = route_access_connection_and_csrf_checks.ledger_of(request)
    if ledger is None:
        return check_health(request)
    try:
        with read_transaction(route_access_connection_and_csrf_checks.engine_of(request)) as connection:
            now = fill_progress(connection, ledger)
    except SQLAlchemyError:
        return JSONResponse({"status": "the database does not answer"}, 503)
    progress_fields = {"read_in": now.place, "of": now.last, "percent": now.percent}
    if not now.is_complete:
        what = "the ledger is being read in" if now.percent < 100 else "the figures are being computed"
        return JSONResponse({"status": what, **progress_fields}, 503, {"Retry-After": "5"})
    return JSONResponse({"status": "ok", **progress_fields})


@router.get("/metrics")
def export_metrics(request: Request) -> Response:
    """Counts and times for Prometheus: for organisers, and for whoever asks from the site's own machine."""
    user = route_access_connection_and_csrf_checks.current_user(request)
    if not (_is_local_request(request) or (user is not None and user.may("organiser"))):
        raise HTTPException(404, key("There is no such page, or not yet."))
    return Response(request.app.state.monitor.text(), media_type="text/plain; version=0.0.4")


def _is_local_request(request: Request) -> bool:
    try:
        return ip_address(route_access_connection_and_csrf_checks.address_of(request)).is_loopback
    except ValueError:
        return False
