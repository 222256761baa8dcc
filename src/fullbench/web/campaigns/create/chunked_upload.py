"""Parcels: files for a study, sent in pieces. A piece that was lost is sent again, and a parcel goes on where it was.

A parcel is one zip file or a folder with all its files. It lies in the site's data folder, under its owner, until a
study is made of it; one that nobody touched for a week goes away.
"""

from __future__ import annotations

import shutil
import stat
import time
import zipfile
from pathlib import Path, PurePosixPath
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from fullbench.core.note import Note
from fullbench.errors import InputError
from fullbench.web.accounts.users import User
from fullbench.web.page_access import Organiser, settings_of
from fullbench.web.site_settings import DAY, Settings
from fullbench.web.words import key

router = APIRouter(include_in_schema=False)
Name = Annotated[str, Query(min_length=1, max_length=1000)]
Size = Annotated[int, Query(ge=0, le=2**62)]
MOST_FILES = 200_000
ROWS = (".jsonl", ".csv", ".tsv")
"""How the name of a file of rows may end; the first that is there counts."""
DEEPEST = 20
LASTING = 7 * DAY
_USED = ".bytes"
_PIECE = 1 << 20


def folder_of(settings: Settings, user: User, parcel: str) -> Path:
    """Where a parcel lies."""
    if not (parcel.isascii() and parcel.isalnum() and 8 <= len(parcel) <= 64):
        raise InputError(key("a parcel has an id of 8 to 64 letters and digits"))
    return settings.data / "parcels" / user.id / parcel


def inside(name: str) -> PurePosixPath:
    """A name as a path that stays where it is put; refused where it does not."""
    path = PurePosixPath(name)
    plain = path.parts and not path.is_absolute() and "\\" not in name and "\x00" not in name
    if (
        not plain
        or any(part in {"..", "."} or len(part.encode()) > 200 for part in path.parts)
        or len(path.parts) > DEEPEST
    ):
        raise InputError(
            Note("web.wrong.a-file-of-a-parcel", "a file of a parcel has a plain name; found {name!r}", name=name[:80])
        )
    return path


@router.get("/organise/parcels/{parcel}")
def there(request: Request, user: Organiser, parcel: str, path: Name) -> JSONResponse:
    """How many bytes of a file are there."""
    target = folder_of(settings_of(request), user, parcel) / "files" / inside(path)
    return JSONResponse({"have": target.stat().st_size if target.is_file() else 0})


@router.post("/organise/parcels/{parcel}")
async def take(request: Request, user: Organiser, parcel: str, path: Name, *, at: Size, size: Size) -> JSONResponse:
    """Take the next piece of a file; 409 with what is there where it is not the next one."""
    settings = settings_of(request)
    data = await request.body()
    folder, name = folder_of(settings, user, parcel), inside(path)
    have, taken = await run_in_threadpool(_append, settings, folder, name, data, at=at, size=size)
    return JSONResponse({"have": have}, 200 if taken else 409)


def _append(
    settings: Settings, folder: Path, name: PurePosixPath, data: bytes, *, at: int, size: int
) -> tuple[int, bool]:
    """How many bytes are there then, and whether these were the next ones."""
    target = folder / "files" / name
    if not folder.exists():
        clear(settings)
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


def clear(settings: Settings) -> None:
    """Let parcels go that nobody touched for long."""
    for used in (settings.data / "parcels").glob(f"*/*/{_USED}"):
        if used.stat().st_mtime < time.time() - LASTING:
            shutil.rmtree(used.parent, ignore_errors=True)


def forget(folder: Path) -> None:
    """Let a parcel go of which a study was made."""
    shutil.rmtree(folder, ignore_errors=True)


def unpacked(folder: Path, limit: int) -> Path:
    """The folder in which a parcel's items (or queue) lie, a zip file unpacked."""
    files = folder / "files"
    if not files.is_dir():
        raise InputError(key("the parcel is not there; send the files again"))
    every = [path for path in files.rglob("*") if path.is_file()]
    if len(every) == 1 and every[0].suffix.lower() == ".zip":
        files = _unzip(every[0], folder / "unzipped", limit)
    folders = (files, *(path for path in files.rglob("*") if path.is_dir()))
    homes = [home for home in folders if rows_file(home, "items") or rows_file(home, "queue")]
    if len(homes) != 1:
        raise InputError(
            Note(
                "web.wrong.a-parcel-holds-items",
                "a parcel holds one folder with items.jsonl or items.csv (or a queue); found {n}",
                n=len(homes),
            )
        )
    return homes[0]


def rows_file(home: Path, kind: str) -> Path | None:
    """The file of a folder in which the rows of a kind lie: JSON lines, else a table."""
    return next((path for suffix in ROWS if (path := home / f"{kind}{suffix}").is_file()), None)


def _unzip(path: Path, out: Path, limit: int) -> Path:
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(mode=0o700)
    total = 0
    try:
        with zipfile.ZipFile(path) as packed:
            members = [member for member in packed.infolist() if not member.is_dir()]
            if len(members) > MOST_FILES:
                raise InputError(
                    Note(
                        "web.wrong.a-zip-has-files",
                        "a zip file has at most {most:,} files; found {n:,}",
                        most=MOST_FILES,
                        n=len(members),
                    )
                )
            for member in members:
                if stat.S_ISLNK(member.external_attr >> 16):
                    raise InputError(key("the zip file holds a link; pack the files themselves"))
                target = out / inside(member.filename)
                target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                with packed.open(member) as source, target.open("wb") as copy:
                    # What a member says of its size may be a lie: the bytes are counted.
                    while piece := source.read(_PIECE):
                        total += len(piece)
                        if total > limit:
                            raise InputError(key("The files are larger than this site takes."))
                        copy.write(piece)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, OSError) as error:
        raise InputError(key("the zip file cannot be unpacked; pack it again, without a password")) from error
    return out
