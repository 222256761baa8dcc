"""Pictures, each under the digest of its bytes: in a folder beside the ledger, or wherever the user says."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain, count
from pathlib import Path
from typing import Protocol

from fullbench.core.picture import Picture
from fullbench.errors import LedgerError, UserError

# Waiting for the disk once for many files, where the system can.
#
# Waiting for each of a thousand pictures took 4.5 s on a disk that wrote all of them in 0.1 s. `syncfs` waits for a
# whole file system. It is Linux's alone, so it is called by its name in the C library; and only of file systems on a
# disk of this machine is it known to wait for everything: those behind FUSE or an overlay may say that nothing is left
# to do.

LOCAL = frozenset({"ext2", "ext3", "ext4", "f2fs", "tmpfs", "xfs"})


def flush_of(folder: Path) -> Callable[[], None] | None:
    """What waits until all that was written to the file system of a folder is on the disk; None where that is not
    sure."""
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
    """The kind of the file system on which a folder lies; nothing where the system does not say."""
    with suppress(OSError):
        device = folder.stat().st_dev
        number = f"{os.major(device)}:{os.minor(device)}" if hasattr(os, "major") else ""
        for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            mount, _, kind = line.partition(" - ")
            if mount.split(" ", 3)[2] == number:
                return kind.partition(" ")[0]
    return ""


LONG = 1.0
"""Waiting for a file system waits for what others write there too. Where that once took so many seconds, each picture
is waited for alone."""

EMPTY = sha256().hexdigest()
"""The digest of an answer without a byte. Any other file without bytes was left by a loss of power."""


@dataclass(frozen=True)
class Kept:
    """A picture in its place: its name there, its bytes, and when it came."""

    digest: str
    size: int
    modified: float


class Pictures(Protocol):
    """A place for pictures."""

    place: str
    """How it is named, so that it can be found again."""

    def keep(self, picture: Picture) -> None:
        """Copy the picture's bytes in, unless they are there already."""
        ...

    def gather(self, picture: Picture) -> None:
        """The same, where more are to come: it is in its place when `settle` has returned."""
        ...

    def settle(self) -> None:
        """Have all in their places that were gathered."""
        ...

    def check_kept(self, digests: Callable[[], Iterable[str]], *, each: bool = False) -> None:
        """Stop if the place was deleted since this process put pictures there.

        Args:
            digests: Returns the pictures that this process put there.
            each: Look for each of them.
        """
        ...

    def find(self, digest: str, media: str) -> Picture:
        """The picture of that digest. Its bytes are fetched, and checked, when they are wanted."""
        ...

    def has(self, digest: str) -> bool: ...

    def all(self) -> Iterator[Kept]:
        """All that is kept there."""
        ...

    def remove(self, digest: str) -> None: ...


class PictureFolder:
    """`FOLDER/ab/abcdef...`: written whole or not at all, checked against the digest when read."""

    def __init__(self, folder: Path, *, sync: bool = False) -> None:
        """With `sync`, wait for the disk: after every picture, or once for those that are gathered."""
        # Written so, a file is on the disk when `write` returns, which is cheaper than a call more. Windows cannot.
        self._at_once = getattr(os, "O_DSYNC", 0) if sync else 0
        self._sync = sync and not self._at_once
        self._flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        self._flags |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        self.folder = folder
        self.place = str(folder)
        self._writer, self._numbers = secrets.token_hex(4), count()
        self._gathers = sync
        self._flush: Callable[[], None] | None = None
        self._gathered: dict[str, tuple[str, Picture]] = {}
        self._sources: dict[str, Path] = {}
        self._identity: tuple[int, int] | None = None

    def path(self, digest: str) -> Path:
        return Path(self._name(digest))

    def _name(self, digest: str) -> str:
        """As text: a run asks for every picture twice, and joining paths took as long as the rest of keeping one."""
        return f"{self.place}/{digest[:2]}/{digest}"

    def has(self, digest: str) -> bool:
        try:
            return os.stat(self._name(digest)).st_size > 0 or digest == EMPTY  # noqa: PTH116 - see `_name`
        except (FileNotFoundError, NotADirectoryError):
            return False

    def find(self, digest: str, media: str) -> Picture:
        return Picture(digest, media, self.path(digest))

    def keep(self, picture: Picture) -> None:
        if not self.has(picture.digest):
            self.write(picture.digest, picture.lately())
        self._note(picture)

    def all(self) -> Iterator[Kept]:
        for path in sorted(self.folder.glob("??/*")):
            told = path.stat()
            yield Kept(path.name, told.st_size, told.st_mtime)

    def remove(self, digest: str) -> None:
        self.path(digest).unlink(missing_ok=True)

    def write(self, digest: str, data: bytes) -> None:
        """Put the bytes of a picture in their place."""
        name = self._name(digest)
        part = self._written(name, data, self._at_once)
        try:
            os.replace(part, name)  # noqa: PTH105 - see `_name`
        except OSError as error:
            raise self._not_kept(error, part) from error

    def gather(self, picture: Picture) -> None:
        if not self._gathers:
            self.keep(picture)
        elif self.has(picture.digest):
            self._note(picture)
        elif picture.digest not in self._gathered:
            part = self._written(self._name(picture.digest), picture.lately(), 0)
            self._gathered[picture.digest] = part, picture
            if self._flush is None:
                self._begin_gathering()

    def _begin_gathering(self) -> None:
        """Find out, once there is a folder, how all of them can be waited for."""
        self._flush = flush_of(self.folder)
        if self._flush is None:
            self._each_alone()

    def _each_alone(self) -> None:
        """Bring what was gathered to the disk one by one, and gather no more."""
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
                started = time.monotonic()
                self._flush()
                self._gathers = time.monotonic() - started < LONG
            while self._gathered:
                digest, (part, picture) = next(iter(self._gathered.items()))
                try:
                    os.replace(part, self._name(digest))  # noqa: PTH105 - see `_name`
                except FileNotFoundError:  # the folder was deleted: `check_kept` stops the run after the next commit
                    self.write(digest, picture.lately())
                self._note(picture)
                del self._gathered[digest]
        except OSError as error:
            raise self._not_kept(error) from error

    def check_kept(self, digests: Callable[[], Iterable[str]], *, each: bool = False) -> None:
        is_same = self._identity is None or _identity(self.place) == self._identity
        if is_same and not each:
            return
        lost = {digest for digest in chain(digests(), self._sources) if not self.has(digest)}
        if is_same and not lost:
            return
        restored = sum(map(self._restore, lost))
        self._identity = _identity(self.place)
        raise LedgerError(
            f"{self.folder}: pictures of this run were deleted while it ran: {restored:,} are copied again from their "
            f"files, {len(lost) - restored:,} are lost; those of earlier runs may be missing too: `fullbench ledger "
            "verify` names them; run the same command again to continue"
        )

    def _note(self, picture: Picture) -> None:
        """Remember that a picture is in its place, and the file that it came from."""
        if isinstance(picture.source, Path):
            self._sources[picture.digest] = picture.source
        if self._identity is None:
            self._identity = _identity(self.place)

    def _restore(self, digest: str) -> bool:
        """Copy a picture again from the file that it came from; False if that is not possible."""
        try:
            self.write(digest, Picture(digest, "", self._sources[digest]).data())
        except (KeyError, UserError):
            return False
        return True

    def _written(self, name: str, data: bytes, flags: int) -> str:
        """Write the bytes of a picture beside its place; gives the name there."""
        part = f"{name}.{self._writer}{next(self._numbers):x}.part"
        try:
            try:
                file = os.open(part, self._flags | flags, 0o666)
            except FileNotFoundError:
                Path(part).parent.mkdir(parents=True, exist_ok=True)
                file = os.open(part, self._flags | flags, 0o666)
            try:
                left = memoryview(data)
                while left:
                    left = left[os.write(file, left) :]
                if self._sync:
                    os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise self._not_kept(error, part) from error
        return part

    def _not_kept(self, error: OSError, part: str = "") -> LedgerError:
        if part:
            with suppress(OSError):
                Path(part).unlink()
        return LedgerError(
            f"{self.folder}: a picture cannot be kept ({error.strerror}); what is in the ledger stays: "
            "mend that and run again to go on"
        )


def _identity(folder: str) -> tuple[int, int] | None:
    """Return which folder a name leads to, or None if there is none."""
    try:
        found = os.stat(folder)  # noqa: PTH116 - after every commit
    except OSError:
        return None
    return found.st_dev, found.st_ino


def no_place(ledger: str) -> LedgerError:
    """What is said where pictures have nowhere to go."""
    return LedgerError(
        f"{ledger}: a ledger on a server has no place for pictures; name a folder that all who use it can reach, or a "
        "bucket (--pictures s3://bucket/prefix), once: it is remembered"
    )
