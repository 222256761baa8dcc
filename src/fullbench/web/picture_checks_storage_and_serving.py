"""Store, check and find pictures and other files of the ledger and uploads, and serve pictures, by digest.

Only PNG, JPEG, WebP and GIF keep their type and pixels. They are served without metadata, which may name the
generator. Any other picture of the ledger is redrawn as WebP. Originals are for leads only, at a separate address that
no page links to. Every reader may see a picture of the ledger. Only the uploader and leads may see an upload, but
uploads by leads are study material that every account may see.
"""

from __future__ import annotations

import hashlib
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from threading import BoundedSemaphore
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Query, Request
from fastapi.responses import Response
from sqlalchemy import Connection, insert, or_, select
from sqlalchemy.exc import IntegrityError

from fullbench.core.item import SENSITIVE
from fullbench.core.media import Media, kind_of
from fullbench.core.picture import Picture, media_type
from fullbench.errors import InputError, LedgerError
from fullbench.ledger.pictures.picture_folder import PictureFolder
from fullbench.picture_metadata_removal import STRIPPED_MEDIA, UnparsablePictureError, strip_metadata
from fullbench.reports.html_page import shrink_picture
from fullbench.web.accounts.account_and_shared_site_tables import uploads, users
from fullbench.web.accounts.users import User
from fullbench.web.route_access_connection_and_csrf_checks import Database, Organiser, Reader, ledger_of, settings_of
from fullbench.web.site_settings_and_worker_transfer import Settings
from fullbench.web.words import key

SAFE = set(STRIPPED_MEDIA)
SIZES = (240, 480, 960, 1920)
VERSION = 2
"""Part of the address and of the ETag of a whole picture. Browsers cache pictures for a year: raise this number when
`strip_metadata` drops more than before, so that no browser shows the old bytes."""
# An animation is decoded frame by frame: few kilobytes can unpack to many gigabytes.
FRAMES = 300
_turns = BoundedSemaphore(2)
"""Pictures decoded at once: a large one takes a quarter of a gigabyte."""
Digest = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class CheckedPicture:
    """An uploaded picture whose bytes were checked, or another file; only pictures have a width and a height."""

    picture: Media
    width: int
    height: int
    bytes: int


def check_picture(data: bytes, settings: Settings) -> CheckedPicture:
    """Return the picture in `data`. Refuse another file type, too many bytes or pixels, and what cannot be decoded."""
    from PIL import Image

    if len(data) > settings.picture_limit:
        raise InputError(key("The picture has too many bytes."))
    media = media_type(data)
    if media not in SAFE:
        raise InputError(key("This is not a picture that we take: PNG, JPEG, WebP and GIF are."))
    try:
        with _turns, warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(BytesIO(data), formats=[media.removeprefix("image/").upper()]) as image:
                width, height = image.size
                frames = int(getattr(image, "n_frames", 1))
                if width * height > settings.pixel_limit or frames > FRAMES:
                    raise InputError(key("The picture has too many pixels."))
                image.load()
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise InputError(key("The picture has too many pixels.")) from error
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise InputError(key("The picture cannot be decoded.")) from error
    return CheckedPicture(Picture(hashlib.sha256(data).hexdigest(), media, data), width, height, len(data))


def store_upload(connection: Connection, settings: Settings, user: User, data: bytes) -> CheckedPicture:
    """Check a picture, store it by its digest, and record its uploader. Repeating it changes nothing."""
    upload = check_picture(data, settings)
    uploads_folder(settings).keep(upload.picture)
    record_upload(connection, user, upload)
    return upload


def record_upload(connection: Connection, user: User, upload: CheckedPicture) -> None:
    """Record the uploader of a checked and stored file. Repeating it changes nothing."""
    row = {
        "digest": upload.picture.digest,
        "user_id": user.id,
        "media": upload.picture.media_type,
        "bytes": upload.bytes,
        "width": upload.width,
        "height": upload.height,
        "at": time.time(),
    }
    try:
        # Without a savepoint, a failed insert would abort the whole transaction on PostgreSQL.
        with connection.begin_nested():
            connection.execute(insert(uploads).values(**row))
    except IntegrityError:
        pass


def uploads_folder(settings: Settings) -> PictureFolder:
    """Return the folder of uploads."""
    return PictureFolder(settings.data / "uploads")


def visible_upload(connection: Connection, settings: Settings, user: User | None, digest: str) -> Media | None:
    """Return an upload if this user may see it."""
    if user is None:
        return None
    query = select(uploads.c.media).join_from(uploads, users).where(uploads.c.digest == digest)
    if not user.may("organiser"):
        query = query.where(or_(uploads.c.user_id == user.id, users.c.role == "organiser"))
    media = connection.execute(query).scalars().first()
    return None if media is None else uploads_folder(settings).find(digest, media, kind_of(media))


def find_media(request: Request, connection: Connection, user: User | None, digest: str) -> Media:
    """Return a picture or other file that this user may see. Raise 404 for all others, whether they exist or not."""
    ledger = ledger_of(request)
    media: Media | None = None
    if ledger is not None:
        with suppress(LedgerError):
            media = ledger.media(digest)
    media = media or visible_upload(connection, settings_of(request), user, digest)
    if media is None:
        raise HTTPException(404, key("There is no such file."))
    return media


def find_picture(request: Request, connection: Connection, user: User | None, digest: str) -> Picture:
    """Return a picture as `find_media` does; another file is none."""
    media = find_media(request, connection, user, digest)
    if not isinstance(media, Picture):
        raise HTTPException(404, key("There is no such file."))
    return media


def picture_url(digest: str, tags: Any = None, *, size: int | None = None) -> str:
    """Return the URL of a picture; veiled if the tags of its item or response mark it as sensitive.

    >>> picture_url("ab", {"sensitive": "yes"}, size=480), picture_url("ab")
    ('/pictures/ab?veiled=1&size=480', '/pictures/ab?v=2')
    """
    query = [*(["veiled=1"] if tags and tags.get(SENSITIVE) else []), *([f"size={size}"] if size else [])]
    return f"/pictures/{digest}?" + ("&".join(query) or f"v={VERSION}")


def unveiled_url(digest: str, tags: Any = None, *, size: int | None = None) -> str:
    """Return the unveiled URL of a sensitive picture, or an empty string for other pictures.

    >>> unveiled_url("ab", {"sensitive": "yes"}), unveiled_url("ab")
    ('/pictures/ab?v=2', '')
    """
    return picture_url(digest, size=size) if tags and tags.get(SENSITIVE) else ""


@router.get("/pictures/{digest}")
def serve_picture(
    request: Request,
    user: Reader,
    connection: Database,
    digest: Digest,
    *,
    veiled: bool = False,
    size: Annotated[int | None, Query(ge=1, le=10_000)] = None,
) -> Response:
    """A picture, whole or small, or veiled: colours and no shapes."""
    return picture_response(request, find_picture(request, connection, user, digest), is_veiled=veiled, size=size)


@router.get("/pictures/{digest}/original")
def serve_original(request: Request, user: Organiser, connection: Database, digest: Digest) -> Response:
    """Send a picture as it was brought, with its metadata, to an organiser."""
    return original_response(find_picture(request, connection, user, digest))


def original_response(image: Picture) -> Response:
    """Return the original bytes of a picture as a download that no cache may store."""
    try:
        data = image.data()
    except InputError as error:
        raise HTTPException(404, key("The picture's bytes are not there.")) from error
    headers = {
        "Cache-Control": "private, no-store",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Content-Disposition": "attachment",
    }
    return Response(data, headers=headers, media_type=image.media_type)


def picture_response(request: Request, image: Picture, *, is_veiled: bool, size: int | None) -> Response:
    """Return a picture with the media type of its bytes, to be cached forever."""
    small = next((side for side in SIZES if size is not None and side >= size), SIZES[-1])
    is_whole = size is None and not is_veiled and image.media_type in SAFE
    etag = f'"{image.digest}-{f"whole{VERSION}" if is_whole else small}{"v" if is_veiled else ""}"'
    reach = "public" if settings_of(request).public else "private"
    headers = {
        "Cache-Control": f"{reach}, max-age=31536000, immutable",
        "ETag": etag,
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Content-Disposition": "inline",
    }
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    try:
        clean_file = stripped_bytes(image) if is_whole else None
        data = _shrink_picture(image, small, is_veiled) if clean_file is None else clean_file
    except InputError as error:
        raise HTTPException(404, key("The picture's bytes are not there.")) from error
    if data is None:
        raise HTTPException(404, key("The picture cannot be decoded."))
    return Response(data, headers=headers, media_type="image/webp" if clean_file is None else image.media_type)


def stripped_bytes(image: Picture) -> bytes | None:
    """Return a picture's file without metadata, or None if it cannot be parsed and must be redrawn."""
    try:
        return strip_metadata(image.data())
    except UnparsablePictureError:
        return None


@lru_cache(maxsize=256)
def _shrink_picture(image: Picture, size: int, is_veiled: bool) -> bytes | None:
    """The cache works because `Picture` compares by digest."""
    with _turns, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return shrink_picture(image, size=size, is_veiled=is_veiled)
