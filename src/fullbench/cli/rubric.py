"""`fullbench rubric`: criteria proposed from examples, confirmed by a person, weighted by what people marked."""

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

rubric_app = typer.Typer(
    help="Make a rubric: criteria proposed from examples, confirmed by a person, weighted by what people marked.",
    no_args_is_help=True,
)
ItemsOption = Annotated[Path, typer.Option(help="What was asked: JSONL, CSV or Parquet, or a folder of pictures.")]
ResponsesOption = Annotated[Path, typer.Option(help="What was answered: JSONL, CSV or Parquet.")]
OutOption = Annotated[Path, typer.Option(help="Write the rubric here (.toml).")]


@rubric_app.command("propose")
def propose(
    items: ItemsOption,
    responses: ResponsesOption,
    model: Annotated[str, typer.Option(help="Who proposes, as KIND:NAME?OPTIONS.")],
    out: OutOption,
    labels: Annotated[Path | None, typer.Option(help="People's marks: the examples show both ends of them.")] = None,
    count: Annotated[int, typer.Option(min=1, max=30, help="How many criteria.")] = 6,
    ledger: LedgerOption = DEFAULT_LEDGER,
    pictures: PicturesOption = None,
    budget: BudgetOption = None,
    engine: EngineOption = None,
    quiet: QuietOption = False,
) -> int:
    """Let a model propose a rubric from examples; it waits in a file until a person confirms it.

    Examples:

        fullbench rubric propose --items items.jsonl --responses answers.jsonl --model openai:gpt-4o --out rubric.toml
    """
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies import judge_and_model_specs
    from fullbench.studies.authoring.model_references import Going
    from fullbench.studies.rubrics.rubric_proposals import EXAMPLES, proposed, write_rubric
    from fullbench.studies.rubrics.rubric_weights import examples_of
    from fullbench.studies.run import study_plan

    writer = judge_and_model_specs.contestant(model)
    examples = examples_of(items, responses, labels)
    purse = study_plan.ready([writer], budget)
    with asking_from(engine) as where, Ledger(ledger, pictures=pictures) as book, stoppable() as stop:
        going = Going(book, engine=where, budget=purse, stop=stop, quiet=quiet, specs={writer.name: model})
        criteria, tally = proposed(writer, examples, going, count=count)
    write_rubric(out, criteria, proposer=writer.name)
    say(f"{min(len(examples), EXAMPLES):,} of {len(examples):,} answers were shown as examples.")
    say(f"Written: {out} ({len(criteria)} criteria that wait: read them, then fullbench rubric confirm {out})")
    return closing([tally], what="rubrics")


@rubric_app.command("confirm")
def confirm(
    rubric: Annotated[Path, typer.Argument(help="The rubric's file.")],
    by: Annotated[str, typer.Option(help="Who confirms; you, where left out.")] = "",
    leave_out: Annotated[
        list[str] | None, typer.Option("--leave-out", help="A criterion that is not wanted. Again for more.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask no question: every criterion was read.")] = False,
) -> int:
    """Confirm a rubric that a model proposed: each criterion is shown, and kept or left out.

    A criterion that is changed later must be confirmed again; weights may change.

    Examples:

        fullbench rubric confirm rubric.toml

        fullbench rubric confirm rubric.toml --by Ana --leave-out style --yes
    """
    from fullbench.studies.rubrics.rubric_proposals import confirm as confirm_file
    from fullbench.studies.rubrics.rubric_proposals import user
    from fullbench.studies.rubrics.rubrics_in_studies import read_file

    dropped = list(leave_out or ())
    if not yes:
        criteria, _ = read_file(rubric)
        for criterion in criteria:
            if criterion.name not in dropped:
                say(f"{criterion.name} ({criterion.ballot}, weight {criterion.weight:g}): {criterion.words}")
                if not typer.confirm("Keep it?", default=True, err=True):
                    dropped.append(criterion.name)
    accepted = confirm_file(rubric, by or user(), leave_out=dropped)
    say(f"Confirmed: {rubric} ({len(accepted)} criteria, {len(dropped)} left out)")
    return 0


@rubric_app.command("learn")
def learn(
    items: ItemsOption,
    responses: ResponsesOption,
    labels: Annotated[Path, typer.Option(help="People's marks on some of the responses.")],
    judge: Annotated[str, typer.Option(help="Who fills the rubric in, as KIND:NAME?OPTIONS.")],
    out: OutOption,
    rubric: Annotated[Path | None, typer.Option(help="The rubric whose weights are learned.")] = None,
    model: Annotated[
        str | None, typer.Option(help="Who proposes one where there is none, from the first half.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, max=30, help="How many criteria to propose.")] = 6,
    ballot: Annotated[
        str, typer.Option(help="What people marked on, and the judge's one overall mark is on.")
    ] = "score:1-5",
    calls: Annotated[str, typer.Option(help="All criteria in one call, or one each: one, each.")] = "one",
    held_out: Annotated[float, typer.Option(min=0.1, max=0.9, help="The share of items for the test alone.")] = 0.5,
    seed: Annotated[int, typer.Option(help="For whatever is drawn at random.")] = 0,
    ledger: LedgerOption = DEFAULT_LEDGER,
    pictures: PicturesOption = None,
    budget: BudgetOption = None,
    engine: EngineOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Learn a rubric's weights from people's marks, and test it on items that took no part in it.

    What is gained over the same judge's one overall mark is shown with an interval over items.

    Examples:

        fullbench rubric learn --items items.jsonl --responses answers.jsonl --labels people.csv \\
            --judge openai:gpt-4o-mini --model openai:gpt-4o --out learned.toml
    """
    from fullbench.core.rubric import RUBRIC
    from fullbench.errors import InputError
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies import judge_and_model_specs
    from fullbench.studies.authoring.model_references import Going
    from fullbench.studies.rubrics.rubric_proposals import proposed, write_rubric
    from fullbench.studies.rubrics.rubric_weights import examples_of, is_held_out, marked
    from fullbench.studies.rubrics.rubric_weights import learn as learn_weights
    from fullbench.studies.rubrics.rubrics_in_studies import CALLS, read_file, words_digest
    from fullbench.studies.run import study_plan
    from fullbench.studies.run.study_run import Conductor
    from fullbench.studies.study_file import Study

    if (rubric is None) == (model is None):
        raise InputError("which rubric? Give --rubric FILE, or --model SPEC to have one proposed")
    if calls not in CALLS:
        raise InputError(f"calls is {' or '.join(CALLS)}; found {calls!r}")
    tallies = []
    with asking_from(engine) as where, Ledger(ledger, pictures=pictures) as book, stoppable() as stop:
        proposer = ""
        if model is not None:
            writer = judge_and_model_specs.contestant(model)
            purse = study_plan.ready([writer], budget)
            seen = [entry for entry in examples_of(items, responses, labels)
                    if entry[2] is not None and not is_held_out(entry[0].id, held_out, seed)]  # fmt: skip
            going = Going(book, engine=where, budget=purse, stop=stop, quiet=quiet, specs={writer.name: model})
            criteria, tally = proposed(writer, seen, going, count=count)
            tallies, proposer = [tally], writer.name
        elif rubric is not None:
            read, table = read_file(rubric)
            criteria, proposer = list(read), str(table.get("proposed", ""))
        listed = {"judge": judge, "calls": calls, "criteria": [criterion.table for criterion in criteria]}
        name = f"{out.stem} before learning {words_digest(criteria)[:6]}"
        study = Study(
            "learn", items=items, responses=responses, labels=labels, judges=(judge, f"{RUBRIC}{name}"),
            ballots=(ballot,), orders="sorted", rubrics={name: listed},
        )  # fmt: skip
        conductor = Conductor(study)
        (plain, *_), (entry,) = conductor.judges, conductor.rubrics
        spent = sum(tally.usage.dollars or 0.0 for tally in tallies)
        done = conductor.conduct(book, engine=where, budget=budget, spent=spent, stop=stop, quiet=quiet)
        tallies += done.tallies
        data = marked(done.record, criteria, entry.judge.name, plain.name, ballot)
    if stop.reason:
        return closing(tallies, what="verdicts")
    learned = learn_weights(data, criteria, share=held_out, seed=seed)
    write_rubric(out, learned.criteria, proposer=proposer)
    show(learned.tables, as_json=as_json)
    if learned.dropped:
        say(f"{len(learned.dropped)} criteria count for nothing and are left out: {', '.join(learned.dropped)}.")
    waits = f"; it waits: fullbench rubric confirm {out}" if proposer else ""
    say(f"Written: {out} ({len(learned.criteria)} criteria{waits})")
    return closing(tallies, what="verdicts")
