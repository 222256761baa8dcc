"""Output and input of tables: text for a terminal, Markdown, LaTeX, CSV, JSON and HTML."""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, pack_note, unpack_note
from fullbench.errors import InputError
from fullbench.reports.atomic_write import write_file
from fullbench.reports.cell_text import is_fault, is_numeric_column, table_notes, with_n
from fullbench.reports.display_names_of_judges_and_contestants import NAME_COLUMNS, table_as_shown
from fullbench.reports.table_json_types_and_notes import (
    packed_hint,
    restore_notes,
    table_types,
    typed_columns,
    unpacked_hint,
)
from fullbench.secret_masking_and_text_escapes import escape_formula

Form = Literal["text", "markdown", "csv", "json", "html", "latex"]
FLAGS = ("one_sided", "simultaneous", "corrected")
SUFFIXES: dict[str, Form] = {
    ".txt": "text", ".md": "markdown", ".csv": "csv", ".json": "json", ".html": "html", ".tex": "latex",
}  # fmt: skip
CHART_SUFFIXES = (".svg", ".png", ".pdf")


def render_table(table: Table, form: Form = "text", *, width: int = 100, color: bool = False) -> str:
    """Return a table in one of the forms; `width` and `color` apply to text only.

    Text for people (text, Markdown, HTML) has display names. CSV and JSON have full names and the display names next to
    them.

    >>> table = Table("t", "Agreement", ["judge", "r"], [["A", Estimate(0.81, 0.772, 0.853, 412)], ["B", None]])
    >>> print(render_table(table, "markdown"))
    **Agreement**
    <BLANKLINE>
    | judge | r | n |
    | :--- | ---: | ---: |
    | A | 0.81 [0.77, 0.85] | 412 |
    | B | - | - |
    <BLANKLINE>
    """
    if form in {"text", "markdown", "html"}:
        table = table_as_shown(table)
    if form == "text":
        from fullbench.reports.tables_as_terminal_text import render_text

        return render_text(table, width=width, color=color)
    if form == "html":
        from fullbench.reports.html_page import table_fragment

        return table_fragment(table)
    if form == "markdown":
        return _table_markdown(table)
    if form == "latex":
        return _table_latex(table)
    if form == "csv":
        return _table_csv(table)
    if form == "json":
        return _table_json(table).decode()
    raise InputError(f"unknown form {form!r}; known: {', '.join(SUFFIXES.values())}")


def write_tables(tables: Table | Sequence[Table], path: str | Path) -> list[Path]:
    """Write tables in the form given by the suffix, and return the files written.

    Several tables share a file, except as CSV: then each gets its own, `NAME-TABLE.csv`. The suffixes .svg, .png and
    .pdf write the chart of one table.
    """
    path = Path(path)
    table_list = [tables] if isinstance(tables, Table) else list(tables)
    if path.suffix.lower() in CHART_SUFFIXES:
        return [_write_chart(table_list, path)]
    form = SUFFIXES.get(path.suffix.lower())
    if form is None:
        kind = f"the file type {path.suffix} is not known" if path.suffix else "the name has no file type"
        known_types = ", ".join((*SUFFIXES, *CHART_SUFFIXES))
        raise InputError(f"{kind}; use one of {known_types} (the last three for the chart of one table)", path=path)
    if form == "csv" and len(table_list) > 1:
        stems = _file_stems(table.name for table in table_list)
        return [
            write_file(path.with_stem(f"{path.stem}-{stem}"), _table_csv(table))
            for stem, table in zip(stems, table_list, strict=True)
        ]
    if form == "json" and len(table_list) != 1:
        return [write_file(path, b"[" + b",\n".join(map(_table_json, table_list)) + b"]\n")]
    if form == "html":
        from fullbench.reports.html_page import Section, render_page

        title = table_list[0].title if len(table_list) == 1 else path.stem
        sections = [Section("", tables=[table_as_shown(table) for table in table_list])]
        return [write_file(path, render_page(title, "", sections))]
    return [write_file(path, "\n".join(render_table(table, form) for table in table_list))]


def _write_chart(tables: Sequence[Table], path: Path) -> Path:
    """Write the chart of one table."""
    from fullbench.reports.charts.chart_specification_and_rendering import build_chart, write_chart

    if len(tables) != 1:
        raise InputError(f"a chart shows one table, and there are {len(tables)}; choose one, or write .html", path=path)
    chart = build_chart(tables[0])
    if chart is None:
        raise InputError(f"the table {tables[0].name!r} has no chart; write .csv, .tex or .html", path=path)
    return write_chart(chart, path)


def _file_stems(names: Iterable[str]) -> list[str]:
    """Return unique file names without spaces and characters that shells and web servers interpret.

    >>> _file_stems(["leaderboard gpt+analyze#12", "leaderboard gpt analyze 12", "unusable"])
    ['leaderboard-gpt-analyze-12', 'leaderboard-gpt-analyze-12-2', 'unusable']
    """
    stems: list[str] = []
    for name in names:
        stem = plain = re.sub(r"[^\w.]+", "-", name).strip("-") or "table"
        number = 1
        while stem in stems:
            number += 1
            stem = f"{plain}-{number}"
        stems.append(stem)
    return stems


def table_from_json(text: str | bytes) -> Table:
    """Return the table that `render_table(table, "json")` wrote.

    >>> table = Table("t", "T", ("a",), ((Estimate(0.5, 0.25, 0.75, 9),), (None,)))
    >>> table_from_json(render_table(table, "json")) == table
    True
    """
    import orjson

    try:
        return _unpack_table(orjson.loads(text))
    except orjson.JSONDecodeError as error:
        raise InputError(f"this is no JSON: {error}") from error


def _table_json(table: Table) -> bytes:
    import orjson

    value = {
        "name": table.name,
        "title": table.title,
        "columns": list(table.columns),
        "rows": [[_pack_cell(cell) for cell in row] for row in table.rows],
        "notes": list(table.notes),
        "source": dict(table.source),
        "chart": None if table.chart is None else packed_hint(table.chart),
        "types": table_types(table),
        **({"names": dict(table.names)} if table.names else {}),
    }
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _pack_cell(cell: Cell) -> Any:
    if isinstance(cell, float) and not math.isfinite(cell):
        raise ValueError(f"a table holds finite numbers or None; found {cell}")
    if not isinstance(cell, Estimate):
        return cell
    entry: dict[str, Any] = {"value": cell.value, "low": cell.low, "high": cell.high, "n": cell.n}
    entry |= {"level": cell.level, "method": cell.method}
    entry |= {} if cell.p is None else {"p": cell.p}
    entry |= {} if cell.units is None else {"units": cell.units}
    entry |= {flag: True for flag in FLAGS if getattr(cell, flag)}
    entry |= {"low": None, "high": None, "why": cell.why} if cell.why else {}
    entry |= {"reason": pack_note(cell.why)} if isinstance(cell.why, Note) else {}
    return entry


def _unpack_table(value: Any) -> Table:
    try:
        rows = tuple(
            tuple(_unpack_estimate(cell) if isinstance(cell, dict) else cell for cell in row) for row in value["rows"]
        )
        type_entries = value.get("types", {})  # missing in tables written by the first version
        return Table(
            value["name"],
            unpack_note(value["title"], type_entries.get("title")),
            typed_columns(value["columns"], type_entries.get("columns")),
            restore_notes(rows, type_entries.get("cells", {})),
            tuple(map(unpack_note, value["notes"], type_entries.get("notes") or [None] * len(value["notes"]))),
            value["source"],
            None if value["chart"] is None else unpacked_hint(value["chart"]),
            value.get("names", {}),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"this JSON is not a table of fullbench: {error!r}") from error


def _unpack_estimate(entry: dict[str, Any]) -> Estimate:
    if not entry.get("why"):
        return Estimate(**entry)
    ends = {"low": entry["value"], "high": entry["value"]}
    estimate_fields = {name: value for name, value in entry.items() if name != "reason"}
    return Estimate(**{**estimate_fields, **ends, "why": unpack_note(entry["why"], entry.get("reason"))})


def _table_csv(table: Table) -> str:
    """Return CSV: four columns per estimate, empty fields for missing values, spreadsheet formulas escaped.

    A column of full names is followed by one of display names if some differ.
    """
    table = _with_name_columns(table)
    wide = [any(isinstance(row[place], Estimate) for row in table.rows) for place in range(len(table.columns))]
    head: list[str] = []
    for name, spread in zip(table.columns, wide, strict=True):
        head += [name, f"{name}_low", f"{name}_high", f"{name}_n"] if spread else [name]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    # Spreadsheets run cells that look like formulas; `FULLBENCH_CSV=raw` keeps texts unchanged.
    safe = (lambda text: text) if os.environ.get("FULLBENCH_CSV") == "raw" else escape_formula
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


def _with_name_columns(table: Table) -> Table:
    """Return a table with a column of display names after each column of full names, if some differ."""
    columns: list[str] = []
    rows: list[list[Cell]] = [[] for _ in table.rows]
    for place, column in enumerate(table.typed_columns):
        cells = table.cells(place)
        columns.append(column)
        new_columns = [cells]
        if column.key in NAME_COLUMNS and any(cell in table.names for cell in cells if isinstance(cell, str)):
            columns.append(f"{column}_name")
            new_columns.append([table.names.get(cell, cell) if isinstance(cell, str) else cell for cell in cells])
        for new_row, *new_cells in zip(rows, *new_columns, strict=True):
            new_row.extend(new_cells)
    return replace(table, columns=columns, rows=rows)


_MARKS = str.maketrans({char: f"\\{char}" for char in "\\|*`<[]"})


def _table_markdown(table: Table) -> str:
    columns, rows = with_n(table)
    table_columns = table.typed_columns
    right = [is_numeric_column(table.cells(place)) for place in range(len(table.columns))] + [True] * (
        len(columns) - len(table.columns)
    )
    lines = [f"**{table.title.translate(_MARKS)}**", ""]
    lines.append("| " + " | ".join(name.translate(_MARKS) for name in columns) + " |")
    lines.append("| " + " | ".join("---:" if numbers else ":---" for numbers in right) + " |")
    for row_texts, cells in zip(rows, table.rows, strict=True):
        fields = [
            text.translate(_MARKS) if place < len(cells) and isinstance(cells[place], str) else text
            for place, text in enumerate(row_texts)
        ]
        fields = [
            f"**{text}**" if place < len(cells) and is_fault(table_columns[place], cells[place]) else text
            for place, text in enumerate(fields)
        ]
        lines.append("| " + " | ".join(fields) + " |")
    below = table_notes(table)
    lines += ["", *(f"- {note.translate(_MARKS)}" for note in below)] if below else []
    return "\n".join(lines) + "\n"


_LATEX = str.maketrans(
    {char: f"\\{char}" for char in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"≤": r"$\le$", "≥": r"$\ge$", "±": r"$\pm$", "×": r"$\times$", "−": "$-$", "–": "--", "…": r"\dots{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "\n": " "}
)


def _table_latex(table: Table) -> str:
    """Return a LaTeX table; it needs the package booktabs, and names in other scripts need XeLaTeX or LuaLaTeX."""
    columns, rows = with_n(table)
    right = [is_numeric_column(table.cells(place)) for place in range(len(table.columns))]
    right += [True] * (len(columns) - len(table.columns))
    lines = [
        r"\begin{table}", r"\centering", f"\\caption{{{table.title.translate(_LATEX)}}}",
        f"\\begin{{tabular}}{{{''.join('r' if numbers else 'l' for numbers in right)}}}", r"\toprule",
        " & ".join(name.translate(_LATEX) for name in columns) + r" \\", r"\midrule",
    ]  # fmt: skip
    # A bracket after the line break of the row above would be read as its option: rows begin with an empty group.
    lines += ["{}" + " & ".join(text.translate(_LATEX) for text in row) + r" \\" for row in rows]
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [f"\\par\\footnotesize {note.translate(_LATEX)}" for note in table_notes(table)]
    return "\n".join([*lines, r"\end{table}"]) + "\n"
