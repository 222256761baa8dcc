"""`fullbench leaderboard`: add models to a leaderboard, and show it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fullbench.cli.console import command_text, print_message, print_tables, report_outcome
from fullbench.cli.shared_options_and_run_output import (
    DEFAULT_LEDGER,
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
    more,
    option,
    options,
)
from fullbench.core.table import Table
from fullbench.errors import InputError

if TYPE_CHECKING:
    from fullbench.core.verdict_record import Record

leaderboard_app = typer.Typer(help="Add contestants to a leaderboard, and show it.", no_args_is_help=True)

BenchmarkOption = Annotated[str, option("Benchmark whose items are used.")]
RuleOption = Annotated[str, option("How to combine the results of both orders: mean, both-agree, majority or each.")]
ShownRuleOption = Annotated[
    str | None,
    option(
        "How to combine several verdicts on the same responses. Two orders of a model: mean, both-agree, majority "
        "or each. Votes of several people: mean, median, majority, dawid-skene or each. Default: the usual rule of "
        "the ballot."
    ),
]
TiesOption = Annotated[str, option("How to rate ties: half, davidson or rao-kupper.")]
TagOption = Annotated[str | None, option("Item tag for the heat map. Default: family.", "--by")]
WithheldOption = Annotated[
    bool, option("Treat the items as an unpublished test set: judge them, but never show them.", "--withheld")
]
ProtocolOption = Annotated[
    str | None, option("paper: the paper's prompt style, rule for two orders, and board by Elo.")
]
PromptStyleOption = Annotated[
    str, option("Prompt style: ref-free, ref-backed or with-picture, if the benchmark has them.")
]


@leaderboard_app.command("add")
@options(
    "limit responses predictions protocol prompt_style reader opponents reference_matches schedule width most "
    "rule ties tag seed "
    "ledger study pictures pictures_from without_pictures withheld budget engine dry_run out as_json quiet"
)
def add(
    model: Annotated[str, argument("Model that answers, as KIND:NAME, or a name with --predictions.")],
    judge: JudgeOption,
    store: LedgerOptions,
    inputs: InputOptions,
    calls: CallOptions,
    benchmark: BenchmarkOption = "visitbench",
    data: ReleaseOption = None,
    responses: Annotated[
        list[Path] | None, option("Responses of the contestants that are on the board. Repeatable.")
    ] = None,
    predictions: Annotated[Path | None, option("File with the responses of the new contestant.")] = None,
    protocol: ProtocolOption = None,
    prompt_style: PromptStyleOption = "",
    reader: Annotated[str | None, more("Second, cheaper model that reads unclear replies.")] = None,
    opponents: Annotated[int, option("Number of sampled opponents for every item.", min=0)] = 1,
    reference_matches: Annotated[int, more("Number of items with a match against the reference.", min=0)] = 150,
    schedule: Annotated[
        str, more("Choice of matches: uniform, or adaptive (narrowest interval for the money).")
    ] = "uniform",
    width: Annotated[
        float, more("For adaptive: stop when the interval of the rating is at most ± N points.", min=1.0)
    ] = 25.0,
    most: Annotated[int | None, more("For adaptive: stop after N matches.", min=1)] = None,
    rule: RuleOption = "both-agree",
    ties: TiesOption = "half",
    tag: TagOption = None,
    seed: SeedOption = 0,
    withheld: WithheldOption = False,
    out: TablesOption = None,
) -> int:
    """Match a new contestant with sampled opponents and the reference, in both orders, and rate all contestants.

    Examples:

        fullbench leaderboard add mine --predictions mine.csv --data visitbench --judge openai:gpt-4o --protocol paper

        fullbench leaderboard add openai:gpt-4o-mini --judge openai:gpt-4o --schedule adaptive --budget 5 --out lb.html
    """
    from fullbench.core.benchmark import PAPER_PROTOCOL
    from fullbench.studies.leaderboards import leaderboard_settings_tables_and_page
    from fullbench.studies.leaderboards.leaderboard_newcomer_study_kind import LeaderboardRun
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
        protocol=PAPER_PROTOCOL if leaderboard_settings_tables_and_page.check_protocol(protocol) else {},
    )  # fmt: skip
    leaderboard_run = LeaderboardRun(inputs.added_to(board_study))
    if calls.dry_run:
        with store.open() as book:
            calls.print_tables([leaderboard_run.plan(book)])
        print_message(*leaderboard_run.messages)
        return 0
    with calls.open(store) as open_run:
        study_result = open_run.execute(leaderboard_run)
        print_message(*study_result.messages)
        tables = [*study_result.run_tables, *study_result.plain]
        if out is not None and out.suffix in {".html", ".htm"}:
            leaderboard_settings_tables_and_page.write_leaderboard_page(
                study_result.record, tables, out, open_run.book.digest()
            )
            print_message(f"Page: {out}")
        else:
            calls.print_tables(tables, out)
        return report_outcome(study_result.job_counts, what="answers or verdicts")


@leaderboard_app.command("submit")
@options("ledger study pictures pictures_from")
def submit(
    name: Annotated[str, argument("Name of the contestant on the board.")],
    predictions: Annotated[Path, option("Its responses, in our layout or that of the benchmark's authors.")],
    store: LedgerOptions,
    inputs: InputOptions,
    benchmark: BenchmarkOption = "visitbench",
    data: ReleaseOption = None,
    partial: Annotated[bool, option("Accept a submission that leaves items unanswered.", "--partial")] = False,
    withheld: WithheldOption = False,
) -> None:
    """Store all responses of a submission in the ledger. `leaderboard add NAME` then judges them.

    Every response is stored, even if no match uses it, so later contestants can be compared on every item. The same
    name with other responses is refused.

    Examples:

        fullbench leaderboard submit mine --predictions mine.csv --data visitbench
    """
    from fullbench.studies.leaderboards import submitted_answers_and_rank_history

    with inputs.allow_pictures(), store.open() as book:
        submission = submitted_answers_and_rank_history.submit_answers(
            book, name, predictions, benchmark=benchmark, data=data, partial=partial, withheld=withheld
        )
    sources = {"--benchmark": benchmark, "--data": data, "--ledger": store.path, "--study": store.study}
    defaults = {"--benchmark": "visitbench", "--data": None, "--ledger": DEFAULT_LEDGER, "--study": None}
    words = [str(word) for pair in sources.items() if pair[1] != defaults[pair[0]] for word in pair]
    words += ["--withheld"] * withheld + ["--judge", "length"]
    print_message(
        f"{name}: {submission.answers:,} responses to {submission.items:,} items, {submission.new_answers:,} of them "
        "new in the "
        f"ledger{f', {submission.unanswered_items:,} items unanswered' if submission.unanswered_items else ''}."
    )
    print_message(f"Next, with your judge instead of length: {command_text('leaderboard', 'add', name, *words)}")


@leaderboard_app.command("questions")
@options("pictures_from without_pictures")
def hand_out(
    out: Annotated[Path, option("File for the questions (.jsonl, .csv or .parquet).")],
    inputs: InputOptions,
    benchmark: BenchmarkOption = "visitbench",
    data: ReleaseOption = None,
) -> None:
    """Write the questions for people who want to submit, without references, captions and labels.

    Examples:

        fullbench leaderboard questions --data private/items.jsonl --out questions.jsonl
    """
    from fullbench.files.item_response_verdict_files import write_items
    from fullbench.studies import judge_contestant_and_benchmark_specs
    from fullbench.studies.leaderboards.withheld_test_sets import public_questions

    with inputs.allow_pictures():
        count = write_items(
            out, public_questions(judge_contestant_and_benchmark_specs.benchmark_from_name(benchmark).items(data))
        )
    print_message(f"Written: {out} ({count:,} questions, without references, captions and labels)")


@leaderboard_app.command("grow")
@options("ledger study pictures pictures_from without_pictures budget engine out as_json quiet")
def grow(
    judge: JudgeOption,
    store: LedgerOptions,
    inputs: InputOptions,
    calls: CallOptions,
    responses: Annotated[list[Path], option("Responses of all contestants. Repeatable.")],
    benchmark: BenchmarkOption = "visitbench",
    data: ReleaseOption = None,
    prompt_style: PromptStyleOption = "",
    zone: Annotated[
        float, option("Treat neighbours as equal if they surely differ by less than N points.", min=1.0)
    ] = 30.0,
    most: Annotated[int | None, option("Stop after N matches.", min=1)] = None,
    rule: RuleOption = "mean",
    seed: SeedOption = 0,
    out: TablesOption = None,
) -> int:
    """Add matches until every two neighbours are separated or equal. You can check the board at any time.

    The next matches are those that reduce uncertainty most for their price. The intervals are valid for repeated
    checks, so you may stop when the board is clear enough. Run the same command again to continue.

    Examples:

        fullbench leaderboard grow --responses answers.jsonl --judge openai:gpt-4o --zone 30 --budget 10
    """
    from fullbench.studies.leaderboards import (
        grow_until_decided,
        leaderboard_inputs_from_options,
        leaderboard_settings_tables_and_page,
    )
    from fullbench.studies.run.missing_pictures import note_missing_pictures
    from fullbench.studies.run.progress_display import watch_progress
    from fullbench.studies.run.run_options import RunOptions

    board_settings = leaderboard_settings_tables_and_page.parse_settings(rule, "half", seed)
    request = leaderboard_inputs_from_options.LeaderboardRequest(
        benchmark, data, tuple(responses), "", None, judge, prompt_style, None, inputs.without_pictures, inputs.folders
    )
    with calls.open(store) as open_run:
        book, stop = open_run.book, open_run.stop
        run_options = RunOptions(budget=calls.budget, stop=stop, engine=open_run.engine, quiet=calls.quiet)
        prepared_board = leaderboard_inputs_from_options.prepare_leaderboard(request, book, run_options, answer=True)
        board = prepared_board.board(book, board_settings, open_run.engine)
        with watch_progress("verdicts", [prepared_board.judge.name], None, quiet=calls.quiet) as watch:
            growth = grow_until_decided.grow_leaderboard(
                board, zone=zone, most=most, seed=seed, budget=prepared_board.budget, stop=stop, watch=watch
            )
        board_tables = leaderboard_settings_tables_and_page.leaderboard_tables(
            board.record(), prepared_board.judge.name, board.settings
        )
        noted_tables = note_missing_pictures([growth.table(), *board_tables], prepared_board.pool.items)
        calls.print_tables(noted_tables, out)
        return report_outcome(growth.job_counts, what="verdicts")


@leaderboard_app.command("show")
@options(
    "ledger study judge protocol rule visible pilot ties strong reference tag only corrected together history means "
    "seed out all_tables table full_names as_json"
)
def show_board(
    store: LedgerOptions,
    people: VoteOptions,
    view: ViewOptions,
    judge: Annotated[
        str | None, option("Judge of the leaderboard: its name or a unique prefix. Default: all judges.")
    ] = None,
    protocol: ProtocolOption = None,
    rule: ShownRuleOption = None,
    ties: TiesOption = "half",
    reference: Annotated[str, option("Contestant that the others are compared with.")] = "reference",
    tag: TagOption = None,
    only: Annotated[
        str | None, option("TAG=VALUE: use only items with this tag value, for example images=single.")
    ] = None,
    together: Annotated[bool, option("Show a leaderboard from one model of all judges first.", "--joint")] = False,
    history: Annotated[
        bool, option("Also show how ranks changed as contestants were added, with their answers.", "--history")
    ] = False,
    means: Annotated[
        bool, option("Show only mean marks, one judge after another. For many millions of verdicts.", "--means")
    ] = False,
    strong: StrongOption = 1.0,
    seed: SeedOption = 0,
    out: TablesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a leaderboard from a ledger. No model is called.

    Examples:

        fullbench leaderboard show

        fullbench leaderboard show --judge length --out leaderboard.md

        fullbench leaderboard show --judge length --protocol paper

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
    from fullbench.core.verdict import PEOPLE
    from fullbench.studies import ledger_verdicts_with_panels
    from fullbench.studies.leaderboards import leaderboard_settings_tables_and_page, submitted_answers_and_rank_history
    from fullbench.studies.leaderboards.common_scale_after_judge_replacement import with_judge_changes
    from fullbench.studies.ledger_display_names_and_name_lookup import find_contestants, find_judges

    if means and (together or history or people.corrected or only):
        raise InputError("--means shows only means. Leave out --joint, --history, --corrected and --only.")
    replaced = rule or ties != "half" or together or means or people.corrected
    is_paper = leaderboard_settings_tables_and_page.check_protocol(protocol, is_replaced=bool(replaced))
    with store.read(store.study) as book:
        judge = find_judges(book, [judge])[0] if judge else None
        reference = reference if reference == "reference" else find_contestants(book, [reference])[0]
        if means:
            board_settings = leaderboard_settings_tables_and_page.parse_settings(
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
        items, filter_note = (
            leaderboard_settings_tables_and_page.items_with_tag(context_record, only) if only else (None, None)
        )
        all_columns = all_columns.where(item=items)
        tables: list[Table] = []
        if together:
            tables += joint_leaderboard.joint_tables(all_columns, _response_lengths(context_record))
        if not together or judge is not None or len(judges) == 1:
            # Tags, history and a paper's rule are about one judge; without them, the boards of all judges are shown.
            is_one_board = judge is not None or len(judges) < 2 or history or tag is not None or is_paper
            board_judges = [select_judge(judges or judge_names, judge)] if is_one_board else judges
            rule = leaderboard_settings_tables_and_page.paper_rule(board_judges[0]) if is_paper else rule
            board_settings = leaderboard_settings_tables_and_page.parse_settings(
                rule, ties, seed, reference, visible=people.visible, strong=strong
            )
            columns = (
                all_columns
                if is_single_judge or people.corrected or not is_one_board
                else ledger_verdicts_with_panels.load_columns(
                    book, [*board_judges, PEOPLE], study=study_name, pilots=people.pilot
                )
            )
            columns = columns.where(item=items)
            if people.corrected:
                tables += corrections.corrected_tables(
                    columns, judges=board_judges, facts=CaseFacts.from_record(context_record)
                )
            all_boards = leaderboard.leaderboard_tables(columns, board_settings)
            board_tables = (
                leaderboard_settings_tables_and_page.leaderboard_tables(
                    context_record, board_judges[0], board_settings, tag, columns=columns.where(judge=board_judges)
                )
                if is_one_board
                else all_boards
            )
            board_tables, differences = leaderboard_settings_tables_and_page.follow_protocol(
                board_tables, is_paper=is_paper, rule=rule, ties=ties, reference=reference
            )
            print_message(*differences)
            # --joint promises that its tables come first, and they cover all judges; the summary covers one.
            summary = (
                []
                if together
                else summary_tables(
                    columns,
                    all_boards,
                    texts=context_record,
                    costs=cost_table(columns),
                    visible=people.visible,
                    seed=seed,
                )
            )
            tables = [*summary, *tables, *corrections.add_opinion_notes(columns, board_tables)]
            if history:
                tables += submitted_answers_and_rank_history.history_tables(
                    ledger_verdicts_with_panels.load_record(book, board_judges, pilots=people.pilot),
                    book, board_judges[0], board_settings,
                    [context_record.items[name] for name in items or context_record.items],
                )  # fmt: skip
            tables = with_judge_changes(tables, book, study_name, judges=board_judges)
            tables = ledger_verdicts_with_panels.add_ledger_notes(
                book, tables, columns, study=study_name, pilots=people.pilot
            )
        if filter_note:
            tables = [replace(table, notes=[*table.notes, filter_note]) for table in tables]
        if out is None or out.suffix not in {".html", ".htm"}:
            view.print_report(tables, as_json=as_json, out=out)
            return
        record = ledger_verdicts_with_panels.load_record(book, [judge] if judge else None, pilots=people.pilot)
        leaderboard_settings_tables_and_page.write_leaderboard_page(record, tables, out, book.digest())
        print_message(f"Page: {out}")


def _response_lengths(record: Record) -> dict[tuple[str, str, int], int]:
    from fullbench.core.language_and_words import length_of

    return {key: length_of(response.text) for key, response in record.responses.items()}
