"""Archives and gzipped files, unpacked up to a number of bytes: a few kilobytes can unpack to gigabytes."""

from __future__ import annotations

import gzip
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from fullbench.errors import InputError, require_extra

LARGEST_MEMBER = 64 << 20
"""Maximum bytes of a member that is read into memory at once. As JSON it may take 20 times as much memory."""
_LARGEST_TOTAL = 512 << 20
# Rows with repeated keys shrink to about a twentieth, an archive bomb to a thousandth.
_LARGEST_RATIO = 50
_PIECE = 1 << 20
_ZSTANDARD = 93
"""Zip compression method of newer Inspect logs; only recent versions of Python read it."""


class TooMuchUnpacked(InputError):
    """An archive unpacks to more bytes than are read."""


class UnpackingError(InputError):
    """An archive is damaged, or packed in a way that is not read."""


def unpacked_limit(path: Path) -> int:
    """Return the number of bytes that a packed file may unpack to: 512 MiB, or 50 times its size if that is more."""
    return max(_LARGEST_TOTAL, _LARGEST_RATIO * path.stat().st_size)


class BoundedArchive:
    """Zip archive whose members unpack to a limited number of bytes in all. Declared sizes are ignored."""

    def __init__(self, path: Path, limit: int | None = None) -> None:
        self._path = path
        with _archive_errors(path):
            self._limit = unpacked_limit(path) if limit is None else limit
            self._archive = zipfile.ZipFile(path)
        self._unpacked_bytes = 0

    def __enter__(self) -> BoundedArchive:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    @property
    def members(self) -> list[zipfile.ZipInfo]:
        return [member for member in self._archive.infolist() if not member.is_dir()]

    def read_member(self, name: str) -> bytes:
        """Return a member's bytes; raise `KeyError` if there is none of this name."""
        content = bytearray()
        for piece in self.unpack_pieces(self._archive.getinfo(name)):
            content += piece
            if len(content) > LARGEST_MEMBER:
                raise self._error(f"its part {name[:80]!r} unpacks to more than {LARGEST_MEMBER >> 20} MiB")
        return bytes(content)

    def unpack_pieces(self, member: zipfile.ZipInfo) -> Iterator[bytes]:
        with _archive_errors(self._path), self._open_member(member) as source:
            while piece := source.read(_PIECE):
                self._unpacked_bytes += len(piece)
                if self._unpacked_bytes > self._limit:
                    raise self._error(f"it unpacks to more than {self._limit >> 20:,} MiB")
                yield piece

    @contextmanager
    def _open_member(self, member: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
        if member.compress_type != _ZSTANDARD:
            with self._archive.open(member) as source:
                yield source
            return
        with require_extra("reading this log", "inspect"):
            zstandard: Any = import_module("zstandard")
        with self._path.open("rb") as raw:
            raw.seek(member.header_offset)
            head = raw.read(30)
            # A zip member's local header has 30 bytes, then its name and extra field.
            raw.seek(int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little"), 1)
            try:
                part = _FilePart(raw, member.compress_size)
                with zstandard.ZstdDecompressor().stream_reader(part, closefd=False) as source:
                    yield source
            except zstandard.ZstdError as error:
                raise zipfile.BadZipFile(str(error)) from error

    def _error(self, what: str) -> TooMuchUnpacked:
        return TooMuchUnpacked(
            f"{what}, the most that is read of a packed file of this size; unpack it yourself if you trust it",
            path=self._path,
        )


class _FilePart:
    """The next bytes of a file, which end where a member of an archive ends."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._size = file, size

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(self._size if size < 0 else min(size, self._size))
        self._size -= len(piece)
        return piece


@contextmanager
def copy_archive(path: Path, limit: int, most_tags: int) -> Iterator[IO[bytes]]:
    """Yield a temporary copy of a zip archive of XML, not compressed, for a library that has no limits.

    Args:
        path: The archive.
        limit: The most bytes that its members may have in all.
        most_tags: The most XML tags in all, since each takes memory. A document type is refused.
    """
    tag_count = 0
    with (
        BoundedArchive(path, limit) as archive,
        tempfile.TemporaryFile() as copy,
        zipfile.ZipFile(copy, "w") as unpacked,
    ):
        for member in archive.members:
            with unpacked.open(member.filename, "w") as target:
                is_start = True
                for piece in archive.unpack_pieces(member):
                    if is_start and b"<!DOCTYPE" in piece[:4096]:
                        raise InputError(
                            "an XML part declares a document type, which no spreadsheet does; save the file again",
                            path=path,
                        )
                    is_start, tag_count = False, tag_count + piece.count(b"<")
                    if tag_count > most_tags:
                        raise TooMuchUnpacked(f"it has more than {most_tags:,} XML tags", path=path)
                    target.write(piece)
        unpacked.close()
        copy.seek(0)
        yield copy


def read_gzip(path: Path) -> bytes:
    """Return the content of a gzipped file that is read as a whole."""
    with gzip.open(path) as source:
        content = source.read(LARGEST_MEMBER + 1)
    if len(content) > LARGEST_MEMBER:
        raise TooMuchUnpacked(
            f"it unpacks to more than {LARGEST_MEMBER >> 20} MiB; unpack it yourself if you trust it", path=path
        )
    return content


@contextmanager
def _archive_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UnpackingError(f"the archive cannot be unpacked ({reason}); fetch or pack it again", path=path) from error
