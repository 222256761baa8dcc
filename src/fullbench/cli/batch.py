"""`fullbench batch`: a study by the file, at a provider's batch price or with vLLM's offline mode."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fullbench.cli.options import JsonOption, QuietOption, say, show, stoppable, warn
from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table

if TYPE_CHECKING:
    from fullbench.studies.batches.batch_folders import Folder
    from fullbench.studies.batches.batch_steps import Pass, Rounds
    from fullbench.studies.engines import Stop

batch_app = typer.Typer(
    name="batch",
    help="Ask a study's models by the file: batch services at half the price, or vLLM offline.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

StudyArgument = Annotated[Path, typer.Argument(help="The study, a TOML file.")]
OwnLedger = Annotated[str | None, typer.Option("--ledger", help="Instead of the study's own ledger.")]
RateOption = Annotated[
    float, typer.Option("--rate", min=0.0, max=1.0, help="The batch price as a share of the live price.")
]
RequestsOption = Annotated[int, typer.Option(min=1, help="Requests in one file at most.")]
SizeOption = Annotated[float, typer.Option("--max-mb", min=0.001, help="Megabytes in one file at most.")]
AgainOption = Annotated[
    bool, typer.Option("--again", help="Create what may have been created, without looking for it first.")
]
EveryOption = Annotated[
    float, typer.Option("--every", min=0.01, help="Seconds until the second look; later ones come less often.")
]


@batch_app.command()
def write(
    study: StudyArgument,
    ledger: OwnLedger = None,
    rate: RateOption = 0.5,
    max_requests: RequestsOption = 50_000,
    max_mb: SizeOption = 200.0,
) -> None:
    """Write files of requests for all that is due and not on its way. Nothing is sent.

    The files lie beside the ledger, in the form of the model's provider. OpenAI's are read by vLLM as well:
    vllm run-batch -i requests.jsonl -o out.jsonl --model NAME, then fullbench batch collect STUDY --from out.jsonl

    Example: fullbench batch write study.toml
    """
    from fullbench.studies.batches.requests_and_replies import Size

    with _rounds(study, ledger) as rounds:
        done = rounds.write(rate=rate, size=Size(max_requests, int(max_mb * 1e6)))
        _tell(done)
        for folder in done.batches:
            typer.echo(folder.path / "requests.jsonl")


@batch_app.command()
def submit(study: StudyArgument, ledger: OwnLedger = None, again: AgainOption = False) -> None:
    """Send every file that was written and not sent. A batch is never created twice, whatever happens in between.

    Example: fullbench batch submit study.toml
    """
    with _rounds(study, ledger) as rounds:
        sent = rounds.submit(again)
        say(f"{len(sent)} {'batch was' if len(sent) == 1 else 'batches were'} sent.")
        show([_table(rounds.shelf.folders())], as_json=False)


@batch_app.command()
def status(
    study: StudyArgument,
    ledger: OwnLedger = None,
    wait: Annotated[bool, typer.Option("--wait", help="Look again until every batch has ended.")] = False,
    every: EveryOption = 5.0,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Say how each batch stands, and fetch what has ended.

    Example: fullbench batch status study.toml --wait
    """
    with _rounds(study, ledger) as rounds, stoppable() as stop:
        folders = _wait(rounds, stop, every, quiet) if wait else rounds.look()
        show([_table(folders)], as_json=as_json)
        return 130 if stop.reason else 0


@batch_app.command()
def cancel(study: StudyArgument, ledger: OwnLedger = None) -> None:
    """Ask no more of what is on its way. What was answered by then is paid for, and collected as ever.

    A batch that is with a server ends in a while (fullbench batch status --wait); one that was never sent is gone.

    Example: fullbench batch cancel study.toml
    """
    with _rounds(study, ledger) as rounds:
        show([_table(rounds.cancel())], as_json=False)


@batch_app.command()
def collect(
    study: StudyArgument,
    ledger: OwnLedger = None,
    brought: Annotated[
        list[Path] | None, typer.Option("--from", help="A file of replies, such as vLLM's; again for more.")
    ] = None,
) -> int:
    """Read what came back: every line becomes a verdict or a failure in the ledger, once.

    Exit code 0 when the study has all its verdicts, 1 while some are missing.

    Example: fullbench batch collect study.toml --from out.jsonl
    """
    with _rounds(study, ledger) as rounds:
        return _tell(rounds.collect(brought or ()))


@batch_app.command()
def run(
    study: StudyArgument,
    ledger: OwnLedger = None,
    rate: RateOption = 0.5,
    max_requests: RequestsOption = 50_000,
    max_mb: SizeOption = 200.0,
    every: EveryOption = 5.0,
    quiet: QuietOption = False,
) -> int:
    """Write, submit, wait and collect, again and again until nothing is due, or no request was answered.

    Cut off anywhere, the same command goes on. Then `fullbench run STUDY` shows the tables and asks nothing.

    Example: fullbench batch run study.toml
    """
    from fullbench.studies.batches.requests_and_replies import Size

    size = Size(max_requests, int(max_mb * 1e6))
    with _rounds(study, ledger) as rounds, stoppable() as stop:
        done = rounds.write(rate=rate, size=size)
        while not stop.reason:
            _say_news(done)
            rounds.submit()
            states = [folder.state for folder in _wait(rounds, stop, every, quiet)]
            done = rounds.collect()
            if any(state.stage == "creating" for state in states) and not stop.reason:
                continue  # what was collected is said at the loop's beginning
            answered = any(state.done for state in states if not state.told)
            if stop.reason or not answered or not (done.count.due or done.failed):
                break
            _say_news(done)
            done = rounds.write(rate=rate, size=size)
        code = _tell(done)
        return 130 if stop.reason else code


@contextmanager
def _rounds(study: Path, ledger: str | None) -> Iterator[Rounds]:
    from fullbench.errors import InputError
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies.batches.batch_steps import Rounds
    from fullbench.studies.run.study_run import Conductor
    from fullbench.studies.study_file import Study
    from fullbench.studies.study_file_tables import JUDGING

    plan = Study.read(study)
    if plan.kind != JUDGING:
        raise InputError(
            f"a study of kind {plan.kind!r} is asked step by step, not in batches: `fullbench run`", path=study
        )
    warn(plan, ledger or plan.ledger, safe=False)
    conductor = Conductor(plan)
    with Ledger(ledger or plan.ledger) as book:
        yield Rounds(conductor, book)


def _wait(rounds: Rounds, stop: Stop, every: float, quiet: bool) -> list[Folder]:
    def told(folders: list[Folder]) -> bool:
        if not quiet:
            sent = [folder.state for folder in folders if folder.state.batch]
            ended = sum(state.stage == "ended" for state in sent)
            done, asked = sum(state.done for state in sent), sum(state.requests for state in sent)
            say(f"batches: {ended} of {len(sent)} ended, {done:,} of {asked:,} requests done")
        return not stop.reason

    def sleep(seconds: float) -> None:
        until = time.monotonic() + seconds
        while not stop.reason and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.5))

    return rounds.wait(told, first=every, sleep=sleep)


def _say_news(done: Pass) -> None:
    """Say what a pass met that nobody expected."""
    count = done.count
    for notice in done.notices:
        say(notice)
    for tally in done.tallies:
        for error, times in tally.failures.most_common(3):
            say(f"{tally.name}: {times} failed: {error}")
    if count.unreadable:
        say(f"{count.unreadable} lines that came back could not be read; their requests are due again.")
    if count.unknown:
        say(
            f"{count.unknown:,} replies bear names that no request has; they rule on nothing, what they cost is on the "
            "bill, and requests without a reply are due again."
        )
    if count.second:
        say(f"{count.second:,} replies came to requests that had one; one counts, and all are on the bill.")
    for name in done.left_out:
        say(f"{name} asks no model that takes batches: hear it with fullbench run.")


def _tell(done: Pass) -> int:
    """Say what came of a pass. The exit code: 0 when nothing is missing, 1 when something is."""
    _say_news(done)
    count = done.count
    parts = [f"{done.settled:,} new in the ledger", f"{done.known:,} known before"]
    parts += [f"{number:,} {word}" for number, word in (
        (done.failed, "failed and due again"), (count.written, "written"),
        (count.waiting, "on their way"), (count.due, "due"),
    ) if number]  # fmt: skip
    say(", ".join(parts) + ".")
    if count.due or done.failed:
        say("Go on with: fullbench batch write")
    return 1 if count.due or count.waiting or count.written or done.failed else 0


def _table(folders: list[Folder]) -> Table:
    columns = headings("batch", "model", "stage", "status", "requests", "done", "failed", "note")
    rows: list[list[Cell]] = [
        [folder.path.name, state.model, state.stage, state.status or "-", state.requests, state.done, state.failed,
         state.note or ("" if state.sure else "may be another's: its names will tell")]
        for folder in folders for state in (folder.state,)
    ]  # fmt: skip
    notes = [] if rows else [Note("cli.batch.there-is-no-batch-yet", "There is no batch yet: fullbench batch write.")]
    return Table(
        "batches", Note("cli.batch.title.batches-of-this-ledger", "Batches of this ledger"), columns, rows, notes
    )
