"""`fullbench demo`: the whole way, offline, on pictures with known truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.options import QuietOption, closing, say, show, stoppable

_LEAD = (
    "This is the instrument looking at itself. The pictures were drawn by fullbench, so the truth about them is known; "
    "the contestants really read the pixels; the judges are simulated, with faults and biases of known size planted in "
    "them. What the statistics recover should be what was planted. No figure here says anything about a real model."
)


def demo(
    out: Annotated[Path, typer.Option(help="The folder for the ledger and the page.")] = Path("demo"),
    quiet: QuietOption = False,
) -> int:
    """Judge models on pictures with known truth, and see that what was planted is what is measured.

    No key, no download, no GPU. Run it twice: the second time nothing is asked, for the ledger knows it all.

    Examples:

        fullbench demo --out demo
    """
    import time

    from fullbench.errors import InputError
    from fullbench.ledger.ledger import Ledger
    from fullbench.reports.record_page import page
    from fullbench.studies.run.progress_display import clock
    from fullbench.studies.run.study_run import Conductor
    from fullbench.studies.study_file import Study

    if out.exists() and not out.is_dir():
        raise InputError("this is a file, and a folder is written; name a new one", path=out)
    started = time.monotonic()
    out.mkdir(parents=True, exist_ok=True)
    study = Study("demo", benchmark="court", ledger=out / "demo.ledger", report=out / "index.html")
    say("Drawing pictures whose truth is known, asking contestants that read the pixels, hearing judges, some bent.")
    with Ledger(study.ledger, study=study.name) as ledger, stoppable() as stop:
        done = Conductor(study).conduct(ledger, stop=stop, quiet=quiet)
        show([table for table in done.tables if table.name == "planted"], as_json=False)
        asked = sum(tally.asked for tally in done.tallies)
        known = sum(tally.known for tally in done.tallies)
        say(f"{asked:,} asked, {known:,} known from the ledger, in {clock(time.monotonic() - started)}.")
        code = closing(done.tallies, what="answers or verdicts")
        if not code and study.report is not None:
            page("The court", done.record, done.tables, study.report, lead=_LEAD, source=done.source)
            say(f"The page, with all {len(done.tables)} tables, charts and pictures: {study.report.resolve()}")
            say(
                "Next:\n"
                f"  fullbench report --ledger {study.ledger}       the leaderboards here\n"
                "  fullbench init                                   a study of your own photos or questions\n"
                "  fullbench check http://localhost:8000/v1         is your server there, and does it see pictures?"
            )
    return code
