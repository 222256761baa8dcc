"""Where a lake lies: files that are put once and never changed, in a folder or a bucket."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from fullbench.cache_dir import cache_folder
from fullbench.errors import LedgerError
from fullbench.ledger.pictures.picture_bucket import Bucket

PIECE = 1 << 20


class Store(Protocol):
    """Files by name, with `/` between folders."""

    place: str
    """How it is called in sentences."""

    def names(self, folder: str) -> list[str]:
        """The files of a folder, sorted."""
        ...

    def read(self, name: str) -> bytes: ...

    def put(self, name: str, source: Path) -> bool:
        """Put a file there, whole or not at all; False, and nothing done, where there is one of that name."""
        ...

    def local(self, name: str) -> Path:
        """The file on this machine, fetched where need be."""
        ...

    def pieces(self, name: str) -> Iterator[bytes]:
        """The bytes as they lie there, a piece of a megabyte at a time, whatever this machine still has of them."""
        ...

    def stamp(self, name: str) -> str | None:
        """Changes whenever the file is written anew; None where there is none."""
        ...


class Folder:
    """A lake in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.place = str(folder)

    def names(self, folder: str) -> list[str]:
        with self._plainly():
            inside = self.folder / folder
            names = [entry.name for entry in inside.iterdir()] if inside.is_dir() else []
        return sorted(f"{folder}/{name}" for name in names if not name.endswith(".part"))

    def read(self, name: str) -> bytes:
        with self._plainly():
            return (self.folder / name).read_bytes()

    def put(self, name: str, source: Path) -> bool:
        target = self.folder / name
        part = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
        with self._plainly():
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                part.write_bytes(source.read_bytes())
                with part.open("rb") as file:
                    os.fsync(file.fileno())
                os.link(part, target)  # unlike a rename it fails where another writer was first
            except FileExistsError:
                return False
            finally:
                part.unlink(missing_ok=True)
            opened = os.open(target.parent, os.O_RDONLY)
            try:
                with suppress(OSError):
                    os.fsync(opened)
            finally:
                os.close(opened)
        return True

    def local(self, name: str) -> Path:
        return self.folder / name

    def pieces(self, name: str) -> Iterator[bytes]:
        with self._plainly(), (self.folder / name).open("rb") as file:
            while piece := file.read(PIECE):
                yield piece

    def stamp(self, name: str) -> str | None:
        try:
            facts = (self.folder / name).stat()
        except OSError:
            return None
        return f"{facts.st_size} {facts.st_mtime_ns} {facts.st_ino}"

    @contextmanager
    def _plainly(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            what = f"{error.filename or self.place}: {error.strerror}"
            raise LedgerError(
                f"{self.place}: the lake could not be used ({what}); see that it is there and has room"
            ) from error


class LakeBucket(Bucket):
    """A lake in a bucket; what is read of it is kept in a folder of this machine, for it never changes."""

    def __init__(self, url: str) -> None:
        super().__init__(url, "a lake")

    def names(self, folder: str) -> list[str]:
        below = self._key(folder)
        keys = (str(entry["Key"]) for entry in self.listed(below))
        return sorted(f"{folder}{key.removeprefix(below)}" if folder else self._name(key) for key in keys)

    def read(self, name: str) -> bytes:
        return b"".join(self.pieces(name))

    def put(self, name: str, source: Path) -> bool:
        from botocore.exceptions import ClientError

        with self.plainly(), source.open("rb") as body:
            try:
                self.client.put_object(Bucket=self.bucket, Key=self._key(name), Body=body, IfNoneMatch="*")
            except ClientError as error:
                if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") in {409, 412}:
                    return False
                raise
        return True

    def local(self, name: str) -> Path:
        facts = self.facts(self._key(name))
        if facts is None:
            raise LedgerError(
                f"{self.place}: {name} is not in the bucket; `fullbench lake verify` says what else is not"
            )
        path = cache_folder() / "lake" / self.bucket / self._key(name)
        # A name in a lake stands for its bytes; another bucket's object of the same name differs by its mark.
        path = path.with_name(f"{str(facts.get('ETag', '')).strip(chr(34))}-{path.name}")
        if not path.exists() or path.stat().st_size != facts["ContentLength"]:
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
            try:
                with part.open("wb") as file:
                    for piece in self.pieces(name):
                        file.write(piece)
                part.rename(path)
            finally:
                part.unlink(missing_ok=True)
        return path

    def pieces(self, name: str) -> Iterator[bytes]:
        with self.plainly():
            body = self.client.get_object(Bucket=self.bucket, Key=self._key(name))["Body"]
            waiting = b""
            # A read may bring less than was asked for, and digests are of whole pieces.
            for some in iter(lambda: body.read(PIECE), b""):
                waiting += some
                while len(waiting) >= PIECE:
                    yield waiting[:PIECE]
                    waiting = waiting[PIECE:]
            if waiting:
                yield waiting

    def stamp(self, name: str) -> str | None:
        facts = self.facts(self._key(name))
        return None if facts is None else f"{facts['ContentLength']} {facts.get('ETag')} {facts.get('LastModified')}"

    def _key(self, name: str) -> str:
        return "/".join(filter(None, (self.prefix, name)))

    def _name(self, key: str) -> str:
        return key.removeprefix(f"{self.prefix}/") if self.prefix else key


def store_at(place: str | Path) -> Store:
    """The store that a path, or the address of a bucket, names."""
    if str(place).startswith("s3://"):
        return LakeBucket(str(place))
    if "://" in str(place):
        scheme = str(place).partition("://")[0]
        raise LedgerError(f"{scheme}://...: a lake is a folder, or lies under s3://bucket/prefix")
    return Folder(Path(place))


def pictures_place(place: str) -> str:
    """Where the pictures of a lake lie.

    >>> pictures_place("s3://bench/lake?endpoint=http://host:9000")
    's3://bench/lake/pictures?endpoint=http://host:9000'
    """
    path, mark, query = place.partition("?") if place.startswith("s3://") else (place, "", "")
    return f"{path.rstrip('/')}/pictures{mark}{query}"
