"""What several commands share."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fullbench.cli.reply_notes import of_replies
from fullbench.cli.standard_streams import Nowhere
from fullbench.core.call import Usage
from fullbench.core.table import Table
from fullbench.errors import FullbenchError, InputError
from fullbench.studies.engines import SIGNALLED, Engine, Stop, Tally
from fullbench.studies.run.progress_display import money
from fullbench.text_safety import neutral

if TYPE_CHECKING:
    from fullbench.core.record import Record
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies.study_file import Study

MORE = "More options"
"""The group of options that few need; it stands below the others."""

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
        rich_help_panel=MORE,
    ),
]
PicturesFromOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--pictures-from",
        help="Read pictures that data files name from this folder too, not only from the data's own. Repeatable.",
        rich_help_panel=MORE,
    ),
]
WithoutPicturesOption = Annotated[
    bool,
    typer.Option(
        "--without-pictures",
        help="Go on where items name pictures that are not here; tables count these.",
        rich_help_panel=MORE,
    ),
]
FetchUrlsOption = Annotated[
    bool,
    typer.Option(
        "--fetch-urls",
        help="Fetch pictures that data files name by http(s) addresses; never from private networks.",
        rich_help_panel=MORE,
    ),
]


def _named(study: str | None) -> str | None:
    """Refuse a name that is blank, as where a variable of the shell is not set: it would stand for `default`."""
    if study is not None and not study.strip():
        raise InputError("--study names a study, and what was given is blank; leave it out, or give a name")
    return study


StudyOption = Annotated[
    str | None,
    typer.Option("--study", help="The study in the ledger; unrelated data are kept apart by it.", callback=_named),
]
VoteRuleOption = Annotated[
    str,
    typer.Option(
        "--rule",
        help="How several people's votes on the same responses count as one: mean, median, majority, dawid-skene, "
        "each on its own, or adjudicated (a lead's ruling where there is one); default is the usual one of the ballot.",
    ),
]
VisibleOption = Annotated[
    bool, typer.Option("--visible", help="Count votes too that were cast with names in view; else they are left out.")
]
PilotOption = Annotated[
    bool, typer.Option("--pilot", help="Count votes too that were cast in pilots; else they are left out.")
]
SupersedeOption = Annotated[
    bool,
    typer.Option(
        "--supersede", help="Items whose content changed take the place of the earlier ones.", rich_help_panel=MORE
    ),
]
DurabilityOption = Annotated[
    str | None,
    typer.Option(
        "--durability",
        envvar="FULLBENCH_DURABILITY",
        help="What is kept survives: power (a loss of power too; usual), process (kill -9, quicker on slow disks).",
        rich_help_panel=MORE,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on standard output, nothing else.")]
SafeOption = Annotated[
    bool,
    typer.Option(
        "--safe",
        envvar="FULLBENCH_SAFE",
        help="Refuse a study that runs code or sends variables or files.",
        rich_help_panel=MORE,
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="No progress display.")]
QuestionOption = Annotated[
    str | None, typer.Option("--question", help="What to ask about every picture, where --items is a folder of them.")
]
LimitOption = Annotated[
    int | None, typer.Option("--limit", min=1, help="Try it on so many of the first items; the same command goes on.")
]
BudgetOption = Annotated[
    float | None, typer.Option("--budget", min=0.0, help="Stop before this many dollars are spent.")
]
BudgetForOption = Annotated[
    Literal["run", "study"],
    typer.Option(
        "--budget-for",
        help="The budget is for this run, or for the study with all its earlier runs.",
        rich_help_panel=MORE,
    ),
]
AnywayOption = Annotated[
    bool,
    typer.Option(
        "--anyway", help="Go on with a judge although it has given 20 faults and no ruling.", rich_help_panel=MORE
    ),
]
AgainOption = Annotated[
    bool,
    typer.Option(
        "--again",
        help="Ask again what failed for good before, such as prompts that were too long.",
        rich_help_panel=MORE,
    ),
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be asked and what it would cost; ask nothing.")
]
EngineOption = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help="Where to ask from: here, ray (started here), ray:auto, ray:HOST:PORT, ray://...",
        rich_help_panel=MORE,
    ),
]
DEFAULT_LEDGER = "fullbench.ledger"


CorrectedOption = Annotated[
    bool, typer.Option("--corrected", help="Judges' figures corrected by people's votes, all side by side.")
]


def warn(study: Study, ledger: str | Path, *, safe: bool) -> None:
    """Before the first run of a study, say what it does beyond asking models; with `safe`, refuse that."""
    from fullbench.ledger.database_from_path import database
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies.study_file_trust import refuse_risks

    risks = refuse_risks(study, safe=safe)
    if not risks:
        return
    if database(ledger).exists():
        with Ledger(ledger, read_only=True) as book:
            if study.name in book.studies():
                return
    for sentence in risks:
        say(f"{study.path}: {sentence} (--safe refuses that)")


def asking_from(engine: str | None) -> AbstractContextManager[Engine]:
    """The engine that the person named, entered before a ledger is made; this process where they named none."""
    from fullbench.studies.engines import engine as named

    return named(engine or "here")


def say(text: str) -> None:
    """A sentence for the person, on standard error; not said where nobody can hear it, as after a hang-up."""
    with suppress(OSError):
        typer.echo(neutral(text), err=True)


@contextmanager
def ledger_if_any(place: str | Path) -> Iterator[Ledger]:
    """The ledger for looking only; an empty one where there is none, so that looking leaves nothing behind."""
    from fullbench.ledger.database_from_path import database
    from fullbench.ledger.ledger import Ledger

    file = database(place)
    if file.exists():
        with Ledger(place, read_only=True) as book:
            yield book
        return
    with TemporaryDirectory() as folder, Ledger(Path(folder) / file.path.name) as book:
        yield book


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Ctrl-C, SIGTERM or a hang-up once: ask nothing more and wait for what is in flight. Twice: leave at once."""
    stop = Stop()

    def on_signal(number: int, _frame: FrameType | None) -> None:
        if stop.reason:
            stop.leave()
            say("Left at once; the same command goes on from what is kept.")
            os._exit(128 + number)
        stop.pull(reasons[number])
        say("\nStopping: waiting for the calls in flight, which are paid for (again: leave at once).")

    codes = {code - 128: reason for reason, code in SIGNALLED.items()}
    # A hang-up that is ignored was meant to be, by nohup. Ctrl-C is not: shells ignore it for all that runs behind.
    hangs_up = getattr(signal, "SIGHUP", None)
    reasons = {
        number: reason for number, reason in codes.items()
        if number in signal.valid_signals() and (number != hangs_up or signal.getsignal(number) != signal.SIG_IGN)
    }  # fmt: skip
    before = {number: signal.signal(number, on_signal) for number in reasons}
    # What was imported and read until now stays to the end: looking through it again and again for what nobody uses
    # any longer cost a twentieth of a run.
    gc.freeze()
    try:
        yield stop
    except FullbenchError:
        if any(tally.asked or tally.known for tally in stop.tallies):
            say(summary(stop.tallies))
        raise
    finally:
        gc.unfreeze()
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def bar(what: str, *, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A bar for work whose length is known, on a terminal alone; call it with the part, what is done, and the whole."""
    from rich.progress import TaskID

    from fullbench.studies.run.progress_display import bars

    tasks: dict[str, TaskID] = {}
    with bars(hidden=quiet or not sys.stderr.isatty()) as progress:

        def step(part: str, done: int, total: int) -> None:
            if part not in tasks:
                tasks[part] = progress.add_task(f"{what} {part}", total=total)
            progress.update(tasks[part], completed=done)

        yield step


def closing(tallies: Sequence[Tally], *, what: str) -> int:
    """Say what was asked and what it cost, what is missing, and how to go on.

    The exit code: 0 when all is there, 1 when not, and after a signal 128 with its number.
    """
    stopped = next((tally.stopped for tally in tallies if tally.stopped in SIGNALLED), "")
    stopped = stopped or next((tally.stopped for tally in tallies if tally.stopped), "")
    alone = len({tally.stopped for tally in tallies}) > 1
    for tally in tallies:
        for notice in tally.notices:
            say(notice)
        for line in of_replies(tally):
            say(line)
        for error, count in tally.failures.most_common(3):
            say(f"{tally.name}: {count} failed: {error}")
        if tally.faults:
            kinds = ", ".join(f"{count:,} {kind}" for kind, count in tally.faults.most_common())
            last = f"; the last: {tally.sample!r}" if tally.sample and tally.faults.total() == tally.done else ""
            say(f"{tally.name}: {tally.faults.total():,} of {tally.done:,} are not what was asked for: {kinds}{last}")
        if len(tally.failures) > 3:
            rest = tally.failed - sum(count for _, count in tally.failures.most_common(3))
            say(f"{tally.name}: {rest} failed in {len(tally.failures) - 3} other ways")
        if tally.stopped and alone:
            say(f"{tally.name} was stopped: {tally.stopped}.")
    failed, lasting = sum(tally.failed for tally in tallies), sum(tally.lasting for tally in tallies)
    over = sum(tally.passed_over for tally in tallies)
    if stopped:
        say(f"Stopped: {stopped}. What was done is kept; the same command goes on from here.")
    elif failed > lasting:
        say(f"{failed - lasting} {what} are missing because the calls failed; the same command asks for these alone.")
    if lasting or over:
        say(f"{lasting + over} {what} are missing because their calls failed for good; --again asks for them anew.")
    say(summary(tallies))
    if stopped in SIGNALLED:
        return SIGNALLED[stopped]
    return 1 if stopped or failed or over else 0


def summary(tallies: Sequence[Tally]) -> str:
    """What was asked in all, what was known, what failed, and what it cost.

    >>> from collections import Counter
    >>> from fullbench.core.call import Usage
    >>> summary([Tally("a", 40, 120, 118, failures=Counter(reset=2), usage=Usage(dollars=1.5)), Tally("b", 160)])
    'Asked 120, known 200, failed 2, cost $1.50.'
    >>> summary([Tally("a", 0, 10, 10, unasked=70, usage=Usage(dollars=0.3))])
    'Asked 10, known 0, failed 0, not asked for want of money 70, cost $0.3000.'
    """
    asked, known, failed = (sum(getattr(tally, name) for tally in tallies) for name in ("asked", "known", "failed"))
    over = sum(tally.passed_over for tally in tallies)
    earlier = f", failed for good before {over:,}" if over else ""
    if unasked := sum(tally.unasked for tally in tallies):
        earlier += f", not asked for want of money {unasked:,}"
    spent = sum((tally.usage for tally in tallies), Usage())
    least = "at least " if spent.counted < spent.tokens_in else ""
    share = spent.share_cached
    cached = f" ({least}{share:.0%} of the tokens sent came from the server's cache)" if share else ""
    return f"Asked {asked:,}, known {known:,}, failed {failed:,}{earlier}, cost {money(spent)}{cached}."


def lonely(record: Record, *, comparing: bool) -> None:
    """Say which items are in no comparison because a response is missing, where there are comparisons."""
    if not comparing:
        return
    answers = Counter(item for item, _ in {(item, contestant) for item, contestant, _ in record.responses})
    alone = [item for item in record.items if answers[item] < 2]
    if alone:
        more = f" and {len(alone) - 3} more" if len(alone) > 3 else ""
        say(f"Nothing to compare for {', '.join(alone[:3])}{more}: fewer than two responses.")


def show(tables: Sequence[Table], *, as_json: bool, out: Path | None = None) -> None:
    """Tables on standard output, or into a file by its suffix."""
    from fullbench.reports.table_formats import render, write

    if out is not None:
        for path in write(tables, out):
            say(f"Written: {path}")
        return
    if as_json:
        rendered = (textwrap.indent(render(table, "json").rstrip("\n"), "  ") for table in tables)
        listed = ",\n".join(rendered)
        _print([f"[\n{listed}\n]" if listed else "[]"])
        return
    width = shutil.get_terminal_size((110, 40)).columns
    _print(render(table, "text", width=width, color=sys.stdout.isatty()) for table in tables)


def _print(texts: Iterable[str]) -> None:
    """Texts on standard output. Where that is full or gone, one sentence says so: the ledger holds what they show."""
    try:
        for text in texts:
            sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        say(f"The tables could not be shown ({error.strerror}); they can be seen again from the ledger.")
        sys.stdout = Nowhere()  # the exit code tells
