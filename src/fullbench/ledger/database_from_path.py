"""Choice of the database and the picture storage from a path or URL."""

from __future__ import annotations

import os
from pathlib import Path

from fullbench.errors import LedgerError
from fullbench.ledger.database_interface import Database, Durability
from fullbench.ledger.pictures.picture_folder import PictureFolder, Pictures

SCHEMES = ("postgresql://", "postgres://")


def is_url(place: str | Path) -> bool:
    """True if a ledger is given by a server URL, not a path.

    >>> is_url("postgresql://me@server/db"), is_url("study.ledger")
    (True, False)
    """
    return isinstance(place, str) and place.startswith(SCHEMES)


def is_parquet(place: str) -> bool:
    """True if a path is a Parquet lake or Parquet files (a folder, a bucket, `*.parquet`), not a ledger file.

    >>> is_parquet("verdicts.parquet"), is_parquet("parts-*.parquet"), is_parquet("study.ledger")
    (True, True, False)
    """
    if place.startswith("s3://") or place.endswith(".parquet"):
        return True
    folder = Path(place)
    if not folder.is_dir():
        return False
    from fullbench.ledger.lake.parquet_export_reader import SUFFIX, is_lake

    return is_lake(place) or any(folder.glob(f"*{SUFFIX}"))


def durability_of(requested_level: str | None = None) -> Durability:
    """Return the requested durability, else `FULLBENCH_DURABILITY`, else `power`.

    >>> durability_of("process")
    'process'
    """
    name = requested_level or os.environ.get("FULLBENCH_DURABILITY") or "power"
    if name == "process":
        return "process"
    if name == "power":
        return "power"
    raise LedgerError(
        f"unknown durability {name!r}; known: power (results survive a power cut), process (faster; results survive a "
        f"crash)"
    )


def database_at(place: str | Path, durability: Durability = "power") -> Database:
    """Return the database at a path or URL."""
    if is_url(place):
        from fullbench.ledger.postgres.database import Postgres

        return Postgres(str(place))
    if is_parquet(str(place)):
        from fullbench.ledger.lake.lake_database import Parquet

        return Parquet(place)
    if "://" in str(place):
        scheme = str(place).partition("://")[0]
        raise LedgerError(f"{scheme}://...: this is not a ledger; give a file, or postgresql://user@host/database")
    from fullbench.ledger.sqlite.database import Sqlite

    return Sqlite(Path(place), durability)


def pictures_at(place: str | Path, *, sync: bool = False) -> Pictures:
    """Return the picture storage at a path or bucket URL."""
    if str(place).startswith("s3://"):
        from fullbench.ledger.pictures.picture_bucket import PictureBucket

        return PictureBucket(str(place))
    if "://" in str(place):
        scheme = str(place).partition("://")[0]
        raise LedgerError(f"{scheme}://...: pictures can be stored in a folder or in s3://bucket/prefix")
    return PictureFolder(Path(place), sync=sync)
