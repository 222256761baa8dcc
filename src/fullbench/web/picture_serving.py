"""Pictures: those of the ledger and those that people bring, known by digest, checked by content, served safely.

Only PNG, JPEG, WebP and GIF keep their type and pixels, and they leave without metadata, which may name the generator.
Anything else that the ledger holds is drawn again as WebP. Originals are for organisers alone, at an address of their
own that no page links. A picture of the ledger can be seen by every reader. An upload can be seen by who brought
it and by organisers; what an organiser brought is material, and everybody with an account sees it.
"""

from __future__ import annotations

import hashlib
import time
import warnings
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
from fullbench.core.picture import Picture, media_type
from fullbench.errors import InputError, LedgerError
from fullbench.ledger.pictures.picture_folder import PictureFolder
from fullbench.picture_metadata import STRIPPED_MEDIA, UnparsablePictureError, strip_metadata
from fullbench.reports.html_page import shrunk
from fullbench.web.accounts.account_tables import uploads, users
from fullbench.web.accounts.users import User
from fullbench.web.page_access import Database, Organiser, Reader, ledger_of, settings_of
from fullbench.web.site_settings import Settings
from fullbench.web.words import key

SAFE = set(STRIPPED_MEDIA)
SIZES = (240, 480, 960, 1920)
VERSION = 2
"""Part of the address and of the ETag of a whole picture. Browsers keep pictures for a year: raise this number when
`strip_metadata` drops more than before, so that no browser shows the bytes of before."""
FRAMES = 300
_turns = BoundedSemaphore(2)
"""So many pictures are decoded at once: a large one takes a quarter of a gigabyte."""
Digest = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Checked:
    """A picture that somebody brought, after its bytes were looked at."""

    picture: Picture
    width: int
    height: int
    bytes: int


def checked(data: bytes, settings: Settings) -> Checked:
    """The picture in these bytes. What claims to be another type, is too large or does not decode is refused."""
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
    return Checked(Picture(hashlib.sha256(data).hexdigest(), media, data), width, height, len(data))


def keep(connection: Connection, settings: Settings, user: User, data: bytes) -> Checked:
    """Check a picture, keep it by its digest, and note who brought it; a second time changes nothing."""
    brought = checked(data, settings)
    uploads_folder(settings).keep(brought.picture)
    note(connection, user, brought)
    return brought


def note(connection: Connection, user: User, brought: Checked) -> None:
    """Note who brought a picture that was looked at and lies in its folder; a second time changes nothing."""
    row = {
        "digest": brought.picture.digest,
        "user_id": user.id,
        "media": brought.picture.media,
        "bytes": brought.bytes,
        "width": brought.width,
        "height": brought.height,
        "at": time.time(),
    }
    try:
        with connection.begin_nested():
            connection.execute(insert(uploads).values(**row))
    except IntegrityError:
        pass


def uploads_folder(settings: Settings) -> PictureFolder:
    """Where uploads lie."""
    return PictureFolder(settings.data / "uploads")


def uploaded(connection: Connection, settings: Settings, user: User | None, digest: str) -> Picture | None:
    """An upload that this user may see."""
    if user is None:
        return None
    query = select(uploads.c.media).join_from(uploads, users).where(uploads.c.digest == digest)
    if not user.may("organiser"):
        query = query.where(or_(uploads.c.user_id == user.id, users.c.role == "organiser"))
    media = connection.execute(query).scalars().first()
    return None if media is None else Picture(digest, media, uploads_folder(settings).path(digest))


def find(request: Request, connection: Connection, user: User | None, digest: str) -> Picture:
    """The picture with that digest that this user may see; 404 for all others, whether they exist or not."""
    ledger = ledger_of(request)
    if ledger is not None:
        try:
            return ledger.picture(digest)
        except LedgerError:
            pass
    upload = uploaded(connection, settings_of(request), user, digest)
    if upload is None:
        raise HTTPException(404, key("There is no such picture."))
    return upload


def picture_url(digest: str, tags: Any = None, *, size: int | None = None) -> str:
    """The address of a picture for a template; veiled where the item's or response's tags call it sensitive.

    >>> picture_url("ab", {"sensitive": "yes"}, size=480), picture_url("ab")
    ('/pictures/ab?veiled=1&size=480', '/pictures/ab?v=2')
    """
    query = [*(["veiled=1"] if tags and tags.get(SENSITIVE) else []), *([f"size={size}"] if size else [])]
    return f"/pictures/{digest}?" + ("&".join(query) or f"v={VERSION}")


def bare_url(digest: str, tags: Any = None, *, size: int | None = None) -> str:
    """The address of a sensitive picture without its veil; empty for a picture that has none.

    >>> bare_url("ab", {"sensitive": "yes"}), bare_url("ab")
    ('/pictures/ab?v=2', '')
    """
    return picture_url(digest, size=size) if tags and tags.get(SENSITIVE) else ""


@router.get("/pictures/{digest}")
def picture(
    request: Request,
    user: Reader,
    connection: Database,
    digest: Digest,
    *,
    veiled: bool = False,
    size: Annotated[int | None, Query(ge=1, le=10_000)] = None,
) -> Response:
    """A picture, whole or small, or veiled: colours and no shapes."""
    return served(request, find(request, connection, user, digest), veiled=veiled, size=size)


@router.get("/pictures/{digest}/original")
def original(request: Request, user: Organiser, connection: Database, digest: Digest) -> Response:
    """Send a picture as it was brought, with its metadata, to an organiser."""
    return original_response(find(request, connection, user, digest))


def original_response(image: Picture) -> Response:
    """Return the answer that carries the bytes of a picture as they were brought; no cache may keep it."""
    try:
        data = image.data()
    except InputError as error:
        raise HTTPException(404, key("The picture's bytes are not there.")) from error
    headers = {
        "Cache-Control": "private, no-store",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Content-Disposition": "attachment",
    }
    return Response(data, headers=headers, media_type=image.media)


def served(request: Request, image: Picture, *, veiled: bool, size: int | None) -> Response:
    """The answer that carries a picture: the type its bytes show, never another, kept for ever by its address."""
    small = next((side for side in SIZES if size is not None and side >= size), SIZES[-1])
    is_whole = size is None and not veiled and image.media in SAFE
    etag = f'"{image.digest}-{f"whole{VERSION}" if is_whole else small}{"v" if veiled else ""}"'
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
        stripped = stripped_bytes(image) if is_whole else None
        data = _shrunk(image, small, veiled) if stripped is None else stripped
    except InputError as error:
        raise HTTPException(404, key("The picture's bytes are not there.")) from error
    if data is None:
        raise HTTPException(404, key("The picture cannot be decoded."))
    return Response(data, headers=headers, media_type="image/webp" if stripped is None else image.media)


def stripped_bytes(image: Picture) -> bytes | None:
    """Return a picture's file without metadata; None if its structure cannot be parsed and it must be drawn again."""
    try:
        return strip_metadata(image.data())
    except UnparsablePictureError:
        return None


@lru_cache(maxsize=256)
def _shrunk(image: Picture, size: int, veiled: bool) -> bytes | None:
    """Small pictures are made once while they are wanted; `Picture` compares by digest."""
    with _turns, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return shrunk(image, size=size, veiled=veiled)
