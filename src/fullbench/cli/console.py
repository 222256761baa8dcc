"""Console of a command: messages, tables, progress and signals."""

from __future__ import annotations

import gc
import os
import shlex
import shutil
import signal
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import typer

from fullbench.cli.display_names_in_command_output import CURRENT
from fullbench.cli.standard_streams import NullStream, drop_unwritable_output
from fullbench.core.model_call import Usage
from fullbench.core.table import Table
from fullbench.errors import FullbenchError
from fullbench.number_agreement import agree_with_one
from fullbench.secret_masking_and_text_escapes import neutralise_text
from fullbench.studies.engines import SIGNAL_EXIT_CODES, JobCounts, Stop
from fullbench.studies.run.progress_display import format_dollars

if TYPE_CHECKING:
    from fullbench.core.verdict_record import Record
    from fullbench.reports.one_screen_result_summary import Selection


def print_message(*texts: str) -> None:
    """Print sentences on standard error, unless that is gone, as after a hang-up."""
    for text in texts:
        with suppress(OSError):
            typer.echo(neutralise_text(agree_with_one(CURRENT.text(text))), err=True)


def print_line(text: str) -> None:
    """Print a sentence on standard output."""
    typer.echo(agree_with_one(CURRENT.text(text)))


def command_text(*words: object) -> str:
    """Return a command as the user can type it here: with the path of fullbench if it is not on PATH.

    >>> command_text("run", "my photos/study.toml")
    "fullbench run 'my photos/study.toml'"
    """
    program = os.environ.get("FULLBENCH_COMMAND") or "fullbench"  # `make demo` sets it
    called_path = Path(sys.argv[0])
    if program == called_path.name and shutil.which(program) is None:
        program = str(called_path)
    return shlex.join([program, *map(str, words)])


@contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Stop at Ctrl-C, SIGTERM or a hang-up after the calls in flight; at the second signal, exit at once."""
    stop = Stop()

    def print_if_possible(text: str) -> None:
        # A signal may interrupt a write to the same stream. Python refuses to write there until that one is finished.
        with suppress(RuntimeError):
            print_message(text)

    def on_signal(number: int, _frame: FrameType | None) -> None:
        if stop.reason:
            stop.leave()
            print_if_possible("Stopped at once. Run the same command again to continue.")
            os._exit(128 + number)
        stop.pull(reasons[number])
        print_if_possible("\nStopping: waiting for the running calls, which are paid for. Press again to stop at once.")

    codes = {code - 128: reason for reason, code in SIGNAL_EXIT_CODES.items()}
    # nohup ignores a hang-up on purpose. An ignored Ctrl-C is no such wish: shells ignore it for background jobs.
    hangs_up = getattr(signal, "SIGHUP", None)
    reasons = {
        number: reason for number, reason in codes.items()
        if number in signal.valid_signals() and (number != hangs_up or signal.getsignal(number) != signal.SIG_IGN)
    }  # fmt: skip
    previous_handlers = {number: signal.signal(number, on_signal) for number in reasons}
    # Everything loaded so far is used to the end. Garbage collection over it took a twentieth of a run.
    gc.freeze()
    try:
        yield stop
    except FullbenchError:
        # A call that the error cut short, such as one of a local model that cannot be loaded, was not made.
        ended = [
            replace(counts, started_count=counts.finished_count + counts.failure_count) for counts in stop.job_counts
        ]
        if any(counts.started_count or counts.stored_count for counts in ended):
            print_message(summary_line(ended))
        raise
    finally:
        gc.unfreeze()
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)


@contextmanager
def progress_bar(what: str, *, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Show a progress bar on a terminal; call it with the part, the finished count and the total."""
    from rich.progress import TaskID

    from fullbench.studies.run.progress_display import progress_bars

    tasks: dict[str, TaskID] = {}
    with progress_bars(is_hidden=quiet or not sys.stderr.isatty()) as progress:

        def step(part: str, finished_count: int, total: int) -> None:
            if part not in tasks:
                tasks[part] = progress.add_task(f"{what} {part}", total=total)
            progress.update(tasks[part], completed=finished_count)

        yield step


def report_outcome(job_counts: Sequence[JobCounts], *, what: str) -> int:
    """Print the calls, their cost, what is missing and how to continue; return the exit code.

    It is 0 if nothing is missing, else 1; after a signal, 128 plus its number.
    """
    CURRENT.forget_names()
    stop_reason = next((counts.stop_reason for counts in job_counts if counts.stop_reason in SIGNAL_EXIT_CODES), "")
    stop_reason = stop_reason or next((counts.stop_reason for counts in job_counts if counts.stop_reason), "")
    has_several_reasons = len({counts.stop_reason for counts in job_counts}) > 1
    for counts in job_counts:
        print_message(*counts.notices)
        print_message(*reply_messages(counts))
        for error, count in counts.failures.most_common(3):
            print_message(f"{counts.name}: {count} failed: {error}")
        if counts.faults:
            print_message(f"{counts.name}: {_fault_text(counts)}")
        if len(counts.failures) > 3:
            other_failures = counts.failure_count - sum(count for _, count in counts.failures.most_common(3))
            print_message(f"{counts.name}: {other_failures} failed for {len(counts.failures) - 3} other reasons")
        if counts.stop_reason and has_several_reasons:
            print_message(f"{counts.name} was stopped: {counts.stop_reason}.")
    failure_count, permanent_count = (
        sum(counts.failure_count for counts in job_counts),
        sum(counts.permanent_failures for counts in job_counts),
    )
    skipped_count = sum(counts.skipped_count for counts in job_counts)
    if stop_reason:
        print_message(f"Stopped: {stop_reason}. Results are stored; run the same command again to continue.")
    elif failure_count > permanent_count:
        print_message(
            f"{failure_count - permanent_count} {what} are missing because calls failed. Run the same command again "
            "to retry only these."
        )
    if permanent_count or skipped_count:
        print_message(
            f"{permanent_count + skipped_count} {what} are missing because calls failed permanently. Add --again to "
            "retry them."
        )
    if job_counts:  # a study of imported verdicts has no job
        print_message(summary_line(job_counts))
    useless_judges = _judges_without_usable_verdict(job_counts)
    for name in useless_judges:
        print_message(
            f"{name} has no usable verdict, so this ends with exit code 1. To see its replies: "
            f"{command_text('show', '--judge', CURRENT.text(name), '--unusable', 3)}"
        )
    if stop_reason in SIGNAL_EXIT_CODES:
        return SIGNAL_EXIT_CODES[stop_reason]
    return 1 if stop_reason or failure_count or skipped_count or useless_judges else 0


def _fault_text(counts: JobCounts) -> str:
    """Return a sentence on unusable verdicts, with the last reply if no verdict is usable.

    >>> _fault_text(JobCounts("a", finished_count=6, faults=Counter(unreadable=6), sample="1"))
    "6 of 6 replies could not be read. Last reply: '1'"
    >>> _fault_text(JobCounts("a", finished_count=9, faults=Counter(refused=2, unreadable=1)))
    '3 of 9 replies are unusable: 2 refused, 1 unreadable'
    """
    count, total = counts.faults.total(), counts.finished_count
    kinds = ", ".join(f"{kind_count:,} {kind}" for kind, kind_count in counts.faults.most_common())
    is_unreadable = set(counts.faults) == {"unreadable"}
    text = (
        f"{count:,} of {total:,} replies could not be read"
        if is_unreadable
        else f"{count:,} of {total:,} replies are unusable: {kinds}"
    )
    return f"{text}. Last reply: {counts.sample!r}" if counts.sample and count == total else text


def _judges_without_usable_verdict(job_counts: Sequence[JobCounts]) -> list[str]:
    """Return judges none of whose jobs has a usable verdict; some commands run several jobs per judge."""
    jobs_with_verdicts = [counts for counts in job_counts if counts.finished_count + counts.stored_count]
    usable_names = {counts.name for counts in jobs_with_verdicts if not counts.has_no_usable_verdict}
    names = dict.fromkeys(counts.name for counts in jobs_with_verdicts if counts.has_no_usable_verdict)
    return [name for name in names if name not in usable_names]


def reply_messages(counts: JobCounts) -> Iterator[str]:
    """Yield messages on the replies of one judge or contestant.

    >>> from collections import Counter
    >>> list(reply_messages(JobCounts("m@host+t0", finished_count=3, served_models=Counter({"m-2024": 2, "other": 1}))))
    ['m@host+t0: the server reports the model other instead of m (1 of 3 replies)']
    """
    cut_count, unsigned_count, estimated_count, thought_count, wordless_count, copied_count = (
        counts.replies[kind] for kind in ("cut off", "unsigned", "estimated", "thoughts alone", "wordless", "copied")
    )
    if estimated_count:
        yield (
            f"{counts.name}: the server gave no valid token count for {estimated_count:,} of "
            f"{counts.finished_count:,} replies. Their cost is estimated from their lengths."
        )
    if cut_count:
        yield (
            f"{counts.name}: {cut_count:,} replies were cut off at the token limit and give no verdict. Raise "
            "max_tokens in the judge's spec (?max_tokens=4096)."
        )
    if thought_count:
        yield (
            f"{counts.name}: {thought_count:,} of {counts.finished_count:,} replies contain only thinking and give "
            "no verdict. Allow more tokens (?max_tokens=4096) or less thinking (?effort=low, or the server's own "
            "setting in ?extra=)."
        )
    if wordless_count:
        yield (
            f"{counts.name}: {wordless_count:,} of {counts.finished_count:,} replies have no text and give no "
            "verdict. `fullbench check` shows what this model replies."
        )
    if copied_count:
        yield (
            f"{counts.name}: {copied_count:,} of {counts.finished_count:,} replies look like a verdict, but have no "
            "check code and repeat words of the prompt or of a response. They may be copied, so they do not count."
        )
    if unsigned_count := unsigned_count - thought_count - wordless_count - copied_count:
        checked_count = counts.replies["unsigned"] + counts.replies["signed"]
        yield (
            f"{counts.name}: {unsigned_count:,} of {checked_count:,} replies ({unsigned_count / checked_count:.1%}) "
            "did not contain the check code. Their verdicts count and are marked 'without check code'."
        )
    model_name = (counts.model or counts.name).split("@")[0].split("+")[0]
    other_models = {
        name: count for name, count in counts.served_models.items() if not _may_be_same_model(name, model_name)
    }
    if other_models:
        names_text = ", ".join(sorted(other_models)[:3]) + (
            f" and {len(other_models) - 3} more" if len(other_models) > 3 else ""
        )
        yield (
            f"{counts.name}: the server reports the model {names_text} instead of {model_name} "
            f"({sum(other_models.values()):,} of {counts.served_models.total():,} replies)"
        )


def _may_be_same_model(served_name: str, requested_name: str) -> bool:
    """Return True if the names may mean one model: providers add a date or owner, files a folder."""
    served_text, requested_base = served_name.lower(), requested_name.lower().rpartition("/")[2]
    return served_text.rpartition("/")[2] in requested_name.lower() or requested_base in served_text


def summary_line(job_counts: Sequence[JobCounts]) -> str:
    """Return one line with the calls of all jobs, the stored results, failures and cost.

    >>> from collections import Counter
    >>> from fullbench.core.model_call import Usage
    >>> summary_line([JobCounts("a", 40, 120, 118, failures=Counter(reset=2), usage=Usage(dollars=1.5)),
    ...     JobCounts("b", 160)])
    'Called 120, reused 200, failed 2, cost $1.50.'
    >>> summary_line([JobCounts("a", 0, 10, 10, over_budget_count=70, usage=Usage(dollars=0.3))])
    'Called 10, reused 0, failed 0, over budget 70, cost $0.3000.'
    """
    started_count, stored_count, failure_count = (
        sum(getattr(counts, name) for counts in job_counts)
        for name in ("started_count", "stored_count", "failure_count")
    )
    skipped_count = sum(counts.skipped_count for counts in job_counts)
    details_text = f", failed permanently before {skipped_count:,}" if skipped_count else ""
    if over_budget_count := sum(counts.over_budget_count for counts in job_counts):
        details_text += f", over budget {over_budget_count:,}"
    total_usage = sum((counts.usage for counts in job_counts), Usage())
    least = "at least " if total_usage.counted < total_usage.tokens_in else ""
    share = total_usage.share_cached
    cache_text = f" ({least}{share:.0%} of the tokens sent came from the server's cache)" if share else ""
    return (
        f"Called {started_count:,}, reused {stored_count:,}, failed {failure_count:,}{details_text}, cost "
        f"{format_dollars(total_usage)}{cache_text}."
    )


def print_uncompared_items(record: Record, *, comparing: bool) -> None:
    """Print which items are in no comparison because a response is missing."""
    if not comparing:
        return
    answer_counts = Counter(item for item, _ in {(item, contestant) for item, contestant, _ in record.responses})
    uncompared_items = [item for item in record.items if answer_counts[item] < 2]
    if uncompared_items:
        more = f" and {len(uncompared_items) - 3} more" if len(uncompared_items) > 3 else ""
        print_message(f"Nothing to compare for {', '.join(uncompared_items[:3])}{more}: fewer than two responses.")


def print_report(
    tables: Sequence[Table],
    view: Selection,
    *,
    as_json: bool,
    out: Path | None = None,
    sentences: Sequence[str] | None = None,
) -> None:
    """Print a result: its first screen, or every table, one table, or what is about one judge.

    JSON and files always have all tables.

    Args:
        tables: The tables; the summary is first if there is one.
        view: What the user asked to see.
        as_json: Print JSON.
        out: File to write instead.
        sentences: Sentences that come first; default: those of the summary.
    """
    from fullbench.reports import one_screen_result_summary
    from fullbench.reports.display_names_of_judges_and_contestants import table_as_shown
    from fullbench.reports.tables_as_terminal_text import render_texts

    CURRENT.forget_names()
    selected = one_screen_result_summary.select_tables(CURRENT.tables(tables), view, CURRENT.names)
    if out is not None or as_json:
        print_tables(selected, as_json=as_json, out=out)
        return
    width = shutil.get_terminal_size((110, 40)).columns
    shown_tables = [replace(table_as_shown(table), name=CURRENT.text(table.name)) for table in selected]
    if view.all_tables and CURRENT.names is not None and (legend := CURRENT.names.legend(selected)) is not None:
        shown_tables.append(legend)
    if view.is_default and tables:
        _print_texts(
            [one_screen_result_summary.render_first_screen(shown_tables, width=width, sentences=sentences).rstrip("\n")]
        )
    else:
        _print_texts(render_texts(shown_tables, width=width, color=sys.stdout.isatty()))


def print_tables(tables: Sequence[Table], *, as_json: bool, out: Path | None = None) -> None:
    """Print tables on standard output, or write them to a file in the format of its suffix."""
    from fullbench.reports.table_formats import render_table, write_tables

    CURRENT.forget_names()
    tables = CURRENT.tables(tables)
    if out is not None:
        for path in write_tables(tables, out):
            print_message(f"Written: {path}")
        return
    if as_json:
        rendered_tables = (textwrap.indent(render_table(table, "json").rstrip("\n"), "  ") for table in tables)
        tables_text = ",\n".join(rendered_tables)
        _print_texts([f"[\n{tables_text}\n]" if tables_text else "[]"])
        return
    width = shutil.get_terminal_size((110, 40)).columns
    _print_texts(render_table(table, "text", width=width, color=sys.stdout.isatty()) for table in tables)


def _print_texts(texts: Iterable[str]) -> None:
    try:
        for text in texts:
            sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        print_message(
            f"The tables could not be shown ({error.strerror}). `fullbench report` shows them from the ledger."
        )
        drop_unwritable_output()
        sys.stdout = NullStream()  # the exit code tells
