"""One table in five forms: text for a terminal, Markdown, CSV, JSON and HTML."""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, pack, unpack
from fullbench.core.table import Cell, Table
from fullbench.errors import InputError
from fullbench.reports.atomic_write import write_file
from fullbench.reports.cell_text import is_fault, notes, numeric, with_n
from fullbench.reports.table_json_types import packed_hint, typed_columns, types, unpacked_hint, with_said
from fullbench.text_safety import no_formula

Form = Literal["text", "markdown", "csv", "json", "html"]
FLAGS = ("one_sided", "simultaneous", "corrected")
SUFFIXES: dict[str, Form] = {".txt": "text", ".md": "markdown", ".csv": "csv", ".json": "json", ".html": "html"}


def render(table: Table, form: Form = "text", *, width: int = 100, color: bool = False) -> str:
    """A table in one of the forms; `width` and `color` are for text alone.

    >>> table = Table("t", "Agreement", ["judge", "r"], [["A", Estimate(0.81, 0.772, 0.853, 412)], ["B", None]])
    >>> print(render(table, "markdown"))
    **Agreement**
    <BLANKLINE>
    | judge | r | n |
    | :--- | ---: | ---: |
    | A | 0.81 [0.77, 0.85] | 412 |
    | B | - | - |
    <BLANKLINE>
    """
    if form == "text":
        from fullbench.reports.terminal_text import text

        return text(table, width=width, color=color)
    if form == "html":
        from fullbench.reports.html_page import fragment

        return fragment(table)
    if form == "markdown":
        return _markdown(table)
    if form == "csv":
        return _csv(table)
    if form == "json":
        return _json(table).decode()
    raise InputError(f"unknown form {form!r}; known: {', '.join(SUFFIXES.values())}")


def write(tables: Table | Sequence[Table], path: str | Path) -> list[Path]:
    """Write tables in the form that the suffix names, and say which files were written.

    Several tables share a file, except as CSV: then each gets its own, `NAME-TABLE.csv`.
    """
    path = Path(path)
    listed = [tables] if isinstance(tables, Table) else list(tables)
    form = SUFFIXES.get(path.suffix.lower())
    if form is None:
        raise InputError(f"the suffix says the form: {', '.join(SUFFIXES)}", path=path)
    if form == "csv" and len(listed) > 1:
        stems = _stems(table.name for table in listed)
        return [
            write_file(path.with_stem(f"{path.stem}-{stem}"), _csv(table))
            for stem, table in zip(stems, listed, strict=True)
        ]
    if form == "json" and len(listed) != 1:
        return [write_file(path, b"[" + b",\n".join(map(_json, listed)) + b"]\n")]
    if form == "html":
        from fullbench.reports.html_page import Section, page

        title = listed[0].title if len(listed) == 1 else path.stem
        return [write_file(path, page(title, "", [Section("", tables=listed)]))]
    return [write_file(path, "\n".join(render(table, form) for table in listed))]


def _stems(names: Iterable[str]) -> list[str]:
    """Names for files: without blanks and signs that shells and web servers take for their own, each once.

    >>> _stems(["leaderboard gpt+analyze#12", "leaderboard gpt analyze 12", "faults"])
    ['leaderboard-gpt-analyze-12', 'leaderboard-gpt-analyze-12-2', 'faults']
    """
    taken: list[str] = []
    for name in names:
        stem = plain = re.sub(r"[^\w.]+", "-", name).strip("-") or "table"
        number = 1
        while stem in taken:
            number += 1
            stem = f"{plain}-{number}"
        taken.append(stem)
    return taken


def table_from_json(text: str | bytes) -> Table:
    """The table that `render(table, "json")` wrote.

    >>> table = Table("t", "T", ("a",), ((Estimate(0.5, 0.25, 0.75, 9),), (None,)))
    >>> table_from_json(render(table, "json")) == table
    True
    """
    return _table(_loads(text))


def read_tables(path: str | Path) -> list[Table]:
    """The tables of a JSON file that `write` made."""
    try:
        content = _loads(Path(path).read_bytes())
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path) from error
    except InputError as error:
        raise InputError(str(error), path=path) from error
    return [_table(entry) for entry in (content if isinstance(content, list) else [content])]


def _loads(text: str | bytes) -> Any:
    import orjson

    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InputError(f"this is no JSON: {error}") from error


def _json(table: Table) -> bytes:
    import orjson

    value = {
        "name": table.name,
        "title": table.title,
        "columns": list(table.columns),
        "rows": [[_pack(cell) for cell in row] for row in table.rows],
        "notes": list(table.notes),
        "source": dict(table.source),
        "chart": None if table.chart is None else packed_hint(table.chart),
        "types": types(table),
    }
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _pack(cell: Cell) -> Any:
    if isinstance(cell, float) and not math.isfinite(cell):
        raise ValueError(f"a table holds finite numbers or None; found {cell}")
    if not isinstance(cell, Estimate):
        return cell
    packed: dict[str, Any] = {"value": cell.value, "low": cell.low, "high": cell.high, "n": cell.n}
    packed |= {"level": cell.level, "method": cell.method}
    packed |= {} if cell.p is None else {"p": cell.p}
    packed |= {} if cell.units is None else {"units": cell.units}
    packed |= {flag: True for flag in FLAGS if getattr(cell, flag)}
    packed |= {"low": None, "high": None, "why": cell.why} if cell.why else {}
    packed |= {"reason": pack(cell.why)} if isinstance(cell.why, Note) else {}
    return packed


def _table(value: Any) -> Table:
    try:
        rows = tuple(
            tuple(_estimate(cell) if isinstance(cell, dict) else cell for cell in row) for row in value["rows"]
        )
        known = value.get("types", {})  # tables of the first build have none
        return Table(
            value["name"],
            unpack(value["title"], known.get("title")),
            typed_columns(value["columns"], known.get("columns")),
            with_said(rows, known.get("cells", {})),
            tuple(map(unpack, value["notes"], known.get("notes") or [None] * len(value["notes"]))),
            value["source"],
            None if value["chart"] is None else unpacked_hint(value["chart"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"this JSON is no table of fullbench: {error!r}") from error


def _estimate(packed: dict[str, Any]) -> Estimate:
    """An estimate as `_pack` wrote it; one without an interval has its value for both ends."""
    if not packed.get("why"):
        return Estimate(**packed)
    ends = {"low": packed["value"], "high": packed["value"]}
    known = {name: value for name, value in packed.items() if name != "reason"}
    return Estimate(**{**known, **ends, "why": unpack(packed["why"], packed.get("reason"))})


def _csv(table: Table) -> str:
    """Estimates spread over four columns; nothing is an empty field; names are no formulas."""
    wide = [any(isinstance(row[place], Estimate) for row in table.rows) for place in range(len(table.columns))]
    head: list[str] = []
    for name, spread in zip(table.columns, wide, strict=True):
        head += [name, f"{name}_low", f"{name}_high", f"{name}_n"] if spread else [name]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    safe = (lambda text: text) if os.environ.get("FULLBENCH_CSV") == "raw" else no_formula
    writer.writerow(map(safe, head))
    for row in table.rows:
        fields: list[Cell] = []
        for cell, spread in zip(row, wide, strict=True):
            if isinstance(cell, Estimate):
                ends = [None, None] if cell.why else [cell.low, cell.high]
                fields += [cell.value, *ends, cell.n]
            else:
                fields += [cell, None, None, None] if spread else [cell]
        writer.writerow([safe(field) if isinstance(field, str) else field for field in fields])
    return out.getvalue()


_MARKS = str.maketrans({char: f"\\{char}" for char in "\\|*`<[]"})


def _markdown(table: Table) -> str:
    columns, rows = with_n(table)
    typed = table.typed
    right = [numeric(table.cells(place)) for place in range(len(table.columns))] + [True] * (
        len(columns) - len(table.columns)
    )
    lines = [f"**{table.title.translate(_MARKS)}**", ""]
    lines.append("| " + " | ".join(name.translate(_MARKS) for name in columns) + " |")
    lines.append("| " + " | ".join("---:" if numbers else ":---" for numbers in right) + " |")
    for shown, cells in zip(rows, table.rows, strict=True):
        fields = [
            text.translate(_MARKS) if place < len(cells) and isinstance(cells[place], str) else text
            for place, text in enumerate(shown)
        ]
        fields = [
            f"**{text}**" if place < len(cells) and is_fault(typed[place], cells[place]) else text
            for place, text in enumerate(fields)
        ]
        lines.append("| " + " | ".join(fields) + " |")
    below = notes(table)
    lines += ["", *(f"- {note.translate(_MARKS)}" for note in below)] if below else []
    return "\n".join(lines) + "\n"
