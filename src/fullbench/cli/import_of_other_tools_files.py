"""`fullbench import`: files of other tools into a ledger, with the summary of their verdicts."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fullbench.cli.console import command_text, print_message, print_tables
from fullbench.cli.shared_options_and_run_output import (
    InputOptions,
    JsonOption,
    LedgerOptions,
    QuietOption,
    ViewOptions,
    argument,
    option,
    options,
    was_given,
)
from fullbench.errors import InputError
from fullbench.number_agreement import agree_with_one

if TYPE_CHECKING:
    from fullbench.core.benchmark import LoadedData
    from fullbench.core.table import Table
    from fullbench.files.exchange.foreign_files import ForeignFiles
    from fullbench.studies.run.base_run import StudyResult
    from fullbench.studies.run.study_items_responses_and_labels import StudyInputs
    from fullbench.studies.study_file import Study

STUDY_LEDGER = "study.ledger"
_MOST_PAIRS = 6
"""Pairs of judges whose agreement is printed next to the summary; more are in --all and on the page."""


@options(
    "out ledger study report all_tables table shown_judge full_names as_json supersede pictures pictures_from "
    "without_pictures fetch_urls durability quiet"
)
def import_files(
    context: typer.Context,
    paths: Annotated[
        list[str],
        argument(
            "Files and folders. An optional KIND in front names their format (`fullbench list` shows all).",
            metavar="[KIND] PATH...",
        ),
    ],
    store: LedgerOptions,
    inputs: InputOptions,
    view: ViewOptions,
    out: Annotated[Path | None, option("Also write items, responses, verdicts and a study to this folder.")] = None,
    extra_options: Annotated[
        list[str] | None, option("NAME=VALUE, for example model=gpt-4o. Repeatable.", "--option")
    ] = None,
    report: Annotated[Path | None, option("File for an HTML page with tables, charts and cases.")] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Import results of other tools and show who leads.

    Items, responses, votes of people and verdicts of judges go into the ledger. The format is detected if no KIND is
    given. In folders, files of other formats are skipped and counted.

    Examples:

        fullbench import results/ --report page.html

        fullbench import arena battles.json --ledger battles.ledger

        fullbench import vlmevalkit MMBench.tsv MMBench_gpt.xlsx --out mmbench && fullbench run mmbench/study.toml

        fullbench import huggingface data.parquet --out mine --option question=prompt --option response.gpt-4o=answer
    """
    from fullbench.files.exchange.foreign_files import find_foreign_files
    from fullbench.files.items_from_picture_folder import check_new
    from fullbench.reports.atomic_write import check_page
    from fullbench.studies.exchange.runnable_study_export import export_study

    malformed_options = [option for option in extra_options or () if "=" not in option]
    if malformed_options:
        raise InputError(f"--option {malformed_options[0]!r} is not NAME=VALUE.")
    kind, files = _split_kind(paths)
    if out is not None:
        check_new(out)
    if report is not None:
        check_page(report)
    foreign_files = find_foreign_files(files, kind)
    _print_files(foreign_files, kind)
    with inputs.allow_pictures():
        data = foreign_files.load(dict(option.split("=", 1) for option in extra_options or ()))
    record = data.record
    name = store.study or (out or _common_name(files)).name or "imported"
    has_named_ledger = was_given(context, "ledger")
    ledger = store.ledger if out is None or has_named_ledger else str(out / STUDY_LEDGER)
    # A ledger that is named may refuse the data, and must do so before any file is written.
    study_result = None
    if has_named_ledger and len(record):
        study_result = _store(data, replace(store, ledger=ledger), name, with_texts=report is not None, quiet=quiet)
    if out is not None:
        study_ledger = _path_from(out, ledger) if has_named_ledger else STUDY_LEDGER
        counts = export_study(record, out, benchmark=None, name=name, ledger=study_ledger)
        print_message(f"Written to {out}: {agree_with_one(_count_text(counts))}.")
    if not len(record):
        _end_without_verdicts(data, out)
        return
    if study_result is None:
        study_result = _store(data, replace(store, ledger=ledger), name, with_texts=report is not None, quiet=quiet)
    between_judges = _agreement_between_judges(data)
    tables = [*study_result.tables, *between_judges, *data.tables]
    if report is not None:
        from fullbench.reports.results_page import write_page

        names = study_result.names
        write_page(name, study_result.record, tables, report, source=study_result.source, names=names)
    view.print_report(tables, as_json=as_json)
    if view.is_default and not as_json:
        short = [table for table in between_judges if len(table.rows) <= _MOST_PAIRS]
        print_tables([*short, *data.tables], as_json=False)
    if report is not None:
        print_message(f"Page: {report}")
    print_message(*study_result.messages)
    numbers = {"items": len(record.items), "responses": len(record.responses), "verdicts": len(record)}
    print_message(f"Ledger: {ledger}, study {name!r}: {agree_with_one(_count_text(numbers))}.")
    next_command = ["run", out / "study.toml"] if out is not None else ["report", "--ledger", ledger, "--study", name]
    print_message(f"Next: {command_text(*next_command)}")


def _split_kind(words: list[str]) -> tuple[str | None, list[Path]]:
    """Return the kind, if the first word is one, and the paths. A folder of that name is a path if it stands alone."""
    from fullbench.core.plugin_entry_points import did_you_mean, plugin_names

    kinds = plugin_names("importers")
    first, paths = words[0].replace("-", "_"), list(map(Path, words[1:]))
    if first in kinds and (paths or not Path(words[0]).exists()):
        if not paths:
            raise InputError(f"No file given. Write fullbench import {words[0]} PATH.")
        if first == "huggingface" and len(paths) == 1 and not paths[0].exists():
            from fullbench.files.exchange.huggingface import NAME, download_dataset

            if NAME.fullmatch(paths[0].as_posix()):
                return first, [download_dataset(paths[0].as_posix())]
        return first, paths
    if paths and not Path(words[0]).exists() and "." not in words[0] and "/" not in words[0]:
        hint = did_you_mean(first, kinds) or "."
        raise InputError(f"There is no importer {words[0]!r}{hint} Installed: {', '.join(kinds)}")
    return None, list(map(Path, words))


def _common_name(paths: list[Path]) -> Path:
    """Return the only path, or the folder that all are in, without the suffix."""
    from fullbench.files.exchange.import_record_builder import stem_of

    path = paths[0].resolve() if len(paths) == 1 else Path(os.path.commonpath([path.resolve() for path in paths]))
    return path if path.is_dir() else Path(stem_of(path))


def _path_from(folder: Path, ledger: str) -> str:
    return ledger if "://" in ledger else os.path.relpath(ledger, folder)


def _count_text(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in counts.items())


def _print_files(foreign: ForeignFiles, kind: str | None) -> None:
    """Print the detected format, and the files that were read or skipped."""
    parts = [f"Format: {' or '.join(foreign.kinds)}"] if kind is None else []
    if len(foreign.files) > 1 or foreign.skipped:
        parts.append(f"{len(foreign.files):,} files read")
    if foreign.skipped:
        names = ", ".join(file.name for file in foreign.skipped[:3])
        more = f" and {len(foreign.skipped) - 3:,} more" if len(foreign.skipped) > 3 else ""
        parts.append(f"{len(foreign.skipped):,} files of other formats skipped ({names}{more})")
    if foreign.others and (kind is None or foreign.skipped):
        parts.append(f"{foreign.others:,} files without data not opened")
    if parts:
        print_message(agree_with_one(f"{'; '.join(parts)}."))


def _store(data: LoadedData, store: LedgerOptions, name: str, *, with_texts: bool, quiet: bool) -> StudyResult:
    """Store the data in the ledger, and return the tables of the study."""
    from fullbench.studies.run.judging_study_kind import StudyRun

    study, study_inputs = _study_of(data, name)
    study_run = StudyRun(study, study_inputs)
    with store.open(name) as book:
        return study_run.execute(book, with_texts=with_texts, quiet=quiet)


def _study_of(data: LoadedData, name: str) -> tuple[Study, StudyInputs]:
    from fullbench.core.verdict import PEOPLE
    from fullbench.studies.run.study_items_responses_and_labels import StudyInputs, add_imported_verdicts
    from fullbench.studies.study_file import Study

    record = data.record
    labels = [verdict for verdict in record if verdict.judge == PEOPLE]
    inputs = StudyInputs(list(record.items.values()), list(record.responses.values()), labels)
    add_imported_verdicts(inputs, (verdict for verdict in record if verdict.judge != PEOPLE))
    return Study(name), inputs


def _agreement_between_judges(data: LoadedData) -> list[Table]:
    """Return how often every two imported judges agree; empty for one judge."""
    from fullbench.analysis.agreement.between_judges import judge_agreement_table
    from fullbench.columns.column_builder import columns_from_verdicts

    table = judge_agreement_table(columns_from_verdicts(data.record))
    return [table] if table.rows else []


def _end_without_verdicts(data: LoadedData, out: Path | None) -> None:
    """Say how to continue with items, or items and responses, that nobody judged."""
    record = data.record
    counts = agree_with_one(_count_text({"items": len(record.items), "responses": len(record.responses)}))
    if out is None:
        raise InputError(
            f"The files have no verdicts ({counts}), so there is nothing to show. Add --out FOLDER to write them as "
            "files, which `fullbench judge` or `fullbench answer` reads."
        )
    print_tables(data.tables, as_json=False)
    if record.responses:
        print_message(f"Next: {command_text('run', out / 'study.toml')}")
        return
    words = ("--items", out / "items.jsonl", "--contestant", "openai:gpt-4o", "--out", "answers.jsonl")
    print_message(f"Next: {command_text('answer', *words)}")
