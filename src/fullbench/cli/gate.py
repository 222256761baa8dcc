"""`fullbench gate`: thresholds that a judge or a contestant must pass, for continuous integration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.options import JsonOption, say, show


def gate(
    thresholds: Annotated[Path, typer.Argument(help="The thresholds, a TOML file.")] = Path("gate.toml"),
    ledger: Annotated[
        str | None, typer.Option("--ledger", help="The ledger, in the place of the one that the file names.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML here.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the table here: .md, .html, .json, .csv or .txt.")] = None,
    as_json: JsonOption = False,
) -> int:
    """Check thresholds on audits, agreement, ratings and drift; the exit code is 1 where one fails. Nothing is asked.

    Examples:

        fullbench gate gate.toml --junit gate.xml --out gate.md

        fullbench gate gate.toml --ledger nightly.ledger
    """
    from fullbench.audit import threshold_gate as gates
    from fullbench.reports.atomic_write import write_file
    from fullbench.reports.table_formats import write

    found = gates.checks(thresholds, ledger)
    table = gates.gate_table(found)
    if junit is not None:
        write_file(junit, gates.junit(found))
        say(f"Written: {junit}")
    if out is not None:
        write([table], out)
        say(f"Written: {out}")
    show([table], as_json=as_json)
    return int(not all(check.passed for check in found))
