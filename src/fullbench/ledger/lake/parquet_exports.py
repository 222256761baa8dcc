"""Verdicts in files of Parquet, as `fullbench ledger export` writes them, seen as the tables of a ledger."""

from __future__ import annotations

from collections.abc import Mapping
from glob import glob, has_magic
from pathlib import Path

from fullbench.errors import InputError
from fullbench.ledger import schema
from fullbench.ledger.lake import manifest
from fullbench.ledger.lake.duckdb_connection import files_sql
from fullbench.ledger.lake.storage import store_at

SUFFIX = ".parquet"
STUDY = "default"
_NEEDED = ("case", "judge", "item", "contestants", "ballot")
_DEFAULTS = {
    "criterion": "'overall'", "trial": "0", "samples": "'[]'", "earlier": "'[]'", "exchanges": "'[]'", "canary": "0",
    "calls": "0", "retries": "0", "tokens_in": "0", "tokens_out": "0", "seconds": "0.0", "at": "0.0", "reader": "0",
    "revision": "0",
}  # fmt: skip
"""What a row has where the export has no such column, or nothing in it; texts are empty, and the rest is unknown."""


def is_lake(place: str) -> bool:
    """Whether there is a manifest."""
    if place.startswith("s3://"):
        return bool(store_at(place).names(manifest.FOLDER))
    return (Path(place) / manifest.FOLDER).is_dir()


def files(place: str) -> list[Path]:
    """The files of Parquet that a place names: one, a pattern, a folder, or those of a bucket, fetched."""
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


def views(place: str) -> Mapping[str, str]:
    """SQL for the tables that verdicts alone can fill: themselves, the studies, and their cases."""
    paths = files(place)
    from pyarrow import ArrowException
    from pyarrow.parquet import read_schema

    try:
        there = set.intersection(*(set(read_schema(path).names) for path in paths))
    except (ArrowException, OSError) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"the verdicts could not be read ({said})", path=place) from error
    missing = [name for name in _NEEDED if name not in there]
    if missing:
        raise InputError(
            f"an export of verdicts has the columns {', '.join(_NEEDED)}; {', '.join(missing)} are not there",
            path=place,
        )
    source = files_sql([str(path) for path in paths])
    kinds = dict(column.split()[:2] for column in schema.TABLES["verdicts"].split(", "))
    chosen = ", ".join(_column(name, kind, there) for name, kind in kinds.items())
    rows = f"SELECT row_number() OVER () AS rowid, {chosen}, '' AS writer, 0 AS number, NULL AS link FROM {source}"
    study = f"coalesce(CAST(study AS VARCHAR), '{STUDY}')" if "study" in there else f"'{STUDY}'"
    names = f"SELECT DISTINCT {study} AS study FROM {source}"
    return {
        "verdicts": rows,
        "studies": f'SELECT row_number() OVER (ORDER BY study) AS rowid, study, 0.0 AS "at" FROM ({names})',
    }


def _column(name: str, kind: str, there: set[str]) -> str:
    stored = "case" if name == "case_key" else name
    types = {"TEXT": "VARCHAR", "INTEGER": "BIGINT", "REAL": "DOUBLE"}
    default = f"'{STUDY}'" if name == "study" else _DEFAULTS.get(name, "''" if kind == "TEXT" else "NULL")
    if name in {"marks", "fault"}:
        default = "NULL"
    if stored not in there:
        return f'CAST({default} AS {types[kind]}) AS "{name}"'
    value = f'CAST("{stored}" AS {types[kind]})'
    return f'{value} AS "{name}"' if default == "NULL" else f'coalesce({value}, {default}) AS "{name}"'
