"""A bucket of an S3-compatible store, and how its troubles are told.

`s3://bucket/prefix`; the endpoint, region and keys come from the usual AWS variables or files, the endpoint also from
the address: `s3://bucket/prefix?endpoint=http://host:9000`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any
from urllib.parse import parse_qs, urlsplit

from fullbench.errors import LedgerError, MissingExtra


class Bucket:
    """Objects under a prefix; `kind` says in sentences what they are."""

    def __init__(self, url: str, kind: str) -> None:
        parts = urlsplit(url)
        if not parts.netloc or "@" in parts.netloc:
            raise LedgerError(
                f"a place for {kind} in a bucket looks like s3://bucket/prefix; keys stay in the AWS variables"
            )
        self.place = url
        self.kind = kind
        self.bucket = parts.netloc
        self.prefix = parts.path.strip("/")
        self._endpoint = parse_qs(parts.query).get("endpoint", [None])[0]

    def facts(self, key: str) -> dict[str, Any] | None:
        """What the store says of an object; None where there is none."""
        from botocore.exceptions import ClientError

        with self.plainly():
            try:
                found: dict[str, Any] = self.client.head_object(Bucket=self.bucket, Key=key)
            except ClientError as error:
                if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") == 404:
                    return None
                raise
        return found

    def listed(self, prefix: str) -> Iterator[dict[str, Any]]:
        """The objects below a prefix."""
        with self.plainly():
            pages = self.client.get_paginator("list_objects_v2").paginate(
                Bucket=self.bucket, Prefix=f"{prefix}/" if prefix else ""
            )
            for page in pages:
                yield from page.get("Contents", ())

    @cached_property
    def client(self) -> Any:
        try:
            import boto3
            from botocore.config import Config
        except ImportError as error:
            raise MissingExtra(f"{self.kind} in a bucket", "s3") from error
        settings = Config(retries={"mode": "standard", "max_attempts": 5}, connect_timeout=10, read_timeout=60)
        with self.plainly():
            return boto3.session.Session().client("s3", endpoint_url=self._endpoint, config=settings)

    @contextmanager
    def plainly(self) -> Iterator[None]:
        """Turn what the store complains about into one sentence."""
        try:
            from botocore.exceptions import BotoCoreError, ClientError
        except ImportError as error:
            raise MissingExtra(f"{self.kind} in a bucket", "s3") from error
        try:
            yield
        except (BotoCoreError, ClientError) as error:
            raise LedgerError(
                f"{self.place}: the bucket could not be used ({error}); check that it exists, the endpoint "
                "(AWS_ENDPOINT_URL, or ?endpoint=) and the keys (AWS_ACCESS_KEY_ID and its like, or a profile)"
            ) from error
