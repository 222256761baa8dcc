"""Requests whose bodies are sent in parts, and time limits that hold for a pause and not for the whole."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson

from fullbench.core.media import Media
from fullbench.models.net.http_client import Connections
from fullbench.models.net.http_response_parser import BrokenOff, Exchange
from fullbench.models.net.proxies import proxy_for
from fullbench.models.wire.reply_parsing import Trouble, trouble_from_response
from fullbench.models.wire.server_url_checks import fault_of

# Files of a batch have up to 200 MB and are never in memory whole.
_CHUNK = 1 << 18


@dataclass(frozen=True)
class RequestBody:
    """A body that is sent in parts, so that a file of any size needs no memory. It may be sent more than once."""

    media_type: str
    size: int
    parts: Callable[[], Iterable[bytes]]

    @classmethod
    def from_json(cls, value: Any) -> RequestBody:
        body = orjson.dumps(value)
        return cls("application/json", len(body), lambda: [body])

    @classmethod
    def from_file(cls, path: Path, media_type: str, *, before: bytes = b"", after: bytes = b"") -> RequestBody:
        def parts() -> Iterator[bytes]:
            yield before
            with path.open("rb") as file:
                while part := file.read(_CHUNK):
                    yield part
            yield after

        return cls(media_type, len(before) + path.stat().st_size + len(after), parts)

    @classmethod
    def from_media(cls, media: Media) -> RequestBody:
        """Return the bytes of a video, recording or document; the last part is followed by a check of the digest."""
        return cls(media.media_type, media.byte_count, media.pieces)


@dataclass(frozen=True)
class RequestSender:
    """Sends requests with the same headers to one server.

    `idle_seconds` is the longest time in which no byte is sent or received. `hide` masks the key in replies.
    """

    headers: Mapping[str, str]
    idle_seconds: float
    hide: Callable[[bytes], bytes]

    async def send(
        self,
        method: str,
        url: str,
        exchange: Exchange,
        body: RequestBody | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Send one request and store the reply in `exchange`.

        Args:
            method: The method, such as GET.
            url: The address.
            exchange: Takes the reply.
            body: The body, if there is one.
            headers: Headers in place of those of the server, which have the key.
        """
        request_headers = {**(self.headers if headers is None else headers), "Accept-Encoding": "identity"}
        if body is not None and body.media_type:
            request_headers["Content-Type"] = body.media_type
        connections = Connections(url, request_headers, proxy_for(url), method=method)
        if method == "GET":
            sending = connections.get(exchange)
        else:
            parts, size = ((), 0) if body is None else (body.parts(), body.size)
            sending = connections.post_parts(parts, size, exchange)
        task, progress = asyncio.ensure_future(sending), -1
        try:
            while not task.done():
                if progress == (progress := exchange.sent_bytes + exchange.received_bytes):
                    raise BrokenOff(f"nothing came or went for {self.idle_seconds:g} s")
                await asyncio.wait({task}, timeout=self.idle_seconds)
            task.result()
            exchange.body = self.hide(exchange.body)  # in case the server repeats it
        finally:
            task.cancel()
            await asyncio.wait({task})
            connections.close()

    async def send_for_json(
        self, method: str, url: str, body: RequestBody | None = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        """Return the JSON of a reply with status 200, or the trouble in its place. `headers` are further ones."""
        exchange = Exchange()
        await self.send(method, url, exchange, body, {**self.headers, **(headers or {})})
        if exchange.status != 200:
            return trouble_from_response(exchange.status, exchange.body, exchange.headers)
        try:
            return orjson.loads(exchange.body)
        except orjson.JSONDecodeError:
            return Trouble("again", "200 with a broken body")

    async def upload_to_google(self, base: str, body: RequestBody, name: str) -> Any:
        """Upload a file to Gemini's Files API in two steps, and return the JSON that describes it, or the trouble.

        Args:
            base: Address of the API, with its version.
            body: The file.
            name: Name that the user sees at the provider.
        """
        root, _, version = base.rpartition("/")
        headers = {
            **self.headers,
            "X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start",
            "X-Goog-Upload-Header-Content-Length": str(body.size),
            "X-Goog-Upload-Header-Content-Type": body.media_type,
        }  # fmt: skip
        about = {"file": {"displayName": name, "mimeType": body.media_type}}
        exchange = Exchange()
        await self.send("POST", f"{root}/upload/{version}/files", exchange, RequestBody.from_json(about), headers)
        if exchange.status != 200:
            return trouble_from_response(exchange.status, exchange.body, exchange.headers)
        upload_url = exchange.headers.get("x-goog-upload-url", "")
        if fault_of(upload_url) is not None or not is_same_origin(upload_url, base):
            return Trouble("model", f"the server named no place of its own for the file ({upload_url or 'none'})")
        commands = {"X-Goog-Upload-Command": "upload, finalize", "X-Goog-Upload-Offset": "0"}
        value = await self.send_for_json("POST", upload_url, body, commands)
        if isinstance(value, Trouble):
            return value
        file = value.get("file") if isinstance(value, dict) else None
        return file if isinstance(file, dict) else Trouble("again", "200 without a file in it")


def is_same_origin(url: str, other_url: str) -> bool:
    """Return True if two addresses have the same scheme, host and port.

    >>> is_same_origin("https://a.org/x", "https://A.org:443/y"), is_same_origin("https://a.org", "http://a.org")
    (True, False)
    """
    origins = [
        (parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme))
        for parts in (urlsplit(url), urlsplit(other_url))
    ]
    return origins[0] == origins[1]
