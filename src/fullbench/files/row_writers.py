"""Writers of rows to files; a file gets its name only when it is complete.

In CSV an empty cell means no value. The empty text is written as two double quotes *inside* the cell, and a text of
only double quotes gets two more, so that both are read back unchanged. Lists and mappings are written as JSON. A text
that a spreadsheet would treat as a formula gets an apostrophe in front. In such a file the name of the last column is
quoted, which tells our readers to remove the apostrophes. With `raw`, or `FULLBENCH_CSV=raw`, texts are written
unchanged.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

from fullbench.errors import InputError
from fullbench.files.row_readers import pyarrow_for, suffix_of
from fullbench.secret_masking_and_text_escapes import escape_formula

Kind = Literal["text", "int", "float", "json", "bytes", "picture", "video", "audio"]
Columns = Mapping[str, Kind]
"""Columns of a table and their types. `json` is for lists and mappings; `bytes` and files (bytes and a name) are for
Parquet only."""


def write_rows(
    path: str | Path, rows: Iterable[Mapping[str, Any]], columns: Columns | None = None, *, raw: bool = False
) -> int:
    """Write rows to a file, completely or not at all, and return their number.

    In CSV and Parquet, the columns are `columns`, or else those of the first row; a row with another one is refused.
    With `raw`, CSV texts that look like formulas are written unchanged.
    """
    raw = raw or os.environ.get("FULLBENCH_CSV") == "raw"
    path = Path(path)
    suffix = suffix_of(path)
    with replace_atomically(path) as part:
        if suffix == ".parquet":
            return _write_parquet(path, part, rows, columns)
        with _open_for_writing(path, part) as file:
            if suffix in {".csv", ".tsv"}:
                return _write_csv(path, file, rows, columns, "\t" if suffix == ".tsv" else ",", raw=raw)
            return _write_json(path, file, rows, array=suffix == ".json")


def check_target(path: Path, *sources: Path) -> None:
    """Refuse an unknown file type, and a file that is also an input, before any model is called."""
    suffix_of(path)
    if any(source.exists() and path.exists() and path.samefile(source) for source in sources):
        raise InputError("this input file would be overwritten; choose another name", path=path)


@contextmanager
def replace_atomically(path: Path) -> Iterator[Path]:
    """Yield a temporary path; on success it replaces `path`, and otherwise it is deleted."""
    path = path.resolve()
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise InputError(f"the file cannot be written ({error.strerror or error})", path=path) from error
    finally:
        if path.parent.is_dir() and os.access(path.parent, os.W_OK):
            part.unlink(missing_ok=True)


@contextmanager
def _open_for_writing(path: Path, part: Path) -> Iterator[io.BufferedIOBase]:
    with part.open("wb") as raw:
        if not path.name.lower().endswith(".gz"):
            yield raw
            return
        # No name and no time, so that equal rows give equal bytes.
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as gzip_file:
            yield gzip_file


def _write_json(path: Path, file: io.BufferedIOBase, rows: Iterable[Mapping[str, Any]], *, array: bool) -> int:
    count = 0
    for count, row in enumerate(rows, 1):
        if array:
            file.write(b",\n" if count > 1 else b"[\n")
        file.write(_json_bytes(path, row))
        if not array:
            file.write(b"\n")
    if array:
        file.write(b"\n]\n" if count else b"[]\n")
    return count


def _json_bytes(path: Path, row: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(row, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        return json.dumps(row, allow_nan=False).encode()
    except ValueError as error:
        raise InputError(f"a row cannot be written as JSON ({error})", path=path) from error


def _write_csv(
    path: Path,
    file: io.BufferedIOBase,
    rows: Iterable[Mapping[str, Any]],
    columns: Columns | None,
    delimiter: str,
    *,
    raw: bool,
) -> int:
    class Sink:
        @staticmethod
        def write(text: str) -> int:
            try:
                return file.write(text.encode())
            except UnicodeEncodeError as error:
                raise InputError(f"a text contains half a character ({error.reason}); use .jsonl", path=path) from error

    writer = csv.writer(Sink, delimiter=delimiter)
    count = 0

    def begin(names: Columns) -> None:
        if raw or not names:
            writer.writerow(names)
            return
        *first, last = map(escape_formula, names)
        before = io.StringIO()
        csv.writer(before, delimiter=delimiter, lineterminator="").writerow(first)
        quoted_name = last.replace('"', '""')
        Sink.write(f'{before.getvalue()}{delimiter if first else ""}"{quoted_name}"\r\n')

    safe = (lambda text: text) if raw else escape_formula
    if columns is not None:
        begin(columns)
    for row in rows:
        count += 1
        if columns is None:
            columns = _columns_of(row)
            begin(columns)
        _check_columns(path, row, columns)
        writer.writerow([safe(_cell_text(row.get(name))) for name in columns])
    return count


def _cell_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value if value.strip('"') else f'""{value}'
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _columns_of(row: Mapping[str, Any]) -> Columns:
    def kind(value: Any) -> Kind:
        if isinstance(value, (list, tuple, dict, bool)):
            return "json"
        return "int" if isinstance(value, int) else "float" if isinstance(value, float) else "text"

    return {name: kind(value) for name, value in row.items()}


def _check_columns(path: Path, row: Mapping[str, Any], columns: Columns) -> None:
    if extra := [name for name in row if name not in columns]:
        raise InputError(f"a row has the column {extra[0]!r}, the table has {', '.join(columns)}", path=path)


def _write_parquet(path: Path, part: Path, rows: Iterable[Mapping[str, Any]], columns: Columns | None) -> int:
    pyarrow, parquet = pyarrow_for("writing Parquet")
    left = iter(rows)
    if columns is None:
        first = next(left, {})
        columns, left = _columns_of(first), chain([first] if first else [], left)
    kinds = {"text": pyarrow.string(), "json": pyarrow.string(), "int": pyarrow.int64(), "float": pyarrow.float64()}
    kinds |= {"bytes": pyarrow.binary()}
    file_type = pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())])
    kinds |= dict.fromkeys(_FILE_FEATURES, file_type)
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in columns.items()])
    if not _FILE_FEATURES.keys().isdisjoint(columns.values()):
        schema = schema.with_metadata({"huggingface": json.dumps({"info": {"features": _dataset_features(columns)}})})
    count = 0
    try:
        with parquet.ParquetWriter(part, schema) as writer:
            while batch := list(islice(left, 10_000)):
                for row in batch:
                    _check_columns(path, row, columns)
                plain_rows = [
                    {name: _plain_value(row.get(name), kind) for name, kind in columns.items()} for row in batch
                ]
                writer.write_table(pyarrow.Table.from_pylist(plain_rows, schema=schema))
                count += len(batch)
    except (pyarrow.ArrowException, UnicodeEncodeError) as error:
        raise InputError(f"a row does not fit the table ({error})", path=path) from error
    return count


_FILE_FEATURES = {"picture": "Image", "video": "Video", "audio": "Audio"}
"""Columns of files, and the types by which the library `datasets` decodes them."""


def _dataset_features(columns: Columns) -> dict[str, Any]:
    """Return the columns in the notation of the library `datasets`, so that it decodes files."""
    types = {"text": "string", "json": "string", "int": "int64", "float": "float64", "bytes": "binary"}
    return {
        name: {"_type": _FILE_FEATURES[kind]} if kind in _FILE_FEATURES else {"dtype": types[kind], "_type": "Value"}
        for name, kind in columns.items()
    }


def _plain_value(value: Any, kind: Kind) -> Any:
    return json.dumps(value, ensure_ascii=False, allow_nan=False) if kind == "json" and value is not None else value
