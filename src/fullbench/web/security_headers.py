"""What surrounds every answer: security headers, and a limit on what may be sent to us."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fullbench.core.note import Note

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
    """More was sent than is taken."""

    def __init__(self, limit: int) -> None:
        note = Note("web.wrong.too-large", "more was sent than is taken: at most {n} KiB", n=limit // 1024)
        super().__init__(413, note, {"Connection": "close"})


class Shield:
    """Headers on every answer, errors included; a body over the limit is refused before it is kept."""

    def __init__(self, app: ASGIApp, limit: int, *, https: bool = False) -> None:
        self.app, self.limit = app, limit
        self.headers = HEADERS | ({"Strict-Transport-Security": "max-age=31536000"} if https else {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        taken = 0

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers.setdefault(name, value)
            await send(message)

        async def receiving() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self.limit:
                raise TooLarge(self.limit)
            return message

        if _announced(scope) > self.limit:
            await _refused(TooLarge(self.limit))(scope, receive, sending)
        else:
            await self.app(scope, receiving, sending)


def _refused(error: TooLarge) -> JSONResponse:
    body = {"type": "about:blank", "title": "Content Too Large", "status": 413, "detail": error.detail}
    return JSONResponse(body, 413, error.headers, media_type="application/problem+json")


def _announced(scope: Scope) -> int:
    length = Headers(scope=scope).get("content-length", "0")
    return int(length[:20]) if length.isascii() and length.isdigit() else 0
