"""`fullbench ledger`: look into a ledger, take rows out of it, check that it is sound."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fullbench.cli.options import (
    DEFAULT_LEDGER,
    CorrectedOption,
    JsonOption,
    LedgerOption,
    PicturesOption,
    QuietOption,
    StudyOption,
    bar,
)
from fullbench.cli.options import show as show_tables
from fullbench.core.call import Usage
from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.table import Table
from fullbench.errors import InputError
from fullbench.files.writers import Columns

if TYPE_CHECKING:
    from fullbench.ledger.contents_and_cost import Account
    from fullbench.ledger.ledger import Ledger

ledger_app = typer.Typer(
    name="ledger",
    help="Look into a ledger: every response and verdict ever given.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

LedgerArgument = Annotated[
    str | None, typer.Argument(help="The ledger: a file, or postgresql://user@host/database; also --ledger.")
]
QUEUE: Columns = {
    "item": "text", "contestants": "json", "ballot": "text", "criterion": "text", "question": "text",
    "answers": "json", "marks": "json",
}  # fmt: skip


class What(StrEnum):
    """What can be taken out."""

    verdicts = "verdicts"
    responses = "responses"
    items = "items"
    doubtful = "doubtful"
    hearings = "hearings"
    analyses = "analyses"


@ledger_app.command()
def show(
    place: LedgerArgument = None,
    ledger: LedgerOption = DEFAULT_LEDGER,
    as_json: JsonOption = False,
) -> None:
    """Say what is inside: judges, contestants, verdicts, faults and what they cost.

    Example: fullbench ledger show study.ledger
    """
    from dataclasses import asdict

    from fullbench.ledger.judge_replacements import successions

    with _open(place or ledger) as opened:
        inside = opened.describe()
        inside["successions"] = [asdict(each) for each in successions(opened)]
    if as_json:
        typer.echo(json.dumps(inside, ensure_ascii=False, indent=2))
        return
    counts = ", ".join(f"{count:,} {name}" for name, count in inside["counts"].items())
    typer.echo(f"{inside['path']}: {counts}")
    if inside["last"] is not None:
        typer.echo(f"verdicts from {_when(inside['first'])} to {_when(inside['last'])}; digest {inside['digest']}")
    typer.echo(f"head {inside['head']}")
    for study in inside["studies"]:
        aside = f"; {study['set_aside']:,} verdicts on earlier contents are set aside" if study["set_aside"] else ""
        members = f"{study['items']:,} items, {study['cases']:,} cases, {study['verdicts']:,} verdicts"
        typer.echo(f"study {study['name']}: {members}{aside}")
    for alias in inside["aliases"]:
        typer.echo(f"the {alias['role']} {alias['former']} is called {alias['name']}")
    for each in inside["successions"]:
        typer.echo(f"study {each['study']}: the judge {each['new']} succeeds {each['old']}")
    if inside["counts"]["pictures"]:
        typer.echo(f"pictures in {inside['pictures']}")
    if inside["accounts"]:
        typer.echo("")
        show_tables([_table(inside["accounts"])], as_json=False)


@ledger_app.command()
def export(
    to: Annotated[Path, typer.Option("--to", help="File to write: .jsonl, .json, .csv, .tsv (or .gz), .parquet.")],
    what: Annotated[What, typer.Option("--what", help="Which rows to write.")] = What.verdicts,
    judge: Annotated[list[str] | None, typer.Option("--judge", help="Only this judge's verdicts; repeatable.")] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="In .csv and .tsv, keep texts that a spreadsheet takes for formulas.")
    ] = False,
    tool: Annotated[
        str | None, typer.Option("--as", help="Verdicts as records of another tool: label-studio or argilla.")
    ] = None,
    study: StudyOption = None,
    place: LedgerArgument = None,
    ledger: LedgerOption = DEFAULT_LEDGER,
) -> None:
    """Write verdicts, responses or items to a file, whole or not at all.

    `--what doubtful` writes the cases that a judge left without a mark, or without a majority over its trials, for
    people to fill in: once its column `marks` is filled, the file is one of labels.
    `--what hearings` writes the cases on which several judges gave reasons, as items, and `--what analyses` their
    reasons, as answers to them, so that people or other judges can say whose are better.

    Example: fullbench ledger export study.ledger --to verdicts.csv --judge human
    """
    from fullbench.analysis.judge_texts_as_responses import analyses, hearings
    from fullbench.analysis.people.doubtful_cases import queue
    from fullbench.files.annotation_tools import read_labels, write_labels
    from fullbench.files.item_files import write_items, write_responses, write_rows, write_verdicts
    from fullbench.studies.ledger_columns import judges_named

    if judge and what in {What.responses, What.items}:
        raise InputError(f"--judge chooses among verdicts; {what.value} have no judge: leave it out")
    if tool is not None and (what is not What.verdicts or tool not in read_labels.TOOLS):
        raise InputError(f"--as writes verdicts for {' or '.join(read_labels.TOOLS)}; found {tool!r} for {what.value}")
    with _open(place or ledger) as opened:
        judge = judges_named(opened, judge or [])
        if tool is not None:
            items = {item.id: item for item in opened.items(study=study)}
            answers = {(one.item, one.contestant, one.sample): one for one in opened.responses(study=study)}
            chosen = read_labels.TOOLS[read_labels.TOOLS.index(tool)]
            count = write_labels.write(to, chosen, opened.verdicts(judge or None, study=study), items, answers)
        elif what is What.verdicts:
            count = write_verdicts(to, opened.verdicts(judge or None, study=study), raw=raw)
        elif what is What.doubtful:
            count = write_rows(to, queue(opened.record(judge or None, study=study)), QUEUE, raw=raw)
        elif what is What.hearings:
            count = write_items(to, hearings(opened.record(judge or None, study=study)), raw=raw)
        elif what is What.analyses:
            count = write_responses(to, analyses(opened.record(judge or None, study=study)), raw=raw)
        elif what is What.responses:
            count = write_responses(to, opened.responses(study=study), raw=raw)
        else:
            count = write_items(to, opened.items(study=study), raw=raw)
    typer.echo(f"wrote {count:,} {what.value}{' cases' if what is What.doubtful else ''} to {to}")


@ledger_app.command()
def tables(
    place: Annotated[
        str | None,
        typer.Argument(help="A ledger (file or URL; also --ledger), a lake, or verdicts in Parquet: a file or folder."),
    ] = None,
    ledger: LedgerOption = DEFAULT_LEDGER,
    study: StudyOption = None,
    out: Annotated[Path | None, typer.Option(help="A file: .md, .csv, .json, .txt or .html.")] = None,
    corrected: CorrectedOption = False,
    seed: Annotated[int, typer.Option(help="For the resamples of the agreement with people.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """The figures of `fullbench report` over a ledger of any size or its export, and the agreement between judges.

    Example: fullbench ledger tables verdicts.parquet --out tables.md
    """
    from fullbench.analysis import all_tables
    from fullbench.analysis.agreement.between_judges import between
    from fullbench.columns.columns_from_parquet import columns_of_parquet
    from fullbench.ledger.lake.parquet_exports import is_lake
    from fullbench.studies import ledger_columns

    source = place or ledger
    path = Path(source)
    bill: list[Account] = []
    if (path.suffix == ".parquet" or path.is_dir()) and not is_lake(source):
        columns = columns_of_parquet(path).of(study=study)
    else:
        with _open(source) as opened:
            columns, bill, source = ledger_columns.columns(opened, study=study), opened.bill(), opened.place
    if not len(columns):
        raise InputError(f"{source}: there is no verdict in it")
    spent = all_tables.costs(columns)
    columns = columns.without_usage()
    figures = all_tables.tables(columns, seed=seed, corrected=corrected, spent=spent)
    figures += [between(columns), _answers(bill)]
    show_tables([table for table in figures if table.rows], as_json=as_json, out=out)


def _answers(bill: Iterable[Account]) -> Table:
    """What the contestants' answers used, failed calls included; an export of verdicts does not know."""
    from fullbench.analysis.verdict_cost import FromCache

    answering = [account for account in bill if account.role == "contestant"]
    from_cache = FromCache.of(account.usage for account in answering)
    columns = headings(
        "contestant", "responses", "failures", "calls", "retries", "tokens in", *from_cache.columns, "tokens out",
        "dollars",
    )  # fmt: skip
    rows = [
        [account.name, account.given, account.failures, account.usage.calls, account.usage.retries,
         account.usage.tokens_in, *from_cache.cells(account.usage), account.usage.tokens_out, account.usage.dollars]
        for account in answering
    ]  # fmt: skip
    title = Note("cli.ledger.title.what-answering-cost", "What answering cost")
    return Table("answers", title, columns, rows, from_cache.notes)


@ledger_app.command()
def verify(
    place: LedgerArgument = None,
    ledger: LedgerOption = DEFAULT_LEDGER,
    head: Annotated[
        str | None, typer.Option("--head", help="A head noted before, as `ledger show` prints it: is it still there?")
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--key", help="A public key: do all heads that it signed still hold?")
    ] = None,
    signatures: Annotated[
        list[Path] | None,
        typer.Option(help="Files of signatures that `ledger sign` wrote. Else the one beside the ledger. Repeatable."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check that the ledger is sound: the file, every row's digest and place in its chain, every picture.

    With a head that was noted elsewhere, or the public key of somebody who signed heads (`ledger sign`), it also proves
    that nothing was rewritten, cut off or taken out since.
    Exit code 0 when it is sound, 1 with one line for each problem when it is not.
    Example: fullbench ledger verify study.ledger --head 12-3f5a...
    """
    from fullbench.ledger.integrity.row_chain import Head
    from fullbench.ledger.integrity.signatures import beside

    noted = None if head is None else Head.read(head)
    if signatures and key is None:
        raise InputError("--signatures are checked with the public key of whoever signed; add --key FILE")
    with _open(place or ledger) as opened:
        problems = opened.verify(noted)
        if key is not None:
            usual = [beside(opened.path)] if beside(opened.path).exists() else []
            problems += opened.verify_signatures(key, signatures or usual)
        report = opened.checked() if not problems else {"path": opened.place}
    if as_json:
        typer.echo(json.dumps({**report, "sound": not problems, "problems": problems}, ensure_ascii=False, indent=2))
    elif problems:
        for problem in problems:
            typer.echo(problem)
        typer.echo(f"{report['path']}: {len(problems):,} problems were found", err=True)
    else:
        typer.echo(_sound(report, noted=noted is not None, signed=key is not None))
    if problems:
        raise typer.Exit(1)


@ledger_app.command()
def copy(
    source: Annotated[str, typer.Argument(help="The ledger to copy: a file or a URL.")],
    target: Annotated[str, typer.Argument(help="Where to: a file or a URL. Made where there is none.")],
    without: Annotated[
        list[str] | None,
        typer.Option(help="Leave out study:NAME, picture:DIGEST or rater:NAME with all made of it; repeatable."),
    ] = None,
    pseudonyms: Annotated[
        bool, typer.Option("--pseudonyms", help="Random ids in place of people's names, for a copy to give away.")
    ] = False,
    pictures: PicturesOption = None,
    quiet: QuietOption = False,
) -> None:
    """Copy a ledger with its pictures: to a server, from one, or to another file.

    What is there already is passed over, so the same command goes on after an interruption. Into a new place, or an
    earlier copy, every row goes with its seal, and heads that were noted or signed hold there too. A ledger never
    forgets: what must go is left out of a copy (--without, --pseudonyms), and the first ledger is deleted.
    Example: fullbench ledger copy study.ledger postgresql://me@server/study --pictures s3://bucket/study
    """
    from fullbench.ledger.contents_and_cost import COUNTED
    from fullbench.ledger.copies.copy_between_databases import Copying
    from fullbench.ledger.copies.exact_copy import carry
    from fullbench.ledger.copies.pseudonyms import Pseudonyms
    from fullbench.ledger.ledger import Ledger

    carried = None if without or pseudonyms else carry(source, target, pictures=pictures)
    with Ledger(source, read_only=True) as original, Ledger(target, pictures=pictures) as duplicate:
        ids = Pseudonyms(duplicate.salt) if pseudonyms else None
        copying = Copying(original, duplicate, without or (), carried, ids)
        with bar("copying", quiet=quiet) as step:
            for table in copying.run():
                step(table.table, table.done, table.total)
        same = original.digest() == duplicate.digest()
        names = original.place, duplicate.place
    new = ", ".join(f"{table.new:,} {table.table}" for table in copying.tables if table.table in COUNTED)
    typer.echo(f"{names[1]}: new are {new}")
    if carried is not None:
        typer.echo(f"every row has its seal: heads noted or signed of {names[0]} hold in {names[1]} too")
    elif any(table.new for table in copying.tables):
        typer.echo(f"rows were chained anew: heads noted or signed of {names[0]} do not hold in {names[1]}")
    if other := sum(table.other for table in copying.tables):
        typer.echo(f"{other:,} rows stand there with other content under the same key; they stayed as they were")
    if without:
        left = ", ".join(f"{table.left_out:,} {table.table}" for table in copying.tables if table.table in COUNTED)
        typer.echo(f"left out are {left}")
    if ids is not None:
        typer.echo(f"{len(ids.raters):,} people's names have ids in their place")
        if ids.contestants:
            typer.echo(
                f"{len(ids.contestants):,} contestants are still called human:NAME, for their answers' keys are made "
                "of it; where that must go, rename them in the file of responses and judge anew"
            )
    if same:
        typer.echo("both have the same digest")
    elif not without and ids is None:
        typer.echo(f"{names[1]} holds more than {names[0]}: the digests differ")


@ledger_app.command()
def vacuum(
    place: LedgerArgument = None,
    ledger: LedgerOption = DEFAULT_LEDGER,
    named: Annotated[
        bool, typer.Option("--named-pictures", help="Also in a place named by --pictures; no other ledger may use it.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be freed; free nothing.")] = False,
) -> None:
    """Give space back: free pages, the write-ahead log, pictures that no row names.

    Example: fullbench ledger vacuum study.ledger --dry-run
    """
    from fullbench.ledger.copies.vacuum import tidy
    from fullbench.ledger.ledger import Ledger

    with _open(place or ledger):
        pass
    with Ledger(place or ledger) as opened:
        freed = tidy(opened, dry_run=dry_run, named_too=named)
        place = opened.place
    would = "would be freed" if dry_run else "freed"
    typer.echo(
        f"{place}: {would}: {freed.database:,} bytes of the database, {freed.pictures:,} pictures with "
        f"{freed.picture_bytes:,} bytes"
    )
    if freed.shared:
        typer.echo("pictures were left alone, for other ledgers may share their place (see --named-pictures)")


def _sound(report: dict[str, Any], *, noted: bool, signed: bool) -> str:
    counts = ", ".join(f"{count:,} {name}" for name, count in report["counts"].items())
    chains = report["chains"]
    proof = "; nothing was rewritten since the head was noted" if noted else ""
    proof += "; nothing was rewritten since a head was signed" if signed else ""
    return (
        f"{report['path']}: sound{proof}\nchecked: {counts}; {chains['rows']:,} rows in the chains of "
        f"{chains['writers']:,} writers, {chains['commits']:,} commits\nhead {report['head']}"
    )


def _open(path: str) -> Ledger:
    from fullbench.ledger.ledger import Ledger

    return Ledger(path, read_only=True)


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def _table(accounts: Iterable[dict[str, Any]]) -> Table:
    from fullbench.analysis.verdict_cost import FromCache

    listed = [(account, Usage(**account["usage"])) for account in accounts]
    from_cache = FromCache.of(usage for _, usage in listed)
    columns = headings(
        "role", "name", "given", "faults", "failures", "calls", "tokens in", *from_cache.columns, "tokens out",
        "dollars",
    )  # fmt: skip
    rows = [
        [account["role"], account["name"], account["given"], sum(account["faults"].values()), account["failures"],
         usage.calls, usage.tokens_in, *from_cache.cells(usage), usage.tokens_out, usage.dollars]
        for account, usage in listed
    ]  # fmt: skip
    notes = from_cache.notes
    if any(row[-1] is None for row in rows):
        notes.append(Note("cli.ledger.dollars-are-not-known-where", "Dollars are not known where a '-' stands."))
    return Table(
        "bill",
        Note("cli.ledger.title.what-was-given-and-what", "What was given, and what it used"),
        columns,
        rows,
        notes,
    )
