"""Videos, recordings and documents on pages: addresses, ranges of bytes without metadata, originals for leads.

A browser plays a video by asking for ranges of its bytes. Metadata are overwritten in place, because they may name the
generator (`media_metadata_blanking`). Documents and files whose metadata cannot be found go to leads only.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from threading import BoundedSemaphore
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import Response, StreamingResponse
from sqlalchemy import Connection

from fullbench.core.media import HEAD_BYTES, Media, kind_of, read_media, recognise_type
from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.media_metadata_blanking import UnparsableMediaError, can_play, clean_pieces, patches_of
from fullbench.studies.exchange.preview_picture_of_video_or_document import preview_picture
from fullbench.web.accounts.users import User
from fullbench.web.picture_checks_storage_and_serving import (
    SIZES,
    CheckedPicture,
    Digest,
    check_picture,
    find_media,
    picture_response,
    record_upload,
    uploads_folder,
)
from fullbench.web.route_access_connection_and_csrf_checks import Database, Organiser, Reader, settings_of
from fullbench.web.site_settings_and_worker_transfer import Settings
from fullbench.web.words import key

_turns = BoundedSemaphore(2)
"""Files decoded at once, since a frame takes tens of megabytes."""
VERSION = 1
"""Part of the address and the ETag. Browsers cache files for a year: raise it when more metadata are overwritten."""
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")

router = APIRouter(include_in_schema=False)


def media_url(digest: str) -> str:
    """Return the URL of a video or recording.

    >>> media_url("ab")
    '/media/ab?v=1'
    """
    return f"/media/{digest}?v={VERSION}"


def preview_url(digest: str) -> str:
    """Return the URL of the picture that stands for a video or document.

    >>> preview_url("ab")
    '/media/ab/preview?v=1'
    """
    return f"/media/{digest}/preview?v={VERSION}"


@lru_cache(maxsize=256)
def preview_of(media: Media) -> Picture | None:
    """Return the picture that stands for a video or document. The cache works because `Media` compares by digest."""
    with _turns:
        return preview_picture(media)


def can_preview(media: Media) -> bool:
    """Return True if the library that draws a preview of this kind is installed."""
    library = {"video": "av", "document": "pypdfium2"}.get(media.kind)
    return library is not None and find_spec(library) is not None


def check_media(media: Media) -> CheckedPicture:
    """Return a video, recording or document that people can be shown, or refuse it."""
    path = media.source if isinstance(media.source, Path) else None
    if media.kind == "document" and preview_of(media) is None:
        raise InputError(
            "the pages of the document cannot be drawn, so people cannot see it; install the extra pdf, "
            "or give its pages as pictures",
            path=path,
        )
    if media.kind != "document" and not can_play(media):
        raise InputError(
            f"the {media.noun} cannot be shown to people, because its metadata cannot be removed; "
            "save it as MP4, WebM, WAV or MP3",
            path=path,
        )
    return CheckedPicture(media, 0, 0, media.byte_count)


def check_upload(file: Path, settings: Settings) -> CheckedPicture:
    """Return an uploaded file whose content is one that people can be shown: a picture or another file."""
    with file.open("rb") as opened:
        head = opened.read(HEAD_BYTES)
    if kind_of(recognise_type(head) or "") != "image":
        return check_media(read_media(file, path=file))  # its folder is taken out of what people are told
    if file.stat().st_size > settings.picture_limit:
        raise InputError(key("The picture has too many bytes."))
    return check_picture(file.read_bytes(), settings)


def store_media(connection: Connection, settings: Settings, user: User, media: Media) -> CheckedPicture:
    """Store a file that tasks show by its digest, and record who uploaded it."""
    upload = check_media(media)
    uploads_folder(settings).keep(media)
    record_upload(connection, user, upload)
    return upload


@router.get("/media/{digest}")
def serve_media(request: Request, user: Reader, connection: Database, digest: Digest) -> Response:
    """Send a video or recording, or a range of it, without metadata."""
    return media_response(request, find_playable(request, connection, user, digest))


def media_response(request: Request, media: Media) -> Response:
    """Return a video or recording, or a range of it, without metadata."""
    if media.kind == "document":
        raise HTTPException(403, key("Documents contain metadata. Leads can download them; others see the pages."))
    try:
        patches_of(media)  # before the first byte is sent, so that a broken file is an error and no half response
    except InputError as error:
        raise HTTPException(404, key("The file is gone.")) from error
    except UnparsableMediaError as error:
        raise HTTPException(403, key("Its metadata cannot be removed. Leads can download the file.")) from error
    return _ranged_response(request, media)


@router.get("/media/{digest}/preview")
def serve_preview(
    request: Request,
    user: Reader,
    connection: Database,
    digest: Digest,
    *,
    veiled: bool = False,
    size: Annotated[int | None, Query(ge=1, le=10_000)] = None,
) -> Response:
    """Send a frame of a video, or the first pages of a document; veiled, they are colours and no shapes."""
    return preview_response(request, find_playable(request, connection, user, digest), is_veiled=veiled, size=size)


def preview_response(request: Request, media: Media, *, is_veiled: bool, size: int | None) -> Response:
    """Return a frame of a video, or the first pages of a document."""
    picture = preview_of(media)
    if picture is None:
        raise HTTPException(404, key("There is no preview of this file."))
    if size is None and not is_veiled and picture.media_type == "image/webp":
        return _whole_preview(request, picture)
    return picture_response(request, picture, is_veiled=is_veiled, size=size or SIZES[-1])


def _whole_preview(request: Request, picture: Picture) -> Response:
    reach = "public" if settings_of(request).public else "private"
    headers = {
        "Cache-Control": f"{reach}, max-age=31536000, immutable",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "ETag": f'"{picture.digest}-p{VERSION}"',
    }
    return Response(picture.data(), headers=headers, media_type="image/webp")


@router.get("/media/{digest}/original")
def serve_original_media(request: Request, user: Organiser, connection: Database, digest: Digest) -> Response:
    """Send a file as it is stored, with its metadata, to a lead."""
    return original_media_response(find_playable(request, connection, user, digest))


def original_media_response(media: Media) -> Response:
    """Return the stored bytes of a file as a download that no cache may store."""
    headers = {
        "Cache-Control": "private, no-store",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Content-Disposition": f'attachment; filename="{media.digest[:12]}.{media.suffix}"',
    }
    return StreamingResponse(media.pieces(), headers=headers, media_type=media.media_type)


def find_playable(request: Request, connection: Connection, user: User | None, digest: str) -> Media:
    """Return a file as `find_media` does; pictures have addresses of their own."""
    media = find_media(request, connection, user, digest)
    if media.kind == "image":
        raise HTTPException(404, key("There is no such file."))
    return media


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
