"""`fullbench rerank`: the best of n, by a judge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.options import (
    DEFAULT_LEDGER,
    BudgetOption,
    EngineOption,
    FetchUrlsOption,
    LedgerOption,
    LimitOption,
    PicturesFromOption,
    PicturesOption,
    QuestionOption,
    QuietOption,
    asking_from,
    closing,
    say,
    stoppable,
)


def rerank(
    items: Annotated[Path, typer.Option(help="What was asked: JSONL, CSV or Parquet.")],
    responses: Annotated[Path, typer.Option(help="What was answered: several responses to each item.")],
    judge: Annotated[
        str, typer.Option(help="Who judges, as KIND:NAME?OPTIONS: picture:sharpness, clip:..., openai:...")
    ],
    out: Annotated[Path, typer.Option(help="Write the responses here, best first, with rank and worth.")],
    ballot: Annotated[str, typer.Option(help="real:0-10, score:1-5, choice+tie, ranking...")] = "real:0-10",
    criterion: Annotated[str, typer.Option(help="What to judge by.")] = "overall",
    question: QuestionOption = None,
    limit: LimitOption = None,
    keep: Annotated[int | None, typer.Option(min=1, help="Only so many of each item; all where left out.")] = None,
    trials: Annotated[int, typer.Option(min=1, help="How often every case is heard.")] = 1,
    ledger: LedgerOption = DEFAULT_LEDGER,
    pictures: PicturesOption = None,
    pictures_from: PicturesFromOption = None,
    fetch_urls: FetchUrlsOption = False,
    budget: BudgetOption = None,
    engine: EngineOption = None,
    quiet: QuietOption = False,
) -> int:
    """Put the responses to each item in order by one judge, and keep the best.

    A response that the judge gave no mark comes last and has no rank; with `--keep` it is left out.

    Examples:

        fullbench rerank --items prompts.jsonl --responses pictures.jsonl --judge picture:sharpness --keep 1 \\
            --out best.jsonl
    """
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies.best_of_n_kind import Reranking
    from fullbench.studies.run.study_outputs import write_outputs
    from fullbench.studies.study_file import Study

    options = {"out": out} | ({} if keep is None else {"keep": keep})
    study = Study(
        "rerank", kind="rerank", items=items, question=question, limit=limit, responses=responses,
        judges=(judge,), ballots=(ballot,),
        criteria=(criterion,), trials=trials, pictures_from=tuple(pictures_from or ()), fetch_urls=fetch_urls,
        options=options,
    )  # fmt: skip
    reranking = Reranking(study)
    reranking.ready(budget)
    with asking_from(engine) as where, Ledger(ledger, pictures=pictures) as book, stoppable() as stop:
        done = reranking.conduct(book, engine=where, budget=budget, stop=stop, quiet=quiet)
    write_outputs(done)
    written = sum(1 for _ in reranking.rows)
    say(f"Written: {out} ({written} of {len(reranking.answers)} responses, by {reranking.judge.name})")
    for line in done.said:
        say(line)
    return closing(done.tallies, what="verdicts")
