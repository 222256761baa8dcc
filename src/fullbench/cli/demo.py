"""`fullbench demo`: a complete offline run on pictures with known truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fullbench.cli.console import print_message, print_tables, report_outcome, stop_on_signals
from fullbench.cli.current_names import CURRENT
from fullbench.cli.options import QuietOption, option
from fullbench.errors import InputError

_LEAD = (
    "This is the instrument looking at itself. The pictures were drawn by fullbench, so the truth about them is known; "
    "the contestants really read the pixels; the judges are simulated, with faults and biases of known size planted in "
    "them. What the statistics recover should be what was planted. No figure here says anything about a real model."
)


def demo(
    out: Annotated[Path, option("The folder for the ledger and the page.")] = Path("demo"),
    quiet: QuietOption = False,
) -> int:
    """Judge models on pictures with known truth, and see that what was planted is what is measured.

    No key, no download, no GPU. Run it twice: the second time nothing is asked, for the ledger knows it all.

    Examples:

        fullbench demo --out demo
    """
    import time

    from fullbench.ledger.ledger import Ledger
    from fullbench.reports.results_page import write_page
    from fullbench.studies.run.judging_kind import StudyRun
    from fullbench.studies.run.progress_display import format_duration
    from fullbench.studies.study_file import Study

    if out.exists() and not out.is_dir():
        raise InputError("this is a file, and a folder is written; name a new one", path=out)
    start_time = time.monotonic()
    out.mkdir(parents=True, exist_ok=True)
    study = Study("demo", benchmark="synthetic", ledger=out / "demo.ledger", report=out / "index.html")
    print_message(
        "Drawing pictures whose truth is known, asking contestants that read the pixels, hearing judges, some bent."
    )
    with Ledger(study.ledger, study=study.name) as ledger, stop_on_signals() as stop:
        CURRENT.use_ledger(ledger)
        study_result = StudyRun(study).execute(ledger, stop=stop, quiet=quiet)
        print_tables([table for table in study_result.tables if table.name == "planted"], as_json=False)
        started_count = sum(counts.started_count for counts in study_result.job_counts)
        stored_count = sum(counts.stored_count for counts in study_result.job_counts)
        print_message(
            f"{started_count:,} asked, {stored_count:,} known from the ledger, in "
            f"{format_duration(time.monotonic() - start_time)}."
        )
        code = report_outcome(study_result.job_counts, what="answers or verdicts")
        if not code and study.report is not None:
            write_page(
                "Synthetic benchmark",
                study_result.record,
                study_result.tables,
                study.report,
                lead=_LEAD,
                source=study_result.source,
            )
            print_message(
                f"The page, with all {len(study_result.tables)} tables, charts and pictures: {study.report.resolve()}"
            )
            print_message(
                "Next:\n"
                f"  fullbench report --ledger {study.ledger}       the leaderboards here\n"
                "  fullbench init                                   a study of your own photos or questions\n"
                "  fullbench check http://localhost:8000/v1         is your server there, and does it see pictures?"
            )
    return code
