"""Pictures in a bucket of an S3-compatible store, each under the digest of its bytes.

`s3://bucket/prefix`; the endpoint, region and keys come from the usual AWS variables or files, the endpoint also from
the address: `s3://bucket/prefix?endpoint=http://host:9000`. What is read is kept in a folder of this machine too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from fullbench.cache import cache_folder
from fullbench.errors import InputError, LedgerError
from fullbench.ledger.pictures import Kept, PictureFolder
from fullbench.ledger.s3 import Bucket
from fullbench.core.picture import Picture


class BucketPicture(Picture):
    """A picture whose bytes are fetched when they are first wanted; equal to any other of the same bytes."""

    __slots__ = ("_bucket",)
    _bucket: PictureBucket

    def __init__(self, digest: str, media: str, bucket: PictureBucket) -> None:
        object.__setattr__(self, "digest", digest)
        object.__setattr__(self, "media", media)
        object.__setattr__(self, "_bucket", bucket)

    @property
    def source(self) -> Path:
        return self._bucket.fetch(self.digest, self.media)

    def check(self) -> None:
        """Refuse a picture that is not in the bucket itself, whatever this machine still has of it."""
        self._bucket.stored(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Picture) and (self.digest, self.media) == (other.digest, other.media)

    __hash__ = Picture.__hash__


class PictureBucket(Bucket):
    """`PREFIX/ab/abcdef...` in a bucket: put when absent, checked against the digest when fetched."""

    def __init__(self, url: str, cache: Path | None = None) -> None:
        super().__init__(url, "pictures")
        self._cache = PictureFolder(cache or cache_folder() / "pictures")
        self._there: set[str] = set()

    def has(self, digest: str) -> bool:
        if digest not in self._there and self.facts(self._key(digest)) is None:
            return False
        self._there.add(digest)
        return True

    def keep(self, picture: Picture) -> None:
        if self.has(picture.digest):
            return
        with self.plainly():
            self.client.put_object(
                Bucket=self.bucket, Key=self._key(picture.digest), Body=picture.lately(), ContentType=picture.media
            )
        self._there.add(picture.digest)

    def gather(self, picture: Picture) -> None:
        self.keep(picture)

    def settle(self) -> None:
        """Nothing is left to do: what was put is there."""

    def check_kept(self, digests: Callable[[], Iterable[str]], *, each: bool = False) -> None:
        """Do nothing: a bucket keeps what it acknowledged."""

    def find(self, digest: str, media: str) -> Picture:
        return BucketPicture(digest, media, self)

    def fetch(self, digest: str, media: str) -> Path:
        """The picture in this machine's folder, fetched where it is missing or damaged there."""
        path = self._cache.path(digest)
        if self._cache.has(digest):
            try:
                Picture(digest, media, path).data()
            except InputError:
                path.unlink(missing_ok=True)
            else:
                return path
        self._cache.write(digest, self.stored(digest))
        return path

    def stored(self, digest: str) -> bytes:
        """The bytes of a picture as they lie in the bucket."""
        with self.plainly():
            data: bytes = self.client.get_object(Bucket=self.bucket, Key=self._key(digest))["Body"].read()
        if Picture.as_given(data, data).digest != digest:
            raise LedgerError(f"{self.place}: the picture {digest} there has other bytes than its name says")
        return data

    def all(self) -> Iterator[Kept]:
        for entry in self.listed(self.prefix):
            yield Kept(entry["Key"].rpartition("/")[2], entry["Size"], entry["LastModified"].timestamp())

    def remove(self, digest: str) -> None:
        with self.plainly():
            self.client.delete_object(Bucket=self.bucket, Key=self._key(digest))
        self._there.discard(digest)

    def _key(self, digest: str) -> str:
        return "/".join(filter(None, (self.prefix, digest[:2], digest)))
