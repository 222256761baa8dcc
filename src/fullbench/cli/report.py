"""`fullbench report`: tables and a page from a ledger, without calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from fullbench.cli.console import print_message
from fullbench.cli.display_names_in_command_output import CURRENT
from fullbench.cli.shared_options_and_run_output import (
    ChartsOption,
    InputOptions,
    JsonOption,
    LabelsOption,
    LedgerOptions,
    ResamplingSeedOption,
    StrongOption,
    ViewOptions,
    VoteOptions,
    more,
    option,
    options,
    was_given,
)
from fullbench.errors import InputError

if TYPE_CHECKING:
    from fullbench.core.table import Table
    from fullbench.core.verdict import Verdict
    from fullbench.ledger.ledger import Ledger
    from fullbench.reports.display_names_of_judges_and_contestants import DisplayNames
    from fullbench.studies.study_file import Study


@options(
    "ledger items responses verdicts labels ballot all_tables table judges benchmark out about study settle rule "
    "visible pilot against corrected strong replacement charts names language include_sensitive seed full_names "
    "as_json question pictures_from without_pictures fetch_urls"
)
def report(
    context: typer.Context,
    store: LedgerOptions,
    inputs: InputOptions,
    people: VoteOptions,
    view: ViewOptions,
    judges: Annotated[
        list[str] | None, option("Use only this judge, by name or unique prefix. Repeatable.", "--judge")
    ] = None,
    benchmark: Annotated[str | None, option("Show the tables of this benchmark.")] = None,
    out: Annotated[
        Path | None,
        option(
            "Output file: .html for a page with charts and cases; .md, .csv, .json or .txt for the tables.",
            "--out",
            "--report",
        ),
    ] = None,
    items: Annotated[
        Path | None, option("Items (questions), to report from files: with --responses and --verdicts. No ledger.")
    ] = None,
    responses: Annotated[Path | None, option("Responses (answers) to --items: JSONL, CSV or Parquet.")] = None,
    labels: LabelsOption = None,
    ballot: Annotated[str | None, option("Ballot of --verdicts and --labels without one, such as score:1-5.")] = None,
    about: Annotated[
        Path | None,
        more("File with facts about contestants, one row each (size, rank, ...), shown as columns of boards."),
    ] = None,
    settle: Annotated[
        bool, more("Also show each judge with people's marks in place of its doubtful cases.", "--settle")
    ] = False,
    against: Annotated[str | None, option("Compare all judges with this one.")] = None,
    replacement: Annotated[
        tuple[str, str] | None,
        more(
            "Show the new judge on the scale of the old one. Replacements of `fullbench audit replace` are always "
            "shown.",
            "--replace",
            metavar="OLD NEW",
        ),
    ] = None,
    charts: ChartsOption = None,
    names: Annotated[Path | None, option("TOML file (or study) with display names and [site].")] = None,
    language: Annotated[str, option("Language of the page: en or zh.")] = "en",
    include_sensitive: Annotated[bool, more("Show sensitive pictures unmasked.", "--include-sensitive")] = False,
    strong: StrongOption = 1.0,
    seed: ResamplingSeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Show leaderboards, agreement, unusable verdicts and cost.

    They come from a ledger, or from files of verdicts, with or without the items and responses.

    Examples:

        fullbench report --ledger fullbench.ledger

        fullbench report --items questions.csv --responses answers.csv --verdicts scores.csv --labels people.csv

        fullbench report --out report.html --charts charts/

        fullbench report --corrected

        fullbench report --replace "openai/gpt-4o" "openai/gpt-5" --out board.html
    """
    from fullbench.analysis.people.doubtful_cases_and_people_decisions import settle_doubtful_cases
    from fullbench.analysis.people.joined_votes import rule_of
    from fullbench.analysis.standard_verdict_tables import cost_table, verdict_tables
    from fullbench.analysis.summary.paper_study_summary_with_main_table import add_paper_summary
    from fullbench.columns.column_builder import columns_from_verdicts
    from fullbench.core.verdict_record import Record
    from fullbench.reports.display_names_of_judges_and_contestants import DisplayNames
    from fullbench.reports.results_page import write_page
    from fullbench.reports.site_info import Imprint
    from fullbench.studies import judge_contestant_and_benchmark_specs, ledger_verdicts_with_panels
    from fullbench.studies.leaderboards.common_scale_after_judge_replacement import with_judge_changes
    from fullbench.studies.ledger_display_names_and_name_lookup import find_judges
    from fullbench.studies.study_file import Study

    study, pilots = store.study, people.pilot
    vote_rule = rule_of(people.rule)
    display_names = DisplayNames() if names is None else DisplayNames.read(names)
    imprint = Imprint() if names is None else Imprint.read(names).for_language(language).of_report(study or "")
    if benchmark:
        _refuse_benchmark_options(vote_rule, strong)
    page_path = _page_path(out, language)
    files = Study(
        "report", items=items, responses=responses, labels=labels, ballots=(ballot,) if ballot else ()
    )  # fmt: skip
    with _source(context, store, inputs.added_to(files)) as (book, label_verdicts):
        label_judges = {verdict.judge for verdict in label_verdicts}
        judges = find_judges(book, judges or [], also_known=label_judges)
        columns = ledger_verdicts_with_panels.load_columns(
            book, _with_people(judges), extra_verdicts=label_verdicts, study=study, pilots=pilots
        )
        if len(columns) == len(label_verdicts):
            _refuse_empty_report(book)
        if names is not None:
            _compare_names(display_names, names, book, {*columns.names["judge"], *columns.names["contestant"]})
        CURRENT.use_ledger(book, display_names)
        display_names = CURRENT.names or DisplayNames()
        record = Record(())
        # Texts are loaded only for a page, for --settle and for the tables of a benchmark.
        if benchmark or settle or page_path:
            stored_record = ledger_verdicts_with_panels.load_record(book, judges or None, study=study, pilots=pilots)
            record = replace(stored_record, verdicts=(*stored_record.verdicts, *label_verdicts))
            record = settle_doubtful_cases(record).in_canonical_order() if settle else record.in_canonical_order()
        if settle:
            columns = columns_from_verdicts(record)
        # The cost is computed first: without usage, the columns leave memory for the matches of the boards.
        verdict_costs = cost_table(columns)
        columns = columns.without_usage()
        report_tables = (
            add_paper_summary(
                judge_contestant_and_benchmark_specs.benchmark_from_name(benchmark).tables(record),
                columns,
                texts=record,
                seed=seed,
            )
            if benchmark
            else verdict_tables(
                columns,
                against=against and find_judges(book, [against], also_known=label_judges)[0],
                rule=vote_rule,
                visible=people.visible,
                strong=strong,
                seed=seed,
                with_corrections=people.corrected,
                facts=(
                    ledger_verdicts_with_panels.load_case_facts(book, columns, study=study)
                    if people.corrected
                    else None
                ),
                precomputed_costs=verdict_costs,
                texts=ledger_verdicts_with_panels.load_voted_texts(book, columns, study=study),
            )
        )
        replacement_pairs = [] if replacement is None else [_judge_pair(find_judges(book, replacement))]
        report_tables = with_judge_changes(report_tables, book, study, judges=judges, extra_pairs=replacement_pairs)
        cascade_tables = ledger_verdicts_with_panels.cascade_tables(book, judges or None, study=study, pilots=pilots)
        report_tables = ledger_verdicts_with_panels.add_ledger_notes(
            book, [*report_tables, *cascade_tables], columns, study=study, pilots=pilots
        )
        if about is not None:
            from fullbench.analysis.boards.user_facts_about_contestants import add_contestant_facts
            from fullbench.studies.run.contestant_facts_reader import read_contestant_facts

            report_tables = add_contestant_facts(report_tables, read_contestant_facts(about))
        if charts is not None:
            _write_charts([display_names.table(table) for table in report_tables], charts)
        if page_path is not None:
            source = {"ledger": book.digest()}
            write_page(
                book.title,
                record,
                report_tables,
                page_path,
                source=source,
                include_sensitive=include_sensitive,
                names=display_names,
                imprint=imprint,
                language="zh" if language == "zh" else "en",
            )
            print_message(f"Page: {page_path}")
        else:
            elsewhere = "" if benchmark else ". The tables of a paper's study need --benchmark NAME"
            view.print_report(report_tables, as_json=as_json, out=out, elsewhere=elsewhere)


def _with_people(judges: Sequence[str]) -> list[str] | None:
    """Return the chosen judges and people, whose votes the summary compares them with; None for all judges."""
    from fullbench.core.verdict import PEOPLE

    return list(dict.fromkeys([*judges, PEOPLE])) if judges else None


def _refuse_empty_report(book: Ledger) -> NoReturn:
    judge_names = ", ".join(sorted({account.name for account in book.bill() if account.role == "judge"})) or "none"
    raise InputError(f"The ledger has no verdict of these judges. It has: {judge_names}.", path=book.place)


def _write_charts(tables: Sequence[Table], folder: Path) -> None:
    from fullbench.reports.charts.chart_specification_and_rendering import write_charts

    for path in write_charts(tables, folder):
        print_message(f"Chart: {path}")


def _refuse_benchmark_options(vote_rule: str, strong: float) -> None:
    """Refuse options that the tables of a benchmark cannot follow."""
    if vote_rule != "default":
        raise InputError("The tables of a benchmark combine votes as its paper does. Leave out --rule or --benchmark.")
    if strong != 1:
        raise InputError(
            "The tables of a benchmark weight verdicts as its paper does. Leave out --strong or --benchmark."
        )


def _source(
    context: typer.Context, store: LedgerOptions, files: Study
) -> AbstractContextManager[tuple[Ledger, list[Verdict]]]:
    """Return the ledger, or a temporary one if the files have verdicts and no ledger was named."""
    if files.items is not None and was_given(context, "ledger"):
        raise InputError("--items and --ledger exclude each other. `fullbench judge --verdicts` stores the files.")
    has_texts = files.items is not None or files.responses is not None
    if has_texts or not files.verdict_files or was_given(context, "ledger") or "://" in store.path:
        return _open_source(store, files)
    if Path(store.path).exists():
        print_message(f"{store.path} in this folder is not in this report. Add --ledger {store.path} to report both.")
    return _verdicts_alone(files)


@contextmanager
def _open_source(store: LedgerOptions, files: Study) -> Iterator[tuple[Ledger, list[Verdict]]]:
    """Yield the ledger with the new verdicts of files, or a temporary ledger if the files have the items too."""
    if files.items is not None:
        with _ledger_from_files(files) as book:
            yield book, []
        return
    if files.responses is not None:
        raise InputError("No items given. Add --items FILE next to --responses.")
    with store.read() as book:
        yield book, _load_new_verdicts(files, book, store.study)


@contextmanager
def _ledger_from_files(files: Study) -> Iterator[Ledger]:
    """Yield a temporary ledger with the items, responses, verdicts and labels of files."""
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies.run.judging_study_kind import StudyRun
    from fullbench.studies.run.study_items_responses_and_labels import enter_labels, enter_responses

    if not files.response_files:
        raise InputError("No responses given. Add --responses FILE with columns item, contestant and text.")
    if not files.verdict_files and files.labels is None:
        raise InputError("No verdicts given. Add --verdicts FILE with columns item, contestant, judge and score.")
    study_run = StudyRun(files)
    title = (files.verdict_files or (files.labels or Path("report"),))[0].stem
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{title}.ledger"
        with Ledger(path, keep_pictures=False, durability="process") as book:
            enter_responses(study_run.inputs, book)
            enter_labels(study_run.labels, book)
            CURRENT.use_ledger(book)
            yield book
    print_message(*study_run.messages)


TEXT_NOT_GIVEN = "(text not given)"
"""One text for all responses, so that their lengths are equal and no length bias can be computed."""


@contextmanager
def _verdicts_alone(files: Study) -> Iterator[tuple[Ledger, list[Verdict]]]:
    """Yield a temporary ledger with the items and responses that files of verdicts name, without their texts."""
    from fullbench.files.row_writers import write_rows
    from fullbench.studies.run.study_items_responses_and_labels import read_study_verdicts

    existing = read_study_verdicts(files)
    answers = {
        (verdict.item, contestant, sample)
        for verdict in (*existing.verdicts, *existing.labels)
        for contestant, sample in zip_longest(verdict.contestants, verdict.samples, fillvalue=0)
    }
    ids = sorted({item for item, _, _ in answers})
    with TemporaryDirectory() as folder:
        items, responses = Path(folder) / "items.jsonl", Path(folder) / "responses.jsonl"
        write_rows(items, [{"id": name, "question": name} for name in ids], {"id": "text", "question": "text"})
        write_rows(
            responses,
            [
                {"item": item, "contestant": contestant, "sample": sample, "text": TEXT_NOT_GIVEN}
                for item, contestant, sample in sorted(answers)
            ],
            {"item": "text", "contestant": "text", "sample": "int", "text": "text"},
        )
        with _ledger_from_files(replace(files, items=items, responses=responses)) as book:
            yield book, []
    print_message(
        f"No items and responses given: {len(ids):,} items and {len(answers):,} responses are known by name only, so "
        "nothing can be said about their texts. Add --items and --responses to see them."
    )


def _load_new_verdicts(files: Study, book: Ledger, study: str | None) -> list[Verdict]:
    """Return the labels and verdicts of files that are new or changed: each person or judge counts once."""
    from fullbench.studies.run.study_items_responses_and_labels import (
        StudyInputs,
        add_imported_verdicts,
        changed_label_messages,
        find_new_labels,
        read_study_verdicts,
    )

    existing = read_study_verdicts(files)
    labels, changed_count = find_new_labels(existing.labels, book)
    print_message(*existing.messages, *changed_label_messages(str(files.labels), changed_count))
    if not existing.verdicts:
        return labels
    name = book.one_study(study)
    inputs = StudyInputs(list(book.items(study=name)), list(book.responses(study=name)))
    add_imported_verdicts(inputs, existing.verdicts)
    verdicts, changed_count = find_new_labels(inputs.labels, book)
    place = " and ".join(map(str, files.verdict_files))
    print_message(*changed_label_messages(place, changed_count, what="verdicts"))
    return [*labels, *verdicts]


def _page_path(out: Path | None, language: str) -> Path | None:
    """Return the path of the page, or None; refuse a language without a page."""
    page_path = out if out is not None and out.suffix in {".html", ".htm"} else None
    if language not in {"en", "zh"}:
        raise InputError(f"Unknown language {language!r}. Use en or zh.")
    if language != "en" and page_path is None:
        raise InputError("--language is for the page. Add --out PAGE.html.")
    return page_path


def _compare_names(display_names: DisplayNames, file: Path, book: Ledger, report_names: set[str]) -> None:
    """Refuse display names that are taken, and print those that match nothing in the ledger."""
    from fullbench.ledger.contents_and_cost import judge_and_contestant_names
    from fullbench.studies.ledger_display_names_and_name_lookup import names_by_full_name

    display_names.refuse_taken(report_names, file)
    with book.reader() as reader:
        ledger_names = report_names.union(*judge_and_contestant_names(reader)) | {view.name for view in book.views()}
    display_names = names_by_full_name(display_names, ledger_names)
    if absent := display_names.absent_names_sentence(ledger_names, file):
        print_message(absent)


def _judge_pair(names: Sequence[str]) -> tuple[str, str]:
    old, new = names
    return old, new
