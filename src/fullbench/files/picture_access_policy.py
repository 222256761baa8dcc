"""The boundary for pictures that data files name.

A file may have come from anywhere, and what it names is read, kept in the ledger and sent to judges. So pictures are
taken from the file's own folder, or from folders that the user names, and from the web where the user agrees to that.
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
from fullbench.core.picture import Picture, media_type
from fullbench.errors import InputError
from fullbench.files.fetch_pictures import copy_of

_named: ContextVar[tuple[Path, ...]] = ContextVar("folders of pictures that the user named", default=())
_lacking: ContextVar[bool] = ContextVar("items may lack the pictures that they name", default=False)
_web: ContextVar[bool] = ContextVar("whether pictures are fetched from the web", default=False)
_REPOSITORY = re.compile(r"(models|datasets|spaces)--.+")
WEB = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_DATA = re.compile(r"data:[^,]{0,200},", re.IGNORECASE)
_LONGEST_NAME = 1_024
"""No file has a longer name: what is longer was meant to be the picture itself."""


@contextmanager
def allowing(*folders: Path, urls: bool = False) -> Iterator[None]:
    """Within the block, pictures in these folders are taken too; with `urls`, those on the web are fetched."""
    before, fetching = _named.set((*_named.get(), *folders)), _web.set(urls or _web.get())
    try:
        yield
    finally:
        _named.reset(before)
        _web.reset(fetching)


@contextmanager
def without_pictures(allowed: bool = True) -> Iterator[None]:
    """Within the block, items whose pictures are not there are read without them, and tagged so."""
    before = _lacking.set(allowed or _lacking.get())
    try:
        yield
    finally:
        _lacking.reset(before)


def lacks(folder: Path, name: str) -> bool:
    """Whether a picture that an item names is not there, and the item may be read without it."""
    if not _lacking.get() or _is_written_out(name) or copy_of(folder, name) is not None:
        return False
    return not _web.get() if WEB.match(name) else not (folder / name).exists()


def read_picture(
    folder: Path, name: str, *, path: Path | None = None, line: int | None = None, answered: bool = False
) -> Picture:
    """The picture that a data file in `folder` names; what a contestant `answered` with is taken as it is.

    `path` and `line` say in an error where it was named. A data URI, or bare base64, is the picture itself.
    """
    if _is_written_out(name):
        data = _written_out(name, path, line)
        return Picture.as_given(data, data) if answered else Picture.of(data, path=path, line=line)
    read = Picture.read_as_given if answered else Picture.read
    if (plain := _plainly_below(folder, name)) is not None:
        return read(plain, path=path, line=line)
    web = WEB.match(name) is not None
    named = folder / name
    if not named.exists() and (remedy := _spelt_otherwise(name)):
        raise InputError(f"the picture {name!r} cannot be read; {remedy}", path=path, line=line)
    copy = copy_of(folder, name) if web or not named.exists() else None
    if web and copy is None:
        file = _from_the_web(name, path, line)
    else:
        file = copy or named
        check_place(folder, file, path=path, line=line)
    return read(file, path=path, line=line)


def data_uri(picture: Picture) -> str:
    """A picture as a text that `read_picture` takes for the picture itself."""
    return f"data:{picture.media};base64,{base64.b64encode(picture.data()).decode()}"


def _spelt_otherwise(name: str) -> str:
    """What to write in place of a path that is spelt as elsewhere; nothing where it is spelt as here."""
    if name.lower().startswith("file:"):
        return "leave out file: and write the path"
    if name.startswith("~"):
        return "'~' is not replaced in data: write the path from the file's folder, or the whole one"
    if re.match(r"[A-Za-z]:[\\/]", name):
        return "this is a path of Windows: copy the pictures beside the file, and write the path from there, with /"
    return "write / between folders, not \\" if "\\" in name else ""


def _from_the_web(address: str, path: Path | None, line: int | None) -> Path:
    """The file into which the picture at an address was fetched."""
    if not _web.get():
        raise InputError(
            f"the picture {address!r} is on the web, where nothing is fetched from unasked; where you trust the file "
            "that names it, add --fetch-urls (fetch_urls = true in a study file) or use `fullbench fetch-pictures`; "
            "--without-pictures goes on without it",
            path=path,
            line=line,
        )
    from fullbench.files.picture_urls import Unfetched, fetched  # late: few runs need what speaks to the web

    try:
        return fetched(address, cache_folder() / "web")
    except Unfetched as error:
        raise InputError(
            f"the picture {address!r} was not fetched: {error}. What was fetched before is kept; mend the address, or "
            "leave the row out, and run again",
            path=path,
            line=line,
        ) from error


def find_picture(folder: Path, name: str) -> Path | None:
    """The file that a data file in `folder` names: there, or in a folder that the user named; None where it is in none.

    What is found in a folder of the user's may still be a link to elsewhere, which `read_picture` refuses.
    """
    if WEB.match(name):
        return None
    own = (Path(place) for place in filter(None, os.environ.get("FULLBENCH_PICTURES_FROM", "").split(os.pathsep)))
    return next((place / name for place in (folder, *_named.get(), *own) if (place / name).is_file()), None)


def _is_written_out(name: str) -> bool:
    """Whether what should name a picture is the picture itself."""
    return len(name) > _LONGEST_NAME or _DATA.match(name) is not None


def _written_out(text: str, path: Path | None, line: int | None) -> bytes:
    """The bytes of a picture that stands in the data itself, in base64."""
    head = _DATA.match(text)
    shown = f"{text[:40]}..."
    if head and not head[0].lower().endswith(";base64,"):
        raise InputError(f"the data URI {shown!r} is not in base64, the one way we read", path=path, line=line)
    try:
        data = base64.b64decode(re.sub(r"\s+", "", text[head.end() if head else 0 :]), validate=True)
    except (binascii.Error, ValueError) as error:
        what = "data URI" if head else "text"
        raise InputError(
            f"the {what} {shown!r} of {len(text):,} characters is no sound base64 ({error}); a picture is named by its "
            "path, or written out as a data URI",
            path=path,
            line=line,
        ) from error
    if head is None and media_type(data) is None:
        raise InputError(
            f"{shown!r} of {len(text):,} characters is no path and no picture in base64", path=path, line=line
        )
    return data


def check_place(folder: Path, file: Path, *, path: Path | None = None, line: int | None = None) -> None:
    """Refuse a file that, all links followed, lies neither in the folder nor in one that the user named."""
    if _lies_below(folder, file):
        return
    try:
        real = file.resolve()
        inside = any(map(real.is_relative_to, _places(folder)))
    except (OSError, RuntimeError, ValueError) as error:  # a link that leads to itself, a zero character
        raise InputError(f"the picture {str(file)!r} cannot be read ({error})", path=path, line=line) from error
    if not inside:
        raise InputError(
            f"the picture {str(file)!r} lies outside of the data's folder ({_beyond(file, real)}); where you trust the "
            f"file that names it, add --pictures-from {real.parent} (pictures_from in a study file, and an argument in "
            "Python; FULLBENCH_PICTURES_FROM for all)",
            path=path,
            line=line,
        )


def _lies_below(folder: Path, file: Path) -> bool:
    """Whether a file is named below the folder with no link and no `..` on the way: then no link needs following."""
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
    """The file of that name below the folder, where it is spelt as files are, is there, and no link is on the way; None
    where any of that is to be looked into. Nearly all pictures are such, and there are as many as items."""
    steps = name.split("/")
    if "\x00" in name or "\\" in name or ":" in name or not {"", ".", ".."}.isdisjoint(steps):
        return None
    here = str(folder)
    if here.endswith("/"):
        return None
    try:
        for step in steps:
            here = f"{here}/{step}"
            found = os.lstat(here)
            if stat.S_ISLNK(found.st_mode):
                return None
    except OSError:
        return None
    return Path(here)


def _beyond(file: Path, real: Path) -> str:
    plain = Path(os.path.normpath(file.absolute()))
    return f"it is a link to {str(real)!r}" if plain != real else "files elsewhere are read only where you say so"


def _places(folder: Path) -> Iterable[Path]:
    yield _boundary(folder.absolute())
    for named in _named.get():
        yield named.resolve()
    for place in filter(None, os.environ.get("FULLBENCH_PICTURES_FROM", "").split(os.pathsep)):
        yield Path(place).resolve()


@lru_cache(maxsize=256)
def _boundary(folder: Path) -> Path:
    """The folder itself; in a hub's cache, whose snapshots are links to its blobs, the folder of the repository."""
    for parent in (folder, *folder.parents):
        if parent.name == "snapshots" and _REPOSITORY.fullmatch(parent.parent.name):
            return parent.parent.resolve()
    return folder.resolve()
