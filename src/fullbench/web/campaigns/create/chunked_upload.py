"""Resumable uploads of campaign files, sent in pieces; a lost piece is sent again.

An upload is one zip file or a folder with all its files. It is stored in the site's data folder, under its owner,
until a campaign is created from it. An upload that is not touched for a week is deleted.
"""

from __future__ import annotations

import shutil
import stat
import time
from pathlib import Path, PurePosixPath
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from fullbench.core.translatable_note import Note
from fullbench.errors import InputError
from fullbench.files.bounded_archives import BoundedArchive, TooMuchUnpacked, UnpackingError
from fullbench.web.accounts.users import User
from fullbench.web.route_access_connection_and_csrf_checks import Organiser, settings_of
from fullbench.web.site_settings_and_worker_transfer import DAY, Settings
from fullbench.web.words import key

router = APIRouter(include_in_schema=False)
Name = Annotated[str, Query(min_length=1, max_length=1000)]
Size = Annotated[int, Query(ge=0, le=2**62)]
# Each file is an entry of a folder; more come as rows with links.
MOST_FILES = 200_000
ROWS = (".jsonl", ".csv", ".tsv")
"""Suffixes of row files; the first that exists counts."""
# Far deeper than data sets nest, and far below what file systems allow.
DEEPEST = 20
# A lead who was interrupted on Friday can continue on Monday week.
LASTING = 7 * DAY
_USED = ".bytes"


def upload_folder(settings: Settings, user: User, upload_id: str) -> Path:
    """Return the folder of an upload."""
    if not (upload_id.isascii() and upload_id.isalnum() and 8 <= len(upload_id) <= 64):
        raise InputError(key("an upload has an id of 8 to 64 letters and digits"))
    return settings.data / "uploads" / user.id / upload_id


def safe_relative_path(name: str) -> PurePosixPath:
    """Return a name as a relative path; raise `InputError` if it could leave its folder."""
    path = PurePosixPath(name)
    plain = path.parts and not path.is_absolute() and "\\" not in name and "\x00" not in name
    if (
        not plain
        or any(part in {"..", "."} or len(part.encode()) > 200 for part in path.parts)
        or len(path.parts) > DEEPEST
    ):
        raise InputError(Note("web.wrong.a-file-of-an-upload", name=name[:80]))
    return path


@router.get("/organise/uploads/{upload}")
def show_uploaded_size(request: Request, user: Organiser, upload: str, path: Name) -> JSONResponse:
    """Return the number of bytes of a file that have arrived."""
    target = upload_folder(settings_of(request), user, upload) / "files" / safe_relative_path(path)
    return JSONResponse({"have": target.stat().st_size if target.is_file() else 0})


@router.post("/organise/uploads/{upload}")
async def receive_piece(
    request: Request, user: Organiser, upload: str, path: Name, *, at: Size, size: Size
) -> JSONResponse:
    """Take the next piece of a file; 409 with what is there where it is not the next one."""
    settings = settings_of(request)
    data = await request.body()
    folder, name = upload_folder(settings, user, upload), safe_relative_path(path)
    have, is_appended = await run_in_threadpool(_append_piece, settings, folder, name, data, at=at, size=size)
    return JSONResponse({"have": have}, 200 if is_appended else 409)


def _append_piece(
    settings: Settings, folder: Path, name: PurePosixPath, data: bytes, *, at: int, size: int
) -> tuple[int, bool]:
    """Return the file's size and True if the piece was the next one."""
    target = folder / "files" / name
    if not folder.exists():
        delete_stale_uploads(settings)
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    have = target.stat().st_size if target.is_file() else 0
    if have != at or at + len(data) > size:
        return have, False
    used = folder / _USED
    total = int(used.read_text() or 0) if used.exists() else 0
    if total + len(data) > settings.parcel_limit:
        raise HTTPException(413, key("The files are larger than this site takes."))
    with target.open("ab") as out:
        out.write(data)
    used.write_text(str(total + len(data)))
    return have + len(data), True


def delete_stale_uploads(settings: Settings) -> None:
    """Delete uploads that nobody touched for a week."""
    for used in (settings.data / "uploads").glob(f"*/*/{_USED}"):
        if used.stat().st_mtime < time.time() - LASTING:
            shutil.rmtree(used.parent, ignore_errors=True)


def unpack_upload(folder: Path, limit: int) -> Path:
    """Return the folder that contains the items (or queue) of an upload; unpack a zip file first."""
    files = folder / "files"
    if not files.is_dir():
        raise InputError(key("the upload is not there; send the files again"))
    every = [path for path in files.rglob("*") if path.is_file()]
    if len(every) == 1 and every[0].suffix.lower() == ".zip":
        files = _unzip_upload(every[0], folder / "unzipped", limit)
    folders = (files, *(path for path in files.rglob("*") if path.is_dir()))
    homes = [home for home in folders if rows_file(home, "items") or rows_file(home, "queue")]
    if len(homes) != 1:
        raise InputError(Note("web.wrong.a-upload-holds-items", n=len(homes)))
    return homes[0]


def rows_file(home: Path, kind: str) -> Path | None:
    """Return the file with the rows of a kind: JSON lines, else a table."""
    return next((path for suffix in ROWS if (path := home / f"{kind}{suffix}").is_file()), None)


def _unzip_upload(path: Path, out: Path, limit: int) -> Path:
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(mode=0o700)
    try:
        with BoundedArchive(path, limit) as archive:
            if len(archive.members) > MOST_FILES:
                raise InputError(Note("web.wrong.a-zip-has-files", most=MOST_FILES, n=len(archive.members)))
            for member in archive.members:
                if stat.S_ISLNK(member.external_attr >> 16):
                    raise InputError(key("the zip file contains a link; pack the files themselves"))
                target = out / safe_relative_path(member.filename)
                target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                with target.open("wb") as copy:
                    copy.writelines(archive.unpack_pieces(member))
    except TooMuchUnpacked as error:
        raise InputError(key("The files are larger than this site takes.")) from error
    except (UnpackingError, OSError) as error:
        raise InputError(key("the zip file cannot be unpacked; pack it again, without a password")) from error
    return out
