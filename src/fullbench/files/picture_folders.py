"""A folder of pictures: what in it is asked about, and what in it is none that we read."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fullbench.core.item import Item
from fullbench.core.picture import SUFFIXES, Picture
from fullbench.errors import InputError
from fullbench.files.picture_access_policy import read_picture


def items_in(folder: Path, question: str | None) -> Iterator[Item]:
    """An item for each picture, named like its file, with the folders below this one that it lies in.

    The ending is part of the name where two names differ by it alone. Pictures that cannot be read are all looked for
    before the first is told.
    """
    if question is None:
        raise InputError(
            "a folder of pictures needs a question to ask about them: --question TEXT (question in a study file)",
            path=folder,
        )
    files = picture_files(folder)
    if not files:
        others = left_out(folder)
        raise InputError(f"the folder holds no pictures{f': {others}' if others else ''}", path=folder)
    shared = _shared(files)
    amiss: list[tuple[str, InputError]] = []
    for file in files:
        place = file.relative_to(folder)
        if not str(place).isprintable() and any("\ud800" <= letter <= "\udfff" for letter in str(place)):
            raise InputError(f"the name of the picture {str(place)!r} is not UTF-8; rename the file", path=folder)
        try:
            picture = read_picture(folder, str(place))
        except InputError as error:
            amiss.append((place.as_posix(), error))
            continue
        yield Item.ask((place if file in shared else place.with_suffix("")).as_posix(), question, picture)
    if len(amiss) == 1:
        raise amiss[0][1]
    if amiss:
        named = ", ".join(name for name, _ in amiss[:5]) + (f" and {len(amiss) - 5} more" if len(amiss) > 5 else "")
        raise InputError(
            f"{len(amiss)} pictures here cannot be used: {named}; of the first: {amiss[0][1]}", path=folder
        )


def named_whole(folder: Path) -> str:
    """A sentence on pictures whose names differ by their endings alone; nothing where there are none.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     _ = [(Path(place) / name).write_bytes(b"") for name in ("a.jpg", "a.png", "b.png")]
    ...     named_whole(Path(place))
    '2 pictures share their names but for the endings, which stay part of them: a.jpg, a.png'
    """
    shared = sorted(_shared(picture_files(folder)))
    if not shared:
        return ""
    listed = ", ".join(file.relative_to(folder).as_posix() for file in shared[:4])
    more = f" and {len(shared) - 4} more" if len(shared) > 4 else ""
    return f"{len(shared):,} pictures share their names but for the endings, which stay part of them: {listed}{more}"


def _shared(files: Sequence[Path]) -> set[Path]:
    """The files whose names are another's but for the ending."""
    stems = Counter(file.with_suffix("") for file in files)
    return {file for file in files if stems[file.with_suffix("")] > 1}


def picture_files(folder: Path) -> list[Path]:
    """The pictures in a folder and in all folders below it, in order; what is hidden is left out."""
    return sorted(file for file in _visible(folder) if file.suffix.lower() in SUFFIXES)


def left_out(folder: Path) -> str:
    """What in a folder of pictures is none that we read, by suffix and number; nothing where all are pictures.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     _ = [(Path(place) / name).write_bytes(b"") for name in ("a.heic", "b.HEIC", "c.txt", "d.jpg")]
    ...     left_out(Path(place))
    '3 files are no pictures that we read: 2 .heic, 1 .txt'
    """
    other = Counter(file.suffix.lower() or file.name for file in _visible(folder))
    ordered = sorted(other.items(), key=lambda entry: (-entry[1], entry[0]))
    rest = {suffix: count for suffix, count in ordered if suffix not in SUFFIXES}
    if not rest:
        return ""
    listed = ", ".join(f"{count:,} {suffix}" for suffix, count in rest.items())
    total = sum(rest.values())
    return f"{total:,} {'file is no picture' if total == 1 else 'files are no pictures'} that we read: {listed}"


def _visible(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(place) / name for name in files if not name.startswith("."))


def check_new(folder: Path) -> None:
    """Refuse to write a folder of files over something that is there already."""
    if folder.exists() and not folder.is_dir():
        raise InputError("this is a file, and a folder is written; name a new one", path=folder)
    if folder.exists() and any(folder.iterdir()):
        raise InputError("the folder is not empty; choose another one, or move it away", path=folder)


# Pictures out of a folder, those that cannot be read named.


@dataclass(frozen=True)
class Pictures:
    """The pictures of a folder by the name of their file, and why others could not be read."""

    images: Mapping[str, Picture]
    unreadable: Sequence[str] = ()

    @classmethod
    def read(cls, folder: str | Path, limit: int | None = None, *, drawn: int | None = None) -> Pictures:
        """The first `limit` of the pictures that can be read, by name; one that cannot is named, and left out.

        Which are first is drawn from the seed `drawn` where one is given.
        """
        path = Path(folder)
        if not path.is_dir():
            raise InputError("this is no folder of pictures", path=path)
        images: dict[str, Picture] = {}
        bad: list[str] = []
        files = sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES)
        if drawn is not None:
            random.Random(drawn).shuffle(files)
        for file in files:
            if limit is not None and len(images) == limit:
                break
            try:
                picture = read_picture(path, file.name)
                _decode(picture, file)
            except InputError as error:
                bad.append(str(error))
                continue
            images[file.name] = picture
        if not images:
            unread = f"; {len(bad)} could not be read: {bad[0]}" if bad else ""
            raise InputError(f"the folder holds no picture{unread}", path=path)
        return cls(images, bad)


def _decode(picture: Picture, file: Path) -> None:
    """Refuse a picture that begins well and does not go on."""
    from PIL import Image

    try:
        with Image.open(file) as opened:
            opened.load()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise InputError(f"the picture {str(file)!r} ({picture.media}) cannot be decoded: {error}") from error
