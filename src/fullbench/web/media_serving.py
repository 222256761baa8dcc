"""Videos, recordings and documents on pages: addresses, ranges of bytes without metadata, originals for leads.

A browser plays a video by asking for ranges of its bytes. Metadata are overwritten in place, because they may name the
generator (`media_metadata_blanking`). Documents and files whose metadata cannot be found go to leads only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response, StreamingResponse
from sqlalchemy import Connection

from fullbench.core.media import Media
from fullbench.errors import InputError, LedgerError
from fullbench.media_metadata_blanking import (
    Patch,
    UnparsableMediaError,
    metadata_patches,
    patched_range,
)
from fullbench.web.accounts.users import User
from fullbench.web.picture_checks_storage_and_serving import (
    Digest,
    record_upload_row,
    uploads_folder,
    visible_upload,
)
from fullbench.web.route_access_connection_and_csrf_checks import Database, Organiser, Reader, ledger_of, settings_of
from fullbench.web.site_settings_and_worker_transfer import Settings
from fullbench.web.words import key

VERSION = 1
"""Part of the address and the ETag. Browsers cache files for a year: raise it when more metadata are overwritten."""
PIECE_BYTES = 256 * 1024
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")

router = APIRouter(include_in_schema=False)


def media_url(digest: str) -> str:
    """Return the URL of a video or recording.

    >>> media_url("ab")
    '/media/ab?v=1'
    """
    return f"/media/{digest}?v={VERSION}"


def can_play(media: Media) -> bool:
    """Return True if people may get the file itself: its metadata can be found and overwritten."""
    if media.kind not in {"video", "audio"}:
        return False
    try:
        patches_of(media)
    except (InputError, UnparsableMediaError):
        return False
    return True


def store_media(connection: Connection, settings: Settings, user: User, media: Media) -> None:
    """Store a video or recording that tasks show by its digest, and record who uploaded it."""
    if not can_play(media):
        raise InputError(
            f"the {media.noun} cannot be shown to people, because its metadata cannot be removed; save it as MP4, WebM,"
            " WAV or MP3 (documents as pictures of their pages)",
            path=_path_of(media),
        )
    uploads_folder(settings).keep(media)
    record_upload_row(connection, user, media, media.byte_count)


@router.get("/media/{digest}")
def serve_media(request: Request, user: Reader, connection: Database, digest: Digest) -> Response:
    """Send a video or recording, or a range of it, without metadata."""
    media = _find_media(request, connection, user, digest)
    if media.kind == "document":
        raise HTTPException(403, key("Documents contain metadata. Leads can download them."))
    try:
        patches_of(media)  # before the first byte is sent, so that a broken file is an error and no half response
    except InputError as error:
        raise HTTPException(404, key("The file is gone.")) from error
    except UnparsableMediaError as error:
        raise HTTPException(403, key("Its metadata cannot be removed. Leads can download the file.")) from error
    return _ranged_response(request, media)


@router.get("/media/{digest}/original")
def serve_original_media(request: Request, user: Organiser, connection: Database, digest: Digest) -> Response:
    """Send a file as it is stored, with its metadata, to a lead."""
    media = _find_media(request, connection, user, digest)
    headers = {
        "Cache-Control": "private, no-store",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Content-Disposition": f'attachment; filename="{digest[:12]}.{media.suffix}"',
    }
    return StreamingResponse(media.pieces(), headers=headers, media_type=media.media_type)


def _find_media(request: Request, connection: Connection, user: User | None, digest: str) -> Media:
    """Return a file that this user may see. Raise 404 for all others, whether they exist or not."""
    ledger = ledger_of(request)
    media: Media | None = None
    if ledger is not None:
        with suppress(LedgerError):
            media = ledger.media(digest)
    if media is None:
        media = visible_upload(connection, settings_of(request), user, digest)
    if media is None or media.kind == "image":
        raise HTTPException(404, key("There is no such file."))
    return media


@lru_cache(maxsize=512)
def patches_of(media: Media) -> tuple[Patch, ...]:
    """Return what overwrites the metadata of a file. The cache works because `Media` compares by digest."""
    reader = _open_reader(media)
    try:
        return metadata_patches(reader.read_at, media.byte_count, media.media_type)
    finally:
        reader.close()


def clean_pieces(media: Media, start: int = 0, end: int | None = None) -> Iterator[bytes]:
    """Yield bytes of a video or recording without metadata.

    Args:
        media: The file.
        start: First byte.
        end: Byte after the last one, or None for the end of the file.
    """
    patches = patches_of(media)
    reader = _open_reader(media)
    try:
        position, stop = start, media.byte_count if end is None else end
        while position < stop:
            piece = patched_range(reader.read_at, patches, position, min(PIECE_BYTES, stop - position))
            if not piece:
                raise InputError(f"the {media.noun} changed while it was read", path=_path_of(media))
            yield piece
            position += len(piece)
    finally:
        reader.close()


class _Reader:
    """Reader of bytes at offsets, of an open file or of bytes in memory."""

    def __init__(self, source: Path | bytes) -> None:
        self._descriptor = os.open(source, os.O_RDONLY) if isinstance(source, Path) else None
        self._data = source if isinstance(source, bytes) else b""

    def read_at(self, offset: int, count: int) -> bytes:
        if self._descriptor is None:
            return self._data[offset : offset + count]
        return os.pread(self._descriptor, count, offset)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)


def _open_reader(media: Media) -> _Reader:
    try:
        return _Reader(media.source)
    except OSError as error:
        raise InputError(f"the {media.noun} is gone ({error.strerror})", path=_path_of(media)) from error


def _path_of(media: Media) -> Path | None:
    return media.source if isinstance(media.source, Path) else None


def _ranged_response(request: Request, media: Media) -> Response:
    """Return the whole file, or the one range that is asked for. Several ranges at once are not supported."""
    size = media.byte_count
    etag = f'"{media.digest}-m{VERSION}"'
    reach = "public" if settings_of(request).public else "private"
    headers = {
        "Accept-Ranges": "bytes",
        "Cache-Control": f"{reach}, max-age=31536000, immutable",
        "Content-Disposition": "inline",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "ETag": etag,
    }
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    wish = _RANGE.fullmatch(request.headers.get("range", "").strip())
    if wish is None or (wish[1], wish[2]) == ("", "") or request.headers.get("if-range", etag) != etag:
        headers["Content-Length"] = str(size)
        return StreamingResponse(clean_pieces(media), headers=headers, media_type=media.media_type)
    if wish[1]:
        start, end = int(wish[1]), min(size, int(wish[2]) + 1 if wish[2] else size)
    else:
        start, end = max(0, size - int(wish[2])), size
    if start >= end:
        return Response(status_code=416, headers={**headers, "Content-Range": f"bytes */{size}"})
    headers |= {"Content-Length": str(end - start), "Content-Range": f"bytes {start}-{end - 1}/{size}"}
    return StreamingResponse(clean_pieces(media, start, end), 206, headers=headers, media_type=media.media_type)
