"""Pictures, identified by the digest of their bytes, and a cache of recently read files."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from fullbench.core.registered_display_and_frame_functions import NotebookDisplay
from fullbench.errors import InputError

# A picture is read for its digest, stored in the ledger and sent within moments. Reading and checking it each time
# took longer than all other steps, so the bytes of small files are cached by digest.

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


UNKNOWN = "application/octet-stream"
"""Media type of a file that was given as a picture and is of no known format."""

LARGEST = 128 * 1024 * 1024
"""Largest accepted picture file, in bytes."""

SUFFIXES = {".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif"}

_recent_files = RecentFileCache()

_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Flags of `os.open`, as far as the system supports them."""

_HEIF = {b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1"}
"""Brands of HEIC and related formats, which phones write and few programs read."""


_BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF87a": "image/gif", b"GIF89a": "image/gif",
    b"BM": "image/bmp", b"II*\x00": "image/tiff", b"MM\x00*": "image/tiff",
}  # fmt: skip


def media_type(data: bytes) -> str | None:
    r"""Return the media type shown by the first bytes, whatever the file's name, or None if it is no picture.

    >>> media_type(b"\x89PNG\r\n\x1a\n....")
    'image/png'
    >>> media_type(b"hello") is None
    True
    """
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data[4:8] == b"ftyp" and data[8:12] in {b"avif", b"avis"}:
        return "image/avif"
    return next((media for beginning, media in _BEGINNINGS.items() if data.startswith(beginning)), None)


def is_cut_off(data: bytes, media: str) -> bool:
    r"""True if a picture's end is missing, as far as its bytes show without decoding.

    >>> is_cut_off(b"\x89PNG\r\n\x1a\n....", "image/png"), is_cut_off(b"GIF89a" + bytes(7) + b";", "image/gif")
    (True, False)
    """
    if media == "image/png":
        return b"IEND" not in data
    if media == "image/jpeg":
        # An embedded preview has its own end marker, so check that no scan begins after the last end marker. For a
        # complete picture this reads only the last bytes.
        return data.find(b"\xff\xda", max(0, data.rfind(b"\xff\xd9"))) >= 0
    if media == "image/webp":
        return int.from_bytes(data[4:8], "little") + 8 > len(data)
    return media == "image/gif" and _gif_lacks_trailer(data)


def has_no_pixels(data: bytes) -> bool:
    r"""Return True if a PNG, GIF or BMP picture says that it is 0 pixels wide or high. No viewer shows one.

    >>> has_no_pixels(b"GIF89a" + bytes([0, 0, 3, 0])), has_no_pixels(b"GIF89a" + bytes([2, 0, 3, 0]))
    (True, False)
    """
    if data.startswith(b"\x89PNG"):
        width, height = data[16:20], data[20:24]
    elif data.startswith(b"GIF8"):
        width, height = data[6:8], data[8:10]
    elif data.startswith(b"BM"):
        width, height = data[18:22], data[22:26]
    else:
        return False
    return bool(width and height) and not (any(width) and any(height))


def _gif_lacks_trailer(data: bytes) -> bool:
    """True if the blocks of a GIF run past the end of `data` before the trailer. A block we do not know is no proof."""

    def palette_size(flags: int) -> int:
        return 3 * 2 ** (flags % 8 + 1) if flags & 0x80 else 0

    position = 13 + palette_size(data[10]) if len(data) > 10 else 13
    while position < len(data):
        kind = data[position]
        if kind == 0:  # some writers pad blocks with zeros
            position += 1
            continue
        if kind == 0x21:  # extension
            position += 2
        elif kind == 0x2C and position + 9 < len(data):  # frame: descriptor, palette, code size
            position += 11 + palette_size(data[position + 9])
        else:
            return kind == 0x2C
        while position < len(data) and data[position]:
            position += data[position] + 1
        position += 1
    return True


@dataclass(frozen=True, slots=True)
class Picture(NotebookDisplay):
    """A picture: the digest of its bytes, the media type they show, and their location."""

    digest: str
    media: str
    source: Path | bytes = field(repr=False, compare=False)

    @classmethod
    def from_bytes(
        cls, data: bytes, *, name: str = "picture", path: str | Path | None = None, line: int | None = None
    ) -> Picture:
        """Return a picture held in memory; `path` and `line` locate it in error messages."""
        return cls(_bytes_digest(data), _require_media_type(data, name, path, line), data)

    @classmethod
    def read(cls, file: str | Path, *, path: str | Path | None = None, line: int | None = None) -> Picture:
        """Return a picture on disk; `path` and `line` locate it in error messages."""
        data = _read_file(file, path, line)
        media = _require_media_type(data, str(file), path, line)
        if is_cut_off(data, media):
            raise InputError(
                f"the picture {str(file)!r} is cut off: its end is missing; copy or download it again",
                path=path,
                line=line,
            )
        digest = _bytes_digest(data)
        _recent_files.put(digest, data)
        return cls(digest, media, file if isinstance(file, Path) else Path(file))

    @classmethod
    def read_any_file(cls, file: str | Path, *, path: str | Path | None = None, line: int | None = None) -> Picture:
        """Return a contestant's file without checking that it is a picture; see `from_any_bytes`."""
        data = _read_file(file, path, line)
        picture = cls.from_any_bytes(data, Path(file))
        _recent_files.put(picture.digest, data)
        return picture

    @classmethod
    def from_any_bytes(cls, data: bytes, source: Path | bytes) -> Picture:
        """Wrap a contestant's bytes without checking them; judges abstain if they are no picture."""
        media = None if has_no_pixels(data) else media_type(data)
        return cls(_bytes_digest(data), media or UNKNOWN, source)

    def data(self) -> bytes:
        """Return the bytes, checked against the digest if read from disk."""
        if isinstance(self.source, bytes):
            return self.source
        try:
            data = _read_regular_file(self.source)
        except OSError as error:
            raise InputError(f"the picture is gone ({error.strerror})", path=self.source) from error
        except ValueError as error:
            raise InputError(f"the picture {error}", path=self.source) from error
        if _bytes_digest(data) != self.digest:
            raise InputError("the picture changed since the items were read: start the run again", path=self.source)
        _recent_files.put(self.digest, data)
        return data

    def cached_data(self) -> bytes:
        """Return the bytes from the cache if they were just read, else as `data` does."""
        return _recent_files.get(self.digest) or self.data()


def _read_file(file: str | Path, path: str | Path | None, line: int | None) -> bytes:
    try:
        return _read_regular_file(file)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"the picture {str(file)!r} cannot be read ({reason})", path=path, line=line) from error
    except ValueError as error:
        raise InputError(f"the picture {str(file)!r} {error}", path=path, line=line) from error


def _read_regular_file(file: str | Path) -> bytes:
    """Open without blocking: a pipe would wait forever, and a device may never end."""
    descriptor = os.open(file, _OPEN_FLAGS)
    try:
        file_status = os.fstat(descriptor)
        if not stat.S_ISREG(file_status.st_mode):
            kind = next((name for test, name in _KINDS if test(file_status.st_mode)), "special file")
            raise ValueError(f"is a {kind}, not a file")
        if file_status.st_size > LARGEST:
            raise ValueError(f"has {file_status.st_size // 2**20:,} MiB, and a picture may have {LARGEST // 2**20}")
        # One extra byte shows that the file grew. A buffer of the largest size would cost more than the read.
        pieces = [os.read(descriptor, file_status.st_size + 1)]
        byte_count = len(pieces[0])
        while pieces[-1] and byte_count != file_status.st_size and byte_count <= LARGEST:
            pieces.append(os.read(descriptor, LARGEST + 1 - byte_count))
            byte_count += len(pieces[-1])
    finally:
        os.close(descriptor)
    if byte_count > LARGEST:  # it grew while it was read
        raise ValueError(f"has more than {LARGEST // 2**20} MiB, the most that a picture may have")
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


_KINDS = (
    (stat.S_ISDIR, "folder"), (stat.S_ISFIFO, "pipe"), (stat.S_ISSOCK, "socket"), (stat.S_ISCHR, "device"),
    (stat.S_ISBLK, "device"),
)  # fmt: skip


def _bytes_digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _require_media_type(data: bytes, name: str, path: str | Path | None, line: int | None) -> str:
    media = media_type(data)
    if media is None:
        problem = "it is empty" if not data else f"it begins with {data[:8]!r}"
        if data[4:8] == b"ftyp" and data[8:12] in _HEIF:
            problem = "it is HEIC, as phones write it; save it as JPEG"
        raise InputError(
            f"{name!r} is not a picture we know: {problem}; PNG, JPEG, WebP, AVIF, GIF, BMP and TIFF are read",
            path=path,
            line=line,
        )
    if has_no_pixels(data):
        raise InputError(f"the picture {name!r} is 0 pixels wide or high; make it again", path=path, line=line)
    return media
