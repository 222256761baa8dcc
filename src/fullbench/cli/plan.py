"""`fullbench plan`: what a study would ask, and what that takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.options import JsonOption, LimitOption, SafeOption, WithoutPicturesOption, ledger_if_any, show, warn


def plan(
    study: Annotated[Path, typer.Argument(help="The study, a TOML file.")],
    ledger: Annotated[str | None, typer.Option("--ledger", help="Instead of the study's own ledger.")] = None,
    limit: LimitOption = None,
    without_pictures: WithoutPicturesOption = False,
    safe: SafeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say what a study would ask: calls, tokens, dollars live and in batches, and time. Nothing is asked.

    What the ledger holds is known already. Verdicts on answers that are still to be given are counted too, where the
    benchmark can say which cases there will be. For one's own files: fullbench judge ... --dry-run.

    Example: fullbench plan study.toml
    """
    from fullbench.studies.study_file import Study
    from fullbench.studies.study_kinds import conductor as conductor_of

    read = Study.read(study)
    read = replace(read, limit=limit or read.limit, without_pictures=read.without_pictures or without_pictures)
    warn(read, ledger or read.ledger, safe=safe)
    conductor = conductor_of(read)
    with ledger_if_any(ledger or read.ledger) as book:
        show([conductor.plan(book)], as_json=as_json)
