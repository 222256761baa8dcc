"""Storage of pictures and other media in an S3-compatible bucket, each under the digest of its bytes.

The address is `s3://bucket/prefix`. Endpoint, region and keys come from the usual AWS variables or files. The endpoint
may also be in the address: `s3://bucket/prefix?endpoint=http://host:9000`. Downloads are cached in a local folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from fullbench.cache_dir import cache_folder
from fullbench.core.media import PIECE_BYTES, Audio, Document, Kind, Media, Video, check_pieces, media_from_digest
from fullbench.core.picture import Picture
from fullbench.errors import InputError, LedgerError, require_extra
from fullbench.ledger.pictures.picture_folder import PictureFolder, StoredPicture


class Bucket:
    """Objects under a prefix; error messages name their `kind`."""

    def __init__(self, url: str, kind: str) -> None:
        parts = urlsplit(url)
        if not parts.netloc or "@" in parts.netloc:
            raise LedgerError(
                f"a place for {kind} in a bucket looks like s3://bucket/prefix; put keys into the AWS variables"
            )
        self.place = url
        self.kind = kind
        self.bucket = parts.netloc
        self.prefix = parts.path.strip("/")
        self._endpoint = parse_qs(parts.query).get("endpoint", [None])[0]

    def facts(self, key: str) -> dict[str, Any] | None:
        """Return the metadata of an object, or None if it does not exist."""
        from botocore.exceptions import ClientError

        with self.translate_errors():
            try:
                object_facts: dict[str, Any] = self.client.head_object(Bucket=self.bucket, Key=key)
            except ClientError as error:
                if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") == 404:
                    return None
                raise
        return object_facts

    def list_objects(self, prefix: str) -> Iterator[dict[str, Any]]:
        """Yield the objects below a prefix."""
        with self.translate_errors():
            pages = self.client.get_paginator("list_objects_v2").paginate(
                Bucket=self.bucket, Prefix=f"{prefix}/" if prefix else ""
            )
            for page in pages:
                yield from page.get("Contents", ())

    @cached_property
    def client(self) -> Any:
        with require_extra(f"{self.kind} in a bucket", "s3"):
            import boto3
            from botocore.config import Config
        settings = Config(retries={"mode": "standard", "max_attempts": 5}, connect_timeout=10, read_timeout=60)
        with self.translate_errors():
            return boto3.session.Session().client("s3", endpoint_url=self._endpoint, config=settings)

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Turn errors of the bucket into a `LedgerError` of one sentence."""
        with require_extra(f"{self.kind} in a bucket", "s3"):
            from botocore.exceptions import BotoCoreError, ClientError
        try:
            yield
        except (BotoCoreError, ClientError) as error:
            raise LedgerError(
                f"{self.place}: the bucket could not be used ({error}); check that it exists, the endpoint "
                "(AWS_ENDPOINT_URL, or ?endpoint=) and the keys (AWS_ACCESS_KEY_ID and its like, or a profile)"
            ) from error


class _InBucket(Media):
    """A file whose bytes are downloaded on first use; equal to any other file of its kind with the same bytes."""

    __slots__ = ()
    _bucket: PictureBucket

    def __init__(self, digest: str, media_type: str, bucket: PictureBucket) -> None:
        object.__setattr__(self, "digest", digest)
        object.__setattr__(self, "media_type", media_type)
        object.__setattr__(self, "_bucket", bucket)

    @property
    def source(self) -> Path:
        return self._bucket.fetch(self.digest, self.media_type, self.kind)

    def check(self) -> None:
        """Raise if the file is not in the bucket itself; the local cache does not count."""
        for _ in self._bucket.download_pieces(self.digest):
            pass

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Media) and (self.kind, self.digest, self.media_type) == (
            other.kind,
            other.digest,
            other.media_type,
        )

    __hash__ = Media.__hash__


class BucketPicture(_InBucket, Picture):
    """A picture in a bucket."""

    __slots__ = ("_bucket",)


class _BucketVideo(_InBucket, Video):
    __slots__ = ("_bucket",)


class _BucketAudio(_InBucket, Audio):
    __slots__ = ("_bucket",)


class _BucketDocument(_InBucket, Document):
    __slots__ = ("_bucket",)


_CLASSES: dict[Kind, type[_InBucket]] = {
    "image": BucketPicture, "video": _BucketVideo, "audio": _BucketAudio, "document": _BucketDocument,
}  # fmt: skip


class PictureBucket(Bucket):
    """Pictures at `PREFIX/ab/abcdef...`: uploaded if absent, checked against the digest after download."""

    def __init__(self, url: str, cache: Path | None = None) -> None:
        super().__init__(url, "pictures")
        self._cache = PictureFolder(cache or cache_folder() / "pictures")
        self._there: set[str] = set()

    def has(self, digest: str) -> bool:
        if digest not in self._there and self.facts(self._key(digest)) is None:
            return False
        self._there.add(digest)
        return True

    def keep(self, picture: Media) -> None:
        if self.has(picture.digest):
            return
        with self.translate_errors(), ExitStack() as files:
            body: Any = None
            if picture.kind != "image" and isinstance(picture.source, Path):
                picture.check()
                body = files.enter_context(picture.source.open("rb"))
            self.client.put_object(
                Bucket=self.bucket,
                Key=self._key(picture.digest),
                Body=body or picture.cached_data(),
                ContentType=picture.media_type,
            )
        self._there.add(picture.digest)

    def gather(self, picture: Media) -> None:
        self.keep(picture)

    def settle(self) -> None:
        """Do nothing: uploads are already complete."""

    def check_kept(self, digests: Callable[[], Iterable[str]], *, each: bool = False) -> None:
        """Do nothing: a bucket keeps what it acknowledged."""

    def find(self, digest: str, media_type: str, kind: Kind = "image") -> Media:
        return _CLASSES[kind](digest, media_type, self)

    def fetch(self, digest: str, media_type: str, kind: Kind = "image") -> Path:
        """Return the cached file of a picture or another file; download it if it is missing or damaged."""
        path = self._cache.path(digest)
        if self._cache.has(digest):
            try:
                media_from_digest(kind, digest, media_type, path).check()
            except InputError:
                path.unlink(missing_ok=True)
            else:
                return path
        self._cache.write(digest, self.download_pieces(digest))
        return path

    def download_pieces(self, digest: str) -> Iterator[bytes]:
        """Download the bytes of a picture or another file and check them against the digest."""
        changed_error = LedgerError(f"{self.place}: the picture {digest} there has other bytes than its name says")
        with self.translate_errors():
            body = self.client.get_object(Bucket=self.bucket, Key=self._key(digest))["Body"]
            yield from check_pieces(body.iter_chunks(PIECE_BYTES), digest, changed_error)

    def all(self) -> Iterator[StoredPicture]:
        for entry in self.list_objects(self.prefix):
            yield StoredPicture(entry["Key"].rpartition("/")[2], entry["Size"], entry["LastModified"].timestamp())

    def remove(self, digest: str) -> None:
        with self.translate_errors():
            self.client.delete_object(Bucket=self.bucket, Key=self._key(digest))
        self._there.discard(digest)

    def _key(self, digest: str) -> str:
        return "/".join(filter(None, (self.prefix, digest[:2], digest)))
