"""`fullbench report`: tables and a page from a ledger, with no call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fullbench.cli.options import (
    DEFAULT_LEDGER,
    CorrectedOption,
    JsonOption,
    LedgerOption,
    PilotOption,
    StudyOption,
    VisibleOption,
    VoteRuleOption,
    say,
    show,
)

if TYPE_CHECKING:
    from fullbench.core.verdict import Verdict
    from fullbench.ledger.ledger import Ledger
    from fullbench.reports.display_names import ShownNames


def report(
    ledger: LedgerOption = DEFAULT_LEDGER,
    judges: Annotated[
        list[str] | None, typer.Option("--judge", help="Only these, by name or its beginning; repeatable.")
    ] = None,
    benchmark: Annotated[str | None, typer.Option(help="Show the tables of this benchmark.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "--report",
            help="A file: .html is a page with charts and cases; .md, .csv, .json, .txt the tables.",
        ),
    ] = None,
    labels: Annotated[Path | None, typer.Option(help="People's verdicts, to be shown among the judges'.")] = None,
    about: Annotated[
        Path | None, typer.Option(help="What is known of contestants, a row each (size, rank...): columns of boards.")
    ] = None,
    study: StudyOption = None,
    settle: Annotated[
        bool, typer.Option("--settle", help="Show each judge that left doubts once more, with people's marks there.")
    ] = False,
    rule: VoteRuleOption = "default",
    visible: VisibleOption = False,
    pilot: PilotOption = False,
    against: Annotated[str | None, typer.Option(help="Compare all judges with this one.")] = None,
    corrected: CorrectedOption = False,
    equate: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="OLD NEW",
            help="Put a judge's successor on its scale, with the seam on their boards; those that `fullbench equate` "
            "entered are shown anyway.",
        ),
    ] = None,
    charts: Annotated[Path | None, typer.Option(help="A folder for the charts, each as SVG and PNG.")] = None,
    names: Annotated[
        Path | None,
        typer.Option(help="A TOML file of names and [site], or a study with them, for the page and charts."),
    ] = None,
    language: Annotated[str, typer.Option(help="Of the page: en or zh.")] = "en",
    unveiled: Annotated[bool, typer.Option("--unveiled", help="Show sensitive pictures as they are.")] = False,
    seed: Annotated[int, typer.Option(help="For the bootstrap.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Show what a ledger says: leaderboards, agreement, faults, cost. Nothing is asked.

    Examples:

        fullbench report --ledger fullbench.ledger

        fullbench report --out report.html --charts charts/

        fullbench report --corrected

        fullbench report --equate "openai/gpt-4o" "openai/gpt-5" --out board.html
    """
    from fullbench.analysis.all_tables import costs, tables
    from fullbench.analysis.people.doubtful_cases import settled
    from fullbench.analysis.people.joined_votes import rule_of
    from fullbench.columns.column_builder import columns_of
    from fullbench.core.record import Record
    from fullbench.errors import InputError
    from fullbench.ledger.ledger import Ledger
    from fullbench.reports.display_names import ShownNames
    from fullbench.reports.record_page import page
    from fullbench.reports.site_info import Imprint
    from fullbench.studies import judge_and_model_specs, ledger_columns
    from fullbench.studies.leaderboards.judge_replacement import with_seams

    joining = rule_of(rule)
    chosen = ShownNames() if names is None else ShownNames.read(names)
    imprint = Imprint() if names is None else Imprint.read(names).said_in(language).of_report(study or "")
    if benchmark and joining != "default":
        raise InputError("a benchmark's tables join votes as its paper does: leave out --rule, or --benchmark")
    paged = _page_of(out, language)
    if names is not None and paged is None and charts is None:
        raise InputError("--names is for the page and the charts; add --out PAGE.html or --charts FOLDER")
    with Ledger(ledger, read_only=True) as book:
        judges = ledger_columns.judges_named(book, judges or [])
        voted = [] if labels is None else _beside(labels, book)
        columns = ledger_columns.columns(book, judges or None, beside=voted, study=study, pilots=pilot)
        if len(columns) == len(voted):
            there = ", ".join(sorted({account.name for account in book.bill() if account.role == "judge"})) or "none"
            raise InputError(f"the ledger holds no verdict of these judges; there are: {there}", path=book.place)
        if names is not None:
            _compare_names(chosen, names, book, {*columns.names["judge"], *columns.names["contestant"]})
        record = Record(())
        # Texts are read only where somebody will see them, or a benchmark has tables of its own.
        if benchmark or settle or paged:
            stored = ledger_columns.record(book, judges or None, study=study, pilots=pilot)
            record = replace(stored, verdicts=(*stored.verdicts, *voted))
            record = settled(record).ordered() if settle else record.ordered()
        if settle:
            columns = columns_of(record)
        # Boards hold one judge's matches beside all verdicts: what verdicts used is counted before, and let go.
        spent = costs(columns)
        columns = columns.without_usage()
        shown = (
            list(judge_and_model_specs.benchmark(benchmark).tables(record))
            if benchmark
            else tables(
                columns,
                against=against and ledger_columns.judges_named(book, [against])[0],
                rule=joining,
                visible=visible,
                seed=seed,
                corrected=corrected,
                spent=spent,
            )
        )
        named = [] if equate is None else [_pair(ledger_columns.judges_named(book, equate))]
        shown = with_seams(shown, book, study, judges=judges, more=named)
        who = ledger_columns.settled_by(book, judges or None, study=study, pilots=pilot)
        shown = ledger_columns.noted(book, [*shown, *who], columns, study=study, pilots=pilot)
        if about is not None:
            from fullbench.analysis.boards.contestant_facts import with_about
            from fullbench.studies.run.contestant_facts import read_about

            shown = with_about(shown, read_about(about))
        if charts is not None:
            from fullbench.reports.charts.vega_lite import write_charts

            for path in write_charts([chosen.table(table) for table in shown], charts):
                say(f"The chart: {path}")
        if paged is not None:
            source = {"ledger": book.digest()}
            page(
                book.title, record, shown, paged, source=source, unveiled=unveiled, names=chosen, imprint=imprint,
                language="zh" if language == "zh" else "en",
            )  # fmt: skip
            say(f"The page: {paged}")
        else:
            show(shown, as_json=as_json, out=out)


def _beside(labels: Path, book: Ledger) -> list[Verdict]:
    """The labels of a file that the ledger does not hold, or holds otherwise: each person counts once."""
    from fullbench.files.item_files import read_verdicts
    from fullbench.studies.run.study_inputs import unheld

    voted, changed = unheld(read_verdicts(labels), book)
    if changed:
        say(f"{labels}: {changed:,} labels say something else than the ledger of the same people; the file's count.")
    return voted


def _page_of(out: Path | None, language: str) -> Path | None:
    """The file of the page, where one is wanted; a language is refused that no page will have."""
    from fullbench.errors import InputError

    paged = out if out is not None and out.suffix in {".html", ".htm"} else None
    if language not in {"en", "zh"}:
        raise InputError(f"unknown language {language!r}; known: en, zh")
    if language != "en" and paged is None:
        raise InputError("--language is for the page; add --out PAGE.html")
    return paged


def _compare_names(chosen: ShownNames, file: Path, book: Ledger, shown: set[str]) -> None:
    """Refuse names that others in the report have, and say which are of nobody in the ledger."""
    from fullbench.ledger.contents_and_cost import everybody

    chosen.refuse_taken(shown, file)
    with book.reader() as reader:
        known = shown | everybody(reader) | {view.name for view in book.views()}
    if absent := chosen.absent(known, file):
        say(absent)


def _pair(names: Sequence[str]) -> tuple[str, str]:
    old, new = names
    return old, new
