"""`fullbench batch`: run a study with batch services or vLLM offline."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fullbench.cli.console import command_text, print_message, print_tables, stop_on_signals
from fullbench.cli.shared_options_and_run_output import (
    JsonOption,
    OwnLedgerOption,
    QuietOption,
    StudyArgument,
    option,
    warn_of_risks,
)
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
    help="Run a study in batches: batch services at half price, or vLLM offline.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

RateOption = Annotated[float, option("Batch price as a share of the live price.", "--rate", min=0.0, max=1.0)]
RequestsOption = Annotated[int, option("Maximum number of requests in one file.", min=1)]
SizeOption = Annotated[float, option("Maximum size of one file in megabytes.", "--max-mb", min=0.001)]
AgainOption = Annotated[
    bool,
    option("Send unconfirmed batches again without looking for them first. This can create a batch twice.", "--again"),
]
EveryOption = Annotated[
    float, option("Seconds until the second check. Later checks come less often.", "--every", min=0.01)
]


@batch_app.command()
def write(
    study: StudyArgument,
    ledger: OwnLedgerOption = None,
    rate: RateOption = 0.5,
    max_requests: RequestsOption = 50_000,
    max_mb: SizeOption = 200.0,
) -> None:
    """Write request files for everything that is due and not sent yet. Send nothing.

    The files are next to the ledger, in the format of the model's provider. vLLM reads those of OpenAI as well: vllm
    run-batch -i requests.jsonl -o out.jsonl --model NAME, then fullbench batch collect STUDY --from out.jsonl

    Example: fullbench batch write study.toml
    """
    from fullbench.studies.batches.reply_lookup_and_missing_requests import FileLimits

    with _open_batch_run(study, ledger) as batch_run:
        batch_pass = batch_run.write(rate=rate, size=FileLimits(max_requests, int(max_mb * 1e6)))
        _print_pass_summary(batch_pass, study)
        for folder in batch_pass.batches:
            typer.echo(folder.path / "requests.jsonl")


@batch_app.command()
def submit(study: StudyArgument, ledger: OwnLedgerOption = None, again: AgainOption = False) -> None:
    """Send every request file that is not sent yet. No batch is created twice, even after a crash.

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
    wait: Annotated[bool, option("Wait until every batch has ended.", "--wait")] = False,
    every: EveryOption = 5.0,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Show the state of each batch, and download the results of batches that have ended.

    Example: fullbench batch status study.toml --wait
    """
    with _open_batch_run(study, ledger) as batch_run, stop_on_signals() as stop:
        folders = _wait_for_batches(batch_run, stop, every, quiet) if wait else batch_run.update_statuses()
        print_tables([_batch_table(folders)], as_json=as_json)
        return 130 if stop.reason else 0


@batch_app.command()
def cancel(study: StudyArgument, ledger: OwnLedgerOption = None) -> None:
    """Cancel running batches. Requests that are already answered are billed and collected.

    A server may take a while to cancel a batch (see `fullbench batch status --wait`). A batch that was never sent is
    deleted at once.

    Example: fullbench batch cancel study.toml
    """
    with _open_batch_run(study, ledger) as batch_run:
        print_tables([_batch_table(batch_run.cancel())], as_json=False)


@batch_app.command()
def collect(
    study: StudyArgument,
    ledger: OwnLedgerOption = None,
    brought: Annotated[
        list[Path] | None, option("File of replies, for example from vLLM. Repeatable.", "--from")
    ] = None,
) -> int:
    """Read the replies: every line becomes one verdict or one failure in the ledger.

    The exit code is 0 if the study has all its verdicts, and 1 if some are missing.

    Example: fullbench batch collect study.toml --from out.jsonl
    """
    with _open_batch_run(study, ledger) as batch_run:
        return _print_pass_summary(batch_run.collect(brought or ()), study)


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
    """Write, submit, wait and collect until nothing is due or no request was answered.

    After an interruption, run the same command again to continue. Then `fullbench run STUDY` shows the tables and calls
    no model.

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
        code = _print_pass_summary(batch_pass, study)
        return 130 if stop.reason else code


@contextmanager
def _open_batch_run(study: Path, ledger: str | None) -> Iterator[BatchRun]:
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies.batches.batch_steps import BatchRun
    from fullbench.studies.run.judging_study_kind import StudyRun
    from fullbench.studies.study_file import Study
    from fullbench.studies.study_file_sections_for_kinds_and_panels import JUDGING

    plan = Study.read(study)
    if plan.kind != JUDGING:
        raise InputError(
            f"A study of kind {plan.kind!r} runs step by step and cannot use batches. Use `fullbench run`.", path=study
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
        print_message(f"{count.unreadable} lines of the output could not be read. Their requests are due again.")
    if count.unknown:
        print_message(
            f"{count.unknown:,} replies belong to no request. They give no verdict, their cost is counted, and "
            "requests without a reply are due again."
        )
    if count.second:
        print_message(
            f"{count.second:,} replies answer a request that already has a reply. The first one counts; the cost "
            "includes all."
        )
    for name in batch_pass.left_out:
        print_message(f"{name} calls no model that supports batches. Use `fullbench run`.")


def _print_pass_summary(batch_pass: BatchPass, study: Path) -> int:
    """Print the result of a pass; return exit code 0 if nothing is missing, else 1."""
    _print_news(batch_pass)
    count = batch_pass.count
    parts = [f"{batch_pass.settled_count:,} new in the ledger", f"{batch_pass.stored_count:,} already there"]
    parts += [f"{number:,} {word}" for number, word in (
        (batch_pass.failure_count, "failed and due again"), (count.written_requests, "written"),
        (count.waiting, "sent and not ended"), (count.due, "due"),
    ) if number]  # fmt: skip
    print_message(", ".join(parts) + ".")
    if count.due or batch_pass.failure_count:
        print_message(f"Next: {command_text('batch', 'write', study)}")
    return 1 if count.due or count.waiting or count.written_requests or batch_pass.failure_count else 0


def _batch_table(folders: list[BatchFolder]) -> Table:
    columns = table_columns("batch", "model", "stage", "status", "requests", "done", "failed", "note")
    rows: list[list[Cell]] = [
        [folder.path.name, state.model, state.stage, state.status or "-", state.requests, state.done, state.failed,
         state.note or ("" if state.sure else "may belong to somebody else; the request names will show it")]
        for folder in folders for state in (folder.state,)
    ]  # fmt: skip
    notes = [] if rows else [Note("cli.batch.there-is-no-batch-yet")]
    return Table("batches", Note("cli.batch.title.batches-of-this-ledger"), columns, rows, notes)
