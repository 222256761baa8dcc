"""Rules for pictures and other media that data files refer to: which folders and URLs may be read.

A data file may come from anywhere, and its pictures are read, stored in the ledger and sent to judges. So pictures are
read only from the file's own folder, from folders that the user names, and from the web if the user agrees.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import islice
from pathlib import Path

from fullbench.cache_dir import cache_folder
from fullbench.core.media import (
    NOUNS,
    Kind,
    Media,
    any_media_from_bytes,
    media_from_bytes,
    read_any_media,
    read_media,
    recognise_type,
)
from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.files.picture_copies_from_web_and_archives import copy_of

_picture_folders: ContextVar[tuple[Path, ...]] = ContextVar("folders of pictures that the user named", default=())
_may_lack_pictures: ContextVar[bool] = ContextVar("items may lack the pictures that they name", default=False)
_may_fetch: ContextVar[bool] = ContextVar("whether pictures are fetched from the web", default=False)
_REPOSITORY = re.compile(r"(models|datasets|spaces)--.+")
WEB = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_DATA = re.compile(r"data:[^,]{0,200},", re.IGNORECASE)
_LONGEST_NAME = 1_024
"""No file has a longer name: a longer text is the picture itself."""


@contextmanager
def allow_picture_folders(*folders: Path, urls: bool = False) -> Iterator[None]:
    """Within the block, also accept pictures in these folders; with `urls`, download those on the web."""
    before, fetching = (
        _picture_folders.set((*_picture_folders.get(), *folders)),
        _may_fetch.set(urls or _may_fetch.get()),
    )
    try:
        yield
    finally:
        _picture_folders.reset(before)
        _may_fetch.reset(fetching)


@contextmanager
def without_pictures(is_allowed: bool = True) -> Iterator[None]:
    """Within the block, read items with missing pictures without them, and tag them."""
    before = _may_lack_pictures.set(is_allowed or _may_lack_pictures.get())
    try:
        yield
    finally:
        _may_lack_pictures.reset(before)


def is_missing_picture(folder: Path, name: str) -> bool:
    """True if an item's picture is missing and the item may be read without it."""
    if not _may_lack_pictures.get() or is_written_out(name) or copy_of(folder, name) is not None:
        return False
    return not _may_fetch.get() if WEB.match(name) else not (folder / name).exists()


def read_picture(
    folder: Path, name: str, *, path: Path | None = None, line: int | None = None, is_answer: bool = False
) -> Picture:
    """Return the picture that a data file in `folder` refers to; one of a response (`is_answer`) is not checked.
    `path` and `line` locate errors. A data URI, or plain base64, is the picture itself.
    """
    if is_written_out(name):
        data = _written_out(name, path, line)
        return Picture.from_any_bytes(data, data) if is_answer else Picture.from_bytes(data, path=path, line=line)
    file = find_allowed_file(folder, name, path=path, line=line, is_answer=is_answer)
    return (Picture.read_any_file if is_answer else Picture.read)(file, path=path, line=line)


def read_media_of(
    folder: Path,
    name: str,
    kind: Kind | None,
    *,
    path: Path | None = None,
    line: int | None = None,
    is_answer: bool = False,
) -> Media:
    """Return the file of a kind that a data file in `folder` refers to, as `read_picture` does for a picture.
    With `kind` None, its content decides.
    """
    if kind == "image":
        return read_picture(folder, name, path=path, line=line, is_answer=is_answer)
    if is_written_out(name):
        data = _written_out(name, path, line)
        if is_answer and kind:
            return any_media_from_bytes(data, kind)
        return media_from_bytes(data, kind, path=path, line=line)
    noun = NOUNS[kind] if kind else "file"
    file = find_allowed_file(folder, name, noun, path=path, line=line, is_answer=is_answer)
    if is_answer and kind:
        return read_any_media(file, kind, path=path, line=line)
    return read_media(file, kind, path=path, line=line)


def find_allowed_file(
    folder: Path,
    name: str,
    noun: str = "picture",
    *,
    path: Path | None = None,
    line: int | None = None,
    is_answer: bool = False,
) -> Path:
    """Return the file that a data file in `folder` refers to, or refuse it if it may not be read."""
    if (plain := _plainly_below(folder, name)) is not None:
        return plain
    web = WEB.match(name) is not None
    named_file = folder / name
    if not named_file.exists() and (remedy := _spelt_otherwise(name)):
        raise InputError(f"the {noun} {name!r} cannot be read; {remedy}", path=path, line=line)
    copy = copy_of(folder, name) if web or not named_file.exists() else None
    if web and copy is None:
        file = _from_the_web(name, noun, path, line)
    else:
        file = copy or named_file
        check_place(folder, file, noun, path=path, line=line)
        if not os.path.lexists(file):
            raise InputError(_missing_file_text(folder, name, noun, is_answer=is_answer), path=path, line=line)
    return file


def _missing_file_text(folder: Path, name: str, noun: str, *, is_answer: bool) -> str:
    """Return where a missing file was searched, and what to do. A response is never judged without its file."""
    place = "" if Path(name).is_absolute() else f" in {str(folder.absolute())!r}, the folder of the data file"
    way_out = "" if is_answer else ", or continue without it with --without-pictures (without_pictures in a study file)"
    return f"the {noun} {name!r} cannot be read: there is no such file{place}. Correct the path{way_out}"


def data_uri(media: Media) -> str:
    """Return a picture or another file as a data URI, which `read_picture` and `read_media_of` accept."""
    return f"data:{media.media_type};base64,{base64.b64encode(media.data()).decode()}"


def _spelt_otherwise(name: str) -> str:
    if name.lower().startswith("file:"):
        return "leave out file: and write the path"
    if name.startswith("~"):
        return "'~' is not replaced in data: write the path from the file's folder, or the whole one"
    if re.match(r"[A-Za-z]:[\\/]", name):
        return "this is a path of Windows: copy the pictures beside the file, and write the path from there, with /"
    return "write / between folders, not \\" if "\\" in name else ""


def _from_the_web(address: str, noun: str, path: Path | None, line: int | None) -> Path:
    if not _may_fetch.get():
        raise InputError(
            f"the {noun} {address!r} is a web address. Add --fetch-urls (fetch_urls = true in a study file) to "
            "download it, use `fullbench fetch-pictures`, or continue without it with --without-pictures",
            path=path,
            line=line,
        )
    from fullbench.files.picture_download import FetchError, fetch_picture  # imported late: few runs use the web

    try:
        return fetch_picture(address, cache_folder() / "web")
    except FetchError as error:
        raise InputError(
            f"the {noun} {address!r} was not downloaded: {error}. Files downloaded before are kept. Fix the "
            "address or remove the row, and run again",
            path=path,
            line=line,
        ) from error


def find_picture(folder: Path, name: str) -> Path | None:
    """Return the file that a data file in `folder` refers to, there or in a folder that the user named, or None.
    A file in the user's folder may still be a link to elsewhere, which `read_picture` refuses.
    """
    if WEB.match(name):
        return None
    environment_folders = (
        Path(place) for place in filter(None, os.environ.get("FULLBENCH_PICTURES_FROM", "").split(os.pathsep))
    )
    return next(
        (place / name for place in (folder, *_picture_folders.get(), *environment_folders) if (place / name).is_file()),
        None,
    )


def is_picture_available(folder: Path, name: str) -> bool:
    """True if `read_picture` can read a picture: it is written out, in a folder, copied, or may be downloaded."""
    if is_written_out(name) or find_picture(folder, name) is not None:
        return True
    return WEB.match(name) is not None and (_may_fetch.get() or copy_of(folder, name) is not None)


def is_written_out(name: str) -> bool:
    """True if the text is the picture itself, not its name."""
    return len(name) > _LONGEST_NAME or _DATA.match(name) is not None


def _written_out(text: str, path: Path | None, line: int | None) -> bytes:
    head = _DATA.match(text)
    excerpt = f"{text[:40]}..."
    if head and not head[0].lower().endswith(";base64,"):
        raise InputError(
            f"the data URI {excerpt!r} is not in base64, the only supported encoding", path=path, line=line
        )
    try:
        data = base64.b64decode(re.sub(r"\s+", "", text[head.end() if head else 0 :]), validate=True)
    except (binascii.Error, ValueError) as error:
        what = "data URI" if head else "text"
        raise InputError(
            f"the {what} {excerpt!r} of {len(text):,} characters is not valid base64 ({error}); give a picture as a "
            f"path or a data URI",
            path=path,
            line=line,
        ) from error
    if head is None and recognise_type(data) is None:
        raise InputError(
            f"{excerpt!r} of {len(text):,} characters is neither a path nor a picture in base64", path=path, line=line
        )
    return data


def check_place(
    folder: Path, file: Path, noun: str = "picture", *, path: Path | None = None, line: int | None = None
) -> None:
    """Refuse a file that, with all links resolved, is outside the folder and those that the user named."""
    if _lies_below(folder, file):
        return
    try:
        real = file.resolve()
        inside = any(map(real.is_relative_to, _allowed_folders(folder)))
    except (OSError, RuntimeError, ValueError) as error:  # a circular link, a NUL character
        raise InputError(f"the {noun} {str(file)!r} cannot be read ({error})", path=path, line=line) from error
    if not inside:
        raise InputError(
            f"the {noun} {str(file)!r} is outside the data's folder ({_outside_reason(file, real)}); "
            f"if you trust the file that names it, add --pictures-from {real.parent} (pictures_from in a study file, "
            "and an argument in Python; FULLBENCH_PICTURES_FROM for all)",
            path=path,
            line=line,
        )


def _lies_below(folder: Path, file: Path) -> bool:
    """True if a file is below the folder without links or `..` in its path, so that nothing must be resolved."""
    above, parts = folder.parts, file.parts
    below = parts[len(above) :]
    if (
        not below
        or file.anchor != folder.anchor
        or parts[: len(above)] != above
        or ".." in below
        or any("\x00" in part for part in below)
    ):
        return False
    return not any(path.is_symlink() for path in (file, *islice(file.parents, len(below) - 1)))


def _plainly_below(folder: Path, name: str) -> Path | None:
    """Return an existing file below the folder whose path is plain and has no links; None if it needs closer checks.
    Nearly all pictures are such, and there are as many as items, so this path is fast.
    """
    steps = name.split("/")
    if "\x00" in name or "\\" in name or ":" in name or not {"", ".", ".."}.isdisjoint(steps):
        return None
    here = str(folder)
    if here.endswith("/"):
        return None
    try:
        for step in steps:
            here = f"{here}/{step}"
            file_status = os.lstat(here)
            if stat.S_ISLNK(file_status.st_mode):
                return None
    except OSError:
        return None
    return Path(here)


def _outside_reason(file: Path, real: Path) -> str:
    plain = Path(os.path.normpath(file.absolute()))
    return f"it is a link to {str(real)!r}" if plain != real else "files elsewhere are read only where you say so"


def _allowed_folders(folder: Path) -> Iterable[Path]:
    yield _folder_boundary(folder.absolute())
    for named_folder in _picture_folders.get():
        yield named_folder.resolve()
    for place in filter(None, os.environ.get("FULLBENCH_PICTURES_FROM", "").split(os.pathsep)):
        yield Path(place).resolve()


@lru_cache(maxsize=256)
def _folder_boundary(folder: Path) -> Path:
    """Return the folder, or the repository folder of a Hugging Face cache, whose snapshots are links to its blobs."""
    for parent in (folder, *folder.parents):
        if parent.name == "snapshots" and _REPOSITORY.fullmatch(parent.parent.name):
            return parent.parent.resolve()
    return folder.resolve()
