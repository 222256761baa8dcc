"""`fullbench gate`: thresholds that a judge or a contestant must pass, for continuous integration."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from fullbench.cli.console import print_message, print_tables
from fullbench.cli.shared_options_and_run_output import DEFAULT_LEDGER, JsonOption, argument, option
from fullbench.errors import InputError


def gate(
    thresholds: Annotated[Path, argument("TOML file with the thresholds.")] = Path("gate.toml"),
    ledger: Annotated[
        str | None, option("Ledger to check. Default: the ledger that the file names.", "--ledger")
    ] = None,
    init: Annotated[
        bool,
        option("Write a first file of thresholds from what the ledger holds, just below each value.", "--init"),
    ] = False,
    junit: Annotated[Path | None, option("File for JUnit XML.")] = None,
    out: Annotated[Path | None, option("Output file: .html, .json, .csv, .md, .txt, or .svg for a badge.")] = None,
    as_json: JsonOption = False,
) -> int:
    """Check thresholds on audits, agreement, ratings and judge changes. No model is called.

    The exit code is 1 if any threshold fails, and 0 otherwise.

    Examples:

        fullbench gate --init --ledger fullbench.ledger

        fullbench gate gate.toml --junit gate.xml --out gate.md

        fullbench gate gate.toml --ledger nightly.ledger
    """
    if init:
        return _write_first_gate(thresholds, ledger or DEFAULT_LEDGER)
    from fullbench.audit import threshold_gate as gates
    from fullbench.reports.atomic_write import write_file
    from fullbench.reports.table_formats import write_tables

    checks = gates.run_checks(thresholds, ledger)
    table = gates.gate_table(checks)
    if junit is not None:
        write_file(junit, gates.junit_xml(checks))
        print_message(f"Written: {junit}")
    if out is not None:
        if out.suffix == ".svg":
            write_file(out, gates.gate_badge(checks))
        else:
            write_tables([table], out)
        print_message(f"Written: {out}")
    print_tables([table], as_json=as_json)
    return int(not all(check.is_passed for check in checks))


def _write_first_gate(path: Path, ledger: str) -> int:
    """Write a gate file with thresholds for the judges of a ledger."""
    from fullbench.audit.gate_template import gate_template
    from fullbench.ledger.ledger import Ledger
    from fullbench.reports.atomic_write import write_file

    if path.exists():
        raise InputError("this file exists already; choose another name, or move it away", path=path)
    place = ledger if "://" in ledger else os.path.relpath(ledger, path.parent)
    with Ledger(ledger, read_only=True) as book:
        text = gate_template(book, place)
    if "\n[[" not in text:
        raise InputError(
            f"{ledger} has no audit and no judge with people's votes on the same responses, so there is nothing to set "
            "thresholds on"
        )
    write_file(path, text)
    print_message(f"Written: {path}. Next: fullbench gate {path}")
    return 0
