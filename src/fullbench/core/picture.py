"""Pictures, known by the digest of their bytes."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from fullbench.core.notebook_display import Shown
from fullbench.errors import InputError

# The bytes of small files that were read lately, by their digest: a picture is read for its digest, kept in the ledger
# and sent within moments, and reading and checking it each time took more than all else that is done with it.

MOST = 48 * 2**20
"""So many bytes are held at the most..."""

LARGEST_CACHED_FILE = 2**20
"""...and nothing of a file that is larger: it would push out many others."""


class Lately:
    """The bytes that were read last, up to so many; shared by all threads."""

    def __init__(self, most: int = MOST, largest: int = LARGEST_CACHED_FILE) -> None:
        self._most, self._largest = most, largest
        self._held = 0
        self._bytes: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, digest: str) -> bytes | None:
        """What has this digest, where it was read lately."""
        return self._bytes.get(digest)

    def put(self, digest: str, data: bytes) -> None:
        """Hold what was read, and let go of what was read first where that is too much."""
        if len(data) > self._largest or digest in self._bytes:
            return
        with self._lock:
            self._held += len(data) - len(self._bytes.get(digest, b""))
            self._bytes[digest] = data
            while self._held > self._most:
                self._held -= len(self._bytes.popitem(last=False)[1])


UNKNOWN = "application/octet-stream"
"""The media type of what was given as a picture and is none that we know."""

LARGEST = 128 * 1024 * 1024
"""The largest file that is taken for a picture, in bytes."""

SUFFIXES = {".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif"}

_lately = Lately()

_READING = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""How a file is opened, as far as the system knows these ways."""

_HEIF = {b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1"}
"""The brands of HEIC and its kin, which phones write and few programs read."""


def media_type(data: bytes) -> str | None:
    """The media type that the first bytes show, whatever the file is called; None when it is no picture.

    >>> media_type(b"\\x89PNG\\r\\n\\x1a\\n....")
    'image/png'
    >>> media_type(b"hello") is None
    True
    """
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data[:6] in {b"GIF87a", b"GIF89a"}:
        return "image/gif"
    if data.startswith(b"BM"):
        return "image/bmp"
    if data[:4] in {b"II*\x00", b"MM\x00*"}:
        return "image/tiff"
    if data[4:8] == b"ftyp" and data[8:12] in {b"avif", b"avis"}:
        return "image/avif"
    return None


def is_cut_off(data: bytes, media: str) -> bool:
    """Whether a picture's end is missing, as far as its bytes say so without being decoded.

    >>> is_cut_off(b"\\x89PNG\\r\\n\\x1a\\n....", "image/png"), is_cut_off(b"GIF89a...;", "image/gif")
    (True, False)
    """
    if media == "image/png":
        return b"IEND" not in data
    if media == "image/jpeg":
        # A preview in the head has an end of its own: what counts is that no scan begins after the last end. Asked this
        # way only the last bytes of a whole picture are looked at.
        return data.find(b"\xff\xda", max(0, data.rfind(b"\xff\xd9"))) >= 0
    if media == "image/webp":
        return int.from_bytes(data[4:8], "little") + 8 > len(data)
    return media == "image/gif" and b";" not in data[-64:]


@dataclass(frozen=True, slots=True)
class Picture(Shown):
    """A picture: the digest of its bytes, the type its bytes show, and where the bytes are."""

    digest: str
    media: str
    source: Path | bytes = field(repr=False, compare=False)

    @classmethod
    def of(
        cls, data: bytes, *, name: str = "picture", path: str | Path | None = None, line: int | None = None
    ) -> Picture:
        """A picture held in memory; `path` and `line` only say in an error where it was named."""
        return cls(_digest(data), _media(data, name, path, line), data)

    @classmethod
    def read(cls, file: str | Path, *, path: str | Path | None = None, line: int | None = None) -> Picture:
        """A picture on disk; `path` and `line` only say in an error where it was named."""
        data = _file(file, path, line)
        media = _media(data, str(file), path, line)
        if is_cut_off(data, media):
            raise InputError(
                f"the picture {str(file)!r} is cut off: its end is missing; copy or download it again",
                path=path,
                line=line,
            )
        digest = _digest(data)
        _lately.put(digest, data)
        return cls(digest, media, file if isinstance(file, Path) else Path(file))

    @classmethod
    def read_as_given(cls, file: str | Path, *, path: str | Path | None = None, line: int | None = None) -> Picture:
        """A file that somebody answered with; see `as_given`."""
        data = _file(file, path, line)
        picture = cls.as_given(data, Path(file))
        _lately.put(picture.digest, data)
        return picture

    @classmethod
    def as_given(cls, data: bytes, source: Path | bytes) -> Picture:
        """Bytes that somebody answered with, whatever they are: where they are no picture, judges recuse themselves."""
        return cls(_digest(data), media_type(data) or UNKNOWN, source)

    def data(self) -> bytes:
        """The bytes, checked against the digest when they are read from disk."""
        if isinstance(self.source, bytes):
            return self.source
        try:
            data = _bytes(self.source)
        except OSError as error:
            raise InputError(f"the picture is gone ({error.strerror})", path=self.source) from error
        except ValueError as error:
            raise InputError(f"the picture {error}", path=self.source) from error
        if _digest(data) != self.digest:
            raise InputError("the picture changed since the items were read: start the run again", path=self.source)
        _lately.put(self.digest, data)
        return data

    def lately(self) -> bytes:
        """The bytes as they were read for this digest a moment ago, else as `data` reads them now."""
        return _lately.get(self.digest) or self.data()


def _file(file: str | Path, path: str | Path | None, line: int | None) -> bytes:
    try:
        return _bytes(file)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"the picture {str(file)!r} cannot be read ({reason})", path=path, line=line) from error
    except ValueError as error:
        raise InputError(f"the picture {str(file)!r} {error}", path=path, line=line) from error


def _bytes(file: str | Path) -> bytes:
    """The bytes of a regular file that is not too large; a `ValueError` says what else it is.

    It is opened without waiting, for a pipe would make us wait for ever, and a device may never end.
    """
    descriptor = os.open(file, _READING)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            kind = next((name for test, name in _KINDS if test(found.st_mode)), "special file")
            raise ValueError(f"is a {kind}, not a file")
        if found.st_size > LARGEST:
            raise ValueError(f"has {found.st_size // 2**20:,} MiB, and a picture may have {LARGEST // 2**20}")
        # One byte more than it has shows that it grew; a buffer for the largest one would cost more than the reading.
        pieces = [os.read(descriptor, found.st_size + 1)]
        held = len(pieces[0])
        while pieces[-1] and held != found.st_size and held <= LARGEST:
            pieces.append(os.read(descriptor, LARGEST + 1 - held))
            held += len(pieces[-1])
    finally:
        os.close(descriptor)
    if held > LARGEST:  # it grew meanwhile
        raise ValueError(f"has more than {LARGEST // 2**20} MiB, the most that a picture may have")
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


_KINDS = (
    (stat.S_ISDIR, "folder"), (stat.S_ISFIFO, "pipe"), (stat.S_ISSOCK, "socket"), (stat.S_ISCHR, "device"),
    (stat.S_ISBLK, "device"),
)  # fmt: skip


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _media(data: bytes, name: str, path: str | Path | None, line: int | None) -> str:
    media = media_type(data)
    if media is None:
        found = "it is empty" if not data else f"it begins with {data[:8]!r}"
        if data[4:8] == b"ftyp" and data[8:12] in _HEIF:
            found = "it is HEIC, as phones write it; save it as JPEG"
        raise InputError(
            f"{name!r} is not a picture we know: {found}; PNG, JPEG, WebP, AVIF, GIF, BMP and TIFF are read",
            path=path,
            line=line,
        )
    return media
