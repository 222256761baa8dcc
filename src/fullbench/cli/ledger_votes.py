"""`fullbench ledger import`, `alias` and `reread`: what is put into a ledger without asking anybody."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Annotated, Literal

import typer

from fullbench.cli.common import DEFAULT_LEDGER, JsonOption, LedgerOption, StudyOption
from fullbench.cli.ledger import LedgerArgument, ledger_app
from fullbench.core.verdict import PEOPLE


@ledger_app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="Votes or rulings: .jsonl, .json, .csv, .tsv (or .gz), .parquet.")],
    ledger: LedgerOption = DEFAULT_LEDGER,
    study: StudyOption = None,
    judge: Annotated[str, typer.Option(help="Whose they are, where a row has no column 'judge'.")] = PEOPLE,
    ballot: Annotated[
        str | None,
        typer.Option(help="How they were given, where a row has no column 'ballot', as score:1-5."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Put the votes of people, or the rulings of judges, from a file into a ledger, one for each rater.

    A column `rater` (or `annotator`, `worker`) says who voted; votes without one are numbered. What is there already is
    passed over, so that the same file can be imported twice. Exports of Label Studio and Argilla are read as they are.
    Example: fullbench ledger import labels.csv --ledger study.ledger --ballot score:1-5
    """
    from fullbench.files.item_files import read_verdicts
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies.exchange.import_verdicts import import_verdicts

    passed_over = Counter[str]()
    verdicts = read_verdicts(file, judge=judge, ballot=ballot, passed_over=passed_over)
    with Ledger(ledger, read_only=True) as looked:
        chosen = looked.chosen_study(study)
    with Ledger(ledger, study=chosen) as opened:
        done = import_verdicts(opened, verdicts, file)
        place, name = opened.place, opened.study
    if as_json:
        summary = {"ledger": place, "study": name, "new": done.new, "known": done.known, "differing": done.differing}
        summary |= {"passed_over": dict(passed_over)} if passed_over else {}
        typer.echo(json.dumps(summary, ensure_ascii=False, indent=2))
        return
    typer.echo(f"{place}, study {name}: {done.new:,} new votes of {done.raters:,} raters; {done.known:,} were there")
    for what, count in passed_over.items():
        typer.echo(f"passed over: {count:,} {what}")
    if done.differing:
        typer.echo(
            f"{done.differing:,} votes stand there with other marks and stayed as they were: number a changed vote in "
            "a column 'revision'"
        )


@ledger_app.command("alias")
def alias(
    former: Annotated[str, typer.Argument(help="The name that stands in the ledger.")],
    name: Annotated[str, typer.Argument(help="The name that takes its place.")],
    ledger: LedgerOption = DEFAULT_LEDGER,
    role: Annotated[Literal["judge", "contestant"], typer.Option(help="Whose name it is.")] = "judge",
) -> None:
    """Let a judge or contestant take over what it gave under another name, as when its server moved.

    Nothing is rewritten: rows keep the name they were given under, and are read under the new one.
    Example: fullbench ledger alias gpt-4o+direct#1a2b3c4d gpt-4o@host+direct#5e6f7a8b --ledger study.ledger
    """
    from fullbench.ledger.ledger import Ledger

    with Ledger(ledger, read_only=True):
        pass
    with Ledger(ledger) as opened:
        typer.echo(opened.alias(role, former, name))


@ledger_app.command("reread")
def reread(
    place: LedgerArgument = None,
    ledger: LedgerOption = DEFAULT_LEDGER,
    judge: Annotated[list[str] | None, typer.Option("--judge", help="Only this judge's replies; repeatable.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would change; change nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Read the stored replies of judges again with the newest reader: nothing is asked, nothing is paid.

    What is read differently now becomes a new reading, which all figures use; the earlier one stays in the ledger.
    Example: fullbench ledger reread study.ledger --dry-run
    """
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies.exchange.reparse_replies import lines, reread, ruling_text

    with Ledger(place or ledger, read_only=True):
        pass
    with Ledger(place or ledger, read_only=dry_run) as opened:
        done = reread(opened, judge or None, dry_run=dry_run)
        where = opened.place
    if as_json:
        changes = [
            {
                "case": change.before.case, "judge": change.before.judge, "trial": change.before.trial,
                "before": ruling_text(change.before), "after": ruling_text(change.after),
            }
            for change in done.changes
        ]  # fmt: skip
        typer.echo(json.dumps({"ledger": where, "read": done.read, "left": done.left, "changes": changes}, indent=2))
        return
    for line in lines(done.changes):
        typer.echo(line)
    would = "would be read" if dry_run else "are read"
    typer.echo(f"{where}: of {done.read:,} replies {len(done.changes):,} {would} differently now")
    for reason, count in done.left.items():
        typer.echo(f"not read again: {count:,} verdicts {reason}")
