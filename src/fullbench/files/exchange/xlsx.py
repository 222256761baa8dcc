"""Reader of the first sheet of an .xlsx file, using only the standard library."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from fullbench.errors import InputError
from fullbench.files.readers import read_rows

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_LARGEST = 512 * 2**20
"""Maximum bytes of an uncompressed sheet."""


def sheet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a sheet, or of any other readable file, by the names in its first row."""
    if path.suffix.lower() != ".xlsx":
        yield from read_rows(path)
        return
    lines = _read_sheet(path)
    _, first = next(lines, (0, {}))
    header = {place: str(cell) for place, cell in first.items() if cell not in {None, ""}}
    count = 0
    for count, (line, cells) in enumerate(lines, 1):  # noqa: B007
        yield line, {name: cells.get(place) for place, name in header.items()}
    if not count:
        raise InputError("the sheet has no rows", path=path)


def _read_sheet(path: Path) -> Iterator[tuple[int, dict[int, Any]]]:
    try:
        with zipfile.ZipFile(path) as book:
            names = [name for name in book.namelist() if re.fullmatch(r"xl/worksheets/sheet\d+\.xml", name)]
            if not names or sum(book.getinfo(name).file_size for name in names) > _LARGEST:
                raise InputError("it holds no sheet, or one too large to be read", path=path)
            shared_texts = _read_shared_texts(book)
            # By length first, so that sheet2 precedes sheet10.
            root = _parse_xml(book.read(min(names, key=lambda name: (len(name), name))))
    except (OSError, zipfile.BadZipFile, KeyError, ElementTree.ParseError) as error:
        raise InputError(f"this is no sound .xlsx file ({error})", path=path) from error
    for row in root.iter(f"{_MAIN}row"):
        yield (
            int(row.get("r", "0")),
            {_column_number(cell): _cell_value(cell, shared_texts) for cell in row.iter(f"{_MAIN}c")},
        )


def _parse_xml(text: bytes) -> ElementTree.Element:
    if b"<!DOCTYPE" in text[:1024]:  # sheets have none; entities could expand to gigabytes
        raise ElementTree.ParseError("a document type is declared")
    return ElementTree.fromstring(text)  # noqa: S314 (no document type, so no entities)


def _read_shared_texts(book: zipfile.ZipFile) -> list[str]:
    if "xl/sharedStrings.xml" not in book.namelist():
        return []
    root = _parse_xml(book.read("xl/sharedStrings.xml"))
    entries = ["".join(text.text or "" for text in entry.iter(f"{_MAIN}t")) for entry in root.iter(f"{_MAIN}si")]
    return list(map(_unescape_text, entries))


def _unescape_text(text: str) -> str:
    """Decode characters that XML cannot contain, which a sheet writes as _x000D_."""
    return re.sub(r"_x([0-9A-Fa-f]{4})_", lambda code: chr(int(code[1], 16)), text)


def _column_number(cell: ElementTree.Element) -> int:
    """Return the number of a cell's column: A is 1, AA is 27."""
    place = 0
    for letter in cell.get("r", "").rstrip("0123456789"):
        place = place * 26 + ord(letter) - 64
    return place


def _cell_value(cell: ElementTree.Element, shared_texts: list[str]) -> Any:
    kind = cell.get("t")
    if kind == "inlineStr":
        return _unescape_text("".join(text.text or "" for text in cell.iter(f"{_MAIN}t")))
    value = cell.find(f"{_MAIN}v")
    if value is None or value.text is None:
        return None
    if kind == "s":
        return shared_texts[int(value.text)]
    if kind == "b":
        return value.text == "1"
    if kind == "e":
        return None
    if kind in {None, "n"}:
        number = float(value.text)
        return int(number) if number.is_integer() else number
    return value.text
