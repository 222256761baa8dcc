"""Pictures, videos, recordings and documents: identified by the digest of their bytes, recognised by their content."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal, NoReturn

from fullbench.core.registered_display_and_frame_functions import NotebookDisplay
from fullbench.errors import InputError

Kind = Literal["image", "video", "audio", "document"]

KINDS: tuple[Kind, ...] = ("image", "video", "audio", "document")

NOUNS: dict[Kind, str] = {"image": "picture", "video": "video", "audio": "recording", "document": "document"}
"""Words for one file of a kind, in texts."""

PART_NAMES: dict[Kind, str] = {"image": "picture", "video": "video", "audio": "audio", "document": "document"}
"""Names of typed parts, as in `{"video": PATH}` in files and `{"video": DIGEST}` in the ledger."""

COLUMN_NAMES: dict[Kind, str] = {"image": "pictures", "video": "videos", "audio": "audio", "document": "documents"}
"""Columns of items and responses, by kind."""

UNKNOWN = "application/octet-stream"
"""Media type of a contestant's file that is of no known format."""

LARGEST_BYTES: dict[Kind, int] = {
    "image": 128 * 2**20, "video": 4 * 2**30, "audio": 2**30, "document": 512 * 2**20,
}  # fmt: skip
"""Largest accepted file of each kind, in bytes."""

PIECE_BYTES = 2**20
"""Bytes read at once from a large file."""

HEAD_BYTES = 4096
"""Bytes that are enough to recognise a type."""

_HEIF = rb"heic|heix|hevc|hevx|heim|heis|mif1|msf1"
"""Brands of HEIC and related formats, which phones write and few programs read."""

_TYPES: tuple[tuple[re.Pattern[bytes], str], ...] = tuple(
    (re.compile(pattern, re.DOTALL), media_type)
    for pattern, media_type in (
        (rb"\x89PNG\r\n\x1a\n", "image/png"),
        (rb"\xff\xd8\xff", "image/jpeg"),
        (rb"GIF8[79]a", "image/gif"),
        (rb"RIFF.{4}WEBP", "image/webp"),
        (rb"BM", "image/bmp"),
        (rb"II\*\x00|MM\x00\*", "image/tiff"),
        (rb".{4}ftyp(?:avif|avis)", "image/avif"),
        (rb".{4}ftyp(?:M4A |M4B |M4P )", "audio/mp4"),
        (rb".{4}ftypqt  ", "video/quicktime"),
        (rb".{4}ftyp(?!" + _HEIF + rb"|jp2 |jpx |crx )", "video/mp4"),
        (rb".{4}(?:moov|mdat|wide)", "video/quicktime"),  # old files of QuickTime have no ftyp
        (rb"\x1aE\xdf\xa3.{0,60}?webm", "video/webm"),
        (rb"\x1aE\xdf\xa3.{0,60}?matroska", "video/x-matroska"),
        (rb"RIFF.{4}AVI ", "video/x-msvideo"),
        (rb"OggS.{24,60}?\x80theora", "video/ogg"),
        (rb"RIFF.{4}WAVE", "audio/wav"),
        (rb"fLaC", "audio/flac"),
        (rb"OggS", "audio/ogg"),
        # An MPEG frame of layer III: 11 bits of synchronisation, a version, a bit rate.
        (rb"ID3|\xff[\xe2\xe3\xf2\xf3\xfa\xfb][\x10-\xef]", "audio/mpeg"),
        (rb"[\xef\xbb\xbf\s]{0,16}%PDF-", "application/pdf"),
    )
)
"""Beginnings of files and their media types; the first that fits counts."""

SUFFIXES: dict[str, Kind] = {
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif"), "image"),
    **dict.fromkeys((".mp4", ".m4v", ".mov", ".webm", ".mkv", ".avi", ".ogv"), "video"),
    **dict.fromkeys((".wav", ".mp3", ".flac", ".ogg", ".oga", ".opus", ".m4a"), "audio"),
    ".pdf": "document",
}  # fmt: skip
"""Suffixes of the files that are read from a folder; the content of a file decides on its type."""

_READ_TYPES: dict[Kind, str] = {
    "image": "PNG, JPEG, WebP, AVIF, GIF, BMP and TIFF", "video": "MP4, MOV, WebM, MKV and AVI",
    "audio": "WAV, MP3, FLAC, Ogg and M4A", "document": "PDF",
}  # fmt: skip

# A file is read for its digest, stored in the ledger and sent within moments. Reading and checking it each time took
# longer than all other steps, so the bytes of small files are cached by digest.

CACHE_BYTES = 48 * 2**20
"""Largest total size of cached files."""

LARGEST_CACHED_FILE = 2**20
"""Larger files are not cached, because they would evict many others."""


class RecentFileCache:
    """Cache of the most recently read bytes, limited in size and shared by all threads."""

    def __init__(self, most: int = CACHE_BYTES, largest: int = LARGEST_CACHED_FILE) -> None:
        self._most, self._largest = most, largest
        self._held = 0
        self._bytes: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, digest: str) -> bytes | None:
        """Return the bytes with this digest, or None if they are not cached."""
        return self._bytes.get(digest)

    def put(self, digest: str, data: bytes) -> None:
        """Add bytes, and evict the oldest if the cache is full."""
        if len(data) > self._largest or digest in self._bytes:
            return
        with self._lock:
            self._held += len(data) - len(self._bytes.get(digest, b""))
            self._bytes[digest] = data
            while self._held > self._most:
                self._held -= len(self._bytes.popitem(last=False)[1])


recent_files = RecentFileCache()


def recognise_type(data: bytes) -> str | None:
    r"""Return the media type shown by the first bytes, whatever the file's name, or None if it is none that we read.

    >>> recognise_type(b"\0\0\0\x18ftypisom...."), recognise_type(b"RIFF....WAVEfmt "), recognise_type(b"%PDF-1.7")
    ('video/mp4', 'audio/wav', 'application/pdf')
    >>> recognise_type(b"hello") is None
    True
    """
    head = data[:HEAD_BYTES]
    return next((media_type for pattern, media_type in _TYPES if pattern.match(head)), None)


def kind_of(media_type: str) -> Kind:
    """Return the kind of a media type; a file of no known format counts as a picture, as it always did.

    >>> [kind_of(name) for name in ("image/png", "video/mp4", "audio/wav", "application/pdf", UNKNOWN)]
    ['image', 'video', 'audio', 'document', 'image']
    """
    major = media_type.partition("/")[0]
    if major in {"video", "audio"}:
        return "video" if major == "video" else "audio"
    return "document" if media_type == "application/pdf" else "image"


@dataclass(frozen=True, slots=True)
class Media(NotebookDisplay):
    """A picture, video, recording or document: the digest of its bytes, the media type they show, and their location.

    The classes `Picture`, `Video`, `Audio` and `Document` are its kinds; `read_media` chooses one by content.
    """

    digest: str
    media_type: str
    source: Path | bytes = field(repr=False, compare=False)

    kind: ClassVar[Kind]

    def __init_subclass__(cls) -> None:
        if "kind" in cls.__dict__:
            _CLASSES[cls.kind] = cls

    @classmethod
    def read(cls, file: str | Path, *, path: str | Path | None = None, line: int | None = None) -> Media:
        """Return a file on disk.

        Args:
            file: The picture, video, recording or document.
            path: Data file that names it, for error messages.
            line: Line in that file, for error messages.
        """
        return read_media(file, getattr(cls, "kind", None), path=path, line=line)

    @classmethod
    def from_bytes(
        cls, data: bytes, *, name: str | None = None, path: str | Path | None = None, line: int | None = None
    ) -> Media:
        """Return a file held in memory.

        Args:
            data: The bytes of the file.
            name: Name of the file in error messages.
            path: Data file that names it, for error messages.
            line: Line in that file, for error messages.
        """
        return media_from_bytes(data, getattr(cls, "kind", None), name=name, path=path, line=line)

    @property
    def noun(self) -> str:
        """Word for such a file in texts: picture, video, recording or document."""
        return NOUNS[self.kind]

    @property
    def part_name(self) -> str:
        """Name of such a part in files and ledgers: picture, video, audio or document."""
        return PART_NAMES[self.kind]

    @property
    def suffix(self) -> str:
        """Suffix for a copy of the file, without the dot."""
        return _COPY_SUFFIXES.get(self.media_type) or self.media_type.rpartition("/")[2].removeprefix("x-")

    @property
    def byte_count(self) -> int:
        """Size of the file."""
        if isinstance(self.source, bytes):
            return len(self.source)
        try:
            return self.source.stat().st_size
        except OSError as error:
            self._raise_gone(error)

    def data(self) -> bytes:
        """Return the bytes, checked against the digest if read from disk."""
        if isinstance(self.source, bytes):
            return self.source
        try:
            data = read_regular_file(self.source, self.kind)
        except OSError as error:
            self._raise_gone(error)
        except ValueError as error:
            raise InputError(f"the {self.noun} {error}", path=self.source) from error
        if bytes_digest(data) != self.digest:
            self._raise_changed()
        recent_files.put(self.digest, data)
        return data

    def cached_data(self) -> bytes:
        """Return the bytes from the cache if they were just read, else as `data` does."""
        return recent_files.get(self.digest) or self.data()

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes in pieces, so that a long video is never in memory at once.

        Raises `InputError` after the last piece if they do not fit the digest.
        """
        if self.kind == "image" or isinstance(self.source, bytes):
            yield self.cached_data()
            return
        check = hashlib.sha256()
        try:
            with self.source.open("rb") as file:
                while piece := file.read(PIECE_BYTES):
                    check.update(piece)
                    yield piece
        except OSError as error:
            self._raise_gone(error)
        if check.hexdigest() != self.digest:
            self._raise_changed()

    def check(self) -> None:
        """Raise `InputError` if the file is gone or has changed."""
        if self.kind == "image":  # without the cache, which may have bytes that the disk has lost
            self.data()
            return
        for _ in self.pieces():
            pass

    def _raise_gone(self, error: OSError) -> NoReturn:
        place = self.source if isinstance(self.source, Path) else None
        raise InputError(f"the {self.noun} was deleted or moved ({error.strerror})", path=place) from error

    def _raise_changed(self) -> NoReturn:
        place = self.source if isinstance(self.source, Path) else None
        raise InputError(f"the {self.noun} changed after the items were read: start the run again", path=place)


_CLASSES: dict[Kind, type[Media]] = {}

_COPY_SUFFIXES = {
    "video/quicktime": "mov", "video/x-matroska": "mkv", "video/x-msvideo": "avi", "audio/mpeg": "mp3",
    "audio/mp4": "m4a", "video/ogg": "ogv",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Video(Media):
    """A video. A moving GIF or WebP is a `Picture`: its judge's settings say how it is sent."""

    kind: ClassVar[Kind] = "video"


@dataclass(frozen=True, slots=True)
class Audio(Media):
    """A recording of sound."""

    kind: ClassVar[Kind] = "audio"


@dataclass(frozen=True, slots=True)
class Document(Media):
    """A PDF document."""

    kind: ClassVar[Kind] = "document"


def media_from_digest(kind: Kind, digest: str, media_type: str, source: Path | bytes) -> Media:
    """Return the file of this kind. MP4, WebM and Ogg may hold a video or a recording."""
    return _CLASSES[kind](digest, _type_in_column(media_type, kind) or media_type, source)


def read_media(
    file: str | Path, kind: Kind | None = None, *, path: str | Path | None = None, line: int | None = None
) -> Media:
    """Return a file on disk as the kind that its content shows; it is read in pieces.

    Args:
        file: The file.
        kind: The kind that is expected, or None for any. GIF and WebP are accepted for a video; they stay pictures.
        path: File that names it, for error messages.
        line: Line there.
    """
    with _open_for_error(file, kind, path, line) as (descriptor, byte_count):
        head = _read_at(descriptor, 0, HEAD_BYTES)
        media_type = require_type(head, kind, str(file), path, line)
        found_kind = kind_of(media_type)
        if found_kind != "image":
            digest = _file_digest(descriptor, byte_count, found_kind)
            if _is_cut_off(lambda offset, count: _read_at(descriptor, offset, count), byte_count, media_type):
                raise _cut_off_error(found_kind, str(file), path, line)
            return _CLASSES[found_kind](digest, media_type, file if isinstance(file, Path) else Path(file))
    return _CLASSES["image"].read(file, path=path, line=line)


def media_from_bytes(
    data: bytes,
    kind: Kind | None = None,
    *,
    name: str | None = None,
    path: str | Path | None = None,
    line: int | None = None,
) -> Media:
    """Return a file held in memory; the arguments are those of `read_media`."""
    shown_name = name or (NOUNS[kind] if kind else "file")
    media_type = require_type(data, kind, shown_name, path, line)
    found_kind = kind_of(media_type)
    if found_kind == "image":
        return _CLASSES["image"].from_bytes(data, name=shown_name, path=path, line=line)
    if _is_cut_off(lambda offset, count: data[offset : offset + count], len(data), media_type):
        raise _cut_off_error(found_kind, shown_name, path, line)
    return _CLASSES[found_kind](bytes_digest(data), media_type, data)


def read_any_media(file: str | Path, kind: Kind, *, path: str | Path | None = None, line: int | None = None) -> Media:
    """Return a contestant's file without checking it; judges abstain if it is of no known format."""
    with _open_for_error(file, kind, path, line) as (descriptor, byte_count):
        media_type = _type_in_column(recognise_type(_read_at(descriptor, 0, HEAD_BYTES)), kind)
        found_kind = kind_of(media_type) if media_type else kind
        digest = _file_digest(descriptor, byte_count, found_kind)
    return _CLASSES[found_kind](digest, media_type or UNKNOWN, file if isinstance(file, Path) else Path(file))


def any_media_from_bytes(data: bytes, kind: Kind) -> Media:
    """Return a contestant's bytes without checking them."""
    media_type = _type_in_column(recognise_type(data), kind)
    return _CLASSES[kind_of(media_type) if media_type else kind](bytes_digest(data), media_type or UNKNOWN, data)


def require_type(
    data: bytes, kind: Kind | None, name: str, path: str | Path | None = None, line: int | None = None
) -> str:
    """Return the media type that the first bytes show, or refuse them if it is not of the expected kind."""
    media_type = _type_in_column(recognise_type(data), kind)
    if media_type is None:
        what = f"{_with_article(NOUNS[kind])} we know" if kind else "a file that we read"
        problem = "it is empty" if not data else f"it begins with {data[:8]!r}"
        if re.match(rb".{4}ftyp(?:" + _HEIF + rb")", data, re.DOTALL):
            problem = "it is HEIC, as phones write it; save it as JPEG"
        types = _READ_TYPES[kind] if kind else "; ".join(_READ_TYPES.values())
        verb = "is" if kind == "document" else "are"
        raise InputError(f"{name!r} is not {what}: {problem}; {types} {verb} read", path=path, line=line)
    found_kind = kind_of(media_type)
    if kind in {None, found_kind} or (kind == "video" and media_type in MOVING_PICTURE_TYPES):
        return media_type
    raise InputError(
        f"{name!r} is {_with_article(NOUNS[found_kind])} ({media_type}), not {_with_article(NOUNS[kind or 'image'])}: "
        f'name it in a column {COLUMN_NAMES[found_kind]!r}, or in parts as {{"{PART_NAMES[found_kind]}": PATH}}',
        path=path,
        line=line,
    )


MOVING_PICTURE_TYPES = frozenset({"image/gif", "image/webp"})
"""Types of pictures that may move."""

_SHARED_CONTAINERS = frozenset({"mp4", "webm", "ogg", "x-matroska"})
"""Containers of videos and of recordings."""


def _type_in_column(media_type: str | None, kind: Kind | None) -> str | None:
    """Return a container's type as the expected kind: a WebM of sound looks like one of a video."""
    if media_type is not None and kind in {"video", "audio"}:
        major, _, container = media_type.partition("/")
        if major in {"video", "audio"} and container in _SHARED_CONTAINERS:
            return f"{kind}/{container}"
    return media_type


def _with_article(noun: str) -> str:
    return f"a {noun}"


@contextmanager
def _open_for_error(
    file: str | Path, kind: Kind | None, path: str | Path | None, line: int | None
) -> Iterator[tuple[int, int]]:
    noun = NOUNS[kind] if kind else "file"
    try:
        descriptor, byte_count = open_regular_file(file)
    except (OSError, ValueError) as error:
        raise unreadable_file_error(noun, file, error, path, line) from error
    try:
        yield descriptor, byte_count
    except (OSError, ValueError) as error:
        raise unreadable_file_error(noun, file, error, path, line) from error
    finally:
        os.close(descriptor)


def unreadable_file_error(
    noun: str, file: str | Path, error: Exception, path: str | Path | None, line: int | None
) -> InputError:
    """Return the error for a file that cannot be read."""
    reason = f"cannot be read ({error.strerror or type(error).__name__})" if isinstance(error, OSError) else error
    return InputError(f"the {noun} {str(file)!r} {reason}", path=path, line=line)


_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Flags of `os.open`, as far as the system supports them."""

_FILE_KINDS = (
    (stat.S_ISDIR, "folder"), (stat.S_ISFIFO, "pipe"), (stat.S_ISSOCK, "socket"), (stat.S_ISCHR, "device"),
    (stat.S_ISBLK, "device"),
)  # fmt: skip


def open_regular_file(file: str | Path) -> tuple[int, int]:
    """Return the descriptor and size of a file. Open without blocking: a pipe would wait forever."""
    descriptor = os.open(file, _OPEN_FLAGS)
    file_status = os.fstat(descriptor)
    if not stat.S_ISREG(file_status.st_mode):
        os.close(descriptor)
        kind = next((name for test, name in _FILE_KINDS if test(file_status.st_mode)), "special file")
        raise ValueError(f"is a {kind}, not a file")
    return descriptor, file_status.st_size


def read_regular_file(file: str | Path, kind: Kind) -> bytes:
    """Return the bytes of a file that is not larger than its kind allows."""
    descriptor, byte_count = open_regular_file(file)
    try:
        _check_size(byte_count, kind)
        # One extra byte shows that the file grew. A buffer of the largest size would cost more than the read.
        pieces = [os.read(descriptor, byte_count + 1)]
        read_count, largest = len(pieces[0]), LARGEST_BYTES[kind]
        while pieces[-1] and read_count != byte_count and read_count <= largest:
            pieces.append(os.read(descriptor, largest + 1 - read_count))
            read_count += len(pieces[-1])
    finally:
        os.close(descriptor)
    if read_count > largest:  # it grew while it was read
        raise ValueError(f"has more than {largest // 2**20} MiB, the most that a {NOUNS[kind]} may have")
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _check_size(byte_count: int, kind: Kind) -> None:
    if byte_count > LARGEST_BYTES[kind]:
        raise ValueError(
            f"has {byte_count // 2**20:,} MiB, and a {NOUNS[kind]} may have {LARGEST_BYTES[kind] // 2**20:,}"
        )


def _read_at(descriptor: int, offset: int, count: int) -> bytes:
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, count)


def bytes_digest(data: bytes) -> str:
    """Return the digest by which a file is known."""
    return hashlib.sha256(data).hexdigest()


def _file_digest(descriptor: int, byte_count: int, kind: Kind) -> str:
    _check_size(byte_count, kind)
    check = hashlib.sha256()
    os.lseek(descriptor, 0, os.SEEK_SET)
    while piece := os.read(descriptor, PIECE_BYTES):
        check.update(piece)
    return check.hexdigest()


def check_pieces(pieces: Iterable[bytes], digest: str, error: Exception) -> Iterator[bytes]:
    """Yield pieces of a file, and raise `error` after the last one if they do not fit the digest."""
    check = hashlib.sha256()
    for piece in pieces:
        check.update(piece)
        yield piece
    if check.hexdigest() != digest:
        raise error


def _cut_off_error(kind: Kind, name: str, path: str | Path | None, line: int | None) -> InputError:
    return InputError(
        f"the {NOUNS[kind]} {name!r} is cut off: its end is missing; copy or download it again", path=path, line=line
    )


_ReadAt = Callable[[int, int], bytes]
"""Function that returns some bytes at an offset."""


def _is_cut_off(read_at: _ReadAt, byte_count: int, media_type: str) -> bool:
    """Return True if the end of a file is missing, as far as its containers show without decoding."""
    container = media_type.rpartition("/")[2]
    if container in {"mp4", "quicktime"}:
        return _lacks_boxes(read_at, byte_count)
    if container in {"wav", "x-msvideo"}:
        # Recordings that were sent while they were made have no size: the largest number stands for it.
        promised = int.from_bytes(read_at(4, 4), "little")
        return promised < 2**32 - 2**16 and promised + 8 > byte_count
    if container in {"webm", "x-matroska"}:
        return _lacks_segment(read_at, byte_count)
    return container == "pdf" and b"%%EOF" not in read_at(max(0, byte_count - 2048), 2048)


_MOST_BOXES = 200_000
"""A film of ten hours has about 40,000; more are a trap."""


def _lacks_boxes(read_at: _ReadAt, byte_count: int) -> bool:
    """Return True if a box of an MP4 ends after the file, or if the one that describes its tracks is missing."""
    position, has_tracks = 0, False
    for _ in range(_MOST_BOXES):
        if position >= byte_count:
            break
        head = read_at(position, 16)
        size = int.from_bytes(head[:4], "big")
        if size == 1:
            size = int.from_bytes(head[8:16], "big")
        elif size == 0:  # the box has the rest of the file
            size = byte_count - position
        has_tracks |= head[4:8] == b"moov"
        if size < 8:
            break
        position += size
    return position > byte_count or not has_tracks


def _lacks_segment(read_at: _ReadAt, byte_count: int) -> bool:
    """Return True if the segment of a WebM or Matroska file ends after the file."""
    start, size = _element_content(read_at, 0, 4)
    content, segment = _element_content(read_at, start + size, 4)
    return content + segment > byte_count


def _element_content(read_at: _ReadAt, offset: int, id_bytes: int) -> tuple[int, int]:
    """Return offset and size of an element's content; 0 if the size is unknown, as in a live recording."""
    field_bytes = read_at(offset + id_bytes, 8)
    if not field_bytes or not field_bytes[0]:
        return offset + id_bytes, 0
    length = 9 - field_bytes[0].bit_length()
    size = int.from_bytes(field_bytes[:length], "big") & ((1 << 7 * length) - 1)
    return offset + id_bytes + length, 0 if size == (1 << 7 * length) - 1 else size
