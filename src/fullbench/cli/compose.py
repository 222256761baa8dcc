"""`fullbench compose`: build your own benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.console import print_message, print_tables, report_outcome
from fullbench.cli.shared_options_and_run_output import (
    CallOptions,
    DraftOption,
    ItemsFileOption,
    JsonOption,
    LedgerOptions,
    SeedOption,
    TablesOption,
    argument,
    option,
    options,
)
from fullbench.errors import InputError

compose_app = typer.Typer(
    help="Build a benchmark: find duplicates, draw items, reword questions, check them with people.",
    no_args_is_help=True,
)
ItemsOutOption = Annotated[Path, option("File for the items (.jsonl, .csv or .parquet).")]


@compose_app.command("duplicates")
def duplicates(
    folder: Annotated[Path, argument("Folder of pictures.")],
    against: Annotated[
        list[Path] | None, option("Folder of other pictures to compare with, for example training data. Repeatable.")
    ] = None,
    most: Annotated[int, option("Maximum number of differing bits, of 256, between two copies.", min=0, max=256)] = 16,
    out: TablesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find duplicate pictures, also between two folders: the same file, or nearly the same picture.

    Examples:

        fullbench compose duplicates photos/

        fullbench compose duplicates photos/ --against sft-images/ --against old-benchmark/
    """
    from fullbench.studies.authoring.near_duplicate_pictures import (
        duplicate_pictures_table,
        read_pictures,
        shared_pictures_table,
    )

    pictures, problems = read_pictures(folder)
    other_sets = {}
    for other_folder in against or []:
        other_sets[str(other_folder)], more = read_pictures(other_folder)
        problems += more
    print_message(*problems)
    tables = [duplicate_pictures_table(pictures, most=most)]
    print_tables(
        [*tables, shared_pictures_table(pictures, other_sets, most=most)] if other_sets else tables,
        as_json=as_json,
        out=out,
    )


@compose_app.command("draw")
def draw(
    sources: Annotated[list[Path], argument("Files of items: JSONL, CSV or Parquet.", metavar="ITEMS...")],
    each: Annotated[int, option("Number of items to draw from each data set.", min=1)],
    out: ItemsOutOption,
    by: Annotated[
        str, option("Tag that names the data set of an item. Default for items without it: their file.")
    ] = "dataset",
    seed: SeedOption = 0,
) -> None:
    """Draw a number of items from each data set. The same seed draws the same items.

    Examples:

        fullbench compose draw coco.jsonl charts.jsonl math.parquet --each 300 --out items.jsonl

        fullbench compose draw items.jsonl --by ability --each 50 --seed 7 --out fewer.jsonl
    """
    from fullbench.files.item_response_verdict_files import read_items, write_items
    from fullbench.studies.authoring import item_samples_per_dataset

    items = item_samples_per_dataset.tag_by_source({path.stem: list(read_items(path)) for path in sources})
    sample = item_samples_per_dataset.draw_items(items, each=each, by=by, seed=seed)
    count = write_items(out, sample.items)
    for group, (taken_count, available_count) in sample.counts.items():
        print_message(
            f"{by} {group}: {taken_count:,} of {available_count:,} "
            f"items{', fewer than requested' if taken_count < each else ''}"
        )
    print_message(f"Written: {out} ({count} of {len(items)} items)")


@compose_app.command("rewrite")
@options("ledger pictures budget engine quiet")
def rewrite(
    items: ItemsFileOption,
    models: Annotated[list[str], option("Model that rewords, as KIND:NAME?OPTIONS. Repeatable.", "--model")],
    out: DraftOption,
    store: LedgerOptions,
    calls: CallOptions,
    count: Annotated[int, option("Number of rewordings of each question.", min=1)] = 5,
    language: Annotated[str, option("Language: zh or en. Default: the language of each question.")] = "",
) -> int:
    """Let models reword questions. People then check in a queue that the meaning is the same.

    Examples:

        fullbench compose rewrite --items seeds.jsonl --model openai:gpt-4o --out rewordings.csv
    """
    from fullbench.core.language_and_words import parse_language
    from fullbench.files.item_response_verdict_files import read_items
    from fullbench.files.row_writers import write_rows
    from fullbench.studies import judge_contestant_and_benchmark_specs
    from fullbench.studies.authoring.human_review_of_rewordings_and_references import (
        REWRITE_COLUMNS,
        reword_items,
        rewordable_items,
    )
    from fullbench.studies.run import call_and_cost_plan

    rewriters = [judge_contestant_and_benchmark_specs.contestant_from_spec(spec) for spec in models]
    source_items = list(read_items(items))
    if skipped_count := len(source_items) - len(rewordable_items(source_items)):
        print_message(f"{skipped_count} items not reworded: dialogues, or pictures between texts.")
    prompt_language = parse_language(language) if language else None
    shared_budget = call_and_cost_plan.check_keys_and_budget(rewriters, calls.budget)
    specs_by_name = {model.name: spec for model, spec in zip(rewriters, models, strict=True)}
    with calls.open(store) as open_run:
        rewording_result = reword_items(
            rewriters,
            source_items,
            open_run.book,
            count=count,
            language=prompt_language,
            engine=open_run.engine,
            specs=specs_by_name,
            budget=shared_budget,
            stop=open_run.stop,
            quiet=calls.quiet,
        )
    write_rows(out, rewording_result.queue.rows, REWRITE_COLUMNS)
    for reason in rewording_result.queue.failures:
        print_message(reason)
    print_message(
        f"Written: {out} ({len(rewording_result.queue.rows)} rewordings to check: fill in 'same' with yes or no)"
    )
    return report_outcome(rewording_result.job_counts, what="rewordings")


@compose_app.command("references")
@options("ledger pictures budget engine quiet")
def references(
    items: ItemsFileOption,
    out: DraftOption,
    store: LedgerOptions,
    calls: CallOptions,
    model: Annotated[
        str | None, option("Model that writes references for items without one, as KIND:NAME?OPTIONS.")
    ] = None,
) -> int:
    """Write the reference answers to a queue, in which people accept or reject them.

    The reasons for a rejection are: factual error, does not follow, incomplete, common-sense mistake. With --model, a
    model writes a reference for items without one. People check it like any other; the queue names the model.

    Examples:

        fullbench compose references --items seeds.jsonl --out references.csv

        fullbench compose references --items seeds.jsonl --model openai:gpt-4o --out references.csv
    """
    from fullbench.files.item_response_verdict_files import read_items
    from fullbench.files.row_writers import write_rows
    from fullbench.studies import judge_contestant_and_benchmark_specs
    from fullbench.studies.authoring.human_review_of_rewordings_and_references import (
        REFERENCE_COLUMNS,
        write_references,
    )
    from fullbench.studies.authoring.human_review_of_rewordings_and_references import reference_queue as queue
    from fullbench.studies.run import call_and_cost_plan

    source_items = list(read_items(items))
    rows, job_counts = queue(source_items), []
    if model is not None:
        writer = judge_contestant_and_benchmark_specs.contestant_from_spec(model)
        shared_budget = call_and_cost_plan.check_keys_and_budget([writer], calls.budget)
        with calls.open(store) as open_run:
            context = open_run.call_context(shared_budget, {writer.name: model})
            writing_result = write_references(writer, source_items, context)
        rows, job_counts = [*rows, *writing_result.rows], writing_result.job_counts
        print_message(*writing_result.failures)
    count = write_rows(out, rows, REFERENCE_COLUMNS)
    print_message(f"Written: {out} ({count} references to check: fill in 'accept' with yes or no, and 'reason' if no)")
    return report_outcome(job_counts, what="references") if job_counts else 0


@compose_app.command("rephrase")
@options("ledger pictures budget engine quiet")
def rephrase(
    items: ItemsFileOption,
    model: Annotated[str, option("Model that rephrases the references, as KIND:NAME?OPTIONS.")],
    out: Annotated[Path, option("File for the responses (.jsonl, .csv or .parquet).")],
    store: LedgerOptions,
    calls: CallOptions,
    contestant: Annotated[str, option("Contestant name for these responses.")] = "rephrased reference",
) -> int:
    """Rephrase reference answers as responses: correct answers to train or test a critic.

    Examples:

        fullbench compose rephrase --items items.jsonl --model openai:gpt-4o --out rephrased.jsonl
    """
    from fullbench.files.item_response_verdict_files import read_items, write_responses
    from fullbench.studies import judge_contestant_and_benchmark_specs
    from fullbench.studies.authoring.human_review_of_rewordings_and_references import rephrase_references
    from fullbench.studies.run import call_and_cost_plan

    writer = judge_contestant_and_benchmark_specs.contestant_from_spec(model)
    shared_budget = call_and_cost_plan.check_keys_and_budget([writer], calls.budget)
    with calls.open(store) as open_run:
        context = open_run.call_context(shared_budget, {writer.name: model})
        writing_result = rephrase_references(writer, list(read_items(items)), context, contestant=contestant)
    print_message(*writing_result.failures)
    count = write_responses(out, writing_result.responses)
    print_message(f"Written: {out} ({count} responses of {contestant!r})")
    return report_outcome(writing_result.job_counts, what="references")


@compose_app.command("accept")
def accept(
    items: ItemsFileOption,
    out: ItemsOutOption,
    rewrites: Annotated[Path | None, option("Queue of rewordings, filled in by people.")] = None,
    reviews: Annotated[Path | None, option("Queue of references, filled in by people.", "--references")] = None,
    as_json: JsonOption = False,
) -> None:
    """Build the benchmark from what people accepted: references first, then rewordings of the remaining items.

    Examples:

        fullbench compose accept --items seeds.jsonl --references references.csv --rewrites rewordings.csv \
            --out items.jsonl
    """
    from fullbench.files.item_response_verdict_files import read_items, write_items
    from fullbench.studies.authoring.human_review_of_rewordings_and_references import (
        confirm_rewordings,
        review_references,
    )

    if rewrites is None and reviews is None:
        raise InputError("Nothing to accept. Add --rewrites, --references or both.")
    accepted_items = list(read_items(items))
    all_ids = {item.id for item in accepted_items}
    tables = []
    if reviews is not None:
        confirmation = review_references(accepted_items, reviews)
        accepted_items = list(confirmation.items)
        tables.append(confirmation.table)
    if rewrites is not None:
        confirmation = confirm_rewordings(
            accepted_items, rewrites, dropped_seeds=all_ids.difference(item.id for item in accepted_items)
        )
        accepted_items = list(confirmation.items)
        tables.append(confirmation.table)
    count = write_items(out, accepted_items)
    print_tables(tables, as_json=as_json)
    print_message(f"Written: {out} ({count} items)")
