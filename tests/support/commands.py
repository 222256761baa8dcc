"""The command line as a user types it, in this process: what it printed and how it ended."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

if TYPE_CHECKING:
    from click.testing import Result


@dataclass(frozen=True)
class Done:
    """What a command wrote, and the code that it ended with."""

    stdout: str
    stderr: str
    returncode: int = 0

    @property
    def output(self) -> str:
        return " ".join((self.stdout + self.stderr).split())

    @property
    def tables(self) -> dict[str, Any]:
        """The tables that it printed as JSON, by name."""
        return {table["name"]: table for table in json.loads(self.stdout)}


def call(*words: object) -> tuple[int, Done]:
    """Run a command: the code that it ended with, and what it wrote."""
    from fullbench.cli import main

    out, err = io.StringIO(), io.StringIO()
    ended = 0
    with (
        mock.patch.object(sys, "argv", ["fullbench", *map(str, words)]),
        # Else help names `python -m pytest` as the program if the tests were started so.
        mock.patch.object(sys.modules["__main__"], "__package__", None),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as left:
            ended = left.code if isinstance(left.code, int) else int(bool(left.code))
    return ended, Done(out.getvalue(), err.getvalue(), ended)


def run_in(folder: Path, *words: object) -> Done:
    """Run a command in a folder."""
    with contextlib.chdir(folder), mock.patch.dict(os.environ):
        os.environ.pop("FULLBENCH_LEDGER", None)
        return call(*words)[1]


def cli(*words: object, code: int = 0) -> Done:
    """Run a command; it must end with the code."""
    ended, done = call(*words)
    assert ended == code, done.stdout + done.stderr
    return done


def invoke(*words: object) -> Result:
    """Run a command without the start-up of `main`; it must succeed."""
    from typer.testing import CliRunner

    from fullbench.cli.all_commands import app

    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def stdout_of(*words: object) -> str:
    return invoke(*words).stdout


def output_of(*words: object) -> str:
    return invoke(*words).output


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    """Rows as JSON Lines."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def cells(table: dict[str, Any], column: str, *keys: str) -> dict[Any, Any]:
    """A column's values by the values of other columns; an estimate counts as its value."""

    def plain(cell: Any) -> Any:
        return cell["value"] if isinstance(cell, dict) and "value" in cell else cell

    columns = table["columns"]
    places = [columns.index(key) for key in keys]
    found = {}
    for row in table["rows"]:
        key = tuple(plain(row[place]) for place in places)
        found[key[0] if len(key) == 1 else key] = plain(row[columns.index(column)])
    return found
