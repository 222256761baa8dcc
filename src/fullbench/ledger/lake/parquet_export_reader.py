"""Parquet files written by `fullbench ledger export`, read as the tables of a ledger."""

from __future__ import annotations

from collections.abc import Mapping
from glob import glob, has_magic
from pathlib import Path

from fullbench.errors import InputError
from fullbench.ledger import schema
from fullbench.ledger.lake import manifest
from fullbench.ledger.lake.duckdb_connection_with_sqlite_interface import files_sql
from fullbench.ledger.lake.storage import store_at

SUFFIX = ".parquet"
STUDY = "default"
_REQUIRED_COLUMNS = ("case", "judge", "item", "contestants", "ballot")
_DEFAULTS = {
    "criterion": "'overall'", "trial": "0", "samples": "'[]'", "earlier": "'[]'", "exchanges": "'[]'", "canary": "0",
    "calls": "0", "retries": "0", "tokens_in": "0", "tokens_out": "0", "seconds": "0.0", "at": "0.0", "reader": "0",
    "revision": "0",
}  # fmt: skip
"""Values of columns that are missing or empty in an export; texts are empty, and the rest is unknown."""


def is_lake(place: str) -> bool:
    """True if the place has a manifest."""
    if place.startswith("s3://"):
        return bool(store_at(place).names(manifest.FOLDER))
    return (Path(place) / manifest.FOLDER).is_dir()


def parquet_files(place: str) -> list[Path]:
    """Return the Parquet files at a path, pattern, folder or bucket; files of a bucket are downloaded."""
    if place.startswith("s3://"):
        store = store_at(place)
        paths = [store.local(name) for name in store.names("") if name.endswith(SUFFIX)]
    elif has_magic(place):
        paths = sorted(map(Path, glob(place)))  # noqa: PTH207 - the pattern may begin anywhere
    else:
        paths = sorted(Path(place).glob(f"*{SUFFIX}")) if Path(place).is_dir() else [Path(place)]
    if not paths or not all(path.exists() for path in paths):
        raise InputError("there is no such file, and no manifest of a lake", path=place)
    return paths


def export_views(place: str) -> Mapping[str, str]:
    """Return SQL for the tables that an export can fill: verdicts, studies and study cases."""
    paths = parquet_files(place)
    from pyarrow import ArrowException
    from pyarrow.parquet import read_schema

    try:
        column_names = set.intersection(*(set(read_schema(path).names) for path in paths))
    except (ArrowException, OSError) as error:
        message = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"the verdicts could not be read ({message})", path=place) from error
    missing = [name for name in _REQUIRED_COLUMNS if name not in column_names]
    if missing:
        raise InputError(
            f"an export of verdicts has the columns {', '.join(_REQUIRED_COLUMNS)}; {', '.join(missing)} are missing",
            path=place,
        )
    source = files_sql([str(path) for path in paths])
    kinds = dict(column.split()[:2] for column in schema.TABLES["verdicts"].split(", "))
    column_list = ", ".join(_column_sql(name, kind, column_names) for name, kind in kinds.items())
    rows = f"SELECT row_number() OVER () AS rowid, {column_list}, '' AS writer, 0 AS number, NULL AS link FROM {source}"
    study = f"coalesce(CAST(study AS VARCHAR), '{STUDY}')" if "study" in column_names else f"'{STUDY}'"
    names = f"SELECT DISTINCT {study} AS study FROM {source}"
    return {
        "verdicts": rows,
        "studies": f'SELECT row_number() OVER (ORDER BY study) AS rowid, study, 0.0 AS "at" FROM ({names})',
    }


def _column_sql(name: str, kind: str, column_names: set[str]) -> str:
    export_name = "case" if name == "case_key" else name
    types = {"TEXT": "VARCHAR", "INTEGER": "BIGINT", "REAL": "DOUBLE"}
    default = f"'{STUDY}'" if name == "study" else _DEFAULTS.get(name, "''" if kind == "TEXT" else "NULL")
    if name in {"marks", "fault"}:
        default = "NULL"
    if export_name not in column_names:
        return f'CAST({default} AS {types[kind]}) AS "{name}"'
    value = f'CAST("{export_name}" AS {types[kind]})'
    return f'{value} AS "{name}"' if default == "NULL" else f'coalesce({value}, {default}) AS "{name}"'
