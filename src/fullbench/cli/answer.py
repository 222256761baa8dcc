"""`fullbench answer`: let contestants answer items."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.options import (
    DEFAULT_LEDGER,
    AgainOption,
    AnywayOption,
    BudgetForOption,
    BudgetOption,
    DurabilityOption,
    EngineOption,
    FetchUrlsOption,
    LedgerOption,
    LimitOption,
    PicturesFromOption,
    PicturesOption,
    QuestionOption,
    QuietOption,
    StudyOption,
    SupersedeOption,
    WithoutPicturesOption,
    asking_from,
    closing,
    say,
    stoppable,
)


def answer(
    items: Annotated[Path, typer.Option(help="What is asked: JSONL, CSV or Parquet, or a folder of pictures.")],
    contestants: Annotated[
        list[str], typer.Option("--contestant", help="Who answers, as KIND:NAME?OPTIONS. Give it again for more.")
    ],
    out: Annotated[Path, typer.Option(help="Write the responses here (.jsonl, .csv or .parquet).")],
    question: QuestionOption = None,
    limit: LimitOption = None,
    samples: Annotated[int, typer.Option("--samples", "--trials", min=1, help="Answers to every item.")] = 1,
    ledger: LedgerOption = DEFAULT_LEDGER,
    study: StudyOption = None,
    supersede: SupersedeOption = False,
    pictures: PicturesOption = None,
    pictures_from: PicturesFromOption = None,
    without_pictures: WithoutPicturesOption = False,
    fetch_urls: FetchUrlsOption = False,
    durability: DurabilityOption = None,
    budget: BudgetOption = None,
    budget_for: BudgetForOption = "run",
    anyway: AnywayOption = False,
    again: AgainOption = False,
    engine: EngineOption = None,
    quiet: QuietOption = False,
) -> int:
    """Let contestants answer items, and write what they said to a file.

    Examples:

        fullbench answer --items items.jsonl --contestant openai:gpt-4o --out answers.jsonl

        fullbench answer --items photos/ --question "What is shown?" --contestant ollama:llava --out answers.csv
    """
    from fullbench.files.item_files import read_items, write_responses
    from fullbench.files.picture_access_policy import allowing
    from fullbench.files.picture_access_policy import without_pictures as unseen
    from fullbench.files.picture_folders import left_out, named_whole
    from fullbench.files.writers import check_target
    from fullbench.ledger.database_from_path import durability_of
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies import judge_and_model_specs
    from fullbench.studies.engines import Insistence
    from fullbench.studies.run import study_plan
    from fullbench.studies.run.answer_items import answer as answer_all
    from fullbench.studies.run.missing_pictures import refuse_blind
    from fullbench.studies.run.progress_display import watching
    from fullbench.studies.run.study_inputs import left_by_limit

    check_target(out, items)
    models = [judge_and_model_specs.contestant(spec) for spec in contestants]
    judge_and_model_specs.distinct("contestants", [model.name for model in models])
    with allowing(*pictures_from or (), urls=fetch_urls), unseen(without_pictures):
        every = list(read_items(items, question=question))
    asked = every[:limit]
    for line in left_by_limit(len(asked), len(every)):
        say(line)
    if items.is_dir() and (others := left_out(items)):
        say(f"{items}: {others}; they were left out.")
    if items.is_dir() and (shared := named_whole(items)):
        say(f"{items}: {shared}.")
    refuse_blind(asked, models, (), allowed=without_pictures)
    study_plan.ready(models, budget)
    names = [model.name for model in models]
    with (
        stoppable() as stop,
        asking_from(engine) as where,
        Ledger(
            ledger,
            pictures=pictures,
            study=study,
            supersede=supersede,
            durability=durability_of(durability),
        ) as book,
    ):
        spent = book.spent(book.study) if budget_for == "study" else 0.0
        purse = None if budget is None else study_plan.purse(budget, models, spent=spent)
        with watching("answers", names, len(asked) * samples, quiet=quiet) as watch:
            tallies = answer_all(
                models, asked, book, samples=samples, engine=where, specs=dict(zip(names, contestants, strict=True)),
                budget=purse, stop=stop, watch=watch, insist=Insistence(anyway, again),
            )  # fmt: skip
        order = {item.id: place for place, item in enumerate(asked)}
        # In the order of the files, whichever answer came first: the same command writes the same file.
        responses = sorted(
            book.responses(names, item_keys=[item.key for item in asked]),
            key=lambda response: (names.index(response.contestant), order[response.item], response.sample),
        )
    write_responses(out, responses)
    say(f"Written: {out} ({len(responses)} responses)")
    return closing(tallies, what="answers")
