"""Worked examples for judges, out of a file."""

from __future__ import annotations

from pathlib import Path

from fullbench.errors import InputError
from fullbench.files.row_fields import Fields
from fullbench.files.readers import read_rows
from fullbench.judges.prompt_examples import Example
from fullbench.core.ballot import ballot as ballot_of


def read_examples(path: Path) -> tuple[Example, ...]:
    """Examples of a file: `text`, `marks` (a number or a list) and `ballot`."""
    return tuple(_example(Fields(path, line, row, {"marks": ("mark", "score")})) for line, row in read_rows(path))


def _example(fields: Fields) -> Example:
    given = fields.json("marks")
    marks = given if isinstance(given, list) else [given]
    if not marks or not all(isinstance(mark, int | float) for mark in marks):
        raise fields.error(f"an example's 'marks' are numbers, one for each response; found {given!r}")
    form = fields.text("ballot") or ""
    if form and not ballot_of(form).allows(tuple(map(float, marks))):
        raise InputError(f"the marks {marks} fit no ruling of {form}", path=fields.path, line=fields.line)
    return Example(fields.name("text"), tuple(map(float, marks)), form)
