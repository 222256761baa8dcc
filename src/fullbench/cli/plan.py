"""`fullbench plan`: planned calls of a study and their cost."""

from __future__ import annotations

from fullbench.cli.options import (
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
    """Say what a study would ask: calls, tokens, dollars live and in batches, and time. Nothing is asked.

    What the ledger holds is known already. Verdicts on answers that are still to be given are counted too, where the
    benchmark can say which cases there will be. For one's own files: fullbench judge ... --dry-run.

    Example: fullbench plan study.toml
    """
    from fullbench.studies.study_kinds import study_run_for

    loaded_study = read_study(study, ledger, inputs, safe=safe)
    calls.print_plan(study_run_for(loaded_study), ledger or loaded_study.ledger)
