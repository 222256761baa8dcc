"""`fullbench ledger`: show, export, verify and copy a ledger."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fullbench.cli.console import print_line, progress_bar
from fullbench.cli.console import print_tables as show_tables
from fullbench.cli.display_names_in_command_output import CURRENT
from fullbench.cli.shared_options_and_run_output import (
    JsonOption,
    LedgerOptions,
    QuietOption,
    ResamplingSeedOption,
    RowsFileOption,
    StrongOption,
    TablesOption,
    VoteOptions,
    argument,
    option,
    options,
)
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.model_call import Usage
from fullbench.core.table import Table
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError
from fullbench.files.row_writers import Columns

if TYPE_CHECKING:
    from fullbench.ledger.contents_and_cost import Account

ledger_app = typer.Typer(
    name="ledger",
    help="Inspect, copy, verify and export a ledger.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

QUEUE_COLUMNS: Columns = {
    "item": "text", "contestants": "json", "ballot": "text", "criterion": "text", "question": "text",
    "answers": "json", "marks": "json",
}  # fmt: skip


class ExportKind(StrEnum):
    """Kinds of rows that can be exported."""

    verdicts = "verdicts"
    responses = "responses"
    items = "items"
    doubtful = "doubtful"
    cases = "cases"
    analyses = "analyses"


@ledger_app.command()
@options("place ledger as_json")
def show(
    store: LedgerOptions,
    as_json: JsonOption = False,
) -> None:
    """Show what a ledger contains: judges, contestants, verdicts, unusable verdicts and cost.

    Example: fullbench ledger show study.ledger
    """
    from fullbench.ledger.judge_replacements import load_replacements
    from fullbench.studies.ledger_display_names_and_name_lookup import load_display_names

    with store.read() as open_ledger:
        contents = open_ledger.describe()
        contents["replacements"] = [asdict(replacement) for replacement in load_replacements(open_ledger)]
        names = load_display_names(open_ledger)
    for account in contents["accounts"]:
        account["display_name"] = names.shown_name(account["name"])
    if as_json:
        typer.echo(json.dumps(contents, ensure_ascii=False, indent=2))
        return
    counts = ", ".join(f"{count:,} {name}" for name, count in contents["counts"].items())
    print_line(f"{contents['path']}: {counts}")
    if contents["last"] is not None:
        print_line(
            f"verdicts from {_format_time(contents['first'])} to {_format_time(contents['last'])}; digest "
            f"{contents['digest']}"
        )
    print_line(f"digest {contents['ledger_digest']}")
    for study in contents["studies"]:
        set_aside_text = (
            f"; {study['set_aside']:,} verdicts on earlier contents are excluded" if study["set_aside"] else ""
        )
        members = f"{study['items']:,} items, {study['cases']:,} cases, {study['verdicts']:,} verdicts"
        print_line(f"study {study['name']}: {members}{set_aside_text}")
    for alias in contents["aliases"]:
        print_line(f"the {alias['role']} {alias['former']} is shown as {alias['name']}")
    for replacement in contents["replacements"]:
        print_line(f"study {replacement['study']}: the judge {replacement['new']} replaces {replacement['old']}")
    if contents["counts"]["pictures"]:
        print_line(f"pictures in {contents['pictures']}")
    if contents["accounts"]:
        typer.echo("")
        legend = names.legend()
        show_tables([_account_table(contents["accounts"]), *([legend] if legend else [])], as_json=False)


@ledger_app.command()
@options("study place ledger")
def export(
    to: RowsFileOption,
    store: LedgerOptions,
    what: Annotated[ExportKind, option("Rows to write.", "--what")] = ExportKind.verdicts,
    judge: Annotated[list[str] | None, option("Export only verdicts of this judge. Repeatable.", "--judge")] = None,
    raw: Annotated[
        bool, option("In .csv and .tsv, keep texts that a spreadsheet would run as formulas.", "--raw")
    ] = False,
    tool: Annotated[
        str | None, option("Write verdicts as records of another tool: label-studio or argilla.", "--as")
    ] = None,
) -> None:
    """Write verdicts, responses or items to a file. The file is written completely or not at all.

    `--what doubtful` writes the cases that a judge left without a mark, or without a majority over its trials. Fill in
    the column `marks`, and use the file as labels. `--what cases` writes, as items, the cases on which several
    judges gave reasons; `--what analyses` writes their reasons as responses. People or other judges can then compare
    the reasons.

    Example: fullbench ledger export study.ledger --to verdicts.csv --judge human
    """
    from fullbench.analysis.judge_analyses_as_responses import analyses_as_responses, cases_as_items
    from fullbench.analysis.people.doubtful_cases_and_people_decisions import doubtful_case_rows
    from fullbench.files.annotation_tools import read_labels, verdicts_as_annotation_records
    from fullbench.files.item_response_verdict_files import write_items, write_responses, write_verdicts
    from fullbench.files.row_writers import write_rows
    from fullbench.studies.ledger_display_names_and_name_lookup import find_judges, load_display_names

    if judge and what in {ExportKind.responses, ExportKind.items}:
        raise InputError(f"--judge selects verdicts, but {what.value} have no judge. Leave it out.")
    if tool is not None and (what is not ExportKind.verdicts or tool not in read_labels.TOOLS):
        raise InputError(f"--as exports verdicts to {' or '.join(read_labels.TOOLS)}; found {tool!r} for {what.value}.")
    study = store.study
    with store.read() as open_ledger:
        judge = find_judges(open_ledger, judge or [])
        if tool is not None:
            items = {item.id: item for item in open_ledger.items(study=study)}
            answers = {
                (response.item, response.contestant, response.sample): response
                for response in open_ledger.responses(study=study)
            }
            tool_name = read_labels.TOOLS[read_labels.TOOLS.index(tool)]
            count = verdicts_as_annotation_records.write_records(
                to, tool_name, open_ledger.verdicts(judge or None, study=study), items, answers
            )
        elif what is ExportKind.verdicts:
            names = load_display_names(open_ledger).names
            count = write_verdicts(to, open_ledger.verdicts(judge or None, study=study), raw=raw, names=names)
        elif what is ExportKind.doubtful:
            count = write_rows(
                to, doubtful_case_rows(open_ledger.record(judge or None, study=study)), QUEUE_COLUMNS, raw=raw
            )
        elif what is ExportKind.cases:
            count = write_items(to, cases_as_items(open_ledger.record(judge or None, study=study)), raw=raw)
        elif what is ExportKind.analyses:
            count = write_responses(to, analyses_as_responses(open_ledger.record(judge or None, study=study)), raw=raw)
        elif what is ExportKind.responses:
            count = write_responses(to, open_ledger.responses(study=study), raw=raw)
        else:
            count = write_items(to, open_ledger.items(study=study), raw=raw)
    print_line(f"Written: {to} ({count:,} {what.value}{' cases' if what is ExportKind.doubtful else ''})")


@ledger_app.command()
@options("ledger study out corrected strong seed as_json")
def tables(
    store: LedgerOptions,
    people: VoteOptions,
    place: Annotated[
        str | None,
        argument("Ledger (file or URL; also --ledger), lake, or exported verdicts in Parquet (file or folder)."),
    ] = None,
    out: TablesOption = None,
    strong: StrongOption = 1.0,
    seed: ResamplingSeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Show the tables of `fullbench report` and judge agreement for a ledger or export of any size.

    Example: fullbench ledger tables verdicts.parquet --out tables.md
    """
    from fullbench.analysis import standard_verdict_tables
    from fullbench.analysis.agreement.between_judges import judge_agreement_table
    from fullbench.columns.columns_from_parquet import read_parquet_columns
    from fullbench.ledger.lake.parquet_export_reader import is_lake
    from fullbench.reports.display_names_of_judges_and_contestants import DisplayNames
    from fullbench.studies import ledger_verdicts_with_panels

    source, study = place or store.ledger, store.study
    path = Path(source)
    bill: list[Account] = []
    facts = None
    if (path.suffix == ".parquet" or path.is_dir()) and not is_lake(source):
        columns = read_parquet_columns(path).where(study=study)
        judges, contestants = (dict.fromkeys(columns.names[role]) for role in ("judge", "contestant"))
        CURRENT.use_names(DisplayNames.from_settings(judges, contestants))
    else:
        with replace(store, place=source).read() as open_ledger:
            columns, bill, source = (
                ledger_verdicts_with_panels.load_columns(open_ledger, study=study),
                open_ledger.bill(),
                open_ledger.place,
            )
            if people.corrected:
                facts = ledger_verdicts_with_panels.load_case_facts(open_ledger, columns, study=study)
    if not len(columns):
        raise InputError(f"{source}: there are no verdicts here")
    verdict_costs = standard_verdict_tables.cost_table(columns)
    columns = columns.without_usage()
    result_tables = standard_verdict_tables.verdict_tables(
        columns,
        strong=strong,
        seed=seed,
        facts=facts,
        with_corrections=people.corrected,
        precomputed_costs=verdict_costs,
    )
    result_tables += [judge_agreement_table(columns), _answer_cost_table(bill)]
    show_tables([table for table in result_tables if table.rows], as_json=as_json, out=out)


def _answer_cost_table(bill: Iterable[Account]) -> Table:
    """Return the usage of contestants with failed calls; an export of verdicts has none."""
    from fullbench.analysis.verdict_cost import FromCache

    contestant_accounts = [account for account in bill if account.role == "contestant"]
    from_cache = FromCache.from_usages(account.usage for account in contestant_accounts)
    columns = table_columns(
        "contestant", "responses", "failures", "calls", "retries", "tokens in", *from_cache.columns, "tokens out",
        "dollars",
    )  # fmt: skip
    rows = [
        [account.name, account.output_count, account.failures, account.usage.calls, account.usage.retries,
         account.usage.tokens_in, *from_cache.cells(account.usage), account.usage.tokens_out, account.usage.dollars]
        for account in contestant_accounts
    ]  # fmt: skip
    title = Note("cli.ledger.title.what-answering-cost")
    return Table("answers", title, columns, rows, from_cache.notes)


@ledger_app.command()
@options("place ledger digest key signatures as_json")
def verify(
    store: LedgerOptions,
    digest: Annotated[
        str | None, option("Check that this earlier digest, as `ledger show` prints it, is still there.", "--digest")
    ] = None,
    key: Annotated[Path | None, option("Public key: check all digests that it signed.", "--key")] = None,
    signatures: Annotated[
        list[Path] | None,
        option("File of signatures that `ledger sign` wrote. Default: the one next to the ledger. Repeatable."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check a ledger: the file, the digest and chain of every row, and every picture.

    With an earlier digest, or the public key of somebody who signed digests (`ledger sign`), it also proves that
    nothing was rewritten or removed since. The exit code is 0 without problems and 1 with problems, one line each.

    Example: fullbench ledger verify study.ledger --digest 12-3f5a...
    """
    from fullbench.ledger.integrity.row_chain import LedgerDigest
    from fullbench.ledger.integrity.signatures import signature_file_path

    noted_digest = None if digest is None else LedgerDigest.from_text(digest)
    if signatures and key is None:
        raise InputError("--signatures needs the public key of the signer. Add --key FILE.")
    with store.read() as open_ledger:
        problems = open_ledger.verify(noted_digest)
        if key is not None:
            default_files = (
                [signature_file_path(open_ledger.path)] if signature_file_path(open_ledger.path).exists() else []
            )
            problems += open_ledger.verify_signatures(key, signatures or default_files)
        report = open_ledger.verification_counts() if not problems else {"path": open_ledger.place}
    if as_json:
        typer.echo(json.dumps({**report, "sound": not problems, "problems": problems}, ensure_ascii=False, indent=2))
    elif problems:
        for problem in problems:
            typer.echo(problem)
        typer.echo(f"{report['path']}: {len(problems):,} problems found", err=True)
    else:
        print_line(_soundness_report(report, has_noted_digest=noted_digest is not None, is_signed=key is not None))
    if problems:
        raise typer.Exit(1)


@ledger_app.command()
@options("pictures quiet")
def copy(
    source: Annotated[str, argument("Ledger to copy: a file or a URL.")],
    target: Annotated[str, argument("Target: a file or a URL. Created if it does not exist.")],
    store: LedgerOptions,
    without: Annotated[
        list[str] | None,
        option("Leave out study:NAME, picture:DIGEST or rater:NAME, with everything that depends on it. Repeatable."),
    ] = None,
    pseudonyms: Annotated[
        bool, option("Replace people's names by random ids, for a copy to share.", "--pseudonyms")
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Copy a ledger with its pictures: to a server, from a server, or to another file.

    Rows that are there already are skipped, so you can run the command again after an interruption. In a new place or
    an earlier copy, every row keeps its digest, so earlier digests and signatures stay valid. A ledger never forgets.
    To delete data, leave it out of a copy (--without, --pseudonyms) and delete the first ledger.

    Example: fullbench ledger copy study.ledger postgresql://me@server/study --pictures s3://bucket/study
    """
    from fullbench.ledger.contents_and_cost import COUNTED_TABLES
    from fullbench.ledger.copies.copy_between_databases import LedgerCopy
    from fullbench.ledger.copies.exact_copy import copy_exactly
    from fullbench.ledger.copies.pseudonyms import Pseudonyms
    from fullbench.ledger.ledger import Ledger

    exact_copy = None if without or pseudonyms else copy_exactly(source, target, pictures=store.pictures)
    with Ledger(source, read_only=True) as original, Ledger(target, pictures=store.pictures) as duplicate:
        ids = Pseudonyms(duplicate.salt) if pseudonyms else None
        ledger_copy = LedgerCopy(original, duplicate, without or (), exact_copy, ids)
        with progress_bar("copying", quiet=quiet) as step:
            for table in ledger_copy.run():
                step(table.table, table.handled_rows, table.total)
        is_same = original.digest() == duplicate.digest()
        names = original.place, duplicate.place
    new_text = ", ".join(
        f"{table.new:,} {table.table}" for table in ledger_copy.tables if table.table in COUNTED_TABLES
    )
    print_line(f"{names[1]}: added {new_text}")
    if exact_copy is not None:
        print_line(
            f"every row keeps its digest: earlier digests and signatures of {names[0]} are valid in {names[1]} too"
        )
    elif any(table.new for table in ledger_copy.tables):
        print_line(f"rows have new digests: earlier digests and signatures of {names[0]} are not valid in {names[1]}")
    if conflict_count := sum(table.conflicts for table in ledger_copy.tables):
        print_line(
            f"{conflict_count:,} rows have other content in the target under the same key; they were not changed"
        )
    if without:
        omitted_text = ", ".join(
            f"{table.left_out:,} {table.table}" for table in ledger_copy.tables if table.table in COUNTED_TABLES
        )
        print_line(f"left out: {omitted_text}")
    if ids is not None:
        print_line(f"{len(ids.raters):,} people's names were replaced by ids")
        if ids.contestants:
            print_line(
                f"{len(ids.contestants):,} contestants are still named human:NAME, because the keys of their "
                "responses contain the name. To remove it, rename them in the file of responses and judge again."
            )
    if is_same:
        typer.echo("both have the same digest")
    elif not without and ids is None:
        print_line(f"{names[1]} contains more than {names[0]}: the digests differ")


@ledger_app.command()
@options("place ledger named dry_run")
def vacuum(
    store: LedgerOptions,
    named: Annotated[
        bool, option("Also free pictures in the place of --pictures. No other ledger may use it.", "--named-pictures")
    ] = False,
    dry_run: Annotated[bool, option("Show what would be freed. Free nothing.", "--dry-run")] = False,
) -> None:
    """Free disk space: free pages, the write-ahead log, and pictures that no row uses.

    Example: fullbench ledger vacuum study.ledger --dry-run
    """
    from fullbench.ledger.unused_space_and_picture_removal import free_space

    with store.read():
        pass
    with store.open() as open_ledger:
        freed_space = free_space(open_ledger, dry_run=dry_run, named_too=named)
        place = open_ledger.place
    would = "would be freed" if dry_run else "freed"
    print_line(
        f"{place}: {would}: {freed_space.database:,} bytes of the database, {freed_space.pictures:,} pictures with "
        f"{freed_space.picture_bytes:,} bytes"
    )
    if freed_space.is_shared:
        typer.echo("pictures were kept, because other ledgers may share their place (see --named-pictures)")


def _soundness_report(report: dict[str, Any], *, has_noted_digest: bool, is_signed: bool) -> str:
    counts = ", ".join(f"{count:,} {name}" for name, count in report["counts"].items())
    chains = report["chains"]
    proof = "; nothing was rewritten since that digest was noted" if has_noted_digest else ""
    proof += "; nothing was rewritten since a digest was signed" if is_signed else ""
    return (
        f"{report['path']}: sound{proof}\nchecked: {counts}; {chains['rows']:,} rows in the chains of "
        f"{chains['writers']:,} writers, {chains['commits']:,} commits\ndigest {report['ledger_digest']}"
    )


def _format_time(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def _account_table(accounts: Iterable[dict[str, Any]]) -> Table:
    from fullbench.analysis.verdict_cost import FromCache

    account_usages = [(account, Usage(**account["usage"])) for account in accounts]
    from_cache = FromCache.from_usages(usage for _, usage in account_usages)
    columns = table_columns(
        "role", "name", "given", "unusable", "failures", "calls", "tokens in", *from_cache.columns, "tokens out",
        "dollars",
    )  # fmt: skip
    rows = [
        [account["role"], account["name"], account["given"], sum(account["unusable"].values()), account["failures"],
         usage.calls, usage.tokens_in, *from_cache.cells(usage), usage.tokens_out, usage.dollars]
        for account, usage in account_usages
    ]  # fmt: skip
    notes = from_cache.notes
    if any(row[-1] is None for row in rows):
        notes.append(Note("cli.ledger.dollars-are-not-known-where"))
    return Table("bill", Note("cli.ledger.title.what-was-given-and-what"), columns, rows, notes)
