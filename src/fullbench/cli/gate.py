"""`fullbench gate`: thresholds that a judge or a contestant must pass, for continuous integration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fullbench.cli.console import print_message, print_tables
from fullbench.cli.options import JsonOption, TablesOption, argument, option


def gate(
    thresholds: Annotated[Path, argument("TOML file with the thresholds.")] = Path("gate.toml"),
    ledger: Annotated[
        str | None, option("Ledger to check. Default: the ledger that the file names.", "--ledger")
    ] = None,
    junit: Annotated[Path | None, option("File for JUnit XML.")] = None,
    out: TablesOption = None,
    as_json: JsonOption = False,
) -> int:
    """Check thresholds on audits, agreement, ratings and judge changes. No model is called.

    The exit code is 1 if any threshold fails, and 0 otherwise.

    Examples:

        fullbench gate gate.toml --junit gate.xml --out gate.md

        fullbench gate gate.toml --ledger nightly.ledger
    """
    from fullbench.audit import threshold_gate as gates
    from fullbench.reports.atomic_write import write_file
    from fullbench.reports.table_formats import write_tables

    checks = gates.run_checks(thresholds, ledger)
    table = gates.gate_table(checks)
    if junit is not None:
        write_file(junit, gates.junit_xml(checks))
        print_message(f"Written: {junit}")
    if out is not None:
        write_tables([table], out)
        print_message(f"Written: {out}")
    print_tables([table], as_json=as_json)
    return int(not all(check.is_passed for check in checks))
