"""`fullbench judge`: judge your own data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fullbench.cli.console import print_message, print_uncompared_items, report_outcome
from fullbench.cli.shared_options_and_run_output import (
    CallOptions,
    InputOptions,
    ItemsOption,
    LabelsOption,
    LedgerOptions,
    PageOption,
    ResponsesOption,
    TrialsOption,
    ViewOptions,
    more,
    option,
    options,
)
from fullbench.errors import InputError


@options(
    "question limit labels verdicts criteria orders trials cross_samples seed unverified ledger study supersede "
    "pictures pictures_from without_pictures fetch_urls durability report budget budget_for anyway again engine "
    "dry_run all_tables table full_names as_json quiet"
)
def judge(
    items: ItemsOption,
    responses: ResponsesOption,
    store: LedgerOptions,
    inputs: InputOptions,
    calls: CallOptions,
    view: ViewOptions,
    judges: Annotated[list[str] | None, option("Judge, as KIND:NAME?OPTIONS. Repeatable.", "--judge")] = None,
    ballots: Annotated[
        list[str] | None,
        option("Ballot: score:1-5, choice, choice+tie, choice:5, ranking, ... Repeatable.", "--ballot"),
    ] = None,
    rubric: Annotated[Path | None, option("Rubric file, or the word items for each item's own rubric.")] = None,
    labels: LabelsOption = None,
    criteria: Annotated[list[str] | None, option("Criterion to judge by. Repeatable.", "--criterion")] = None,
    orders: Annotated[str, option("Order of the responses: sorted, shuffled, both or all.")] = "both",
    trials: TrialsOption = 1,
    cross_samples: Annotated[
        bool,
        more(
            "Compare every sample with every sample of the others, not only those with the same number.",
            "--cross-samples",
        ),
    ] = False,
    seed: Annotated[int, more("Random seed.")] = 0,
    unverified: Annotated[
        bool, more("Include items that are marked as not verified (tag verified: no).", "--unverified")
    ] = False,
    report: PageOption = None,
) -> int:
    """Judge your own items and responses.

    Examples:

        fullbench judge --items items.jsonl --responses answers.csv --judge openai:gpt-4o --ballot choice+tie

        fullbench judge --items items.jsonl --responses answers.csv --ballot score:1-5 \
            --judge "vllm:qwen2-vl@http://localhost:8000/v1?mode=direct" --judge length --report report.html

        fullbench judge --items items.jsonl --responses answers.csv --verdicts scores.csv --ballot score:1-5 \
            --judge openai:gpt-4o

        fullbench judge --items items.jsonl --responses answers.csv --judge openai:gpt-4o --rubric rubric.toml
    """
    from fullbench.core.case import ORDERS
    from fullbench.core.rubric import RUBRIC
    from fullbench.reports.atomic_write import check_page
    from fullbench.studies.rubrics.rubrics_in_studies import rubric_source, rubrics_by
    from fullbench.studies.run.judging_study_kind import StudyRun
    from fullbench.studies.study_file import Study

    if not judges and not inputs.verdicts:
        raise InputError(
            "No judge given. Add --judge openai:gpt-4o, or --verdicts FILE with verdicts that exist already."
        )
    judges = judges or []
    if judges and not ballots and rubric is None:
        raise InputError("No ballot given. Add --ballot score:1-5 (or choice+tie, ranking), or --rubric FILE.")
    if report is not None:
        check_page(report)
    if orders not in ORDERS:
        raise InputError(f"Unknown orders {orders!r}. Use {', '.join(ORDERS)}.")
    rubrics = {} if rubric is None else rubrics_by(judges, rubric.stem, rubric_source(rubric), store.ledger)
    study = Study(
        "judge", items=items, responses=responses, labels=labels,
        judges=(*judges, *(f"{RUBRIC}{name}" for name in rubrics)) if ballots else (), ballots=tuple(ballots or ()),
        rubrics=rubrics, criteria=tuple(criteria or ("overall",)), orders=ORDERS[ORDERS.index(orders)], trials=trials,
        seed=seed, ledger=store.ledger, report=report, sample_pairing="crossed" if cross_samples else "aligned",
        unverified=unverified,
    )  # fmt: skip
    study_run = StudyRun(inputs.added_to(study))
    if calls.dry_run:
        return calls.print_plan(study_run, store.ledger)
    study_run.check_ready(calls.budget)
    with calls.open(store) as open_run:
        study_result = open_run.execute(study_run, with_texts=report is not None)
        if report is not None:
            from fullbench.reports.results_page import write_page

            write_page("Judged", study_result.record, study_result.tables, report, source=study_result.source)
        view.print_report(study_result.tables, as_json=calls.as_json)
        if report is not None:
            print_message(f"Page: {report}")
        print_message(*study_result.messages)
        print_uncompared_items(study_result.record, comparing=study_result.comparing)
        return report_outcome(study_result.job_counts, what="verdicts")
