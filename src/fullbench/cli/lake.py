"""`fullbench lake`: a ledger as immutable Parquet files, for very many verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.console import print_line, progress_bar
from fullbench.cli.options import JsonOption, LedgerOptions, QuietOption, argument, option, options
from fullbench.errors import InputError

lake_app = typer.Typer(
    name="lake",
    help="Seal a ledger into files of Parquet, in a folder or a bucket; every command that reads a ledger reads them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@lake_app.command()
@options("place ledger key quiet")
def write(
    out: Annotated[str, option("The lake: a folder, or s3://bucket/prefix. Made where there is none.")],
    store: LedgerOptions,
    key: Annotated[
        Path | None, option("Sign the manifest with this private key (Ed25519; `ledger sign --new` makes one).")
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Seal what is new in a ledger into its lake: immutable segments under a chained manifest.

    What was sealed before is not written again. Stopped at any moment, the lake is as it was before, and the same
    command goes on. Note the digest that it prints elsewhere: `lake verify --digest` proves later that nothing is
    missing. Example: fullbench lake write study.ledger --out lake
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
        print_line(f"{out}: nothing is new in {open_ledger.place}")
    else:
        counts = ", ".join(
            f"{count:,} {table}" for table, count in writing_result.rows.items() if table in _COUNTED_TABLES
        )
        size = sum(segment.bytes for segment in writing_result.entry.segments)
        print_line(
            f"{out}: new are {counts or 'no verdicts'}; {len(writing_result.entry.segments)} segments, {size:,} bytes"
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
        raise InputError("this is a file, and a lake is a folder; name another place", path=out)
    names = {entry.name for entry in folder.iterdir() if not entry.name.startswith(".")}
    if "manifest" not in names and (other_names := sorted(names - {"segments", "pictures"})):
        raise InputError(f"other things lie in this folder ({other_names[0]}), and no lake; name a new one", path=out)


_COUNTED_TABLES = ("items", "responses", "cases", "verdicts", "failures")


@lake_app.command()
def verify(
    place: Annotated[str, argument("The lake: a folder, or s3://bucket/prefix.")],
    everything: Annotated[
        bool, option("Read every segment again, also those that were read before and not touched.", "--all")
    ] = False,
    digest: Annotated[str | None, option("A digest noted before, as `lake write` prints it: is it there?")] = None,
    key: Annotated[Path | None, option("A public key: are all entries up to the last signed by it?")] = None,
    as_json: JsonOption = False,
) -> None:
    """Check that a lake is as it was written: its manifest's chain, and every segment's bytes.

    Segments that this machine has verified before, and that the folder or bucket has not been given anew since, are
    passed over. `fullbench ledger verify LAKE` checks the rows themselves, each in the chain of its writer.
    Exit code 0 when it is sound, 1 with one line for each problem when it is not.
    Example: fullbench lake verify lake --digest 3-9a41...
    """
    from fullbench.ledger.integrity.row_chain import LedgerDigest
    from fullbench.ledger.integrity.signatures import public_key
    from fullbench.ledger.lake.storage import store_at
    from fullbench.ledger.lake.verify_lake import check_lake

    if "://" not in place and not Path(place).is_dir():
        raise InputError("there is no such folder; name a lake", path=place)
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
        typer.echo(f"{place}: {len(lake_check.problems):,} problems were found", err=True)
    else:
        counts_text = f"{lake_check.read:,} segments read, {lake_check.passed_over:,} read before and not touched since"
        print_line(f"{place}: sound; {len(lake_check.entries):,} entries, {counts_text}")
        if lake_check.unnamed_segments:
            print_line(
                f"{len(lake_check.unnamed_segments):,} files are named by no entry: a writer was stopped; they "
                "count for nothing"
            )
        print_line(f"digest {lake_check.lake_digest}")
    if lake_check.problems:
        raise typer.Exit(1)
