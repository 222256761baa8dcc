"""From a path or a URL to the database of a ledger, and to the place of its pictures."""

from __future__ import annotations

import os
from pathlib import Path

from fullbench.errors import LedgerError
from fullbench.ledger.database_interface import Database, Durability
from fullbench.ledger.pictures.picture_folder import PictureFolder, Pictures

SCHEMES = ("postgresql://", "postgres://")


def is_url(place: str | Path) -> bool:
    """Whether a ledger is named by the URL of a server, not by a path.

    >>> is_url("postgresql://me@server/db"), is_url("study.ledger")
    (True, False)
    """
    return isinstance(place, str) and place.startswith(SCHEMES)


def is_parquet(place: str) -> bool:
    """Whether a place names a lake or files of Parquet, not a ledger's file: a folder, a bucket, `*.parquet`.

    >>> is_parquet("verdicts.parquet"), is_parquet("parts-*.parquet"), is_parquet("study.ledger")
    (True, True, False)
    """
    if place.startswith("s3://") or place.endswith(".parquet"):
        return True
    folder = Path(place)
    if not folder.is_dir():
        return False
    from fullbench.ledger.lake.parquet_exports import SUFFIX, is_lake

    return is_lake(place) or any(folder.glob(f"*{SUFFIX}"))


def durability_of(wanted: str | None = None) -> Durability:
    """What acknowledged rows survive: as wanted, as the environment says, or a loss of power.

    >>> durability_of("process")
    'process'
    """
    name = wanted or os.environ.get("FULLBENCH_DURABILITY") or "power"
    if name == "process":
        return "process"
    if name == "power":
        return "power"
    raise LedgerError(f"unknown durability {name!r}; known: power (also a loss of power), process (kill -9)")


def database(place: str | Path, durability: Durability = "power") -> Database:
    """The database that a path or a URL names."""
    if is_url(place):
        from fullbench.ledger.postgres.database import Postgres

        return Postgres(str(place))
    if is_parquet(str(place)):
        from fullbench.ledger.lake.lake_database import Parquet

        return Parquet(place)
    if "://" in str(place):
        scheme = str(place).partition("://")[0]
        raise LedgerError(f"{scheme}://...: a ledger is a file, or on a server under postgresql://user@host/database")
    from fullbench.ledger.sqlite.database import Sqlite

    return Sqlite(Path(place), durability)


def pictures_at(place: str | Path, *, sync: bool = False) -> Pictures:
    """The place for pictures that a path or the URL of a bucket names."""
    if str(place).startswith("s3://"):
        from fullbench.ledger.pictures.picture_bucket import PictureBucket

        return PictureBucket(str(place))
    if "://" in str(place):
        scheme = str(place).partition("://")[0]
        raise LedgerError(f"{scheme}://...: pictures are kept in a folder or under s3://bucket/prefix")
    return PictureFolder(Path(place), sync=sync)
