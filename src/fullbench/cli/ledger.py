"""`fullbench ledger`: look into a ledger, take rows out of it, check that it is sound."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fullbench.cli.common import DEFAULT_LEDGER, JsonOption, LedgerOption
from fullbench.cli.common import show as show_tables
from fullbench.core.errors import InputError
from fullbench.core.results import Table
from fullbench.core.writers import Columns

if TYPE_CHECKING:
    from fullbench.ledger.store import Ledger

ledger_app = typer.Typer(
    name="ledger",
    help="Look into a ledger: every response and verdict ever given.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


QUEUE: Columns = {
    "item": "text", "contestants": "json", "ballot": "text", "criterion": "text", "question": "text",
    "answers": "json", "marks": "json",
}  # fmt: skip


class What(StrEnum):
    """What can be taken out."""

    verdicts = "verdicts"
    responses = "responses"
    items = "items"
    doubtful = "doubtful"


@ledger_app.command()
def show(
    ledger: LedgerOption = DEFAULT_LEDGER,
    as_json: JsonOption = False,
) -> None:
    """Say what is inside: judges, contestants, verdicts, faults and what they cost.

    Example: fullbench ledger show --ledger study.ledger
    """
    with _open(ledger) as opened:
        told = opened.describe()
    if as_json:
        typer.echo(json.dumps(told, ensure_ascii=False, indent=2))
        return
    counts = ", ".join(f"{count:,} {name}" for name, count in told["counts"].items())
    typer.echo(f"{told['path']}: {counts}")
    if told["last"] is not None:
        typer.echo(f"verdicts from {_when(told['first'])} to {_when(told['last'])}; digest {told['digest']}")
    if told["accounts"]:
        typer.echo("")
        show_tables([_table(told["accounts"])], as_json=False)


@ledger_app.command()
def export(
    to: Annotated[Path, typer.Option("--to", help="File to write: .jsonl, .json, .csv, .tsv (or .gz), .parquet.")],
    what: Annotated[What, typer.Option("--what", help="Which rows to write.")] = What.verdicts,
    judge: Annotated[list[str] | None, typer.Option("--judge", help="Only this judge's verdicts; repeatable.")] = None,
    ledger: LedgerOption = DEFAULT_LEDGER,
) -> None:
    """Write verdicts, responses or items to a file, whole or not at all.

    `--what doubtful` writes the cases that a judge left without a mark, or without a majority over its trials, for
    people to fill in: once its column `marks` is filled, the file is one of labels.

    Example: fullbench ledger export --to verdicts.csv --judge human
    """
    from fullbench.core.files import write_items, write_responses, write_rows, write_verdicts
    from fullbench.reports.doubt import queue

    if judge and what not in {What.verdicts, What.doubtful}:
        raise InputError(f"--judge chooses among verdicts; {what.value} have no judge: leave it out")
    with _open(ledger) as opened:
        if what is What.verdicts:
            count = write_verdicts(to, opened.verdicts(judge or None))
        elif what is What.doubtful:
            count = write_rows(to, queue(opened.record(judge or None)), QUEUE)
        elif what is What.responses:
            count = write_responses(to, opened.responses())
        else:
            count = write_items(to, opened.items())
    typer.echo(f"wrote {count:,} {what.value}{' cases' if what is What.doubtful else ''} to {to}")


@ledger_app.command()
def verify(ledger: LedgerOption = DEFAULT_LEDGER) -> None:
    """Check that the ledger is sound: the file, every digest, every verdict, every picture.

    Exit code 0 when it is, 1 with one line for each problem when it is not.
    Example: fullbench ledger verify --ledger study.ledger
    """
    with _open(ledger) as opened:
        problems = opened.verify()
        counts = opened.describe()["counts"] if not problems else {}
    for problem in problems:
        typer.echo(problem)
    if problems:
        typer.echo(f"{ledger}: {len(problems):,} problems were found", err=True)
        raise typer.Exit(1)
    typer.echo(f"{ledger}: sound; {counts['verdicts']:,} verdicts, {counts['responses']:,} responses checked")


def _open(path: Path) -> Ledger:
    from fullbench.ledger.store import Ledger

    return Ledger(path, read_only=True)


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def _table(accounts: Iterable[dict[str, Any]]) -> Table:
    columns = ("role", "name", "given", "faults", "failures", "calls", "tokens in", "tokens out", "dollars")
    rows = [
        [account["role"], account["name"], account["given"], sum(account["faults"].values()), account["failures"],
         *(account["usage"][name] for name in ("calls", "tokens_in", "tokens_out", "dollars"))]
        for account in accounts
    ]  # fmt: skip
    notes = ["Dollars are not known where a '-' stands."] if any(row[-1] is None for row in rows) else []
    return Table("bill", "What was given, and what it used", columns, rows, notes)
