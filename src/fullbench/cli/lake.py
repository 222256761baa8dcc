"""`fullbench lake`: a ledger as immutable Parquet files, for very many verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.console import print_line, progress_bar
from fullbench.cli.shared_options_and_run_output import (
    JsonOption,
    LedgerOptions,
    QuietOption,
    argument,
    option,
    options,
)
from fullbench.errors import InputError

lake_app = typer.Typer(
    name="lake",
    help="Write a ledger to Parquet files, in a folder or a bucket. Every command can read them like a ledger.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@lake_app.command()
@options("place ledger key quiet")
def write(
    out: Annotated[str, option("Lake: a folder, or s3://bucket/prefix. Created if it does not exist.")],
    store: LedgerOptions,
    key: Annotated[
        Path | None, option("Sign the manifest with this private key (Ed25519). `ledger sign --new` creates one.")
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Write everything new in a ledger to its lake: immutable Parquet segments and a manifest with chained digests.

    Data that is in the lake already is not written again. If the command is interrupted, the lake stays unchanged; run
    it again. Store the printed digest elsewhere: `lake verify --digest` later proves that nothing is missing.

    Example: fullbench lake write study.ledger --out lake
    """
    from fullbench.errors import require_packages

    require_packages("writing a lake", "parquet", "pyarrow")
    from fullbench.ledger.integrity.signatures import private_key
    from fullbench.ledger.lake import write_lake
    from fullbench.ledger.lake.storage import store_at

    _refuse_foreign(out)
    signing_key = None if key is None else private_key(key)
    with store.read() as open_ledger, progress_bar("sealing", quiet=quiet) as step:
        with open_ledger.reader() as reader:
            total = reader.execute("SELECT count(*) FROM verdicts").fetchone()[0]
        writing_result = write_lake.update_lake(
            open_ledger, store_at(out), key=signing_key,
            watch=lambda table, count: step(table, count, max(total, count)) if table == "verdicts" else None,
        )  # fmt: skip
    if writing_result.entry is None:
        print_line(f"{out}: nothing new in {open_ledger.place}")
    else:
        counts = ", ".join(
            f"{count:,} {table}" for table, count in writing_result.rows.items() if table in _COUNTED_TABLES
        )
        size = sum(segment.bytes for segment in writing_result.entry.segments)
        print_line(
            f"{out}: added {counts or 'no verdicts'}; {len(writing_result.entry.segments)} segments, {size:,} bytes"
        )
    if writing_result.pictures:
        print_line(f"{writing_result.pictures:,} pictures were copied")
    signature_text = (
        f", signed by {writing_result.entry.signature.key}"
        if writing_result.entry and writing_result.entry.signature
        else ""
    )
    print_line(f"digest {writing_result.lake_digest}{signature_text}")


def _refuse_foreign(out: str) -> None:
    """Refuse a file, and a folder with other content than a lake."""
    folder = Path(out)
    if "://" in out or not folder.exists():
        return
    if not folder.is_dir():
        raise InputError("This is a file, but a lake is a folder. Choose another place.", path=out)
    names = {entry.name for entry in folder.iterdir() if not entry.name.startswith(".")}
    if "manifest" not in names and (other_names := sorted(names - {"segments", "pictures"})):
        raise InputError(
            f"This folder contains other files ({other_names[0]}) and no lake. Choose a new folder.", path=out
        )


_COUNTED_TABLES = ("items", "responses", "cases", "verdicts", "failures")


@lake_app.command()
def verify(
    place: Annotated[str, argument("Lake: a folder, or s3://bucket/prefix.")],
    everything: Annotated[
        bool, option("Read every segment again, including those verified before and not changed since.", "--all")
    ] = False,
    digest: Annotated[
        str | None, option("Check that this earlier digest, as `lake write` prints it, is still there.")
    ] = None,
    key: Annotated[Path | None, option("Public key: check that all entries up to the last are signed by it.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Check that a lake is unchanged: the chain of its manifest, and the bytes of every segment.

    Segments that this machine has verified before, and that have not changed since, are skipped. `fullbench ledger
    verify LAKE` checks the rows themselves. The exit code is 0 without problems and 1 with problems, one line each.

    Example: fullbench lake verify lake --digest 3-9a41...
    """
    from fullbench.ledger.integrity.row_chain import LedgerDigest
    from fullbench.ledger.integrity.signatures import public_key
    from fullbench.ledger.lake.storage import store_at
    from fullbench.ledger.lake.verify_lake import check_lake

    if "://" not in place and not Path(place).is_dir():
        raise InputError("No such folder. Name a lake.", path=place)
    lake_check = check_lake(
        store_at(place),
        everything=everything,
        noted_digest=None if digest is None else LedgerDigest.from_text(digest),
        key=None if key is None else public_key(key),
    )
    if as_json:
        facts = {
            "path": place, "sound": not lake_check.problems, "problems": lake_check.problems,
            "entries": len(lake_check.entries), "read": lake_check.read, "passed_over": lake_check.passed_over,
            "unnamed": lake_check.unnamed_segments, "digest": str(lake_check.lake_digest),
        }  # fmt: skip
        typer.echo(json.dumps(facts, ensure_ascii=False, indent=2))
    elif lake_check.problems:
        for problem in lake_check.problems:
            typer.echo(problem)
        typer.echo(f"{place}: {len(lake_check.problems):,} problems found", err=True)
    else:
        counts_text = (
            f"{lake_check.read:,} segments read, {lake_check.passed_over:,} verified before and not changed since"
        )
        print_line(f"{place}: sound; {len(lake_check.entries):,} entries, {counts_text}")
        if lake_check.unnamed_segments:
            print_line(
                f"{len(lake_check.unnamed_segments):,} files belong to no entry, because a writer was stopped; they "
                "are ignored"
            )
        print_line(f"digest {lake_check.lake_digest}")
    if lake_check.problems:
        raise typer.Exit(1)
