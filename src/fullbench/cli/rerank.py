"""`fullbench rerank`: order the responses to each item by a judge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fullbench.cli.console import print_message, report_outcome
from fullbench.cli.shared_options_and_run_output import (
    CallOptions,
    CriterionOption,
    InputOptions,
    ItemsOption,
    LedgerOptions,
    ResponsesOption,
    TrialsOption,
    option,
    options,
)


@options("question limit keep trials ledger pictures pictures_from fetch_urls budget engine quiet")
def rerank(
    items: ItemsOption,
    responses: ResponsesOption,
    judge: Annotated[str, option("Judge, as KIND:NAME?OPTIONS: picture:sharpness, clip:..., openai:...")],
    out: Annotated[Path, option("File for the responses, best first, with rank and worth.")],
    store: LedgerOptions,
    inputs: InputOptions,
    calls: CallOptions,
    ballot: Annotated[
        str | None,
        option("Ballot: score:1-5, choice+tie, ranking, ... Default: number for score models, real:0-10 for others."),
    ] = None,
    criterion: CriterionOption = "overall",
    keep: Annotated[int | None, option("Keep the best N responses of each item. Default: all.", min=1)] = None,
    trials: TrialsOption = 1,
) -> int:
    """Sort the responses to each item by one judge, and keep the best.

    A response without a mark comes last and has no rank. With `--keep` it is removed.

    Examples:

        fullbench rerank --items prompts.jsonl --responses pictures.jsonl --judge picture:sharpness --keep 1 \
            --out best.jsonl
    """
    from fullbench.studies.rerank_study_kind import BestOfNRun
    from fullbench.studies.run.study_outputs import write_outputs
    from fullbench.studies.study_file import Study

    study_options = {"out": out} | ({} if keep is None else {"keep": keep})
    study = Study(
        "rerank", kind="rerank", items=items, responses=responses, judges=(judge,),
        ballots=() if ballot is None else (ballot,), criteria=(criterion,), trials=trials, options=study_options,
    )  # fmt: skip
    best_of_n_run = BestOfNRun(inputs.added_to(study))
    best_of_n_run.check_ready(calls.budget)
    with calls.open(store) as open_run:
        study_result = open_run.execute(best_of_n_run)
    write_outputs(study_result)
    row_count = sum(1 for _ in best_of_n_run.rows)
    print_message(
        f"Written: {out} ({row_count} of {len(best_of_n_run.answers)} responses, by {best_of_n_run.judge.name})"
    )
    print_message(*study_result.messages)
    return report_outcome(study_result.job_counts, what="verdicts")
