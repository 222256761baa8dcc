"""What surrounds every answer: security headers, and a limit on what may be sent to us."""

from __future__ import annotations

from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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


class TooLarge(Exception):
    """More was sent than is taken."""


class Shield:
    """Headers on every answer, errors included; a body over the limit is refused before it is kept."""

    def __init__(self, app: ASGIApp, limit: int, *, https: bool = False) -> None:
        self.app, self.limit = app, limit
        self.headers = HEADERS | ({"Strict-Transport-Security": "max-age=31536000"} if https else {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False
        taken = 0

        async def sending(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers.setdefault(name, value)
            await send(message)

        async def receiving() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self.limit:
                raise TooLarge
            return message

        try:
            if _announced(scope) > self.limit:
                raise TooLarge
            await self.app(scope, receiving, sending)
        except TooLarge:
            if started:
                raise
            sentence = f"More was sent than is taken: at most {self.limit // 1024} KiB.\n"
            await PlainTextResponse(sentence, 413, {"Connection": "close"})(scope, receive, sending)


def _announced(scope: Any) -> int:
    told = Headers(scope=scope).get("content-length", "0")
    return int(told) if told.isascii() and told.isdigit() else 0
