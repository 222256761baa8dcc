"""Middleware that adds security headers to every response and limits the size of requests."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fullbench.core.translatable_note import Note

POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "frame-ancestors 'none'; form-action 'self'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class TooLarge(HTTPException):
    """The request body is larger than the limit."""

    def __init__(self, limit: int) -> None:
        note = Note("web.wrong.too-large", n=limit // 1024)
        super().__init__(413, note, {"Connection": "close"})


class SecurityMiddleware:
    """Add headers to every response, errors included. Refuse a body over the limit before it is stored."""

    def __init__(self, app: ASGIApp, limit: int, *, https: bool = False) -> None:
        self.app, self.limit = app, limit
        self.headers = HEADERS | ({"Strict-Transport-Security": "max-age=31536000"} if https else {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        received_bytes = 0

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers.setdefault(name, value)
            await send(message)

        async def receiving() -> Message:
            nonlocal received_bytes
            message = await receive()
            received_bytes += len(message.get("body", b""))
            if received_bytes > self.limit:
                raise TooLarge(self.limit)
            return message

        if _content_length(scope) > self.limit:
            await _too_large_response(TooLarge(self.limit))(scope, receive, sending)
        else:
            await self.app(scope, receiving, sending)


def _too_large_response(error: TooLarge) -> JSONResponse:
    body = {"type": "about:blank", "title": "Content Too Large", "status": 413, "detail": error.detail}
    return JSONResponse(body, 413, error.headers, media_type="application/problem+json")


def _content_length(scope: Scope) -> int:
    length = Headers(scope=scope).get("content-length", "0")
    return int(length[:20]) if length.isascii() and length.isdigit() else 0
