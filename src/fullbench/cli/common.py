"""What several commands share."""

from __future__ import annotations

import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from fullbench.nouns.table import Table
from fullbench.studies.engines import Engine, Stop, Tally

if TYPE_CHECKING:
    from fullbench.ledger.store import Ledger
    from fullbench.nouns.record import Record

LedgerOption = Annotated[
    str,
    typer.Option(
        "--ledger", envvar="FULLBENCH_LEDGER", help="Where all is kept: a file, or postgresql://user@host/database."
    ),
]
PicturesOption = Annotated[
    str | None,
    typer.Option(
        "--pictures",
        envvar="FULLBENCH_PICTURES",
        help="Where pictures are kept: a folder, or s3://bucket/prefix; the ledger remembers it. Else beside it.",
    ),
]
PicturesFromOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--pictures-from",
        help="Read pictures that data files name from this folder too, not only from the data's own. Repeatable.",
    ),
]
StudyOption = Annotated[
    str | None,
    typer.Option("--study", help="The study in the ledger; unrelated data are kept apart by it."),
]
VoteRuleOption = Annotated[
    str,
    typer.Option(
        "--rule",
        help="How several people's votes on the same responses count as one: mean, median, majority, dawid-skene, or "
        "each on its own; default is the usual one of the ballot.",
    ),
]
VisibleOption = Annotated[
    bool, typer.Option("--visible", help="Count votes too that were cast with names in view; else they are left out.")
]
SupersedeOption = Annotated[
    bool, typer.Option("--supersede", help="Items whose content changed take the place of the earlier ones.")
]
DurabilityOption = Annotated[
    str | None,
    typer.Option(
        "--durability",
        envvar="FULLBENCH_DURABILITY",
        help="What is kept survives: power (a loss of power too; usual), process (kill -9, quicker on slow disks).",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on standard output, nothing else.")]
QuietOption = Annotated[bool, typer.Option("--quiet", help="No progress display.")]
BudgetOption = Annotated[
    float | None, typer.Option("--budget", min=0.0, help="Stop before this many dollars are spent.")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be asked and what it would cost; ask nothing.")
]
EngineOption = Annotated[
    str | None,
    typer.Option("--engine", help="Where to ask from: here, ray (started here), ray:auto, ray:HOST:PORT, ray://..."),
]
DEFAULT_LEDGER = "fullbench.ledger"


CorrectedOption = Annotated[
    bool, typer.Option("--corrected", help="Judges' figures corrected by people's votes, all side by side.")
]


def asking_from(engine: str | None) -> AbstractContextManager[Engine]:
    """The engine that the person named, entered before a ledger is made; this process where they named none."""
    from fullbench.studies.engines import engine as named

    return named(engine or "here")


def say(text: str) -> None:
    """A sentence for the person, on standard error."""
    typer.echo(text, err=True)


@contextmanager
def ledger_if_any(place: str | Path) -> Iterator[Ledger]:
    """The ledger for looking only; an empty one where there is none, so that looking leaves nothing behind."""
    from fullbench.ledger.places import database
    from fullbench.ledger.store import Ledger

    file = database(place)
    if file.exists():
        with Ledger(place, read_only=True) as book:
            yield book
        return
    with TemporaryDirectory() as folder, Ledger(Path(folder) / file.path.name) as book:
        yield book


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Ctrl-C (or SIGTERM) once: ask nothing more and wait for what is in flight. Twice: leave at once."""
    stop = Stop()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        if stop.reason:
            say("Left at once; the same command goes on from what is kept.")
            sys.exit(130)
        stop.pull("interrupted")
        say("\nStopping: waiting for the calls in flight, which are paid for (again: leave at once).")

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def bar(what: str, *, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A bar for work whose length is known, on a terminal alone; call it with the part, what is done, and the whole."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=Console(stderr=True), disable=quiet or not sys.stderr.isatty()) as progress:

        def step(part: str, done: int, total: int) -> None:
            if part not in tasks:
                tasks[part] = progress.add_task(f"{what} {part}", total=total)
            progress.update(tasks[part], completed=done)

        yield step


def closing(tallies: Sequence[Tally], *, what: str) -> int:
    """Say what is missing and how to go on. The exit code: 0 when all is there, 1 when not, 130 when interrupted."""
    failed = sum(tally.failed for tally in tallies)
    stopped = next((tally.stopped for tally in tallies if tally.stopped), "")
    for tally in tallies:
        for notice in tally.notices:
            say(notice)
        for error, count in tally.failures.most_common(3):
            say(f"{tally.name}: {count} failed: {error}")
    if stopped:
        say(f"Stopped: {stopped}. What was done is kept; the same command goes on from here.")
    elif failed:
        say(f"{failed} {what} are missing because the calls failed; the same command asks for these alone.")
    return 130 if stopped == "interrupted" else 1 if stopped or failed else 0


def lonely(record: Record) -> None:
    """Say which items are in no comparison because a response is missing, where there are comparisons."""
    if not any(len(verdict.contestants) > 1 for verdict in record):
        return
    answers = Counter(item for item, _ in {(item, contestant) for item, contestant, _ in record.responses})
    alone = [item for item in record.items if answers[item] < 2]
    if alone:
        more = f" and {len(alone) - 3} more" if len(alone) > 3 else ""
        say(f"Nothing to compare for {', '.join(alone[:3])}{more}: fewer than two responses.")


def show(tables: Sequence[Table], *, as_json: bool, out: Path | None = None) -> None:
    """Tables on standard output, or into a file by its suffix."""
    from fullbench.reports.tables import render, write

    if out is not None:
        write(tables, out)
        say(f"Written: {out}")
        return
    if as_json:
        import json

        sys.stdout.write(
            json.dumps([json.loads(render(table, "json")) for table in tables], ensure_ascii=False, indent=2)
        )
        sys.stdout.write("\n")
        return
    width = shutil.get_terminal_size((110, 40)).columns
    for table in tables:
        sys.stdout.write(render(table, "text", width=width, color=sys.stdout.isatty()) + "\n")
    sys.stdout.flush()
