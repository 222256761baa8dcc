"""`fullbench run`: run a study file."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fullbench.cli.console import print_message, print_uncompared_items, report_outcome
from fullbench.cli.shared_options_and_run_output import (
    CallOptions,
    InputOptions,
    LedgerOptions,
    OwnLedgerOption,
    SafeOption,
    StudyArgument,
    ViewOptions,
    more,
    options,
    read_study,
)


@options(
    "ledger verdicts pictures pictures_from without_pictures fetch_urls durability limit budget budget_for anyway "
    "again engine safe canaries dry_run all_tables table shown_judge full_names as_json quiet"
)
def run(
    study: StudyArgument,
    store: LedgerOptions,
    inputs: InputOptions,
    calls: CallOptions,
    view: ViewOptions,
    ledger: OwnLedgerOption = None,
    safe: SafeOption = False,
    canaries: Annotated[int, more("After the run, judge N canaries with each judge (see `audit watch`).", min=0)] = 0,
) -> int:
    """Run a study: answer, judge, write tables and a page.

    Results in the ledger are reused. Run the same command again to continue after an interruption or a failure, or
    after you added judges.

    Examples:

        fullbench run study.toml --dry-run

        fullbench run study.toml --budget 5

        fullbench run study.toml --engine ray:auto
    """
    from fullbench.studies.run.study_outputs import write_outputs
    from fullbench.studies.study_kinds import study_run_for

    plan = read_study(study, ledger, inputs, safe=safe)
    study_run = study_run_for(plan)
    dollars = calls.budget if calls.budget is not None else plan.budget
    pictures = store.pictures or (None if plan.pictures is None else str(plan.pictures))
    store = replace(store, ledger=str(ledger or plan.ledger), pictures=pictures)
    if calls.dry_run:
        return calls.print_plan(study_run, store.path)
    study_run.check_ready(dollars)
    with calls.open(store, plan.name, plan.engine) as open_run:
        study_result = open_run.execute(study_run, budget=dollars, with_texts=plan.report is not None)
        output_paths = write_outputs(study_result)
        tables = [*study_result.tables, *study_result.run_tables]
        view.print_report(tables, as_json=calls.as_json)
        for path in output_paths:
            print_message(f"Written: {path}")
        print_message(*study_result.messages)
        print_uncompared_items(study_result.record, comparing=study_result.comparing)
        code = report_outcome(study_result.job_counts, what="answers or verdicts")
    if canaries and not code:
        from fullbench.cli.audit_watch_and_replace import run_canaries_after_study

        spent_dollars = sum(counts.usage.dollars or 0.0 for counts in study_result.job_counts)
        remaining_dollars = None if dollars is None else max(0.0, dollars - spent_dollars)
        canary_calls = CallOptions(budget=remaining_dollars, quiet=calls.quiet)
        code = run_canaries_after_study(plan.judges, LedgerOptions(ledger=store.path), canaries, canary_calls)
    return code
