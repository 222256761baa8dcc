"""`fullbench answer`: let contestants answer items."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fullbench.cli.console import print_message, report_outcome
from fullbench.cli.shared_options_and_run_output import (
    CallOptions,
    InputOptions,
    ItemsOption,
    LedgerOptions,
    option,
    options,
)


@options(
    "question limit samples ledger study supersede pictures pictures_from without_pictures fetch_urls durability "
    "budget budget_for anyway again engine quiet"
)
def answer(
    items: ItemsOption,
    contestants: Annotated[list[str], option("Model that answers, as KIND:NAME?OPTIONS. Repeatable.", "--contestant")],
    out: Annotated[Path, option("File for the responses (.jsonl, .csv or .parquet).")],
    store: LedgerOptions,
    inputs: InputOptions,
    calls: CallOptions,
    samples: Annotated[int, option("Number of answers for each item.", "--samples", "--trials", min=1)] = 1,
) -> int:
    """Let models answer items and write the responses to a file.

    Examples:

        fullbench answer --items items.jsonl --contestant openai:gpt-4o --out answers.jsonl

        fullbench answer --items photos/ --question "What is shown?" --contestant ollama:llava --out answers.csv
    """
    from fullbench.files.item_response_verdict_files import read_items, write_responses
    from fullbench.files.items_from_picture_folder import other_files_note, same_stem_note
    from fullbench.files.row_writers import check_target
    from fullbench.studies import judge_contestant_and_benchmark_specs
    from fullbench.studies.run import call_and_cost_plan
    from fullbench.studies.run.missing_pictures import refuse_missing_pictures
    from fullbench.studies.run.study_items_responses_and_labels import limit_messages

    check_target(out, items)
    models = [judge_contestant_and_benchmark_specs.contestant_from_spec(spec) for spec in contestants]
    judge_contestant_and_benchmark_specs.refuse_duplicates("contestants", [model.name for model in models])
    with inputs.allow_pictures():
        all_items = list(read_items(items, question=inputs.question))
    selected_items = all_items[: inputs.limit]
    print_message(*limit_messages(len(selected_items), len(all_items)))
    if items.is_dir() and (omitted_text := other_files_note(items)):
        print_message(f"{items}: {omitted_text}; these items were skipped.")
    if items.is_dir() and (names_text := same_stem_note(items)):
        print_message(f"{items}: {names_text}.")
    refuse_missing_pictures(selected_items, models, (), is_allowed=inputs.without_pictures)
    call_and_cost_plan.check_keys_and_budget(models, calls.budget)
    names = [model.name for model in models]
    with calls.open(store) as open_run:
        shared_budget = call_and_cost_plan.check_keys_and_budget(
            models, calls.budget, spent_dollars=open_run.spent_dollars
        )
        context = open_run.call_context(shared_budget, dict(zip(names, contestants, strict=True)))
        job_counts = context.collect_answers(models, selected_items, samples=samples)
        order = {item.id: position for position, item in enumerate(selected_items)}
        # In the order of the items, not of the answers: the same command writes the same file.
        responses = sorted(
            open_run.book.responses(names, item_keys=[item.key for item in selected_items]),
            key=lambda response: (names.index(response.contestant), order[response.item], response.sample),
        )
    write_responses(out, responses)
    print_message(f"Written: {out} ({len(responses)} responses)")
    return report_outcome(job_counts, what="answers")
