"""`fullbench leaderboard`: add a model to a leaderboard that grows, and show it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.options import (
    DEFAULT_LEDGER,
    BudgetOption,
    CorrectedOption,
    DryRunOption,
    EngineOption,
    JsonOption,
    LedgerOption,
    LimitOption,
    PicturesFromOption,
    PicturesOption,
    PilotOption,
    QuietOption,
    StudyOption,
    VisibleOption,
    WithoutPicturesOption,
    asking_from,
    closing,
    say,
    show,
    stoppable,
)
from fullbench.core.table import Table

leaderboard_app = typer.Typer(
    help="A leaderboard that grows: old verdicts are never asked again.", no_args_is_help=True
)

BenchmarkOption = Annotated[str, typer.Option(help="Whose items are played on.")]
DataOption = Annotated[Path | None, typer.Option(help="The benchmark's released data; its sample where left out.")]
RuleOption = Annotated[str, typer.Option(help="How two orders make one result: mean, both-agree, majority or each.")]
ShownRuleOption = Annotated[
    str | None,
    typer.Option(
        help="How a judge's rulings on the same responses make one result. Two orders of a model: mean, both-agree, "
        "majority or each. Several people's votes: mean, median, majority, dawid-skene or each; the usual one of the "
        "ballot where left out."
    ),
]
TiesOption = Annotated[str, typer.Option(help="How ties are rated: half, davidson or rao-kupper.")]
TagOption = Annotated[
    str | None, typer.Option("--by", help="The tag of items for the heat map; family, where left out.")
]
WithheldOption = Annotated[
    bool,
    typer.Option("--withheld", help="The items are a test set that is not published: they are judged, never shown."),
]
OutOption = Annotated[Path | None, typer.Option(help="A file: .html, .json, .csv, .md or .txt.")]


@leaderboard_app.command("add")
def add(
    model: Annotated[str, typer.Argument(help="KIND:NAME of a model that will answer, or a name with --predictions.")],
    judge: Annotated[str, typer.Option(help="Who judges, as KIND:NAME?OPTIONS.")],
    benchmark: BenchmarkOption = "visitbench",
    data: DataOption = None,
    limit: LimitOption = None,
    responses: Annotated[
        list[Path] | None, typer.Option(help="Answers of those already there. Again for more.")
    ] = None,
    predictions: Annotated[Path | None, typer.Option(help="The newcomer's answers, in a file.")] = None,
    manner: Annotated[str, typer.Option(help="ref-free, ref-backed or seeing, where the benchmark has them.")] = "",
    reader: Annotated[str | None, typer.Option(help="A second, cheaper model that reads unclear replies.")] = None,
    opponents: Annotated[int, typer.Option(min=0, help="Sampled opponents on every item.")] = 1,
    reference_matches: Annotated[int, typer.Option(min=0, help="Items on which the reference is met.")] = 150,
    schedule: Annotated[str, typer.Option(help="uniform, or adaptive: most interval for the money.")] = "uniform",
    width: Annotated[float, typer.Option(min=1.0, help="Adaptive: stop once the rating has ± so many points.")] = 25.0,
    most: Annotated[int | None, typer.Option(min=1, help="Adaptive: stop after so many matches.")] = None,
    rule: RuleOption = "both-agree",
    ties: TiesOption = "half",
    tag: TagOption = None,
    seed: Annotated[int, typer.Option(help="For whatever is drawn at random.")] = 0,
    ledger: LedgerOption = DEFAULT_LEDGER,
    study: StudyOption = None,
    pictures: PicturesOption = None,
    pictures_from: PicturesFromOption = None,
    without_pictures: WithoutPicturesOption = False,
    withheld: WithheldOption = False,
    budget: BudgetOption = None,
    engine: EngineOption = None,
    dry_run: DryRunOption = False,
    out: OutOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Play a newcomer against sampled opponents and the reference, in both orders, and rate everybody anew.

    Examples:

        fullbench leaderboard add mine --predictions mine.csv --data visitbench --judge openai:gpt-4o --dry-run

        fullbench leaderboard add openai:gpt-4o-mini --judge openai:gpt-4o --schedule adaptive --budget 5 --out lb.html
    """
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies.leaderboards import leaderboard_display
    from fullbench.studies.leaderboards.leaderboard_kind import Growing
    from fullbench.studies.study_file import Study

    answers = predictions is None and ":" in model
    options = {
        "newcomer": None if answers else model, "predictions": predictions, "responses": tuple(responses or ()),
        "manner": manner, "reader": reader, "opponents": opponents, "reference_matches": reference_matches,
        "schedule": schedule, "width": width, "most": most, "rule": rule, "ties": ties, "by": tag,
        "withheld": withheld or None,
    }  # fmt: skip
    given = {name: value for name, value in options.items() if value is not None}
    growing = Growing(
        Study(
            "leaderboard", kind="leaderboard", benchmark=benchmark, data=data, judges=(judge,),
            contestants=(model,) if answers else (), seed=seed, options=given, without_pictures=without_pictures,
            pictures_from=tuple(pictures_from or ()), limit=limit,
        )
    )  # fmt: skip
    with (
        asking_from(None if dry_run else engine) as where,
        Ledger(ledger, pictures=pictures, study=study) as book,
        stoppable() as stop,
    ):
        if dry_run:
            show([growing.plan(book)], as_json=as_json)
            return 0
        done = growing.conduct(book, engine=where, budget=budget, stop=stop, quiet=quiet)
        for line in done.said:
            say(line)
        tables = [*done.run_tables, *done.plain]
        if out is not None and out.suffix in {".html", ".htm"}:
            leaderboard_display.page(done.record, tables, out, book.digest())
            say(f"The page: {out}")
        else:
            show(tables, as_json=as_json, out=out)
        return closing(done.tallies, what="answers or verdicts")


@leaderboard_app.command("submit")
def submit(
    name: Annotated[str, typer.Argument(help="What the contestant is called on the board.")],
    predictions: Annotated[Path, typer.Option(help="Its answers: our own layout, or the benchmark authors'.")],
    benchmark: BenchmarkOption = "visitbench",
    data: DataOption = None,
    partial: Annotated[bool, typer.Option("--partial", help="Take a submission that leaves items unanswered.")] = False,
    withheld: WithheldOption = False,
    ledger: LedgerOption = DEFAULT_LEDGER,
    study: StudyOption = None,
    pictures: PicturesOption = None,
    pictures_from: PicturesFromOption = None,
) -> None:
    """Enter a whole submission into the ledger; `leaderboard add NAME` plays it, now or later.

    Every answer is kept, played or not, so whoever comes later can meet it on every item. The same name with other
    answers is refused.

    Examples:

        fullbench leaderboard submit mine --predictions mine.csv --data visitbench
    """
    from fullbench.files.picture_access_policy import allowing
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies.leaderboards import submissions

    with allowing(*pictures_from or ()), Ledger(ledger, pictures=pictures, study=study) as book:
        done = submissions.submit(
            book, name, predictions, benchmark=benchmark, data=data, partial=partial, withheld=withheld
        )
    say(
        f"{name}: {done.answers:,} answers to {done.items:,} items, {done.entered:,} of them new in the ledger"
        f"{f', {done.unanswered:,} items unanswered' if done.unanswered else ''}."
    )
    say(f"Next: fullbench leaderboard add {name} --judge JUDGE")


@leaderboard_app.command("questions")
def hand_out(
    out: Annotated[Path, typer.Option(help="Write the questions here (.jsonl, .csv or .parquet).")],
    benchmark: BenchmarkOption = "visitbench",
    data: DataOption = None,
    pictures_from: PicturesFromOption = None,
    without_pictures: WithoutPicturesOption = False,
) -> None:
    """Write what is asked, for those who want to submit: no references, no captions, no labels.

    Examples:

        fullbench leaderboard questions --data private/items.jsonl --out questions.jsonl
    """
    from fullbench.files.item_files import write_items
    from fullbench.files.picture_access_policy import allowing
    from fullbench.files.picture_access_policy import without_pictures as lacking
    from fullbench.studies import judge_and_model_specs
    from fullbench.studies.leaderboards.withheld_test_sets import questions

    with allowing(*pictures_from or ()), lacking(without_pictures):
        count = write_items(out, questions(judge_and_model_specs.benchmark(benchmark).items(data)))
    say(f"Written: {out} ({count:,} questions, without references, captions and labels)")


@leaderboard_app.command("grow")
def grow(
    judge: Annotated[str, typer.Option(help="Who judges, as KIND:NAME?OPTIONS.")],
    responses: Annotated[list[Path], typer.Option(help="Answers of all contestants. Again for more.")],
    benchmark: BenchmarkOption = "visitbench",
    data: DataOption = None,
    manner: Annotated[str, typer.Option(help="ref-free, ref-backed or seeing, where the benchmark has them.")] = "",
    zone: Annotated[
        float, typer.Option(min=1.0, help="Neighbours that are surely closer than so many points are equal.")
    ] = 30.0,
    most: Annotated[int | None, typer.Option(min=1, help="Stop after so many matches.")] = None,
    rule: RuleOption = "mean",
    seed: Annotated[int, typer.Option(help="For whatever is drawn at random.")] = 0,
    ledger: LedgerOption = DEFAULT_LEDGER,
    study: StudyOption = None,
    pictures: PicturesOption = None,
    pictures_from: PicturesFromOption = None,
    without_pictures: WithoutPicturesOption = False,
    budget: BudgetOption = None,
    engine: EngineOption = None,
    out: OutOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Play all contestants until every two neighbours are separated or equal; watch it as often as you like.

    The next matches are those that tell most for their price. The intervals hold at every look together, so stopping
    when the board looks good is allowed. Stopped half-way, the same command goes on.

    Examples:

        fullbench leaderboard grow --responses answers.jsonl --judge openai:gpt-4o --zone 30 --budget 10
    """
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies.leaderboards import grow_until_decided, leaderboard_display, leaderboard_from_options
    from fullbench.studies.run.missing_pictures import counted
    from fullbench.studies.run.progress_display import watching
    from fullbench.studies.run.run_options import RunTerms

    chosen = leaderboard_display.settings(rule, "half", seed)
    asked = leaderboard_from_options.Asked(
        benchmark, data, tuple(responses), "", None, judge, manner, None, without_pictures, tuple(pictures_from or ())
    )
    with (
        asking_from(engine) as where,
        Ledger(ledger, pictures=pictures, study=study) as book,
        stoppable() as stop,
    ):
        terms = RunTerms(budget=budget, stop=stop, engine=where, quiet=quiet)
        ready = leaderboard_from_options.prepare(asked, book, terms, answer=True)
        board = ready.board(book, chosen, where)
        with watching("verdicts", [ready.judge.name], None, quiet=quiet) as watch:
            grown = grow_until_decided.grow(
                board, zone=zone, most=most, seed=seed, budget=ready.purse, stop=stop, watch=watch
            )
        own = leaderboard_display.tables(board.record(), ready.judge.name, board.settings)
        shown = counted([grown.table(), *own], ready.pool.items)
        show(shown, as_json=as_json, out=out)
        return closing(grown.tallies, what="verdicts")


@leaderboard_app.command("show")
def show_board(
    ledger: LedgerOption = DEFAULT_LEDGER,
    study: StudyOption = None,
    judge: Annotated[str | None, typer.Option(help="Whose leaderboard, by the judge's name or its beginning.")] = None,
    rule: ShownRuleOption = None,
    visible: VisibleOption = False,
    pilot: PilotOption = False,
    ties: TiesOption = "half",
    reference: Annotated[str, typer.Option(help="The contestant that the others are compared with.")] = "reference",
    tag: TagOption = None,
    only: Annotated[
        str | None, typer.Option(help="TAG=VALUE: only items whose tag has this value, such as images=single.")
    ] = None,
    corrected: CorrectedOption = False,
    together: Annotated[
        bool, typer.Option("--joint", help="First a leaderboard by all judges in one model, and the judges in it.")
    ] = False,
    history: Annotated[
        bool, typer.Option("--history", help="Also how the ranks went as contestants came, and who answered what.")
    ] = False,
    means: Annotated[
        bool, typer.Option("--means", help="Mean marks alone, of each judge in turn: for many millions of verdicts.")
    ] = False,
    seed: Annotated[int, typer.Option(help="For whatever is drawn at random.")] = 0,
    out: OutOption = None,
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

    from fullbench.analysis.boards import joint_leaderboard
    from fullbench.analysis.boards.matches_from_verdicts import one_judge
    from fullbench.analysis.people import corrected_leaderboards as corrections
    from fullbench.core.text import length_of
    from fullbench.core.verdict import PEOPLE
    from fullbench.errors import InputError
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies import ledger_columns
    from fullbench.studies.leaderboards import leaderboard_display, submissions
    from fullbench.studies.leaderboards.judge_replacement import with_seams

    with Ledger(ledger, read_only=True, study=study) as book:
        judge = ledger_columns.judges_named(book, [judge])[0] if judge else None
        if means:
            if together or history or corrected or only:
                raise InputError("--means shows means alone: leave out --joint, --history, --corrected and --only")
            chosen = leaderboard_display.settings(rule, ties, seed, reference, visible=visible)
            show(ledger_columns.means(book, [judge] if judge else None, chosen), as_json=as_json, out=out)
            return
        one = book.one_study()
        # Corrections take people's votes and every judge's; a board alone takes its judge's.
        alone = judge is not None and not together and not corrected
        everybody = ledger_columns.columns(book, [judge, PEOPLE] if alone and judge else None, study=one, pilots=pilot)
        ruled = [judge] if judge else everybody.judges()
        # People are no second judge to choose from, unless there is no other.
        judges = [name for name in ruled if name != PEOPLE or judge == PEOPLE]
        around = ledger_columns.around(book, everybody, study=one)
        items, narrowed = leaderboard_display.with_tag(around, only) if only else (None, None)
        everybody = everybody.of(item=items)
        tables: list[Table] = []
        if together:
            lengths = {key: length_of(response.text) for key, response in around.responses.items()}
            tables += joint_leaderboard.tables(everybody, lengths)
        if not together or judge is not None or len(judges) == 1:
            who = one_judge(judges or ruled, judge)
            chosen = leaderboard_display.settings(rule, ties, seed, reference, visible=visible)
            columns = (
                everybody
                if alone or corrected
                else ledger_columns.columns(book, [who, PEOPLE], study=one, pilots=pilot)
            )
            columns = columns.of(item=items)
            tables += corrections.tables(columns, judges=[who]) if corrected else []
            own = leaderboard_display.tables(around, who, chosen, tag, columns=columns.of(judge=who))
            tables += corrections.opinions(columns, own)
            if history:
                record = ledger_columns.record(book, [who], pilots=pilot)
                record = record.where(lambda verdict: items is None or verdict.item in items)
                tables.append(submissions.history(record, who, chosen))
                tables.append(submissions.coverage(book, [around.items[name] for name in items or around.items]))
            tables = with_seams(tables, book, one, judges=[who])
            tables = ledger_columns.noted(book, tables, columns, study=one, pilots=pilot)
        if narrowed:
            tables = [replace(table, notes=[*table.notes, narrowed]) for table in tables]
        if out is not None and out.suffix in {".html", ".htm"}:
            record = ledger_columns.record(book, [judge] if judge else None, pilots=pilot)
            leaderboard_display.page(record, tables, out, book.digest())
            say(f"The page: {out}")
        else:
            show(tables, as_json=as_json, out=out)
