"""Read-only `Database` for a lake, or for a Parquet export of verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from fullbench.errors import LedgerError, require_extra
from fullbench.ledger import schema
from fullbench.ledger.database_interface import Connection, Database, RescuedFile
from fullbench.ledger.lake import duckdb_connection_with_sqlite_interface, manifest, parquet_export_reader
from fullbench.ledger.lake.storage import Store, pictures_place, store_at
from fullbench.ledger.lake.verify_lake import check_lake

if TYPE_CHECKING:
    import duckdb


class Parquet(Database):
    """Database in Parquet files; each table is a view of some of them."""

    is_remote = False
    brings_pictures = True

    def __init__(self, place: str | Path) -> None:
        self.place = str(place)
        plain = self.place.partition("?")[0].rstrip("/")
        self.path = Path(re.sub(r"^s3://", "", plain) if plain.startswith("s3://") else plain)
        self._store: Store | None = None

    @property
    def folder(self) -> str | None:
        return pictures_place(self.place) if self._store is not None else None

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        with require_extra("reading a lake", "lake"):
            import duckdb
        return (duckdb.Error,)

    def prepare(self, *, read_only: bool) -> None:
        if not read_only:
            raise LedgerError(
                f"{self.place}: a Parquet lake is read-only. Write to a ledger, then add its new rows with `fullbench "
                f"lake write`"
            )
        if parquet_export_reader.is_lake(self.place):
            self._store = store_at(self.place)
        self._views  # noqa: B018 - unreadable files raise here, when the lake is opened

    @cached_property
    def _views(self) -> Mapping[str, str]:
        if self._store is None:
            return parquet_export_reader.export_views(self.place)
        files: dict[str, list[str]] = {}
        for entry in manifest.read_entries(self._store):
            for segment in entry.segments:
                files.setdefault(segment.table, []).append(str(self._local_path(segment.file)))
        return duckdb_connection_with_sqlite_interface.segment_views(files)

    def _local_path(self, file: str) -> Path:
        if self._store is None:
            raise LedgerError(f"{self.place}: this is not a lake; `fullbench lake write` creates one")
        path = self._store.local(file)
        if not path.exists():
            raise LedgerError(
                f"{self.place}: the segment {file} is missing; `fullbench lake verify` lists everything that is missing"
            )
        return path

    @cached_property
    def _root_connection(self) -> duckdb.DuckDBPyConnection:
        return duckdb_connection_with_sqlite_interface.open_database(self._views)

    def make(self) -> None:
        raise LedgerError(f"{self.place}: a lake is created by `fullbench lake write`")

    def exists(self) -> bool:
        return True

    def stored_version(self) -> int:
        return schema.VERSION

    def back_up(self, target: Path) -> None:
        raise LedgerError(
            f"{self.place}: a lake never changes, so copy its files, or use `fullbench ledger copy` to make a ledger"
        )

    def connect(self, *, read_only: bool) -> duckdb_connection_with_sqlite_interface.ParquetConnection:
        with self.translate_errors():
            return duckdb_connection_with_sqlite_interface.ParquetConnection(self._root_connection.cursor())

    def rescue(self, connection: Connection) -> RescuedFile:
        raise LedgerError(f"{self.place}: a lake is read-only, so there is nothing to rescue")

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        try:
            yield
        except self.errors as error:
            message = (str(error).splitlines() or [type(error).__name__])[0]
            raise LedgerError(
                f"{self.place}: the verdicts could not be read ({message}); `fullbench lake verify` lists what is "
                f"damaged in a lake"
            ) from error

    def hold_lock(self, name: str) -> AbstractContextManager[None]:
        raise LedgerError(f"{self.place}: this Parquet lake is read-only. Pass a ledger to --ledger to judge")

    def integrity_problems(self, reader: Connection) -> list[str]:
        if self._store is None:
            raise LedgerError(
                f"{self.place}: an export has no row digests; verify the ledger or lake that it came from"
            )
        return check_lake(self._store).problems

    def vacuum(self, *, dry_run: bool) -> int:
        raise LedgerError(f"{self.place}: a lake has no disk space to free")

    def size(self, reader: Connection) -> int:
        """Return the bytes of the segments, or of the files of an export."""
        if self._store is None:
            return sum(path.stat().st_size for path in parquet_export_reader.parquet_files(self.place))
        return sum(segment.bytes for entry in manifest.read_entries(self._store) for segment in entry.segments)
