"""Files that are too large for a request, uploaded once for each content, server and key and then named by address.

Gemini's Files API processes a file before a model can be called with it, and deletes it after 48 hours:
ai.google.dev/gemini-api/docs/files.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from fullbench.core.media import Media
from fullbench.errors import InputError
from fullbench.models.net.http_client import NoConnection
from fullbench.models.net.http_response_parser import BrokenOff, NoHttp
from fullbench.models.net.large_requests import RequestBody, RequestSender
from fullbench.models.net.server_rates_and_circuit_breakers import UploadedFile, UploadRegister
from fullbench.models.wire.reply_parsing import Trouble
from fullbench.models.wire.untrusted_json import TooLarge

LARGEST_UPLOAD = 2 * 2**30
_KEPT_SECONDS = 48 * 3600
_MARGIN_SECONDS = 600
"""A file is uploaded again this long before the server deletes it: a call with it may wait before it is sent."""
_FIRST_LOOK, _LONGEST_LOOK = 0.2, 5.0
"""Seconds between looks whether the server has processed a file; a clip takes one to ten, a long video a minute."""
_CLAIM_POLL = 0.05
_MISSING = frozenset({404, 405, 501})


@dataclass(frozen=True)
class FileUploader:
    """Uploads files for calls to one server, and waits until it has processed them."""

    base: str
    sender: RequestSender
    register: UploadRegister
    patience: float
    pause: Callable[[float], Awaitable[None]]
    is_stopped: Callable[[], bool]

    async def upload(self, parts: Iterable[Media]) -> Mapping[str, str] | Trouble:
        """Return the address of each file by digest, or the trouble. Raises `InputError` for an unusable file."""
        uris = {}
        for part in parts:
            file = await self._find_or_upload(part)
            if isinstance(file, Trouble):
                return file
            uris[part.digest] = file.uri
        return uris

    async def _find_or_upload(self, part: Media) -> UploadedFile | Trouble:
        while True:
            known_file = self.register.find(part.digest)
            if known_file is not None:
                return known_file
            if self.register.claim(part.digest):
                with self.register.release_at_end(part.digest):
                    try:
                        result = await self._upload(part)
                    except NoConnection as error:
                        return Trouble("again", str(error), is_unconnected=True)
                    except (BrokenOff, NoHttp, TooLarge) as error:
                        return Trouble("again", f"the connection broke off during an upload ({error})")
                    if isinstance(result, UploadedFile):
                        self.register.files[part.digest] = result
                    return result
            if self.is_stopped():
                return Trouble("again", "the run was stopped during an upload")
            await self.pause(_CLAIM_POLL)

    async def _upload(self, part: Media) -> UploadedFile | Trouble:
        if part.byte_count > LARGEST_UPLOAD:
            raise _unusable(part, f"has {part.byte_count / 2**30:.1f} GiB, and the Files API takes 2")
        name = self.register.unprocessed.pop(part.digest, None)
        if name is None:
            body = RequestBody.from_media(part)
            about = await self.sender.upload_to_google(self.base, body, f"fullbench-{part.digest[:12]}")
        else:  # an earlier attempt has uploaded it
            about = {"name": name, "state": "PROCESSING"}
        if isinstance(about, Trouble) and about.status in _MISSING:
            raise _unusable(part, f"is too large for a request, and the server has no Files API ({about.message})")
        until, wait = time.monotonic() + self.patience, _FIRST_LOOK
        while not isinstance(about, Trouble) and about.get("state") == "PROCESSING":
            if self.is_stopped() or time.monotonic() > until:
                return Trouble("again", f"the server has not processed the {part.noun} after {self.patience:g} s")
            name = str(about.get("name"))
            self.register.unprocessed[part.digest] = name
            await self.pause(wait)
            wait = min(_LONGEST_LOOK, wait * 1.5)
            about = await self.sender.send_for_json("GET", f"{self.base}/{name}")
        if isinstance(about, Trouble):
            if about.status in {403, 404}:  # the server does not have it: the next attempt uploads it
                self.register.unprocessed.pop(part.digest, None)
            return about
        self.register.unprocessed.pop(part.digest, None)
        if about.get("state") == "FAILED":
            error = about.get("error")
            why = error.get("message") if isinstance(error, dict) else None
            raise _unusable(part, f"cannot be processed by the server: {why or 'no reason given'}")
        uri = about.get("uri")
        if not isinstance(uri, str):
            return Trouble("again", "200 with a file without an address")
        return UploadedFile(uri, _usable_until(about))


def _unusable(part: Media, reason: str) -> InputError:
    remedy = "cut it, or send frames with video=frames" if part.kind == "video" else "cut it"
    if part.kind == "document":
        remedy = "send its pages as pictures with pages=10, or split it"
    return InputError(
        f"the {part.noun} {part.digest[:12]} {reason}; {remedy}",
        path=part.source if isinstance(part.source, Path) else None,
    )


def _usable_until(about: dict[str, Any]) -> float:
    """Return the time at which a file is uploaded again, in seconds since 1970.

    >>> _usable_until({"expirationTime": "2026-01-03T00:00:00.123456789Z"})
    1767397800.0
    """
    text = re.sub(r"\.\d+", "", str(about.get("expirationTime") or ""))
    try:
        expires = datetime.fromisoformat(text).timestamp()
    except ValueError:
        expires = time.time() + _KEPT_SECONDS
    return expires - _MARGIN_SECONDS
