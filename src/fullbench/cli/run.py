"""`fullbench run`: a study from its file to its tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.options import (
    AgainOption,
    AnywayOption,
    BudgetForOption,
    BudgetOption,
    DryRunOption,
    DurabilityOption,
    EngineOption,
    FetchUrlsOption,
    JsonOption,
    LimitOption,
    PicturesFromOption,
    PicturesOption,
    QuietOption,
    SafeOption,
    WithoutPicturesOption,
    closing,
    ledger_if_any,
    lonely,
    say,
    show,
    stoppable,
    warn,
)


def run(
    study: Annotated[Path, typer.Argument(help="The study, a TOML file.")],
    ledger: Annotated[
        str | None, typer.Option("--ledger", help="Instead of the study's own ledger: a file or a URL.")
    ] = None,
    pictures: PicturesOption = None,
    pictures_from: PicturesFromOption = None,
    without_pictures: WithoutPicturesOption = False,
    fetch_urls: FetchUrlsOption = False,
    durability: DurabilityOption = None,
    limit: LimitOption = None,
    budget: BudgetOption = None,
    budget_for: BudgetForOption = "run",
    anyway: AnywayOption = False,
    again: AgainOption = False,
    engine: EngineOption = None,
    safe: SafeOption = False,
    canaries: Annotated[
        int, typer.Option(min=0, help="After the run, let each judge hear so many of its canaries (see `canary`).")
    ] = 0,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Run a study: contestants answer, judges rule, tables and a page come out.

    What the ledger holds already is never asked again, so the same command goes on after an interruption, a failure,
    or a longer list of judges.

    Examples:

        fullbench run study.toml --dry-run

        fullbench run study.toml --budget 5

        fullbench run study.toml --engine ray:auto
    """
    from fullbench.ledger.database_from_path import durability_of
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies.engines import Insistence
    from fullbench.studies.engines import engine as named
    from fullbench.studies.run.study_outputs import write_outputs
    from fullbench.studies.study_file import Study
    from fullbench.studies.study_kinds import conductor as conductor_of

    plan = Study.read(study)
    plan = replace(
        plan,
        pictures_from=(*plan.pictures_from, *(pictures_from or ())),
        without_pictures=plan.without_pictures or without_pictures,
        limit=limit or plan.limit,
    )
    warn(plan, ledger or plan.ledger, safe=safe)
    plan = replace(plan, fetch_urls=plan.fetch_urls or fetch_urls)
    conductor = conductor_of(plan)
    dollars = budget if budget is not None else plan.budget
    if dry_run:
        with ledger_if_any(ledger or plan.ledger) as book:
            show([conductor.plan(book)], as_json=as_json)
        return 0
    conductor.ready(dollars)
    with (
        stoppable() as stop,
        named(engine or plan.engine) as where,
        Ledger(
            ledger or plan.ledger,
            pictures=pictures or plan.pictures,
            study=plan.name,
            durability=durability_of(durability),
        ) as book,
    ):
        done = conductor.conduct(
            book, engine=where, budget=dollars, spent=book.spent(plan.name) if budget_for == "study" else 0.0,
            stop=stop, insist=Insistence(anyway, again), quiet=quiet, whole=plan.report is not None,
        )  # fmt: skip
        written = write_outputs(done)
        show([*done.tables, *done.run_tables], as_json=as_json)
        for path in written:
            say(f"Written: {path}")
        for line in done.said:
            say(line)
        lonely(done.record, comparing=done.comparing)
        code = closing(done.tallies, what="answers or verdicts")
    if canaries and not code:
        from fullbench.cli.canary_and_equate import ride_along

        spent = sum(tally.usage.dollars or 0.0 for tally in done.tallies)
        left = None if dollars is None else max(0.0, dollars - spent)
        code = ride_along(plan.judges, ledger or plan.ledger, canaries, left, quiet=quiet)
    return code
