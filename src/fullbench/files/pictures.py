"""The boundary for pictures that data files name.

A file may have come from anywhere, and what it names is read, kept in the ledger and sent to judges. So pictures are
taken from the file's own folder, or from folders that the user names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path

from fullbench.errors import InputError
from fullbench.nouns.picture import Picture

_named: ContextVar[tuple[Path, ...]] = ContextVar("folders of pictures that the user named", default=())
_REPOSITORY = re.compile(r"(models|datasets|spaces)--.+")
WEB = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


@contextmanager
def allowing(*folders: Path) -> Iterator[None]:
    """Within the block, pictures in these folders are taken too."""
    before = _named.set((*_named.get(), *folders))
    try:
        yield
    finally:
        _named.reset(before)


def read_picture(
    folder: Path, name: str, *, path: Path | None = None, line: int | None = None, answered: bool = False
) -> Picture:
    """The picture that a data file in `folder` names; what a contestant `answered` with is taken as it is.

    `path` and `line` say in an error where it was named.
    """
    if WEB.match(name):
        raise InputError(
            f"the picture {name!r} is on the web, where nothing is fetched from unasked; fetch it first and name the "
            "file",
            path=path,
            line=line,
        )
    file = folder / name
    check_place(folder, file, path=path, line=line)
    read = Picture.read_as_given if answered else Picture.read
    return read(file, path=path, line=line)


def find_picture(folder: Path, name: str) -> Path | None:
    """The file that a data file in `folder` names: there, or in a folder that the user named; None where it is in none.

    What is found in a folder of the user's may still be a link to elsewhere, which `read_picture` refuses.
    """
    if WEB.match(name):
        return None
    own = (Path(place) for place in filter(None, os.environ.get("FULLBENCH_PICTURES_FROM", "").split(os.pathsep)))
    return next((place / name for place in (folder, *_named.get(), *own) if (place / name).is_file()), None)


def check_place(folder: Path, file: Path, *, path: Path | None = None, line: int | None = None) -> None:
    """Refuse a file that, all links followed, lies neither in the folder nor in one that the user named."""
    try:
        real = file.resolve()
        inside = any(real.is_relative_to(place) for place in _places(folder))
    except (OSError, RuntimeError, ValueError) as error:  # a link that leads to itself, a zero character
        raise InputError(f"the picture {str(file)!r} cannot be read ({error})", path=path, line=line) from error
    if not inside:
        raise InputError(
            f"the picture {str(file)!r} lies outside of the data's folder ({_beyond(file, real)}); where you trust the "
            f"file that names it, add --pictures-from {real.parent} (pictures_from in a study file, "
            "FULLBENCH_PICTURES_FROM elsewhere)",
            path=path,
            line=line,
        )


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
