"""Pictures, each under the digest of its bytes: in a folder beside the ledger, or wherever the user says."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fullbench.errors import LedgerError
from fullbench.nouns.picture import Picture


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
        """With `sync`, wait for the disk after every picture."""
        self._sync = sync
        self.folder = folder
        self.place = str(folder)

    def path(self, digest: str) -> Path:
        return self.folder / digest[:2] / digest

    def has(self, digest: str) -> bool:
        path = self.path(digest)
        return path.exists() and path.stat().st_size > 0

    def find(self, digest: str, media: str) -> Picture:
        return Picture(digest, media, self.path(digest))

    def keep(self, picture: Picture) -> None:
        if not self.has(picture.digest):
            self.write(picture.digest, picture.data())

    def all(self) -> Iterator[Kept]:
        for path in sorted(self.folder.glob("??/*")):
            told = path.stat()
            yield Kept(path.name, told.st_size, told.st_mtime)

    def remove(self, digest: str) -> None:
        self.path(digest).unlink(missing_ok=True)

    def write(self, digest: str, data: bytes) -> None:
        """Put the bytes of a picture in their place."""
        path = self.path(digest)
        part = path.with_name(f"{digest}.{secrets.token_hex(4)}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as file:
                file.write(data)
                if self._sync:
                    file.flush()
                    os.fsync(file.fileno())
            part.replace(path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise LedgerError(
                f"{self.folder}: a picture cannot be kept ({error.strerror}); what is in the ledger stays: "
                "mend that and run again to go on"
            ) from error


def no_place(ledger: str) -> LedgerError:
    """What is said where pictures have nowhere to go."""
    return LedgerError(
        f"{ledger}: a ledger on a server has no place for pictures; name a folder that all who use it can reach, or a "
        "bucket (--pictures s3://bucket/prefix), once: it is remembered"
    )
