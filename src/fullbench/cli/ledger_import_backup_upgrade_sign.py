"""`fullbench ledger import`, `alias`, `reread`, `backup`, `upgrade` and `sign`."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fullbench.cli.console import print_line, progress_bar
from fullbench.cli.ledger import ledger_app
from fullbench.cli.shared_options_and_run_output import (
    JsonOption,
    LedgerOptions,
    QuietOption,
    argument,
    option,
    options,
)
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError

if TYPE_CHECKING:
    from fullbench.ledger.ledger import Ledger


@ledger_app.command("import")
@options("ledger study judge ballot as_json")
def import_(
    file: Annotated[Path, argument("Votes or verdicts: .jsonl, .json, .csv, .tsv (or .gz), .parquet.")],
    store: LedgerOptions,
    judge: Annotated[str, option("Judge of rows without a column 'judge'.")] = PEOPLE,
    ballot: Annotated[str | None, option("Ballot of rows without a column 'ballot', for example score:1-5.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Import votes of people, or verdicts of judges, from a file into a ledger.

    A column `rater` (or `annotator`, `worker`) names the voter; votes without one are numbered. Votes that are there
    already are skipped, so you can import the same file twice. Exports of Label Studio and Argilla work without
    changes.

    Example: fullbench ledger import labels.csv --ledger study.ledger --ballot score:1-5
    """
    from fullbench.files.item_response_verdict_files import read_verdicts
    from fullbench.studies.exchange.import_verdicts import import_verdicts

    passed_over = Counter[str]()
    verdicts = read_verdicts(file, judge=judge, ballot=ballot, passed_over=passed_over)
    with store.read() as readable_ledger:
        study_name = readable_ledger.one_study(store.study)
    with store.open(study_name) as open_ledger:
        import_result = import_verdicts(open_ledger, verdicts, file)
        place, name = open_ledger.place, open_ledger.study
    if as_json:
        summary = {
            "ledger": place,
            "study": name,
            "new": import_result.new,
            "known": import_result.duplicates,
            "differing": import_result.differing,
        }
        summary |= {"passed_over": dict(passed_over)} if passed_over else {}
        typer.echo(json.dumps(summary, ensure_ascii=False, indent=2))
        return
    print_line(
        f"{place}, study {name}: {import_result.new:,} new votes of {import_result.raters:,} raters; "
        f"{import_result.duplicates:,} were already there"
    )
    for what, count in passed_over.items():
        print_line(f"skipped: {count:,} {what}")
    if import_result.differing:
        print_line(
            f"{import_result.differing:,} votes differ from votes in the ledger, which were not changed. Number a "
            "changed vote in a column 'revision'."
        )


@ledger_app.command("alias")
@options("ledger role")
def alias(
    former: Annotated[str, argument("Name in the ledger.")],
    name: Annotated[str, argument("Name to show instead.")],
    store: LedgerOptions,
    role: Annotated[Literal["judge", "contestant"], option("Role of the name.")] = "judge",
) -> None:
    """Show a judge or contestant under another name, for example after its server moved.

    No row is rewritten. Rows keep their old name and are shown under the new one.

    Example: fullbench ledger alias gpt-4o+direct#1a2b3c4d gpt-4o@host+direct#5e6f7a8b --ledger study.ledger
    """

    with store.read():
        pass
    with store.open() as open_ledger:
        typer.echo(open_ledger.alias(role, former, name))


@ledger_app.command("reread")
@options("place ledger judge dry_run as_json")
def reread(
    store: LedgerOptions,
    judge: Annotated[list[str] | None, option("Read only replies of this judge. Repeatable.", "--judge")] = None,
    dry_run: Annotated[bool, option("Show what would change. Change nothing.", "--dry-run")] = False,
    as_json: JsonOption = False,
) -> None:
    """Parse the stored replies of judges again with the newest parser. No model is called.

    If a reply is now read differently, the new reading counts. The earlier one stays in the ledger.

    Example: fullbench ledger reread study.ledger --dry-run
    """
    from fullbench.studies.exchange.reparse_replies import change_lines, reparse_ledger, verdict_text
    from fullbench.studies.ledger_display_names_and_name_lookup import find_judges

    with store.read():
        pass
    with store.read() if dry_run else store.open() as open_ledger:
        judges = find_judges(open_ledger, judge or [])
        reparse_result = reparse_ledger(open_ledger, judges or None, dry_run=dry_run)
        ledger_place = open_ledger.place
    if as_json:
        changes = [
            {
                "case": change.before.case, "judge": change.before.judge, "trial": change.before.trial,
                "before": verdict_text(change.before), "after": verdict_text(change.after),
            }
            for change in reparse_result.changes
        ]  # fmt: skip
        print_line(
            json.dumps(
                {"ledger": ledger_place, "read": reparse_result.read, "left": reparse_result.left, "changes": changes},
                indent=2,
            )
        )
        return
    for line in change_lines(reparse_result.changes):
        print_line(line)
    would = "would be read" if dry_run else "are read"
    print_line(
        f"{ledger_place}: of {reparse_result.read:,} replies {len(reparse_result.changes):,} {would} differently now"
    )
    for reason, count in reparse_result.left.items():
        print_line(f"not read again: {count:,} verdicts {reason}")


@ledger_app.command("backup")
@options("place ledger quiet")
def backup(
    to: Annotated[Path, option("File for the copy. Its pictures go to FILE.pictures.", "--to", "--out")],
    store: LedgerOptions,
    quiet: QuietOption = False,
) -> None:
    """Copy a ledger while others may write to it. The copy has the state of one moment and keeps all digests.

    A ledger on a server can be written to a file as well. Pictures next to the ledger are copied; pictures in a place
    of their own (--pictures) stay there. The copy opens like any ledger.

    Example: fullbench ledger backup study.ledger --to safe/study.ledger
    """
    from fullbench.ledger.database_from_path import database_at
    from fullbench.ledger.ledger import Ledger

    source = store.path
    pictures = to.with_name(to.name + ".pictures")
    if to.exists():
        raise InputError(f"{to} exists already, and a backup never replaces a file. Choose another name.")
    if not database_at(source).exists():
        raise InputError(f"{source}: no ledger at this path.")
    with store.read() as original:  # refuses a file that is no ledger before anything is written
        try:
            to.parent.mkdir(parents=True, exist_ok=True)
            database_at(source).back_up(to)
        except OSError as error:
            raise InputError(f"{to}: the backup cannot be written ({error.strerror or error})") from error
        with Ledger(to, read_only=True) as backup_ledger:
            digest = backup_ledger.ledger_digest()
            count = _copy_pictures(original, backup_ledger, pictures, quiet=quiet)
    print_line(f"{to}: backup of {source}, {to.stat().st_size:,} bytes; digest {digest}")
    if count is None:
        print_line(f"pictures stay in {original.pictures.place}")
    elif count:
        print_line(f"{count:,} pictures in {pictures}")


def _copy_pictures(original: Ledger, backup_ledger: Ledger, folder: Path, *, quiet: bool) -> int | None:
    """Copy the pictures of the backup and return their number; None if they have a place of their own."""
    from fullbench.ledger.pictures.picture_folder import PictureFolder

    with backup_ledger.reader() as reader:
        sql = "SELECT digest FROM pictures WHERE path IS NULL ORDER BY rowid"
        digests = [digest for (digest,) in reader.execute(sql)]
    if not digests:
        return 0
    if original.pictures_named:
        return None
    target = PictureFolder(folder, sync=True)
    with progress_bar("copying", quiet=quiet) as step:
        for number, digest in enumerate(digests, 1):
            target.keep(original.media(digest))
            step("pictures", number, len(digests))
    return len(digests)


@ledger_app.command("upgrade")
@options("place ledger")
def upgrade(store: LedgerOptions) -> None:
    """Upgrade an older ledger to the newest schema, in one transaction, after a backup.

    Commands that write do this automatically. Commands that only read tell you that it is needed.

    Example: fullbench ledger upgrade old.ledger
    """
    from fullbench.ledger import schema
    from fullbench.ledger.database_from_path import database_at

    source = database_at(store.path)
    if not source.exists():
        raise InputError(f"{source.place}: no ledger at this path.")
    version = source.stored_version()
    store.open().close()
    if version == schema.VERSION:
        print_line(f"{source.place}: the ledger already has the newest schema, {version}; nothing was changed")
    else:
        print_line(f"{source.place}: the ledger has schema {schema.VERSION} now; it had {version} before")


@ledger_app.command("sign")
@options("place ledger")
def sign(
    key: Annotated[Path, option("Private key (Ed25519, in PEM or OpenSSH format).", "--key")],
    store: LedgerOptions,
    new: Annotated[bool, option("Create the key first, with its public key next to it.", "--new")] = False,
    to: Annotated[Path | None, option("File for the signature. Default: LEDGER.signatures.", "--to", "--out")] = None,
) -> None:
    """Sign the current content of a ledger. `ledger verify --key` later shows whether any of it was changed.

    The signature is stored in the ledger and in a file next to it. Keep a copy of this file elsewhere, or publish it.

    Example: fullbench ledger sign study.ledger --key mine.key --new
    """
    from fullbench.ledger.database_from_path import database_at
    from fullbench.ledger.integrity import signatures

    if not database_at(store.path).exists():
        raise InputError(f"{store.path}: no ledger at this path.")
    if new:
        print_line(f"{signatures.make_key(key)}: public key of the new key {key}; give it to anyone who verifies")
    private = signatures.private_key(key)
    with store.open() as open_ledger:
        if problems := open_ledger.verify():
            raise InputError(f"{open_ledger.place}: the ledger has problems and was not signed: {problems[0]}")
        signature = signatures.sign_digest(open_ledger.identity, open_ledger.ledger_digest(), private)
        open_ledger.keep_rows("signatures", [(signature.digest, signature.key, signature.signature, signature.at)])
        file = to or signatures.signature_file_path(open_ledger.path)
    signatures.append_signature(signature, file)
    print_line(
        f"{open_ledger.place}: digest {signature.digest} is signed by {signature.key}; the signature is in {file} too"
    )
