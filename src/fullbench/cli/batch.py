"""`fullbench batch`: run a study with batch services or vLLM offline."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fullbench.cli.console import print_message, print_tables, stop_on_signals
from fullbench.cli.options import JsonOption, OwnLedgerOption, QuietOption, StudyArgument, option, warn_of_risks
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError

if TYPE_CHECKING:
    from fullbench.studies.batches.batch_folders import BatchFolder
    from fullbench.studies.batches.batch_steps import BatchPass, BatchRun
    from fullbench.studies.engines import Stop

batch_app = typer.Typer(
    name="batch",
    help="Ask a study's models by the file: batch services at half the price, or vLLM offline.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

RateOption = Annotated[float, option("The batch price as a share of the live price.", "--rate", min=0.0, max=1.0)]
RequestsOption = Annotated[int, option("Requests in one file at most.", min=1)]
SizeOption = Annotated[float, option("Megabytes in one file at most.", "--max-mb", min=0.001)]
AgainOption = Annotated[bool, option("Create what may have been created, without looking for it first.", "--again")]
EveryOption = Annotated[
    float, option("Seconds until the second look; later ones come less often.", "--every", min=0.01)
]


@batch_app.command()
def write(
    study: StudyArgument,
    ledger: OwnLedgerOption = None,
    rate: RateOption = 0.5,
    max_requests: RequestsOption = 50_000,
    max_mb: SizeOption = 200.0,
) -> None:
    """Write files of requests for all that is due and not on its way. Nothing is sent.

    The files lie beside the ledger, in the form of the model's provider. OpenAI's are read by vLLM as well:
    vllm run-batch -i requests.jsonl -o out.jsonl --model NAME, then fullbench batch collect STUDY --from out.jsonl

    Example: fullbench batch write study.toml
    """
    from fullbench.studies.batches.reply_lookup_and_missing_requests import FileLimits

    with _open_batch_run(study, ledger) as batch_run:
        batch_pass = batch_run.write(rate=rate, size=FileLimits(max_requests, int(max_mb * 1e6)))
        _print_pass_summary(batch_pass)
        for folder in batch_pass.batches:
            typer.echo(folder.path / "requests.jsonl")


@batch_app.command()
def submit(study: StudyArgument, ledger: OwnLedgerOption = None, again: AgainOption = False) -> None:
    """Send every file that was written and not sent. A batch is never created twice, whatever happens in between.

    Example: fullbench batch submit study.toml
    """
    with _open_batch_run(study, ledger) as batch_run:
        sent_batches = batch_run.submit(again)
        print_message(f"{len(sent_batches)} {'batch was' if len(sent_batches) == 1 else 'batches were'} sent.")
        print_tables([_batch_table(batch_run.store.folders())], as_json=False)


@batch_app.command()
def status(
    study: StudyArgument,
    ledger: OwnLedgerOption = None,
    wait: Annotated[bool, option("Look again until every batch has ended.", "--wait")] = False,
    every: EveryOption = 5.0,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Say how each batch stands, and fetch what has ended.

    Example: fullbench batch status study.toml --wait
    """
    with _open_batch_run(study, ledger) as batch_run, stop_on_signals() as stop:
        folders = _wait_for_batches(batch_run, stop, every, quiet) if wait else batch_run.update_statuses()
        print_tables([_batch_table(folders)], as_json=as_json)
        return 130 if stop.reason else 0


@batch_app.command()
def cancel(study: StudyArgument, ledger: OwnLedgerOption = None) -> None:
    """Ask no more of what is on its way. What was answered by then is paid for, and collected as ever.

    A batch that is with a server ends in a while (fullbench batch status --wait); one that was never sent is gone.

    Example: fullbench batch cancel study.toml
    """
    with _open_batch_run(study, ledger) as batch_run:
        print_tables([_batch_table(batch_run.cancel())], as_json=False)


@batch_app.command()
def collect(
    study: StudyArgument,
    ledger: OwnLedgerOption = None,
    brought: Annotated[
        list[Path] | None, option("A file of replies, such as vLLM's; again for more.", "--from")
    ] = None,
) -> int:
    """Read what came back: every line becomes a verdict or a failure in the ledger, once.

    Exit code 0 when the study has all its verdicts, 1 while some are missing.

    Example: fullbench batch collect study.toml --from out.jsonl
    """
    with _open_batch_run(study, ledger) as batch_run:
        return _print_pass_summary(batch_run.collect(brought or ()))


@batch_app.command()
def run(
    study: StudyArgument,
    ledger: OwnLedgerOption = None,
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
    from fullbench.studies.batches.reply_lookup_and_missing_requests import FileLimits

    size = FileLimits(max_requests, int(max_mb * 1e6))
    with _open_batch_run(study, ledger) as batch_run, stop_on_signals() as stop:
        batch_pass = batch_run.write(rate=rate, size=size)
        while not stop.reason:
            _print_news(batch_pass)
            batch_run.submit()
            states = [folder.state for folder in _wait_for_batches(batch_run, stop, every, quiet)]
            batch_pass = batch_run.collect()
            if any(state.stage == "creating" for state in states) and not stop.reason:
                continue  # what was collected is said at the loop's beginning
            has_answers = any(state.done for state in states if not state.is_settled)
            if stop.reason or not has_answers or not (batch_pass.count.due or batch_pass.failure_count):
                break
            _print_news(batch_pass)
            batch_pass = batch_run.write(rate=rate, size=size)
        code = _print_pass_summary(batch_pass)
        return 130 if stop.reason else code


@contextmanager
def _open_batch_run(study: Path, ledger: str | None) -> Iterator[BatchRun]:
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies.batches.batch_steps import BatchRun
    from fullbench.studies.run.judging_kind import StudyRun
    from fullbench.studies.study_file import Study
    from fullbench.studies.study_file_tables import JUDGING

    plan = Study.read(study)
    if plan.kind != JUDGING:
        raise InputError(
            f"a study of kind {plan.kind!r} is asked step by step, not in batches: `fullbench run`", path=study
        )
    warn_of_risks(plan, ledger or plan.ledger, safe=False)
    study_run = StudyRun(plan)
    with Ledger(ledger or plan.ledger) as book:
        yield BatchRun(study_run, book)


def _wait_for_batches(batch_run: BatchRun, stop: Stop, every: float, quiet: bool) -> list[BatchFolder]:
    def report_progress(folders: list[BatchFolder]) -> bool:
        if not quiet:
            sent_states = [folder.state for folder in folders if folder.state.batch]
            ended_count = sum(state.stage == "ended" for state in sent_states)
            done_count, request_count = (
                sum(state.done for state in sent_states),
                sum(state.requests for state in sent_states),
            )
            print_message(
                f"batches: {ended_count} of {len(sent_states)} ended, {done_count:,} of {request_count:,} requests done"
            )
        return not stop.reason

    def sleep(seconds: float) -> None:
        until = time.monotonic() + seconds
        while not stop.reason and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.5))

    return batch_run.wait(report_progress, first=every, sleep=sleep)


def _print_news(batch_pass: BatchPass) -> None:
    """Print notices, failures and unmatched replies of a pass."""
    count = batch_pass.count
    print_message(*batch_pass.notices)
    for counts in batch_pass.job_counts:
        for error, times in counts.failures.most_common(3):
            print_message(f"{counts.name}: {times} failed: {error}")
    if count.unreadable:
        print_message(f"{count.unreadable} lines that came back could not be read; their requests are due again.")
    if count.unknown:
        print_message(
            f"{count.unknown:,} replies bear names that no request has; they rule on nothing, what they cost is on the "
            "bill, and requests without a reply are due again."
        )
    if count.second:
        print_message(f"{count.second:,} replies came to requests that had one; one counts, and all are on the bill.")
    for name in batch_pass.left_out:
        print_message(f"{name} asks no model that takes batches: hear it with fullbench run.")


def _print_pass_summary(batch_pass: BatchPass) -> int:
    """Print the result of a pass; return exit code 0 if nothing is missing, else 1."""
    _print_news(batch_pass)
    count = batch_pass.count
    parts = [f"{batch_pass.settled_count:,} new in the ledger", f"{batch_pass.stored_count:,} known before"]
    parts += [f"{number:,} {word}" for number, word in (
        (batch_pass.failure_count, "failed and due again"), (count.written_requests, "written"),
        (count.waiting, "on their way"), (count.due, "due"),
    ) if number]  # fmt: skip
    print_message(", ".join(parts) + ".")
    if count.due or batch_pass.failure_count:
        print_message("Go on with: fullbench batch write")
    return 1 if count.due or count.waiting or count.written_requests or batch_pass.failure_count else 0


def _batch_table(folders: list[BatchFolder]) -> Table:
    columns = table_columns("batch", "model", "stage", "status", "requests", "done", "failed", "note")
    rows: list[list[Cell]] = [
        [folder.path.name, state.model, state.stage, state.status or "-", state.requests, state.done, state.failed,
         state.note or ("" if state.sure else "may be another's: its names will tell")]
        for folder in folders for state in (folder.state,)
    ]  # fmt: skip
    notes = [] if rows else [Note("cli.batch.there-is-no-batch-yet")]
    return Table("batches", Note("cli.batch.title.batches-of-this-ledger"), columns, rows, notes)
