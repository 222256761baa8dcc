"""What went wrong, as a page for people and as problem+json (RFC 9457) for scripts. The outermost edge."""

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

from fullbench.core.note import Note, sentence
from fullbench.errors import UserError
from fullbench.web import page_access, page_rendering, security_headers
from fullbench.web.words import key

log = logging.getLogger("fullbench.web")

PLAIN = {
    "Not Found": key("There is nothing at this address."),
    "Method Not Allowed": key("This address cannot be used that way."),
}
"""What the framework says, in a sentence of ours."""


def install(app: FastAPI) -> None:
    """Put the handlers of all errors in place."""
    app.add_exception_handler(page_access.NotSignedIn, _not_signed_in)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(UserError, _user)
    app.add_exception_handler(DataError, _unstorable)
    for away in (OperationalError, InterfaceError, PoolTimeout):
        app.add_exception_handler(away, _away)
    app.add_exception_handler(Exception, _defect)


def told(request: Request, status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """One sentence about what went wrong, in the form that fits who asks."""
    if request.url.path.startswith(page_access.API):
        title = HTTPStatus(status).phrase
        body = {"type": "about:blank", "title": title, "status": status, "detail": detail}
        return JSONResponse(body, status, headers, media_type="application/problem+json")
    response = page_rendering.render(request, "error.html", status=status, detail=detail, code=status)
    response.headers.update(headers or {})
    return response


def _not_signed_in(request: Request, _error: Exception) -> Response:
    if request.method == "GET":
        here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return page_rendering.redirect(request, f"/login?next={quote(here, safe='')}")
    return page_rendering.redirect(request, "/login")


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = PLAIN.get(error.detail, error.detail)
    return told(request, error.status_code, detail, dict(error.headers or {}))


def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0] if error.errors() else {"loc": ("request",), "msg": "not understood"}
    where = ".".join(str(part) for part in first["loc"] if part not in {"body", "query", "path"})
    if request.url.path.startswith(page_access.API):
        return told(request, 422, f"{where or 'the request'}: {first['msg']}")
    note = Note(
        "web.wrong.not-understood",
        "the value of {where!r} is not understood; go back and mend it",
        where=where or "request",
    )
    return told(request, 422, note)


def _user(request: Request, error: Exception) -> Response:
    return told(request, 400, sentence(error))


def _unstorable(request: Request, _error: Exception) -> Response:
    return told(request, 400, key("A value cannot be stored: it has a character or a size that no text or number has."))


def _away(request: Request, error: Exception) -> Response:
    log.error("%s %s: the database does not answer (%s)", request.method, request.url.path, type(error).__name__)
    request.state.user = None
    return told(request, 503, key("The database does not answer; try again in a moment."), {"Retry-After": "2"})


def _defect(request: Request, error: Exception) -> Response:
    log.error("%s %s failed (%s)", request.method, request.url.path, type(error).__name__)
    request.state.user = None  # the database may be what failed
    words = key("Something went wrong here; it is written down in the server's log.")
    return told(request, 500, words, security_headers.HEADERS)
