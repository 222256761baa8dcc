"""`fullbench rubric`: propose, confirm and weight the criteria of a rubric."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.console import command_text, print_message, report_outcome
from fullbench.cli.shared_options_and_run_output import (
    CallOptions,
    ItemsFileOption,
    LedgerOptions,
    ResponsesOption,
    SeedOption,
    argument,
    option,
    options,
)
from fullbench.errors import InputError

rubric_app = typer.Typer(
    help="Make a rubric: a model proposes criteria, a person confirms them, labels set the weights.",
    no_args_is_help=True,
)
OutOption = Annotated[Path, option("File for the rubric (.toml).")]
CountOption = Annotated[int, option("Number of criteria.", min=1, max=30)]


@rubric_app.command("propose")
@options("ledger pictures budget engine quiet")
def propose(
    items: ItemsFileOption,
    responses: ResponsesOption,
    model: Annotated[str, option("Model that proposes the criteria, as KIND:NAME?OPTIONS.")],
    out: OutOption,
    store: LedgerOptions,
    calls: CallOptions,
    labels: Annotated[
        Path | None, option("Labels of people, used to show the best and the worst responses as examples.")
    ] = None,
    count: CountOption = 6,
) -> int:
    """Let a model propose a rubric from examples. A person must confirm it.

    Examples:

        fullbench rubric propose --items items.jsonl --responses answers.jsonl --model openai:gpt-4o --out rubric.toml
    """
    from fullbench.studies import judge_contestant_and_benchmark_specs
    from fullbench.studies.rubrics.learned_rubric_weights import examples_of
    from fullbench.studies.rubrics.rubric_proposals import EXAMPLES, propose_criteria, write_rubric
    from fullbench.studies.run import call_and_cost_plan

    writer = judge_contestant_and_benchmark_specs.contestant_from_spec(model)
    examples = examples_of(items, responses, labels)
    shared_budget = call_and_cost_plan.check_keys_and_budget([writer], calls.budget)
    with calls.open(store) as open_run:
        context = open_run.call_context(shared_budget, {writer.name: model})
        criteria, counts = propose_criteria(writer, examples, context, count=count)
    write_rubric(out, criteria, proposer=writer.name)
    print_message(f"{min(len(examples), EXAMPLES):,} of {len(examples):,} responses were used as examples.")
    print_message(
        f"Written: {out} ({len(criteria)} criteria, not confirmed yet). Next: {command_text('rubric', 'confirm', out)}"
    )
    return report_outcome([counts], what="rubrics")


@rubric_app.command("confirm")
def confirm(
    rubric: Annotated[Path, argument("Rubric file.")],
    by: Annotated[str, option("Name of the person who confirms. Default: your user name.")] = "",
    leave_out: Annotated[list[str] | None, option("Criterion to remove. Repeatable.", "--leave-out")] = None,
    yes: Annotated[bool, option("Confirm all criteria without questions.", "--yes", "-y")] = False,
) -> int:
    """Confirm a rubric that a model proposed: keep or remove each criterion.

    A criterion that changes later must be confirmed again. Weights may change.

    Examples:

        fullbench rubric confirm rubric.toml

        fullbench rubric confirm rubric.toml --by Ana --leave-out style --yes
    """
    from fullbench.studies.rubrics.rubric_proposals import confirm_rubric as confirm_file
    from fullbench.studies.rubrics.rubric_proposals import current_user
    from fullbench.studies.rubrics.rubrics_in_studies import read_rubric_file

    dropped_names = list(leave_out or ())
    if not yes:
        criteria, _ = read_rubric_file(rubric)
        for criterion in criteria:
            if criterion.name not in dropped_names:
                print_message(f"{criterion.name} ({criterion.ballot}, weight {criterion.weight:g}): {criterion.words}")
                if not typer.confirm("Keep it?", default=True, err=True):
                    dropped_names.append(criterion.name)
    final_criteria = confirm_file(rubric, by or current_user(), leave_out=dropped_names)
    print_message(f"Confirmed: {rubric} ({len(final_criteria)} criteria, {len(dropped_names)} removed)")
    return 0


@rubric_app.command("learn")
@options("ledger pictures budget engine as_json quiet")
def learn(
    items: ItemsFileOption,
    responses: ResponsesOption,
    labels: Annotated[Path, option("Labels of people for some of the responses.")],
    judge: Annotated[str, option("Judge that applies the rubric, as KIND:NAME?OPTIONS.")],
    out: OutOption,
    store: LedgerOptions,
    calls: CallOptions,
    rubric: Annotated[Path | None, option("Rubric file whose weights are learned.")] = None,
    model: Annotated[
        str | None, option("Model that proposes a rubric from the first half of the data, if --rubric is missing.")
    ] = None,
    count: CountOption = 6,
    ballot: Annotated[str, option("Ballot of the labels, and of the judge's one overall mark.")] = "score:1-5",
    call_mode: Annotated[
        str, option("Calls: one (all criteria in one call) or each (one call for each criterion).", "--calls")
    ] = "one",
    held_out: Annotated[float, option("Share of the items used only for the test.", min=0.1, max=0.9)] = 0.5,
    seed: SeedOption = 0,
) -> int:
    """Learn the weights of a rubric from labels, and test it on other items.

    The result shows the gain over one overall mark by the same judge, with an interval over items.

    Examples:

        fullbench rubric learn --items items.jsonl --responses answers.jsonl --labels people.csv \
            --judge openai:gpt-4o-mini --model openai:gpt-4o --out learned.toml
    """
    from fullbench.core.rubric import RUBRIC
    from fullbench.studies import judge_contestant_and_benchmark_specs
    from fullbench.studies.rubrics.learned_rubric_weights import (
        collect_marked_responses,
        examples_of,
        is_held_out,
        learn_weights,
    )
    from fullbench.studies.rubrics.rubric_proposals import propose_criteria, write_rubric
    from fullbench.studies.rubrics.rubrics_in_studies import CALLS, OPTION_KEYS, read_rubric_file, words_digest
    from fullbench.studies.run import call_and_cost_plan
    from fullbench.studies.run.judging_study_kind import StudyRun
    from fullbench.studies.study_file import Study

    if (rubric is None) == (model is None):
        raise InputError("No rubric given. Add --rubric FILE, or --model SPEC to have one proposed.")
    if call_mode not in CALLS:
        raise InputError(f"--calls is {' or '.join(CALLS)}; found {call_mode!r}.")
    job_counts = []
    with calls.open(store) as open_run:
        proposer, total_options = "", {}
        if model is not None:
            writer = judge_contestant_and_benchmark_specs.contestant_from_spec(model)
            shared_budget = call_and_cost_plan.check_keys_and_budget([writer], calls.budget)
            training_examples = [
                entry
                for entry in examples_of(items, responses, labels)
                if entry[2] is not None and not is_held_out(entry[0].id, held_out, seed)
            ]
            context = open_run.call_context(shared_budget, {writer.name: model})
            criteria, counts = propose_criteria(writer, training_examples, context, count=count)
            job_counts, proposer = [counts], writer.name
        elif rubric is not None:
            file_criteria, table = read_rubric_file(rubric)
            criteria, proposer = list(file_criteria), str(table.get("proposed", ""))
            total_options = {key: table[key] for key in OPTION_KEYS if key in table}
        rubric_table = {"judge": judge, "calls": call_mode, "criteria": [criterion.table for criterion in criteria]}
        name = f"{out.stem} before learning {words_digest(criteria)[:6]}"
        study = Study(
            "learn", items=items, responses=responses, labels=labels, judges=(judge, f"{RUBRIC}{name}"),
            ballots=(ballot,), orders="sorted", rubrics={name: rubric_table},
        )  # fmt: skip
        study_run = StudyRun(study)
        (plain_judge, *_), (entry,) = study_run.judges, study_run.rubrics
        spent_dollars = sum(counts.usage.dollars or 0.0 for counts in job_counts)
        study_result = open_run.execute(study_run, spent_dollars=spent_dollars)
        job_counts += study_result.job_counts
        data = collect_marked_responses(study_result.record, criteria, entry.judge.name, plain_judge.name, ballot)
    if open_run.stop.reason:
        return report_outcome(job_counts, what="verdicts")
    weighted_rubric = learn_weights(data, criteria, share=held_out, seed=seed)
    write_rubric(out, weighted_rubric.criteria, proposer=proposer, total_options=total_options)
    calls.print_tables(weighted_rubric.tables)
    if weighted_rubric.dropped_criteria:
        print_message(
            f"{len(weighted_rubric.dropped_criteria)} criteria have weight 0 and were removed: "
            f"{', '.join(weighted_rubric.dropped_criteria)}."
        )
    waits = f"; not confirmed yet: fullbench rubric confirm {out}" if proposer else ""
    print_message(f"Written: {out} ({len(weighted_rubric.criteria)} criteria{waits})")
    return report_outcome(job_counts, what="verdicts")
