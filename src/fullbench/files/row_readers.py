"""Readers of rows from JSON Lines, JSON arrays, CSV, TSV (each also gzipped) and Parquet.

Reading streams, and errors name the line. A CSV cell is text; an empty one means no value. `files.row_writers` explains
how an empty text differs from no value.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from fullbench.errors import InputError, require_extra
from fullbench.files.name_suggestions_and_lookalikes import closest_name
from fullbench.secret_masking_and_text_escapes import unescape_formula

# First bytes of files that are often passed by mistake, with advice.
_BEGINNINGS = {
    b"PK\x03\x04": "a workbook of a spreadsheet, or another zip file; save it as .csv in your spreadsheet",
    b"\xd0\xcf\x11\xe0": "a workbook of an old spreadsheet; save it as .csv there",
    b"\x1f\x8b": "gzipped; let its name end in .gz",
    b"PAR1": "a Parquet file; let its name end in .parquet",
    b"SQLite format 3": "a database, such as a ledger; `fullbench ledger export` writes rows",
    b"%PDF": "a PDF; rows are .jsonl, .csv or .parquet",
    b"version https://git-lfs": "a pointer of Git LFS, not the file itself; fetch that by `git lfs pull`",
    b"<!DOCTYPE html": "a web page, saved in the file's place; download the file itself",
    b"<!doctype html": "a web page, saved in the file's place; download the file itself",
    b"<html": "a web page, saved in the file's place; download the file itself",
    codecs.BOM_UTF16_LE: "UTF-16, as Excel's Unicode Text is; save it as UTF-8",
    codecs.BOM_UTF16_BE: "UTF-16; save it as UTF-8",
}


def other_kind(beginning: bytes) -> str | None:
    r"""Return the kind of a file that is not UTF-8 text, by its first bytes, with advice; None if it may be text.

    >>> other_kind(b"PK\x03\x04..."), other_kind(b"id,question")
    ('a workbook of a spreadsheet, or another zip file; save it as .csv in your spreadsheet', None)
    """
    return next((kind for first, kind in _BEGINNINGS.items() if beginning.startswith(first)), None)


LIMIT = 16 * 1024 * 1024
"""Maximum bytes of a line, or of an element of a JSON array; a longer one is a mistake, not a row."""

KNOWN_SUFFIXES = ".jsonl, .ndjson, .json, .csv and .tsv (also with .gz), and .parquet"
_CHUNK = 1 << 16


def read_rows(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield every row of a file with its first line number (in Parquet, its row number)."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"this is a folder, but a file is needed; known types are {KNOWN_SUFFIXES}", path=path)
    suffix = suffix_of(path)
    count = 0
    for count, (line, row) in enumerate(_READERS[suffix](path), 1):  # noqa: B007
        yield line, row
    if not count:
        raise InputError("the file has no rows", path=path)


def parse_json(text: str) -> Any:
    """Parse a JSON value; NaN, which some programs write for a missing value, becomes None.
    Infinity raises `ValueError`.
    """
    return _DECODER.decode(text)


def _parse_constant(name: str) -> None:
    if name != "NaN":
        raise ValueError(f"{name} is not a JSON number")


def _unique_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse duplicate names in an object; Python's parser would silently keep only the last value."""
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"the name {twice!r} occurs twice in one object; keep one")
    return mapping


_DECODER = json.JSONDecoder(parse_constant=_parse_constant, object_pairs_hook=_unique_object)


def suffix_of(path: Path) -> str:
    name = path.name.lower()
    suffix = Path(name.removesuffix(".gz")).suffix
    if suffix not in _READERS or (name.endswith(".gz") and suffix == ".parquet"):
        hint = "; save it as .csv in your spreadsheet" if suffix in {".xlsx", ".xls", ".ods", ".numbers"} else ""
        if not suffix and path.name != "-" and not path.exists():
            raise InputError("there is no such file or folder", path=path)
        if path.name == "-":
            hint = "; standard input is not read: write it to a file"
        raise InputError(f"unknown file type; known types are {KNOWN_SUFFIXES}{hint}", path=path)
    return suffix


@contextmanager
def _open_binary(path: Path) -> Iterator[io.BufferedIOBase]:
    try:
        with gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb") as file:
            if (kind := other_kind(file.peek(32))) is not None:
                raise InputError(f"the first bytes show that this is {kind}", path=path)
            yield file
    except FileNotFoundError as error:
        raise InputError(f"there is no such file{_why_not(path) or _similar_file(path)}", path=path) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"the gzip data is damaged or cut short ({error}); fetch it again", path=path) from error
    except OSError as error:
        raise InputError(f"the file cannot be read ({error.strerror or error})", path=path) from error


def _why_not(path: Path) -> str:
    if path.parts[:1] in {("http:",), ("https:",)}:
        return "; files are read from this machine: download it first"
    if path.parts[:1] == ("~",):
        return "; '~' stands for your home only where the shell replaces it: write the whole path"
    return "; write / between folders, not \\" if "\\" in str(path) else ""


def _similar_file(path: Path) -> str:
    """Return the question whether a file with a similar name was meant, or an empty text."""
    names = [entry.name for entry in path.parent.iterdir() if entry.is_file()] if path.parent.is_dir() else []
    nearest = closest_name(path.name, sorted(names))
    return f"; did you mean {path.with_name(nearest)}?" if nearest else ""


def _read_lines(path: Path) -> Iterator[tuple[int, str]]:
    with _open_binary(path) as file:
        number = 0
        while line := file.readline(LIMIT + 1):
            number += 1
            if len(line) > LIMIT:
                raise InputError(f"the line is longer than the limit of {LIMIT // 2**20} MiB", path=path, line=number)
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            try:
                yield number, line.decode("utf-8")
            except UnicodeDecodeError as error:
                place = f"byte {error.object[error.start]:#04x} at column {error.start + 1}"
                raise InputError(
                    f"this is not UTF-8 ({place}); save the file as UTF-8", path=path, line=number
                ) from error


def _read_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in _read_lines(path):
        if line.strip():
            yield number, _parse_row(path, number, partial(parse_json, line.rstrip()), _of_many_lines(line))


def _of_many_lines(line: str) -> str:
    bare = line.strip()
    if bare.startswith("["):
        return "; a file with one array [...] is named .json"
    if bare.endswith("},"):
        return "; a row ends with its brace: leave out the comma behind it"
    return (
        "; a row stands in one line: write it so, or all rows as one array [...] in a .json file" if bare == "{" else ""
    )


def json_remedy(error: Exception) -> str:
    """Return what to do about a frequent mistake in JSON, or an empty text.

    >>> try: json.loads("{'id': 1}")
    ... except ValueError as error: print(json_remedy(error))
    ; JSON has double quotes: write it with json.dumps, not with str
    """
    if not isinstance(error, json.JSONDecodeError):
        return ""
    following = error.doc[error.pos : error.pos + 1]
    if following == "'":
        return "; JSON has double quotes: write it with json.dumps, not with str"
    if following in {"}", "]"}:
        return "; leave out the comma in front of the closing bracket"
    if error.msg == "Extra data" and following in {"{", "["}:
        return "; the file has several values, and one is read here: write them as one array [...]"
    return ""


def _parse_row(path: Path, line: int, parse: Callable[[], Any], remedy: str = "") -> dict[str, Any]:
    try:
        value = parse()
    except (ValueError, RecursionError) as error:
        reason = str(error)
        if isinstance(error, json.JSONDecodeError):  # its line counts from the row's beginning
            reason, line = f"{error.msg} at column {error.colno}", line + error.lineno - 1
        raise InputError(
            f"this is not valid JSON ({reason}){remedy or json_remedy(error)}", path=path, line=line
        ) from error
    if not isinstance(value, dict):
        raise InputError(
            f"a row must be a JSON object {{...}}; found {str(value)[:40]!r}{remedy}", path=path, line=line
        )
    return value


def _read_json(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the elements of a JSON array, reading the file in chunks; an object around the array is accepted."""
    if _has_object_on_each_line(path):
        yield from _read_jsonl(path)
        return
    text = _Text(path)
    is_wrapped = text.peek() == "{"
    if is_wrapped:
        _enter_array(path, text)
    if text.peek() != "[":
        raise InputError(
            "a .json file must contain one array [...]; if each line is a row, name it .jsonl", path=path, line=1
        )
    text.take(1)
    while text.peek() != "]":
        line = text.line
        yield line, _parse_row(path, line, text.value)
        if text.peek() == ",":
            text.take(1)
            if text.peek() == "]":
                raise InputError("no row follows the comma", path=path, line=text.line)
        elif text.peek() != "]":
            raise InputError("a comma or the closing bracket ] is missing here", path=path, line=text.line)
    text.take(1)
    if is_wrapped and text.peek() == "}":
        text.take(1)
    elif is_wrapped:
        raise _extra_content_error(path)
    if text.peek():
        raise InputError("something follows the end of the array", path=path, line=text.line)


def _has_object_on_each_line(path: Path) -> bool:
    """Return True for JSONL with the suffix .json: the first line is a whole object, and no array follows."""
    lines = (line.strip() for _, line in _read_lines(path) if line.strip())
    try:
        first, second = islice(chain(lines, ("", "")), 2)
        if first.startswith("{") and first.endswith("}") and (second.startswith("{") or not second):
            row = parse_json(first)
            # One object alone is a row, unless it is the object around the rows.
            return bool(second) or (isinstance(row, dict) and row != {} and not any(map(_holds_objects, row.values())))
    except (InputError, ValueError, RecursionError):
        pass  # read and refused as an array
    return False


def _holds_objects(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(entry, dict) for entry in value))


def _enter_array(path: Path, text: _Text) -> None:
    """Move to the array under an object's first name, as in {"data": [...]}."""
    text.take(1)
    try:
        name = text.value() if text.peek() == '"' else None
    except ValueError as error:
        raise InputError(f"this is not valid JSON ({error})", path=path, line=text.line) from error
    if name is not None and text.peek() == ":":
        text.take(1)
    if text.peek() != "[":
        raise _extra_content_error(path)


def _extra_content_error(path: Path) -> InputError:
    return InputError(
        "a .json file must contain one array [...], or an object with only that array, as "
        '{"data": [...]}; this object holds other things: write its array of rows to a file of its own '
        "(such as: jq .data FILE), or a row a line as .jsonl",
        path=path,
        line=1,
    )


class _Text:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.line = 1
        self._buffer = ""
        self._lines = _lines_or_pieces(path)

    def peek(self) -> str:
        while True:
            bare = self._buffer.lstrip()
            self.take(len(self._buffer) - len(bare))
            if bare:
                return bare[0]
            if not self._read_more():
                return ""

    def take(self, count: int) -> None:
        self.line += self._buffer.count("\n", 0, count)
        self._buffer = self._buffer[count:]

    def value(self) -> Any:
        while True:
            try:
                value, end = _DECODER.raw_decode(self._buffer)
            except json.JSONDecodeError:
                if len(self._buffer) > LIMIT:
                    sentence = f"the row is longer than {LIMIT // 2**20} MiB, the most we read, or not valid JSON"
                    raise InputError(sentence, path=self.path, line=self.line) from None
                if not self._read_more():
                    raise
            else:
                self.take(end)
                return value

    def _read_more(self) -> bool:
        wanted_length, pieces = max(len(self._buffer), _CHUNK), []
        while wanted_length > 0 and (piece := next(self._lines, "")):
            pieces.append(piece)
            wanted_length -= len(piece)
        self._buffer += "".join(pieces)
        return bool(pieces)


def _lines_or_pieces(path: Path) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    with _open_binary(path) as file:
        try:
            while piece := file.read(_CHUNK):
                yield decoder.decode(piece)
            yield decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            raise InputError(f"this is not UTF-8 ({error.reason}); save the file as UTF-8", path=path) from error


def _read_csv(path: Path, delimiter: str) -> Iterator[tuple[int, dict[str, Any]]]:
    # Python's default limit for a cell is 128 KiB.
    csv.field_size_limit(max(csv.field_size_limit(), LIMIT))
    lines = (line for _, line in _read_lines(path))
    first = next(lines, "")
    above = 0
    if first.lower().startswith("sep=") and len(first.strip()) == 5:  # Excel's line above the column names
        delimiter, first, above = first[4], next(lines, ""), 1
    elif delimiter == "," and "," not in first:  # spreadsheets write ; in locales with a decimal comma
        delimiter = next((candidate for candidate in ";\t|" if candidate in first), delimiter)
    if "\r" in first.rstrip("\r\n"):
        raise InputError(
            "its lines end in carriage returns alone, as on old Macs; save it with other line ends", path=path
        )
    ours = _is_ours(first, delimiter)
    reader = csv.reader(chain([first], lines), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    line = above + 1
    try:
        for cells in reader:
            if header is None:
                header = _check_header(path, [unescape_formula(cell) for cell in cells] if ours else cells)
            elif any(cells):
                if len(cells) != len(header):
                    counts = f"{len(cells)} cells under {len(header)} columns"
                    raise InputError(
                        f"the row has {counts}; is a comma or a quote missing or too many?", path=path, line=line
                    )
                texts = map(unescape_formula, cells) if ours else cells
                yield line, {name: _cell_value(cell) for name, cell in zip(header, texts, strict=True) if name}
            line = above + reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"this is not valid CSV ({error})", path=path, line=line) from error


def _is_ours(header: str, delimiter: str) -> bool:
    """True if `files.row_writers` wrote the file with apostrophes before formulas: only the last name is quoted."""
    names = header.rstrip("\r\n").rsplit(delimiter, 1)
    return names[-1].startswith('"') and names[-1].endswith('"') and (len(names) == 1 or '"' not in names[0])


def _check_header(path: Path, cells: list[str]) -> list[str]:
    header = [cell.strip() for cell in cells]
    for name in header:
        if name and header.count(name) > 1:
            raise InputError(f"the column {name!r} occurs twice; rename one, or leave it out", path=path, line=1)
    return header


def _cell_value(cell: str) -> str | None:
    if not cell:
        return None
    # `files.row_writers` adds two quotes to texts that consist only of quotes, also to the empty one.
    return cell[2:] if len(cell) > 1 and not cell.strip('"') else cell


def _read_parquet(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    pyarrow, parquet = pyarrow_for("reading Parquet")
    try:
        with parquet.ParquetFile(path) as file:
            number = 0
            for batch in file.iter_batches(batch_size=512):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except FileNotFoundError as error:
        raise InputError("there is no such file", path=path) from error
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"this is not a valid Parquet file ({error})", path=path) from error


_READERS: dict[str, Callable[[Path], Iterator[tuple[int, dict[str, Any]]]]] = {
    ".jsonl": _read_jsonl,
    ".ndjson": _read_jsonl,
    ".json": _read_json,
    ".csv": lambda path: _read_csv(path, ","),
    ".tsv": lambda path: _read_csv(path, "\t"),
    ".parquet": _read_parquet,
}


def pyarrow_for(what: str) -> tuple[Any, Any]:
    """Return pyarrow and pyarrow.parquet, an optional dependency."""
    with require_extra(what, "parquet"):
        import pyarrow
        import pyarrow.parquet
    return pyarrow, pyarrow.parquet
