"""Error responses: an HTML page for people, problem+json (RFC 9457) for the API."""

from __future__ import annotations

import logging
from http import HTTPStatus
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from sqlalchemy.exc import DataError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException

from fullbench.core.translatable_note import Note, error_sentence
from fullbench.errors import UserError
from fullbench.web import (
    page_rendering,
    route_access_connection_and_csrf_checks,
    security_headers_and_request_size_limit,
)
from fullbench.web.words import key

log = logging.getLogger("fullbench.web")

PLAIN = {
    "Not Found": key("There is nothing at this address."),
    "Method Not Allowed": key("This address cannot be used that way."),
}
"""Our sentences instead of the framework's."""


def install_error_handlers(app: FastAPI) -> None:
    """Register the handlers of all errors."""
    app.add_exception_handler(route_access_connection_and_csrf_checks.NotSignedIn, _redirect_to_login)
    app.add_exception_handler(HTTPException, _http_error_response)
    app.add_exception_handler(RequestValidationError, _invalid_request_response)
    app.add_exception_handler(UserError, lambda request, error: error_response(request, 400, error_sentence(error)))
    app.add_exception_handler(DataError, _unstorable_value_response)
    for error_class in (OperationalError, InterfaceError, PoolTimeout):
        app.add_exception_handler(error_class, _database_error_response)
    app.add_exception_handler(Exception, _internal_error_response)


def error_response(request: Request, status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """Return one sentence about an error, as a page or as problem+json."""
    if request.url.path.startswith(route_access_connection_and_csrf_checks.API):
        title = HTTPStatus(status).phrase
        body = {"type": "about:blank", "title": title, "status": status, "detail": detail}
        return JSONResponse(body, status, headers, media_type="application/problem+json")
    response = page_rendering.render_template(request, "error.html", status=status, detail=detail, code=status)
    response.headers.update(headers or {})
    return response


def _redirect_to_login(request: Request, _error: Exception) -> Response:
    if request.method == "GET":
        here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return page_rendering.redirect_to_page(request, f"/login?next={quote(here, safe='')}")
    return page_rendering.redirect_to_page(request, "/login")


def _http_error_response(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = PLAIN.get(error.detail, error.detail)
    return error_response(request, error.status_code, detail, dict(error.headers or {}))


def _invalid_request_response(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0] if error.errors() else {"loc": ("request",), "msg": "not understood"}
    where = ".".join(str(part) for part in first["loc"] if part not in {"body", "query", "path"})
    if request.url.path.startswith(route_access_connection_and_csrf_checks.API):
        return error_response(request, 422, f"{where or 'the request'}: {first['msg']}")
    note = Note("web.wrong.not-understood", where=where or "request")
    return error_response(request, 422, note)


def _unstorable_value_response(request: Request, _error: Exception) -> Response:
    return error_response(
        request, 400, key("A value cannot be stored: it has a character or a size that no text or number has.")
    )


# SQLite, and PostgreSQL with the message of the operating system.
DISK_FULL = ("disk is full", "No space left on device")


def _database_error_response(request: Request, error: Exception) -> Response:
    if any(sign in str(error) for sign in DISK_FULL):
        log.error("%s %s: the disk of the web database is full; make room on it", request.method, request.url.path)
        request.state.user = None
        message = key("The server's disk is full, so nothing was stored. Tell those who run this site, and try again.")
        return error_response(request, 503, message, {"Retry-After": "60"})
    log.error("%s %s: the database does not answer (%s)", request.method, request.url.path, type(error).__name__)
    request.state.user = None
    return error_response(
        request, 503, key("The database does not answer; try again in a moment."), {"Retry-After": "2"}
    )


def _internal_error_response(request: Request, error: Exception) -> Response:
    log.error("%s %s failed (%s)", request.method, request.url.path, type(error).__name__)
    request.state.user = None  # do not query the user: the database may have failed
    # Starlette runs this handler outside of our middleware, so it adds the security headers itself.
    words = key("Something went wrong here; it is written down in the server's log.")
    return error_response(request, 500, words, security_headers_and_request_size_limit.HEADERS)
