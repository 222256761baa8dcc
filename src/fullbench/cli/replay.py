"""`fullbench replay`: a study's tables and page again from its ledger, with no call."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.options import JsonOption, SafeOption, WithoutPicturesOption, say, show, warn


def replay(
    study: Annotated[Path, typer.Argument(help="The study, a TOML file.")],
    ledger: Annotated[
        str | None, typer.Option("--ledger", help="Instead of the study's own ledger: a file or a URL.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the study's files to this folder instead.")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing: say whether the files are, byte for byte, what comes out.")
    ] = False,
    without_pictures: WithoutPicturesOption = False,
    safe: SafeOption = False,
    as_json: JsonOption = False,
) -> int:
    """Make every table and the page of a study again from its ledger. Nothing is asked, no key is needed.

    Examples:

        fullbench replay study.toml

        fullbench replay study.toml --ledger postgresql://me@server/study --check
    """
    from tempfile import TemporaryDirectory

    from fullbench.ledger.ledger import Ledger
    from fullbench.studies.run.study_outputs import differing, write_outputs
    from fullbench.studies.study_file import Study
    from fullbench.studies.study_kinds import conductor

    plan = Study.read(study)
    plan = replace(plan, without_pictures=plan.without_pictures or without_pictures)
    warn(plan, ledger or plan.ledger, safe=safe)
    with Ledger(ledger or plan.ledger, read_only=True) as book:
        done = conductor(plan).replay(book)
    if done.missing:
        say(f"{done.missing:,} verdicts of this study are missing; `fullbench run` asks for these alone.")
    if check:
        with TemporaryDirectory() as folder:
            wrong = differing(done, Path(folder))
        for path in wrong:
            say(f"{path} is not what the ledger gives")
        if not wrong:
            say("The files of the study are what the ledger gives, byte for byte.")
        return 1 if wrong else 0
    show(done.tables, as_json=as_json)
    for path in write_outputs(done, out):
        say(f"Written: {path}")
    return 0
