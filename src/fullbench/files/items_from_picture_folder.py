"""Folders of pictures, videos, recordings and PDF files: items from them, and notes on files that were skipped."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fullbench.core.item import Item
from fullbench.core.media import SUFFIXES as MEDIA_SUFFIXES
from fullbench.core.picture import SUFFIXES, Picture
from fullbench.errors import InputError
from fullbench.files.picture_access_policy import read_media_of, read_picture


def items_in(folder: Path, question: str | None) -> Iterator[Item]:
    """Yield an item for each picture, video, recording or PDF file, named by its relative path without the suffix.

    The suffix stays in the name if two names differ only by it. All unreadable files are found before an error is
    raised.
    """
    if question is None:
        raise InputError(
            "a folder of pictures needs a question to ask about them: --question TEXT (question in a study file)",
            path=folder,
        )
    files = media_files(folder)
    if not files:
        other_files = other_files_note(folder)
        raise InputError(
            f"the folder contains no pictures, videos, recordings or PDF "
            f"files{f': {other_files}' if other_files else ''}",
            path=folder,
        )
    ambiguous_files = _same_stem_files(files)
    errors: list[tuple[str, InputError]] = []
    for file in files:
        place = file.relative_to(folder)
        if not str(place).isprintable() and any("\ud800" <= letter <= "\udfff" for letter in str(place)):
            raise InputError(f"the name of the file {str(place)!r} is not UTF-8; rename the file", path=folder)
        try:
            media = read_media_of(folder, str(place), "image" if file.suffix.lower() in SUFFIXES else None)
        except InputError as error:
            errors.append((place.as_posix(), error))
            continue
        yield Item.ask((place if file in ambiguous_files else place.with_suffix("")).as_posix(), question, media)
    if len(errors) == 1:
        raise errors[0][1]
    if errors:
        file_names = ", ".join(name for name, _ in errors[:5]) + (
            f" and {len(errors) - 5} more" if len(errors) > 5 else ""
        )
        raise InputError(
            f"{len(errors)} files here cannot be used: {file_names}; of the first: {errors[0][1]}", path=folder
        )


def same_stem_note(folder: Path) -> str:
    """Return a sentence on pictures whose names differ only by their suffix, or "".

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     _ = [(Path(place) / name).write_bytes(b"") for name in ("a.jpg", "a.png", "b.png")]
    ...     same_stem_note(Path(place))
    '2 files share their names but for the endings, which stay part of them: a.jpg, a.png'
    """
    ambiguous_files = sorted(_same_stem_files(media_files(folder)))
    if not ambiguous_files:
        return ""
    file_list = ", ".join(file.relative_to(folder).as_posix() for file in ambiguous_files[:4])
    more = f" and {len(ambiguous_files) - 4} more" if len(ambiguous_files) > 4 else ""
    return (
        f"{len(ambiguous_files):,} files share their names but for the endings, which stay part of them: "
        f"{file_list}{more}"
    )


def _same_stem_files(files: Sequence[Path]) -> set[Path]:
    stems = Counter(file.with_suffix("") for file in files)
    return {file for file in files if stems[file.with_suffix("")] > 1}


def media_files(folder: Path) -> list[Path]:
    """Return the pictures, videos, recordings and PDF files below a folder, sorted; hidden files are skipped."""
    return sorted(file for file in _visible_files(folder) if file.suffix.lower() in MEDIA_SUFFIXES)


def other_files_note(folder: Path) -> str:
    """Return a sentence that counts the files that are not read, by suffix, or "".

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     _ = [(Path(place) / name).write_bytes(b"") for name in ("a.heic", "b.HEIC", "c.txt", "d.jpg")]
    ...     other_files_note(Path(place))
    '3 files are not read: 2 .heic, 1 .txt'
    """
    suffix_counts = Counter(file.suffix.lower() or file.name for file in _visible_files(folder))
    sorted_counts = sorted(suffix_counts.items(), key=lambda entry: (-entry[1], entry[0]))
    other_counts = {suffix: count for suffix, count in sorted_counts if suffix not in MEDIA_SUFFIXES}
    if not other_counts:
        return ""
    count_list = ", ".join(f"{count:,} {suffix}" for suffix, count in other_counts.items())
    total = sum(other_counts.values())
    return f"{total:,} {'file is' if total == 1 else 'files are'} not read: {count_list}"


def _visible_files(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(place) / name for name in files if not name.startswith("."))


def check_new(folder: Path) -> None:
    """Refuse to write into a folder that is not empty, or over a file."""
    if folder.exists() and not folder.is_dir():
        raise InputError("this is a file, but a folder is needed; choose another name", path=folder)
    if folder.exists() and any(folder.iterdir()):
        raise InputError("the folder is not empty; choose another one, or move it away", path=folder)


@dataclass(frozen=True)
class Pictures:
    """Pictures of a folder by file name, and errors of those that could not be read."""

    images: Mapping[str, Picture]
    unreadable: Sequence[str] = ()

    @classmethod
    def read(cls, folder: str | Path, limit: int | None = None, *, seed: int | None = None) -> Pictures:
        """Read the first `limit` readable pictures by name; unreadable ones are listed and skipped.
        With `seed`, the order is random.
        """
        path = Path(folder)
        if not path.is_dir():
            raise InputError("this is not a folder of pictures", path=path)
        images: dict[str, Picture] = {}
        bad: list[str] = []
        files = sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES)
        if seed is not None:
            random.Random(seed).shuffle(files)
        for file in files:
            if limit is not None and len(images) == limit:
                break
            try:
                picture = read_picture(path, file.name)
                _check_decodable(picture, file)
            except InputError as error:
                bad.append(str(error))
                continue
            images[file.name] = picture
        if not images:
            unread = f"; {len(bad)} could not be read: {bad[0]}" if bad else ""
            raise InputError(f"the folder contains no picture{unread}", path=path)
        return cls(images, bad)


def _check_decodable(picture: Picture, file: Path) -> None:
    from PIL import Image

    try:
        with Image.open(file) as image:
            image.load()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise InputError(f"the picture {str(file)!r} ({picture.media_type}) cannot be decoded: {error}") from error
