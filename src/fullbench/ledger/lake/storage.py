"""File storage of a lake in a folder or bucket: files are written once and never changed."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from fullbench.cache_dir import cache_folder
from fullbench.errors import LedgerError
from fullbench.ledger.pictures.picture_bucket import Bucket
from fullbench.ledger.sqlite.ledger_file_opening_migration_and_copies import sync_folder

PIECE = 1 << 20


class Store(Protocol):
    """Files by name, with `/` between folders."""

    place: str
    """Name in messages."""

    def names(self, folder: str) -> list[str]:
        """Return the files of a folder, sorted."""
        ...

    def read(self, name: str) -> bytes: ...

    def put(self, name: str, source: Path) -> bool:
        """Store a file completely or not at all; return False and do nothing if the name exists."""
        ...

    def local(self, name: str) -> Path:
        """Return the file on this machine, downloaded if necessary."""
        ...

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the stored bytes, a megabyte at a time, without using a local cache."""
        ...

    def stamp(self, name: str) -> str | None:
        """Return a text that changes whenever the file is rewritten, or None if it is missing."""
        ...


class LakeFolder:
    """A lake in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.place = str(folder)

    def names(self, folder: str) -> list[str]:
        with self._translate_errors():
            inside = self.folder / folder
            names = [entry.name for entry in inside.iterdir()] if inside.is_dir() else []
        return sorted(f"{folder}/{name}" for name in names if not name.endswith(".part"))

    def read(self, name: str) -> bytes:
        with self._translate_errors():
            return (self.folder / name).read_bytes()

    def put(self, name: str, source: Path) -> bool:
        target = self.folder / name
        part = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
        with self._translate_errors():
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                part.write_bytes(source.read_bytes())
                with part.open("rb") as file:
                    os.fsync(file.fileno())
                os.link(part, target)  # unlike a rename, a link fails if another writer was first
            except FileExistsError:
                return False
            finally:
                part.unlink(missing_ok=True)
            sync_folder(target.parent)
        return True

    def local(self, name: str) -> Path:
        return self.folder / name

    def pieces(self, name: str) -> Iterator[bytes]:
        with self._translate_errors(), (self.folder / name).open("rb") as file:
            while piece := file.read(PIECE):
                yield piece

    def stamp(self, name: str) -> str | None:
        try:
            facts = (self.folder / name).stat()
        except OSError:
            return None
        return f"{facts.st_size} {facts.st_mtime_ns} {facts.st_ino}"

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            what = f"{error.filename or self.place}: {error.strerror}"
            raise LedgerError(
                f"{self.place}: the lake could not be used ({what}); check that it exists and has free space"
            ) from error


class LakeBucket(Bucket):
    """A lake in a bucket; downloads are cached in a local folder, since files never change."""

    def __init__(self, url: str) -> None:
        super().__init__(url, "a lake")

    def names(self, folder: str) -> list[str]:
        below = self._key(folder)
        keys = (str(entry["Key"]) for entry in self.list_objects(below))
        return sorted(f"{folder}{key.removeprefix(below)}" if folder else self._name(key) for key in keys)

    def read(self, name: str) -> bytes:
        return b"".join(self.pieces(name))

    def put(self, name: str, source: Path) -> bool:
        from botocore.exceptions import ClientError

        with self.translate_errors(), source.open("rb") as body:
            try:
                self.client.put_object(Bucket=self.bucket, Key=self._key(name), Body=body, IfNoneMatch="*")
            except ClientError as error:
                # 412: the name exists; 409: another upload of that name is in progress.
                if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") in {409, 412}:
                    return False
                raise
        return True

    def local(self, name: str) -> Path:
        facts = self.facts(self._key(name))
        if facts is None:
            raise LedgerError(
                f"{self.place}: {name} is not in the bucket; `fullbench lake verify` lists everything that is missing"
            )
        path = cache_folder() / "lake" / self.bucket / self._key(name)
        # Files of a lake never change; the ETag separates objects of the same name in other stores.
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
        with self.translate_errors():
            body = self.client.get_object(Bucket=self.bucket, Key=self._key(name))["Body"]
            waiting = b""
            # A read may return fewer bytes than requested, but digests need whole pieces.
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
    """Return the store at a path or bucket address."""
    if str(place).startswith("s3://"):
        return LakeBucket(str(place))
    if "://" in str(place):
        scheme = str(place).partition("://")[0]
        raise LedgerError(f"{scheme}://...: a lake is a folder or s3://bucket/prefix")
    return LakeFolder(Path(place))


def pictures_place(place: str) -> str:
    """Return the place of a lake's pictures.

    >>> pictures_place("s3://bench/lake?endpoint=http://host:9000")
    's3://bench/lake/pictures?endpoint=http://host:9000'
    """
    path, mark, query = place.partition("?") if place.startswith("s3://") else (place, "", "")
    return f"{path.rstrip('/')}/pictures{mark}{query}"
