"""`fullbench demo`: a complete offline run on pictures with known truth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fullbench.cli.console import command_text, print_line, print_message, report_outcome, stop_on_signals
from fullbench.cli.display_names_in_command_output import CURRENT
from fullbench.cli.shared_options_and_run_output import QuietOption, option
from fullbench.errors import InputError

if TYPE_CHECKING:
    from fullbench.core.table import Table
    from fullbench.studies.engines import Stop
    from fullbench.studies.run.base_run import StudyResult

_FILM_JUDGES = ("simulated:accurate", "simulated:first-frame", "simulated:blind")
"""Judges of the films: one watches, one looks at the first frame, one at nothing."""
_LEAD = (
    "This page tests fullbench itself. fullbench drew the pictures, so the right answers are known. The contestants "
    "read the pixels. The judges are simulated, and some have errors and biases of known size. The statistics "
    "should recover these sizes. No number here is about a real model."
)


def demo(
    out: Annotated[Path, option("Folder for the ledger and the page.")] = Path("demo"),
    quiet: QuietOption = False,
) -> int:
    """Judge models on pictures with known truth. No key is needed.

    fullbench draws the pictures, and some of its simulated judges are biased on purpose. The demo shows that the
    measured biases equal the planted ones. A second run reuses all stored results and makes no calls.

    Examples:

        fullbench demo --out demo
    """
    import time

    from fullbench.analysis.summary.study_summary import sentences_of
    from fullbench.ledger.ledger import Ledger
    from fullbench.reports.display_names_of_judges_and_contestants import table_as_shown
    from fullbench.reports.one_screen_result_summary import render_first_screen
    from fullbench.reports.results_page import write_page
    from fullbench.studies.run.judging_study_kind import StudyRun
    from fullbench.studies.run.progress_display import format_duration
    from fullbench.studies.study_file import Study

    if out.exists() and not out.is_dir():
        raise InputError("This is a file, but the demo needs a folder. Choose another name.", path=out)
    start_time = time.monotonic()
    out.mkdir(parents=True, exist_ok=True)
    study = Study("demo", benchmark="synthetic", ledger=out / "demo.ledger", report=out / "index.html")
    print_message(
        "Drawing pictures with known answers, running contestants that read the pixels, and judging their answers "
        "with simulated judges, some of them biased."
    )
    with Ledger(study.ledger, study=study.name) as ledger, stop_on_signals() as stop:
        CURRENT.use_ledger(ledger)
        study_result = StudyRun(study).execute(ledger, stop=stop, quiet=quiet)
        shown_tables = [table_as_shown(table) for table in CURRENT.tables(study_result.tables)]
        planted = next(table for table in shown_tables if table.name == "planted")
        sentences = [*sentences_of(shown_tables), planted.notes[0]]
        # The page has the units, which need more than 80 columns.
        planted = replace(planted, columns=planted.columns[:-1], rows=[row[:-1] for row in planted.rows])
        print_line(render_first_screen([planted], sentences=sentences, most_rows=len(planted.rows)).rstrip("\n"))
        films, film_table = _judge_films(out / "films.ledger", stop, quiet=quiet)
        print_line("\n" + render_first_screen([film_table], sentences=[]).rstrip("\n"))
        tables = [*study_result.tables, film_table]
        print_message(f"Finished in {format_duration(time.monotonic() - start_time)}.")
        code = report_outcome([*study_result.job_counts, *films.job_counts], what="answers or verdicts")
        if not code and study.report is not None:
            write_page(
                "Synthetic benchmark",
                study_result.record,
                tables,
                study.report,
                lead=_LEAD,
                source=study_result.source,
            )
            print_message(
                f"Page with all {len(tables)} tables, charts and pictures: {study.report.resolve()}",
                "Next:",
                f"  # show these {len(study_result.tables)} tables in the terminal",
                f"  {command_text('report', '--ledger', study.ledger, '--benchmark', study.benchmark)}",
                "  # audit a biased judge (no key needed)",
                f"  {command_text('audit', 'simulated:long-words', '--quick')}",
                "  # start a study of your own pictures or questions",
                f"  {command_text('init')}",
            )
    return code


def _judge_films(path: Path, stop: Stop, *, quiet: bool) -> tuple[StudyResult, Table]:
    """Audit simulated judges on short films, and return a table of which of them watch."""
    from fullbench.audit.audit_run import AuditRun
    from fullbench.core.built_in_table_columns import table_columns
    from fullbench.core.table import Table
    from fullbench.core.translatable_note import Note
    from fullbench.ledger.ledger import Ledger

    audit_run = AuditRun(_FILM_JUDGES, size="quick", media=("video",))
    with Ledger(path, study=audit_run.study.name) as ledger:
        result = audit_run.execute(ledger, stop=stop, quiet=quiet)
    rows = []
    for judge in audit_run.audited_judges.names:
        use = audit_run.judge_findings(result.record, judge).use_of_media["video"]
        rows.append([judge.removeprefix("simulated/").partition("@")[0], use.use.index, use.order.index, use.accuracy])
    columns = table_columns("judge", "video use index", "video order use index", "video judged correctly")
    return result, Table("films", Note("demo.films.title"), columns, rows, [Note("demo.films.how")])
