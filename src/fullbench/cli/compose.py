"""`fullbench compose`: build a benchmark of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.options import (
    DEFAULT_LEDGER,
    BudgetOption,
    EngineOption,
    JsonOption,
    LedgerOption,
    PicturesOption,
    QuietOption,
    asking_from,
    closing,
    say,
    show,
    stoppable,
)

compose_app = typer.Typer(
    help="Build a benchmark of your own: pictures that are alike, questions reworded by models, confirmed by people.",
    no_args_is_help=True,
)
ItemsOption = Annotated[Path, typer.Option(help="The items: JSONL, CSV or Parquet.")]
QueueOption = Annotated[Path, typer.Option(help="Write the queue for people here (.csv, .jsonl or .parquet).")]


@compose_app.command("duplicates")
def duplicates(
    folder: Annotated[Path, typer.Argument(help="A folder of pictures.")],
    against: Annotated[
        list[Path] | None,
        typer.Option(help="Another set's pictures, such as training data. Again for more."),
    ] = None,
    most: Annotated[int, typer.Option(min=0, max=256, help="How many of 256 bits may differ.")] = 16,
    out: Annotated[Path | None, typer.Option(help="A file: .html, .json, .csv, .md or .txt.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Find pictures that are there twice, or in another set too: the same file, or nearly the same picture.

    Examples:

        fullbench compose duplicates photos/

        fullbench compose duplicates photos/ --against sft-images/ --against old-benchmark/
    """
    from fullbench.studies.authoring.compose_benchmark import across, alike, read_pictures

    pictures, wrong = read_pictures(folder)
    others = {}
    for other in against or []:
        others[str(other)], more = read_pictures(other)
        wrong += more
    for reason in wrong:
        say(reason)
    tables = [alike(pictures, most=most)]
    show([*tables, across(pictures, others, most=most)] if others else tables, as_json=as_json, out=out)


@compose_app.command("draw")
def draw(
    sources: Annotated[list[Path], typer.Argument(metavar="ITEMS...", help="Files of items: JSONL, CSV or Parquet.")],
    each: Annotated[int, typer.Option(min=1, help="How many items of each data set.")],
    out: Annotated[Path, typer.Option(help="Write the items here (.jsonl, .csv or .parquet).")],
    by: Annotated[str, typer.Option(help="The tag that tells them apart; a file is a data set by itself.")] = "dataset",
    seed: Annotated[int, typer.Option(help="Another number draws other items.")] = 0,
) -> None:
    """Draw so many items of each data set, the same ones for the same seed.

    Examples:

        fullbench compose draw coco.jsonl charts.jsonl math.parquet --each 300 --out items.jsonl

        fullbench compose draw items.jsonl --by ability --each 50 --seed 7 --out fewer.jsonl
    """
    from fullbench.files.item_files import read_items, write_items
    from fullbench.studies.authoring import sample_items

    items = sample_items.by_source({path.stem: list(read_items(path)) for path in sources})
    drawn = sample_items.draw(items, each=each, by=by, seed=seed)
    count = write_items(out, drawn.items)
    for group, (taken, there) in drawn.counts.items():
        say(f"{by} {group}: {taken:,} of {there:,} items{', fewer than asked for' if taken < each else ''}")
    say(f"Written: {out} ({count} of {len(items)} items)")


@compose_app.command("rewrite")
def rewrite(
    items: ItemsOption,
    models: Annotated[list[str], typer.Option("--model", help="Who rewords, as KIND:NAME?OPTIONS. Again for more.")],
    out: QueueOption,
    count: Annotated[int, typer.Option(min=1, help="How many rewordings of each question.")] = 5,
    language: Annotated[str, typer.Option(help="zh or en; where left out, that of each question.")] = "",
    ledger: LedgerOption = DEFAULT_LEDGER,
    pictures: PicturesOption = None,
    budget: BudgetOption = None,
    engine: EngineOption = None,
    quiet: QuietOption = False,
) -> int:
    """Let models reword questions; the rewordings wait in a queue until a person says that they mean the same.

    Examples:

        fullbench compose rewrite --items seeds.jsonl --model openai:gpt-4o --out rewordings.csv
    """
    from fullbench.core.text import language_named
    from fullbench.files.item_files import read_items, write_rows
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies import judge_and_model_specs
    from fullbench.studies.authoring.compose_benchmark import rewrite as reword
    from fullbench.studies.authoring.reworded_questions import REWRITE_COLUMNS
    from fullbench.studies.run import study_plan

    rewriters = [judge_and_model_specs.contestant(spec) for spec in models]
    asked = list(read_items(items))
    spoken = language_named(language) if language else None
    purse = study_plan.ready(rewriters, budget)
    named = {model.name: spec for model, spec in zip(rewriters, models, strict=True)}
    with asking_from(engine) as where, Ledger(ledger, pictures=pictures) as book, stoppable() as stop:
        done = reword(
            rewriters, asked, book, count=count, language=spoken, engine=where, specs=named, budget=purse, stop=stop,
            quiet=quiet,
        )  # fmt: skip
    write_rows(out, done.reworded.rows, REWRITE_COLUMNS)
    for reason in done.reworded.failed:
        say(reason)
    say(f"Written: {out} ({len(done.reworded.rows)} rewordings that wait: fill in 'same' with yes or no)")
    return closing(done.tallies, what="rewordings")


@compose_app.command("references")
def references(
    items: ItemsOption,
    out: QueueOption,
    model: Annotated[
        str | None, typer.Option(help="Who writes a reference, as KIND:NAME?OPTIONS, for items that have none.")
    ] = None,
    ledger: LedgerOption = DEFAULT_LEDGER,
    pictures: PicturesOption = None,
    budget: BudgetOption = None,
    engine: EngineOption = None,
    quiet: QuietOption = False,
) -> int:
    """Write the reference answers as a queue in which people accept them or say what is wrong.

    The reasons are: factual error, does not follow, incomplete, common-sense mistake. With --model, items without a
    reference get one that a model wrote; it waits for people like any other, and bears its writer's name.

    Examples:

        fullbench compose references --items seeds.jsonl --out references.csv

        fullbench compose references --items seeds.jsonl --model openai:gpt-4o --out references.csv
    """
    from fullbench.files.item_files import read_items, write_rows
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies import judge_and_model_specs
    from fullbench.studies.authoring.model_references import Going, written
    from fullbench.studies.authoring.reworded_questions import REFERENCE_COLUMNS
    from fullbench.studies.authoring.reworded_questions import references as queue
    from fullbench.studies.run import study_plan

    asked = list(read_items(items))
    rows, tallies = queue(asked), []
    if model is not None:
        writer = judge_and_model_specs.contestant(model)
        purse = study_plan.ready([writer], budget)
        with asking_from(engine) as where, Ledger(ledger, pictures=pictures) as book, stoppable() as stop:
            going = Going(book, where, {writer.name: model}, purse, stop, quiet)
            done = written(writer, asked, going)
        rows, tallies = [*rows, *done.rows], done.tallies
        for reason in done.failed:
            say(reason)
    count = write_rows(out, rows, REFERENCE_COLUMNS)
    say(f"Written: {out} ({count} references that wait: fill in 'accept' with yes or no, and the reason where no)")
    return closing(tallies, what="references") if tallies else 0


@compose_app.command("rephrase")
def rephrase(
    items: ItemsOption,
    model: Annotated[str, typer.Option(help="Who puts references into other words, as KIND:NAME?OPTIONS.")],
    out: Annotated[Path, typer.Option(help="Write the responses here (.jsonl, .csv or .parquet).")],
    contestant: Annotated[str, typer.Option(help="The name that these responses bear.")] = "rephrased reference",
    ledger: LedgerOption = DEFAULT_LEDGER,
    pictures: PicturesOption = None,
    budget: BudgetOption = None,
    engine: EngineOption = None,
    quiet: QuietOption = False,
) -> int:
    """Put reference answers into other words, as responses: right answers to train or test a critic on.

    Examples:

        fullbench compose rephrase --items items.jsonl --model openai:gpt-4o --out rephrased.jsonl
    """
    from fullbench.files.item_files import read_items, write_responses
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies import judge_and_model_specs
    from fullbench.studies.authoring.model_references import Going, rephrased
    from fullbench.studies.run import study_plan

    writer = judge_and_model_specs.contestant(model)
    purse = study_plan.ready([writer], budget)
    with asking_from(engine) as where, Ledger(ledger, pictures=pictures) as book, stoppable() as stop:
        going = Going(book, where, {writer.name: model}, purse, stop, quiet)
        done = rephrased(writer, list(read_items(items)), going, contestant=contestant)
    for reason in done.failed:
        say(reason)
    count = write_responses(out, done.responses)
    say(f"Written: {out} ({count} responses of {contestant!r})")
    return closing(done.tallies, what="references")


@compose_app.command("accept")
def accept(
    items: ItemsOption,
    out: Annotated[Path, typer.Option(help="Write the items here (.jsonl, .csv or .parquet).")],
    rewrites: Annotated[Path | None, typer.Option(help="The queue of rewordings, filled in.")] = None,
    reviews: Annotated[Path | None, typer.Option("--references", help="The queue of references, filled in.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Make the benchmark of what people accepted: references first, then the rewordings of what is left.

    Examples:

        fullbench compose accept --items seeds.jsonl --references references.csv --rewrites rewordings.csv \\
            --out items.jsonl
    """
    from fullbench.errors import InputError
    from fullbench.files.item_files import read_items, write_items
    from fullbench.studies.authoring.reworded_questions import confirm, review

    if rewrites is None and reviews is None:
        raise InputError("there is nothing to accept: give --rewrites, --references or both")
    accepted = list(read_items(items))
    every = {item.id for item in accepted}
    tables = []
    if reviews is not None:
        confirmed = review(accepted, reviews)
        accepted = list(confirmed.items)
        tables.append(confirmed.table)
    if rewrites is not None:
        confirmed = confirm(accepted, rewrites, dropped=every.difference(item.id for item in accepted))
        accepted = list(confirmed.items)
        tables.append(confirmed.table)
    count = write_items(out, accepted)
    show(tables, as_json=as_json)
    say(f"Written: {out} ({count} items)")
