"""`fullbench replay`: tables and page of a study from its ledger, without calls."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fullbench.cli.console import print_message
from fullbench.cli.display_names_in_command_output import CURRENT
from fullbench.cli.shared_options_and_run_output import (
    FullNamesOption,
    InputOptions,
    JsonOption,
    OwnLedgerOption,
    SafeOption,
    StudyArgument,
    ViewOptions,
    option,
    options,
    read_study,
)


@options("ledger out all_tables table shown_judge check without_pictures safe full_names as_json")
def replay(
    study: StudyArgument,
    inputs: InputOptions,
    view: ViewOptions,
    ledger: OwnLedgerOption = None,
    out: Annotated[Path | None, option("Folder for the files. Default: where the study writes them.")] = None,
    check: Annotated[
        bool, option("Write nothing. Check that the files are identical to what the ledger produces.", "--check")
    ] = False,
    safe: SafeOption = False,
    full_names: FullNamesOption = False,  # noqa: ARG001 (its callback turns display names off)
    as_json: JsonOption = False,
) -> int:
    """Write all tables and the page of a study again from its ledger. No model is called, and no key is needed.

    Examples:

        fullbench replay study.toml

        fullbench replay study.toml --ledger postgresql://me@server/study --check
    """
    from tempfile import TemporaryDirectory

    from fullbench.ledger.ledger import Ledger
    from fullbench.studies.run.study_outputs import find_differing_files, write_outputs
    from fullbench.studies.study_kinds import study_run_for

    plan = read_study(study, ledger, inputs, safe=safe)
    with Ledger(ledger or plan.ledger, read_only=True) as book:
        CURRENT.use_ledger(book)
        study_result = study_run_for(plan).replay(book)
    if study_result.missing:
        print_message(f"{study_result.missing:,} verdicts of this study are missing. `fullbench run` adds only these.")
    if check:
        with TemporaryDirectory() as folder:
            differing_paths = find_differing_files(study_result, Path(folder))
        for path in differing_paths:
            print_message(f"{path} differs from what the ledger produces.")
        if not differing_paths:
            print_message("The files of the study are identical to what the ledger produces.")
        return 1 if differing_paths else 0
    view.print_report(study_result.tables, as_json=as_json)
    for path in write_outputs(study_result, out):
        print_message(f"Written: {path}")
    return 0
