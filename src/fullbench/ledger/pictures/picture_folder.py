"""Storage of pictures and other media in a folder, each under the digest of its bytes; and the `Pictures` protocol."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import file_digest, sha256
from itertools import chain, count
from pathlib import Path
from typing import Protocol

from fullbench.core.media import PIECE_BYTES, Kind, Media, check_pieces, media_from_digest
from fullbench.errors import LedgerError, UserError

# File systems on which one `syncfs` call can replace a sync of each file. Syncing a thousand pictures one by one took
# 4.5 s on a disk that wrote all of them in 0.1 s. `syncfs` exists on Linux only, so it is called through the
# C library. Only local file systems wait for everything: FUSE and overlays may report that nothing is left to do.
LOCAL = frozenset({"ext2", "ext3", "ext4", "f2fs", "tmpfs", "xfs"})


def flush_of(folder: Path) -> Callable[[], None] | None:
    """Return a function that flushes the folder's file system to disk, or None if that is not reliable."""
    if _file_system(folder) not in LOCAL:
        return None
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "syncfs"):
        return None

    def flush() -> None:
        place = os.open(folder, os.O_RDONLY)
        try:
            if library.syncfs(place):
                error = ctypes.get_errno()
                raise OSError(error, os.strerror(error))
        finally:
            os.close(place)

    return flush


def _file_system(folder: Path) -> str:
    with suppress(OSError):
        device = folder.stat().st_dev
        number = f"{os.major(device)}:{os.minor(device)}" if hasattr(os, "major") else ""
        for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            mount, _, kind = line.partition(" - ")
            if mount.split(" ", 3)[2] == number:
                return kind.partition(" ")[0]
    return ""


LONG = 1.0
"""Seconds. `syncfs` also waits for other processes. If it once took this long, pictures are synced one by one."""

EMPTY = sha256().hexdigest()
"""Digest of an empty response. Any other empty file is the result of a loss of power."""


@dataclass(frozen=True)
class StoredPicture:
    """A stored picture: digest, size in bytes, time of storage."""

    digest: str
    size: int
    modified_at: float


class Pictures(Protocol):
    """Storage for pictures."""

    place: str
    """Path or URL by which it can be found again."""

    def keep(self, picture: Media) -> None:
        """Copy the picture's bytes into the storage, unless they are there already."""
        ...

    def gather(self, picture: Media) -> None:
        """Like `keep`, as part of a group: the picture is stored once `settle` has returned."""
        ...

    def settle(self) -> None:
        """Finish storing all gathered pictures."""
        ...

    def check_kept(self, digests: Callable[[], Iterable[str]], *, each: bool = False) -> None:
        """Raise if pictures were deleted or changed since this process put them there.

        Args:
            digests: Returns the pictures that this process put there.
            each: Look for each of them.
        """
        ...

    def find(self, digest: str, media_type: str, kind: Kind = "image") -> Media:
        """Return the picture or other file with that digest. Its bytes are read and checked on use."""
        ...

    def has(self, digest: str) -> bool: ...

    def all(self) -> Iterator[StoredPicture]:
        """Yield all stored pictures."""
        ...

    def remove(self, digest: str) -> None: ...


class PictureFolder:
    """Pictures at `FOLDER/ab/abcdef...`: written completely or not at all, checked against the digest when read."""

    def __init__(self, folder: Path, *, sync: bool = False) -> None:
        """With `sync`, wait for the disk after every picture, or once for gathered ones."""
        # O_DSYNC: the file is on disk when `write` returns, cheaper than a separate fsync. Windows lacks it.
        self._at_once = getattr(os, "O_DSYNC", 0) if sync else 0
        self._sync = sync and not self._at_once
        self._flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        self._flags |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        self.folder = folder
        self.place = str(folder)
        self._writer, self._numbers = secrets.token_hex(4), count()
        self._gathers = sync
        self._flush: Callable[[], None] | None = None
        self._gathered: dict[str, tuple[str, Media]] = {}
        self._sources: dict[str, Path] = {}
        self._changed_at: dict[str, int] = {}
        """When the file of each noted picture last changed, in nanoseconds."""
        self._identity: tuple[int, int] | None = None

    def path(self, digest: str) -> Path:
        return Path(self._name(digest))

    def _name(self, digest: str) -> str:
        """Return the path as text: joining `Path`s took as long as all other work for a picture."""
        return f"{self.place}/{digest[:2]}/{digest}"

    def has(self, digest: str) -> bool:
        try:
            return os.stat(self._name(digest)).st_size > 0 or digest == EMPTY  # noqa: PTH116 - see `_name`
        except (FileNotFoundError, NotADirectoryError):
            return False

    def find(self, digest: str, media_type: str, kind: Kind = "image") -> Media:
        return media_from_digest(kind, digest, media_type, self.path(digest))

    def keep(self, picture: Media) -> None:
        if not self.has(picture.digest):
            self.write(picture.digest, picture.pieces())
        self._note(picture)

    def all(self) -> Iterator[StoredPicture]:
        for path in sorted(self.folder.glob("??/*")):
            file_status = path.stat()
            yield StoredPicture(path.name, file_status.st_size, file_status.st_mtime)

    def remove(self, digest: str) -> None:
        self.path(digest).unlink(missing_ok=True)

    def write(self, digest: str, pieces: Iterable[bytes]) -> None:
        """Store the bytes of a picture or another file."""
        name = self._name(digest)
        part = self._write_part(name, pieces, self._at_once)
        try:
            os.replace(part, name)  # noqa: PTH105 - see `_name`
        except OSError as error:
            raise self._not_kept(error, part) from error

    def gather(self, picture: Media) -> None:
        if not self._gathers:
            self.keep(picture)
        elif self.has(picture.digest):
            self._note(picture)
        elif picture.digest not in self._gathered:
            part = self._write_part(self._name(picture.digest), picture.pieces(), 0)
            self._gathered[picture.digest] = part, picture
            if self._flush is None:
                self._begin_gathering()

    def _begin_gathering(self) -> None:
        """Choose how to wait for the disk; this needs an existing folder."""
        self._flush = flush_of(self.folder)
        if self._flush is None:
            self._each_alone()

    def _each_alone(self) -> None:
        self._gathers = False
        for part, _ in self._gathered.values():
            file = os.open(part, os.O_RDWR)
            try:
                os.fsync(file)
            finally:
                os.close(file)

    def settle(self) -> None:
        if not self._gathered:
            return
        try:
            if self._gathers and self._flush is not None:
                start_time = time.monotonic()
                self._flush()
                self._gathers = time.monotonic() - start_time < LONG
            while self._gathered:
                digest, (part, picture) = next(iter(self._gathered.items()))
                try:
                    os.replace(part, self._name(digest))  # noqa: PTH105 - see `_name`
                except FileNotFoundError:  # the folder was deleted: `check_kept` stops the run after the next commit
                    self.write(digest, picture.pieces())
                self._note(picture)
                del self._gathered[digest]
        except OSError as error:
            raise self._not_kept(error) from error

    def check_kept(self, digests: Callable[[], Iterable[str]], *, each: bool = False) -> None:
        is_same = self._identity is None or _folder_identity(self.place) == self._identity
        if is_same and not each:
            return
        missing_digests = {digest for digest in chain(digests(), self._sources) if not self._is_intact(digest)}
        if is_same and not missing_digests:
            return
        restored_count = sum(map(self._restore, missing_digests))
        self._identity = _folder_identity(self.place)
        raise LedgerError(
            f"{self.folder}: pictures of this run were deleted or changed while it ran: {restored_count:,} are copied "
            "again from their "
            f"files, {len(missing_digests) - restored_count:,} are lost; those of earlier runs may be missing "
            "too: `fullbench ledger "
            "verify` names them; run the same command again to continue"
        )

    def _is_intact(self, digest: str) -> bool:
        """Return True if the picture is stored; a file that changed since it was noted is read."""
        try:
            status = os.stat(self._name(digest))  # noqa: PTH116 - see `_name`
            if self._changed_at.get(digest, status.st_ctime_ns) == status.st_ctime_ns:
                return status.st_size > 0 or digest == EMPTY
            return self._has_digest(digest)
        except OSError:
            return False

    def _has_digest(self, digest: str) -> bool:
        with self.path(digest).open("rb") as file:
            return file_digest(file, "sha256").hexdigest() == digest

    def _note(self, picture: Media) -> None:
        if isinstance(picture.source, Path):
            self._sources[picture.digest] = picture.source
        with suppress(OSError):
            self._changed_at[picture.digest] = os.stat(self._name(picture.digest)).st_ctime_ns  # noqa: PTH116
        if self._identity is None:
            self._identity = _folder_identity(self.place)

    def _restore(self, digest: str) -> bool:
        try:
            with self._sources[digest].open("rb") as file:
                pieces = iter(lambda: file.read(PIECE_BYTES), b"")
                self.write(digest, check_pieces(pieces, digest, LedgerError("the file changed")))
        except (KeyError, OSError, UserError):
            return False
        return True

    def _write_part(self, name: str, pieces: Iterable[bytes], flags: int) -> str:
        part = f"{name}.{self._writer}{next(self._numbers):x}.part"
        remaining_pieces = iter(pieces)
        first_piece = next(remaining_pieces, b"")  # a file that is gone leaves no folder behind
        try:
            try:
                file = os.open(part, self._flags | flags, 0o666)
            except FileNotFoundError:
                Path(part).parent.mkdir(parents=True, exist_ok=True)
                file = os.open(part, self._flags | flags, 0o666)
            try:
                for piece in chain((first_piece,), remaining_pieces):
                    left = memoryview(piece)
                    while left:
                        left = left[os.write(file, left) :]
                if self._sync:
                    os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise self._not_kept(error, part) from error
        except UserError:  # the file changed while it was copied
            Path(part).unlink(missing_ok=True)
            raise
        return part

    def _not_kept(self, error: OSError, part: str = "") -> LedgerError:
        if part:
            with suppress(OSError):
                Path(part).unlink()
        return LedgerError(
            f"{self.folder}: a picture cannot be stored ({error.strerror}); the ledger is unchanged. Fix this and run "
            f"again to continue"
        )


def _folder_identity(folder: str) -> tuple[int, int] | None:
    try:
        folder_status = os.stat(folder)  # noqa: PTH116 - after every commit
    except OSError:
        return None
    return folder_status.st_dev, folder_status.st_ino


def no_picture_place_error(ledger: str) -> LedgerError:
    """Return the error for a ledger on a server without picture storage."""
    return LedgerError(
        f"{ledger}: a ledger on a server needs a place for pictures. Add --pictures once, with a folder that all "
        f"users can reach, or s3://bucket/prefix; the ledger remembers it"
    )
