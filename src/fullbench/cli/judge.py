"""`fullbench judge`: let judges rule on one's own data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.options import (
    DEFAULT_LEDGER,
    MORE,
    AgainOption,
    AnywayOption,
    BudgetForOption,
    BudgetOption,
    DryRunOption,
    DurabilityOption,
    EngineOption,
    FetchUrlsOption,
    JsonOption,
    LedgerOption,
    LimitOption,
    PicturesFromOption,
    PicturesOption,
    QuestionOption,
    QuietOption,
    StudyOption,
    SupersedeOption,
    WithoutPicturesOption,
    closing,
    ledger_if_any,
    lonely,
    say,
    show,
    stoppable,
)


def judge(
    items: Annotated[Path, typer.Option(help="What was asked: JSONL, CSV or Parquet, or a folder of pictures.")],
    responses: Annotated[Path, typer.Option(help="What was answered: JSONL, CSV or Parquet.")],
    judges: Annotated[
        list[str], typer.Option("--judge", help="Who judges, as KIND:NAME?OPTIONS. Give it again for more.")
    ],
    ballots: Annotated[
        list[str] | None, typer.Option("--ballot", help="score:1-5, choice, choice+tie, ranking... Again for more.")
    ] = None,
    rubric: Annotated[
        Path | None, typer.Option("--rubric", help="A rubric's file, which every judge fills in: criteria, weights.")
    ] = None,
    question: QuestionOption = None,
    limit: LimitOption = None,
    labels: Annotated[Path | None, typer.Option(help="People's verdicts to compare with.")] = None,
    criteria: Annotated[list[str] | None, typer.Option("--criterion", help="What to judge by. Again for more.")] = None,
    orders: Annotated[str, typer.Option(help="sorted, shuffled, both, or all.")] = "both",
    trials: Annotated[int, typer.Option(min=1, help="How often every case is heard.")] = 1,
    cross_samples: Annotated[
        bool,
        typer.Option(
            "--cross-samples",
            rich_help_panel=MORE,
            help="Every sample meets every other contestant's, not only its number.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="For whatever is drawn at random.", rich_help_panel=MORE)] = 0,
    unverified: Annotated[
        bool,
        typer.Option(
            "--unverified",
            help="Judge items too that are marked as not verified (tag verified: no).",
            rich_help_panel=MORE,
        ),
    ] = False,
    ledger: LedgerOption = DEFAULT_LEDGER,
    study_name: StudyOption = None,
    supersede: SupersedeOption = False,
    pictures: PicturesOption = None,
    pictures_from: PicturesFromOption = None,
    without_pictures: WithoutPicturesOption = False,
    fetch_urls: FetchUrlsOption = False,
    durability: DurabilityOption = None,
    report: Annotated[
        Path | None, typer.Option("--report", "--out", help="Write a page with tables, charts and cases here.")
    ] = None,
    budget: BudgetOption = None,
    budget_for: BudgetForOption = "run",
    anyway: AnywayOption = False,
    again: AgainOption = False,
    engine: EngineOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Let judges rule on your own items and responses.

    Examples:

        fullbench judge --items items.jsonl --responses answers.csv --judge openai:gpt-4o --ballot choice+tie

        fullbench judge --items items.jsonl --responses answers.csv --ballot score:1-5 \\
            --judge "vllm:qwen2-vl@http://localhost:8000/v1?mode=direct" --judge length --report report.html

        fullbench judge --items items.jsonl --responses answers.csv --judge openai:gpt-4o --rubric rubric.toml
    """
    from fullbench.core.case import ORDERS
    from fullbench.core.rubric import RUBRIC
    from fullbench.errors import InputError
    from fullbench.ledger.database_from_path import durability_of
    from fullbench.ledger.ledger import Ledger
    from fullbench.reports.atomic_write import check_page
    from fullbench.studies.engines import Insistence
    from fullbench.studies.engines import engine as named
    from fullbench.studies.rubrics.rubrics_in_studies import rubrics_by
    from fullbench.studies.run.study_run import Conductor
    from fullbench.studies.study_file import Study

    if not ballots and rubric is None:
        raise InputError(
            "on what do the judges rule? Give --ballot score:1-5 (or choice+tie, ranking), or --rubric FILE"
        )
    if report is not None:
        check_page(report)
    if orders not in ORDERS:
        raise InputError(f"unknown orders {orders!r}; known: {', '.join(ORDERS)}")
    rubrics = {} if rubric is None else rubrics_by(judges, rubric)
    study = Study(
        "judge", items=items, question=question, limit=limit, responses=responses, labels=labels,
        judges=(*judges, *(f"{RUBRIC}{name}" for name in rubrics)) if ballots else (), ballots=tuple(ballots or ()),
        rubrics=rubrics,
        criteria=tuple(criteria or ("overall",)), orders=ORDERS[ORDERS.index(orders)], trials=trials, seed=seed,
        ledger=ledger, report=report, meetings="crossed" if cross_samples else "aligned",
        pictures_from=tuple(pictures_from or ()), fetch_urls=fetch_urls, without_pictures=without_pictures,
        unverified=unverified,
    )  # fmt: skip
    conductor = Conductor(study)
    if dry_run:
        with ledger_if_any(ledger) as book:
            show([conductor.plan(book)], as_json=as_json)
        return 0
    conductor.ready(budget)
    with (
        stoppable() as stop,
        named(engine or study.engine) as where,
        Ledger(
            ledger,
            pictures=pictures,
            study=study_name,
            supersede=supersede,
            durability=durability_of(durability),
        ) as book,
    ):
        done = conductor.conduct(
            book, engine=where, budget=budget, spent=book.spent(book.study) if budget_for == "study" else 0.0,
            stop=stop, insist=Insistence(anyway, again), quiet=quiet, whole=report is not None,
        )  # fmt: skip
        if report is not None:
            from fullbench.reports.record_page import page

            page("Judged", done.record, done.tables, report, source=done.source)
        show(done.tables, as_json=as_json)
        if report is not None:
            say(f"The page: {report}")
        for line in done.said:
            say(line)
        lonely(done.record, comparing=done.comparing)
        return closing(done.tallies, what="verdicts")
