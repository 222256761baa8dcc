"""`fullbench ledger import`, `alias` and `reread`: what is put into a ledger without asking anybody."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fullbench.cli.ledger import LedgerArgument, ledger_app
from fullbench.cli.options import DEFAULT_LEDGER, JsonOption, LedgerOption, QuietOption, StudyOption, bar
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError

if TYPE_CHECKING:
    from fullbench.ledger.ledger import Ledger


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


# `fullbench ledger backup`, `upgrade` and `sign`: a second copy, an older ledger brought up to date, a proof.


@ledger_app.command("backup")
def backup(
    to: Annotated[Path, typer.Option("--to", help="The file to write; its pictures go to FILE.pictures.")],
    place: LedgerArgument = None,
    ledger: LedgerOption = DEFAULT_LEDGER,
    quiet: QuietOption = False,
) -> None:
    """Copy a ledger, of one moment, while others may write to it: every row with its seal, so that heads still hold.

    A ledger on a server is written to a file as well. Pictures beside the ledger are copied; those in a place of their
    own (--pictures) stay there. What is written opens like any ledger.
    Example: fullbench ledger backup study.ledger --to safe/study.ledger
    """
    from fullbench.ledger.database_from_path import database
    from fullbench.ledger.ledger import Ledger

    source = place or ledger
    pictures = to.with_name(to.name + ".pictures")
    if to.exists():
        raise InputError(f"{to}: there is a file already, and a backup never replaces one; name another")
    if not database(source).exists():
        raise InputError(f"{source}: there is no ledger here; check the path")
    with Ledger(source, read_only=True) as original:  # refuses what is no ledger before anything is written
        try:
            to.parent.mkdir(parents=True, exist_ok=True)
            database(source).back_up(to)
        except OSError as error:
            raise InputError(f"{to}: the backup cannot be written ({error.strerror or error})") from error
        with Ledger(to, read_only=True) as copied:
            head = copied.head()
            count = _copy_pictures(original, copied, pictures, quiet=quiet)
    typer.echo(f"{to}: a backup of {source}, {to.stat().st_size:,} bytes; head {head}")
    if count is None:
        typer.echo(f"its pictures stay where they are, in {original.pictures.place}")
    elif count:
        typer.echo(f"{count:,} pictures in {pictures}")


def _copy_pictures(original: Ledger, copied: Ledger, folder: Path, *, quiet: bool) -> int | None:
    """Copy the pictures that the backup names; None where they lie in a place of their own."""
    from fullbench.ledger.pictures.picture_folder import PictureFolder

    with copied.reader() as reader:
        sql = "SELECT digest FROM pictures WHERE path IS NULL ORDER BY rowid"
        digests = [digest for (digest,) in reader.execute(sql)]
    if not digests:
        return 0
    if original.pictures_named:
        return None
    target = PictureFolder(folder, sync=True)
    with bar("copying", quiet=quiet) as step:
        for number, digest in enumerate(digests, 1):
            target.keep(original.picture(digest))
            step("pictures", number, len(digests))
    return len(digests)


@ledger_app.command("upgrade")
def upgrade(
    place: LedgerArgument = None,
    ledger: LedgerOption = DEFAULT_LEDGER,
) -> None:
    """Bring an older ledger to the newest schema, in one transaction, while nobody else writes, after a backup.

    Commands that write do the same by themselves; commands that only read say that it is needed.
    Example: fullbench ledger upgrade old.ledger
    """
    from fullbench.ledger import schema
    from fullbench.ledger.database_from_path import database
    from fullbench.ledger.ledger import Ledger

    source = database(place or ledger)
    if not source.exists():
        raise InputError(f"{source.place}: there is no ledger here; check the path")
    version = source.stored_version()
    Ledger(place or ledger).close()
    if version == schema.VERSION:
        typer.echo(f"{source.place}: the ledger has the newest schema, {version}; nothing was changed")
    else:
        typer.echo(f"{source.place}: the ledger has schema {schema.VERSION} now, {version} before")


@ledger_app.command("sign")
def sign(
    key: Annotated[Path, typer.Option("--key", help="Your private key (Ed25519; PEM or OpenSSH's form).")],
    new: Annotated[bool, typer.Option("--new", help="Make the key first, with its public half beside it.")] = False,
    to: Annotated[
        Path | None, typer.Option("--to", help="Add the signature to this file too. Else LEDGER.signatures.")
    ] = None,
    place: LedgerArgument = None,
    ledger: LedgerOption = DEFAULT_LEDGER,
) -> None:
    """Sign what the ledger holds now: `ledger verify --key` shows later whether any of it was rewritten or cut off.

    The signature is kept in the ledger and in a file beside it. Keep a copy of that file elsewhere, or publish it.
    Example: fullbench ledger sign study.ledger --key mine.key --new
    """
    from fullbench.ledger.database_from_path import database
    from fullbench.ledger.integrity import signatures
    from fullbench.ledger.ledger import Ledger

    if not database(place or ledger).exists():
        raise InputError(f"{place or ledger}: there is no ledger here; check the path")
    if new:
        typer.echo(f"{signatures.make_key(key)}: the public half of the new key {key}; give it to whoever verifies")
    private = signatures.private_key(key)
    with Ledger(place or ledger) as opened:
        if problems := opened.verify():
            raise InputError(f"{opened.place}: the ledger is not sound and is not signed: {problems[0]}")
        signature = signatures.sign(opened.identity, opened.head(), private)
        opened.keep_rows("signatures", [(signature.head, signature.key, signature.signature, signature.at)])
        file = to or signatures.beside(opened.path)
    signatures.note(signature, file)
    typer.echo(f"{opened.place}: head {signature.head} is signed by {signature.key}; the signature is in {file} too")
