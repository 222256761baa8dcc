"""`fullbench plan`: planned calls of a study and their cost."""

from __future__ import annotations

from fullbench.cli.shared_options_and_run_output import (
    CallOptions,
    InputOptions,
    OwnLedgerOption,
    SafeOption,
    StudyArgument,
    options,
    read_study,
)


@options("ledger limit without_pictures safe as_json")
def plan(
    study: StudyArgument,
    inputs: InputOptions,
    calls: CallOptions,
    ledger: OwnLedgerOption = None,
    safe: SafeOption = False,
) -> None:
    """Show the planned calls of a study, their cost and time. Same as `fullbench run STUDY --dry-run`.

    Results in the ledger need no call. If the benchmark knows its cases in advance, verdicts on future responses are
    counted too. For your own files: fullbench judge ... --dry-run.

    Example: fullbench plan study.toml
    """
    from fullbench.studies.study_kinds import study_run_for

    loaded_study = read_study(study, ledger, inputs, safe=safe)
    calls.print_plan(study_run_for(loaded_study), ledger or loaded_study.ledger)
