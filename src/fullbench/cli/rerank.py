"""`fullbench rerank`: the best of n, by a judge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.common import (
    DEFAULT_LEDGER,
    BudgetOption,
    EngineOption,
    LedgerOption,
    PicturesFromOption,
    PicturesOption,
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
    keep: Annotated[int | None, typer.Option(min=1, help="Only so many of each item; all where left out.")] = None,
    trials: Annotated[int, typer.Option(min=1, help="How often every case is heard.")] = 1,
    ledger: LedgerOption = DEFAULT_LEDGER,
    pictures: PicturesOption = None,
    pictures_from: PicturesFromOption = None,
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
    from collections import Counter
    from dataclasses import replace

    from fullbench.files.nouns import read_items, read_responses
    from fullbench.files.pictures import allowing
    from fullbench.files.writers import write_rows
    from fullbench.ledger.store import Ledger
    from fullbench.nouns.ballot import ballot as ballot_of
    from fullbench.studies import plan, rerank, specs
    from fullbench.studies.hear import hear
    from fullbench.studies.progress import watching

    form, who = ballot_of(ballot), specs.judge(judge)
    with allowing(*pictures_from or ()):
        asked = list(read_items(items))
        answers = list(read_responses(responses, items={item.id for item in asked}))
    cases = [replace(case, criterion=criterion) for case in rerank.cases(asked, answers, form, trials=trials)]
    purse = plan.purse(budget, plan.models_asked([who])) if budget is not None else None
    with asking_from(engine) as where, Ledger(ledger, pictures=pictures) as book, stoppable() as stop:
        with watching("verdicts", [who.name], len(cases), quiet=quiet) as watch:
            tallies = hear(
                [who],
                lambda _: cases,
                book,
                engine=where,
                specs={who.name: judge},
                budget=purse,
                stop=stop,
                watch=watch,
            )
        verdicts = list(book.verdicts([who.name], cases={case.key for case in cases}))
    ranked = rerank.rank(asked, answers, cases, verdicts)
    written = write_rows(out, rerank.rows(ranked, out, keep))
    say(f"Written: {out} ({written} of {len(answers)} responses, by {who.name})")
    if unranked := sum(candidate.worth is None for candidate in ranked):
        fate = "they are left out" if keep is not None else "they come last, without a rank"
        say(f"{unranked} responses got no mark: {fate}.")
        why = Counter(verdict.text for verdict in verdicts if verdict.fault == "recused")
        for reason, count in why.most_common(3):
            say(f"{who.name} recused itself {count} times: {reason}.")
    return closing(tallies, what="verdicts")
