"""`fullbench ledger`: look into a ledger, take rows out of it, check that it is sound."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fullbench.core.errors import InputError

if TYPE_CHECKING:
    from fullbench.ledger.store import Ledger

ledger_app = typer.Typer(
    name="ledger",
    help="Look into a ledger: every response and verdict ever given.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

LedgerPath = Annotated[Path, typer.Option("--ledger", envvar="FULLBENCH_LEDGER", help="The ledger to look into.")]
DEFAULT = Path("fullbench.ledger")


class What(StrEnum):
    """What can be taken out."""

    verdicts = "verdicts"
    responses = "responses"
    items = "items"


@ledger_app.command()
def show(
    ledger: LedgerPath = DEFAULT,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON value.")] = False,
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
        _print_table(told["accounts"])


@ledger_app.command()
def export(
    to: Annotated[Path, typer.Option("--to", help="File to write: .jsonl, .json, .csv, .tsv (or .gz), .parquet.")],
    what: Annotated[What, typer.Option("--what", help="Which rows to write.")] = What.verdicts,
    judge: Annotated[list[str] | None, typer.Option("--judge", help="Only this judge's verdicts; repeatable.")] = None,
    ledger: LedgerPath = DEFAULT,
) -> None:
    """Write verdicts, responses or items to a file, whole or not at all.

    Example: fullbench ledger export --to verdicts.csv --judge human
    """
    from fullbench.core.files import write_items, write_responses, write_verdicts

    if judge and what is not What.verdicts:
        raise InputError(f"--judge chooses among verdicts; {what.value} have no judge: leave it out")
    with _open(ledger) as opened:
        if what is What.verdicts:
            count = write_verdicts(to, opened.verdicts(judge or None))
        elif what is What.responses:
            count = write_responses(to, opened.responses())
        else:
            count = write_items(to, opened.items())
    typer.echo(f"wrote {count:,} {what.value} to {to}")


@ledger_app.command()
def verify(ledger: LedgerPath = DEFAULT) -> None:
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


def _print_table(accounts: Iterable[dict[str, Any]]) -> None:
    header = ("role", "name", "given", "faults", "failures", "calls", "tokens in", "tokens out", "dollars")
    lines = [header, *(_line(account) for account in accounts)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        left = [cell.ljust(width) for cell, width in zip(line[:2], widths[:2], strict=True)]
        right = [cell.rjust(width) for cell, width in zip(line[2:], widths[2:], strict=True)]
        typer.echo("  ".join([*left, *right]).rstrip())


def _line(account: dict[str, Any]) -> tuple[str, ...]:
    usage = account["usage"]
    dollars = "unknown" if usage["dollars"] is None else f"{usage['dollars']:,.4f}"
    counts = (account["given"], sum(account["faults"].values()), account["failures"], usage["calls"])
    tokens = (usage["tokens_in"], usage["tokens_out"])
    return (account["role"], account["name"], *(f"{count:,}" for count in (*counts, *tokens)), dollars)
