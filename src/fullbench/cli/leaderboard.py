"""`fullbench leaderboard`: add models to a leaderboard, and show it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.console import print_message, print_tables, report_outcome
from fullbench.cli.options import (
    CallOptions,
    InputOptions,
    JsonOption,
    JudgeOption,
    LedgerOptions,
    ReleaseOption,
    SeedOption,
    StrongOption,
    TablesOption,
    ViewOptions,
    VoteOptions,
    argument,
    option,
    options,
)
from fullbench.core.table import Table
from fullbench.errors import InputError

leaderboard_app = typer.Typer(
    help="A leaderboard that grows: old verdicts are never asked again.", no_args_is_help=True
)

BenchmarkOption = Annotated[str, option("Whose items are played on.")]
RuleOption = Annotated[str, option("How two orders make one result: mean, both-agree, majority or each.")]
ShownRuleOption = Annotated[
    str | None,
    option(
        "How a judge's rulings on the same responses make one result. Two orders of a model: mean, both-agree, "
        "majority or each. Several people's votes: mean, median, majority, dawid-skene or each; the usual one of the "
        "ballot where left out."
    ),
]
TiesOption = Annotated[str, option("How ties are rated: half, davidson or rao-kupper.")]
TagOption = Annotated[str | None, option("The tag of items for the heat map; family, where left out.", "--by")]
WithheldOption = Annotated[
    bool, option("The items are a test set that is not published: they are judged, never shown.", "--withheld")
]
PromptStyleOption = Annotated[str, option("ref-free, ref-backed or with-picture, where the benchmark has them.")]


@leaderboard_app.command("add")
@options(
    "limit responses predictions prompt_style reader opponents reference_matches schedule width most "
    "rule ties tag seed "
    "ledger study pictures pictures_from without_pictures withheld budget engine dry_run out as_json quiet"
)
def add(
    model: Annotated[str, argument("KIND:NAME of a model that will answer, or a name with --predictions.")],
    judge: JudgeOption,
    store: LedgerOptions,
    inputs: InputOptions,
    calls: CallOptions,
    benchmark: BenchmarkOption = "visitbench",
    data: ReleaseOption = None,
    responses: Annotated[list[Path] | None, option("Answers of those already there. Again for more.")] = None,
    predictions: Annotated[Path | None, option("The newcomer's answers, in a file.")] = None,
    prompt_style: PromptStyleOption = "",
    reader: Annotated[str | None, option("A second, cheaper model that reads unclear replies.")] = None,
    opponents: Annotated[int, option("Sampled opponents on every item.", min=0)] = 1,
    reference_matches: Annotated[int, option("Items on which the reference is met.", min=0)] = 150,
    schedule: Annotated[str, option("uniform, or adaptive: most interval for the money.")] = "uniform",
    width: Annotated[float, option("Adaptive: stop once the rating has ± so many points.", min=1.0)] = 25.0,
    most: Annotated[int | None, option("Adaptive: stop after so many matches.", min=1)] = None,
    rule: RuleOption = "both-agree",
    ties: TiesOption = "half",
    tag: TagOption = None,
    seed: SeedOption = 0,
    withheld: WithheldOption = False,
    out: TablesOption = None,
) -> int:
    """Play a newcomer against sampled opponents and the reference, in both orders, and rate everybody anew.

    Examples:

        fullbench leaderboard add mine --predictions mine.csv --data visitbench --judge openai:gpt-4o --dry-run

        fullbench leaderboard add openai:gpt-4o-mini --judge openai:gpt-4o --schedule adaptive --budget 5 --out lb.html
    """
    from fullbench.studies.leaderboards import leaderboard_display
    from fullbench.studies.leaderboards.leaderboard_kind import LeaderboardRun
    from fullbench.studies.study_file import Study

    answers = predictions is None and ":" in model
    all_options = {
        "newcomer": None if answers else model, "predictions": predictions, "responses": tuple(responses or ()),
        "prompt_style": prompt_style, "reader": reader, "opponents": opponents, "reference_matches": reference_matches,
        "schedule": schedule, "width": width, "most": most, "rule": rule, "ties": ties, "by": tag,
        "withheld": withheld or None,
    }  # fmt: skip
    study_options = {name: value for name, value in all_options.items() if value is not None}
    board_study = Study(
        "leaderboard", kind="leaderboard", benchmark=benchmark, data=data, judges=(judge,),
        contestants=(model,) if answers else (), seed=seed, options=study_options,
    )  # fmt: skip
    leaderboard_run = LeaderboardRun(inputs.added_to(board_study))
    if calls.dry_run:
        with store.open() as book:
            calls.print_tables([leaderboard_run.plan(book)])
        return 0
    with calls.open(store) as opened:
        study_result = opened.execute(leaderboard_run)
        print_message(*study_result.messages)
        tables = [*study_result.run_tables, *study_result.plain]
        if out is not None and out.suffix in {".html", ".htm"}:
            leaderboard_display.write_leaderboard_page(study_result.record, tables, out, opened.book.digest())
            print_message(f"The page: {out}")
        else:
            calls.print_tables(tables, out)
        return report_outcome(study_result.job_counts, what="answers or verdicts")


@leaderboard_app.command("submit")
@options("ledger study pictures pictures_from")
def submit(
    name: Annotated[str, argument("What the contestant is called on the board.")],
    predictions: Annotated[Path, option("Its answers: our own layout, or the benchmark authors'.")],
    store: LedgerOptions,
    inputs: InputOptions,
    benchmark: BenchmarkOption = "visitbench",
    data: ReleaseOption = None,
    partial: Annotated[bool, option("Take a submission that leaves items unanswered.", "--partial")] = False,
    withheld: WithheldOption = False,
) -> None:
    """Enter a whole submission into the ledger; `leaderboard add NAME` plays it, now or later.

    Every answer is kept, played or not, so whoever comes later can meet it on every item. The same name with other
    answers is refused.

    Examples:

        fullbench leaderboard submit mine --predictions mine.csv --data visitbench
    """
    from fullbench.studies.leaderboards import submissions

    with inputs.allow_pictures(), store.open() as book:
        submission = submissions.submit_answers(
            book, name, predictions, benchmark=benchmark, data=data, partial=partial, withheld=withheld
        )
    print_message(
        f"{name}: {submission.answers:,} answers to {submission.items:,} items, {submission.new_answers:,} of "
        "them new in the ledger"
        f"{f', {submission.unanswered_items:,} items unanswered' if submission.unanswered_items else ''}."
    )
    print_message(f"Next: fullbench leaderboard add {name} --judge JUDGE")


@leaderboard_app.command("questions")
@options("pictures_from without_pictures")
def hand_out(
    out: Annotated[Path, option("Write the questions here (.jsonl, .csv or .parquet).")],
    inputs: InputOptions,
    benchmark: BenchmarkOption = "visitbench",
    data: ReleaseOption = None,
) -> None:
    """Write what is asked, for those who want to submit: no references, no captions, no labels.

    Examples:

        fullbench leaderboard questions --data private/items.jsonl --out questions.jsonl
    """
    from fullbench.files.item_response_verdict_files import write_items
    from fullbench.studies import judge_and_model_specs
    from fullbench.studies.leaderboards.withheld_test_sets import public_questions

    with inputs.allow_pictures():
        count = write_items(out, public_questions(judge_and_model_specs.benchmark_from_name(benchmark).items(data)))
    print_message(f"Written: {out} ({count:,} questions, without references, captions and labels)")


@leaderboard_app.command("grow")
@options("ledger study pictures pictures_from without_pictures budget engine out as_json quiet")
def grow(
    judge: JudgeOption,
    store: LedgerOptions,
    inputs: InputOptions,
    calls: CallOptions,
    responses: Annotated[list[Path], option("Answers of all contestants. Again for more.")],
    benchmark: BenchmarkOption = "visitbench",
    data: ReleaseOption = None,
    prompt_style: PromptStyleOption = "",
    zone: Annotated[float, option("Neighbours that are surely closer than so many points are equal.", min=1.0)] = 30.0,
    most: Annotated[int | None, option("Stop after so many matches.", min=1)] = None,
    rule: RuleOption = "mean",
    seed: SeedOption = 0,
    out: TablesOption = None,
) -> int:
    """Play all contestants until every two neighbours are separated or equal; watch it as often as you like.

    The next matches are those that tell most for their price. The intervals hold at every look together, so stopping
    when the board looks good is allowed. Stopped half-way, the same command goes on.

    Examples:

        fullbench leaderboard grow --responses answers.jsonl --judge openai:gpt-4o --zone 30 --budget 10
    """
    from fullbench.studies.leaderboards import grow_until_decided, leaderboard_display, leaderboard_inputs_from_options
    from fullbench.studies.run.missing_pictures import note_missing_pictures
    from fullbench.studies.run.progress_display import watch_progress
    from fullbench.studies.run.run_options import RunOptions

    board_settings = leaderboard_display.parse_settings(rule, "half", seed)
    request = leaderboard_inputs_from_options.LeaderboardRequest(
        benchmark, data, tuple(responses), "", None, judge, prompt_style, None, inputs.without_pictures, inputs.folders
    )
    with calls.open(store) as opened:
        book, stop = opened.book, opened.stop
        run_options = RunOptions(budget=calls.budget, stop=stop, engine=opened.engine, quiet=calls.quiet)
        prepared_board = leaderboard_inputs_from_options.prepare_leaderboard(request, book, run_options, answer=True)
        board = prepared_board.board(book, board_settings, opened.engine)
        with watch_progress("verdicts", [prepared_board.judge.name], None, quiet=calls.quiet) as watch:
            growth = grow_until_decided.grow_leaderboard(
                board, zone=zone, most=most, seed=seed, budget=prepared_board.budget, stop=stop, watch=watch
            )
        board_tables = leaderboard_display.leaderboard_tables(board.record(), prepared_board.judge.name, board.settings)
        noted_tables = note_missing_pictures([growth.table(), *board_tables], prepared_board.pool.items)
        calls.print_tables(noted_tables, out)
        return report_outcome(growth.job_counts, what="verdicts")


@leaderboard_app.command("show")
@options(
    "ledger study judge rule visible pilot ties strong reference tag only corrected together history means seed out "
    "all_tables table full_names as_json"
)
def show_board(
    store: LedgerOptions,
    people: VoteOptions,
    view: ViewOptions,
    judge: Annotated[str | None, option("Whose leaderboard, by the judge's name or its beginning.")] = None,
    rule: ShownRuleOption = None,
    ties: TiesOption = "half",
    reference: Annotated[str, option("The contestant that the others are compared with.")] = "reference",
    tag: TagOption = None,
    only: Annotated[
        str | None, option("TAG=VALUE: only items whose tag has this value, such as images=single.")
    ] = None,
    together: Annotated[
        bool, option("First a leaderboard by all judges in one model, and the judges in it.", "--joint")
    ] = False,
    history: Annotated[
        bool, option("Also how the ranks went as contestants came, and who answered what.", "--history")
    ] = False,
    means: Annotated[
        bool, option("Mean marks alone, of each judge in turn: for many millions of verdicts.", "--means")
    ] = False,
    strong: StrongOption = 1.0,
    seed: SeedOption = 0,
    out: TablesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a leaderboard from a ledger. Nothing is asked.

    Examples:

        fullbench leaderboard show --judge length --out leaderboard.md

        fullbench leaderboard show --judge length --corrected

        fullbench leaderboard show --joint

        fullbench leaderboard show --judge length --history --out board.html

        fullbench leaderboard show --judge length --only images=single
    """
    from dataclasses import replace

    from fullbench.analysis.boards import joint_leaderboard, leaderboard
    from fullbench.analysis.boards.matches_from_verdicts import select_judge
    from fullbench.analysis.people import corrected_leaderboards as corrections
    from fullbench.analysis.people.voted_rows_check import CaseFacts
    from fullbench.analysis.standard_verdict_tables import cost_table
    from fullbench.analysis.summary.study_summary import summary_tables
    from fullbench.core.language_and_words import length_of
    from fullbench.core.verdict import PEOPLE
    from fullbench.studies import ledger_verdicts_with_panels
    from fullbench.studies.leaderboards import leaderboard_display, submissions
    from fullbench.studies.leaderboards.judge_replacement import with_judge_changes
    from fullbench.studies.ledger_display_names import find_contestants, find_judges

    with store.read(store.study) as book:
        judge = find_judges(book, [judge])[0] if judge else None
        reference = reference if reference == "reference" else find_contestants(book, [reference])[0]
        if means:
            if together or history or people.corrected or only:
                raise InputError("--means shows means alone: leave out --joint, --history, --corrected and --only")
            board_settings = leaderboard_display.parse_settings(
                rule, ties, seed, reference, visible=people.visible, strong=strong
            )
            print_tables(
                ledger_verdicts_with_panels.mean_mark_tables(book, [judge] if judge else None, board_settings),
                as_json=as_json,
                out=out,
            )
            return
        study_name = book.one_study()
        # Corrections need the votes of people and all judges; a leaderboard needs its own judge only.
        is_single_judge = judge is not None and not together and not people.corrected
        all_columns = ledger_verdicts_with_panels.load_columns(
            book, [judge, PEOPLE] if is_single_judge and judge else None, study=study_name, pilots=people.pilot
        )
        judge_names = [judge] if judge else all_columns.judges()
        # People count as a judge only if there is no other.
        judges = [name for name in judge_names if name != PEOPLE or judge == PEOPLE]
        context_record = ledger_verdicts_with_panels.record_without_verdicts(book, all_columns, study=study_name)
        items, filter_note = leaderboard_display.items_with_tag(context_record, only) if only else (None, None)
        all_columns = all_columns.where(item=items)
        tables: list[Table] = []
        if together:
            lengths = {key: length_of(response.text) for key, response in context_record.responses.items()}
            tables += joint_leaderboard.joint_tables(all_columns, lengths)
        if not together or judge is not None or len(judges) == 1:
            board_judge = select_judge(judges or judge_names, judge)
            board_settings = leaderboard_display.parse_settings(
                rule, ties, seed, reference, visible=people.visible, strong=strong
            )
            columns = (
                all_columns
                if is_single_judge or people.corrected
                else ledger_verdicts_with_panels.load_columns(
                    book, [board_judge, PEOPLE], study=study_name, pilots=people.pilot
                )
            )
            columns = columns.where(item=items)
            if people.corrected:
                facts = CaseFacts.from_record(context_record)
                tables += corrections.corrected_tables(columns, judges=[board_judge], facts=facts)
            board_tables = leaderboard_display.leaderboard_tables(
                context_record, board_judge, board_settings, tag, columns=columns.where(judge=board_judge)
            )
            summary = summary_tables(
                columns,
                leaderboard.leaderboard_tables(columns, board_settings),
                texts=context_record,
                costs=cost_table(columns),
                visible=people.visible,
                seed=seed,
            )
            tables = [*summary, *tables, *corrections.add_opinion_notes(columns, board_tables)]
            if history:
                record = ledger_verdicts_with_panels.load_record(book, [board_judge], pilots=people.pilot)
                record = record.where(lambda verdict: items is None or verdict.item in items)
                tables.append(submissions.rank_history_table(record, board_judge, board_settings))
                tables.append(
                    submissions.coverage_table(
                        book, [context_record.items[name] for name in items or context_record.items]
                    )
                )
            tables = with_judge_changes(tables, book, study_name, judges=[board_judge])
            tables = ledger_verdicts_with_panels.add_ledger_notes(
                book, tables, columns, study=study_name, pilots=people.pilot
            )
        if filter_note:
            tables = [replace(table, notes=[*table.notes, filter_note]) for table in tables]
        if out is not None and out.suffix in {".html", ".htm"}:
            record = ledger_verdicts_with_panels.load_record(book, [judge] if judge else None, pilots=people.pilot)
            leaderboard_display.write_leaderboard_page(record, tables, out, book.digest())
            print_message(f"The page: {out}")
        else:
            view.print_report(tables, as_json=as_json, out=out)
