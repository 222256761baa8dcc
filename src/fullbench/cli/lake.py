"""`fullbench lake`: a ledger sealed into files of Parquet, for more verdicts than one database should hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.ledger import LedgerArgument
from fullbench.cli.options import DEFAULT_LEDGER, JsonOption, LedgerOption, QuietOption, bar
from fullbench.errors import InputError

lake_app = typer.Typer(
    name="lake",
    help="Seal a ledger into files of Parquet, in a folder or a bucket; every command that reads a ledger reads them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@lake_app.command()
def write(
    out: Annotated[str, typer.Option(help="The lake: a folder, or s3://bucket/prefix. Made where there is none.")],
    place: LedgerArgument = None,
    ledger: LedgerOption = DEFAULT_LEDGER,
    key: Annotated[
        Path | None,
        typer.Option(help="Sign the manifest with this private key (Ed25519; `ledger sign --new` makes one)."),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Seal what is new in a ledger into its lake: immutable segments under a chained manifest.

    What was sealed before is not written again. Stopped at any moment, the lake is as it was before, and the same
    command goes on. Note the head that it prints elsewhere: `lake verify --head` proves later that nothing is missing.
    Example: fullbench lake write study.ledger --out lake
    """
    from fullbench.ledger.integrity.signatures import private_key
    from fullbench.ledger.lake import write_lake
    from fullbench.ledger.lake.storage import store_at
    from fullbench.ledger.ledger import Ledger

    _refuse_foreign(out)
    signing = None if key is None else private_key(key)
    with Ledger(place or ledger, read_only=True) as opened, bar("sealing", quiet=quiet) as step:
        with opened.reader() as reader:
            total = reader.execute("SELECT count(*) FROM verdicts").fetchone()[0]
        done = write_lake.write(
            opened, store_at(out), key=signing,
            watch=lambda table, count: step(table, count, max(total, count)) if table == "verdicts" else None,
        )  # fmt: skip
    if done.entry is None:
        typer.echo(f"{out}: nothing is new in {opened.place}")
    else:
        counts = ", ".join(f"{count:,} {table}" for table, count in done.rows.items() if table in _TOLD)
        size = sum(segment.bytes for segment in done.entry.segments)
        typer.echo(f"{out}: new are {counts or 'no verdicts'}; {len(done.entry.segments)} segments, {size:,} bytes")
    if done.pictures:
        typer.echo(f"{done.pictures:,} pictures were copied")
    signed = f", signed by {done.entry.signature.key}" if done.entry and done.entry.signature else ""
    typer.echo(f"head {done.head}{signed}")


def _refuse_foreign(out: str) -> None:
    """Refuse a file, and a folder in which other things lie and no lake."""
    folder = Path(out)
    if "://" in out or not folder.exists():
        return
    if not folder.is_dir():
        raise InputError("this is a file, and a lake is a folder; name another place", path=out)
    names = {entry.name for entry in folder.iterdir() if not entry.name.startswith(".")}
    if "manifest" not in names and (others := sorted(names - {"segments", "pictures"})):
        raise InputError(f"other things lie in this folder ({others[0]}), and no lake; name a new one", path=out)


_TOLD = ("items", "responses", "cases", "verdicts", "failures")


@lake_app.command()
def verify(
    place: Annotated[str, typer.Argument(help="The lake: a folder, or s3://bucket/prefix.")],
    everything: Annotated[
        bool, typer.Option("--all", help="Read every segment again, also those that were read before and not touched.")
    ] = False,
    head: Annotated[
        str | None, typer.Option(help="A head noted before, as `lake write` prints it: is it there?")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="A public key: are all entries up to the last signed by it?")] = None,
    as_json: JsonOption = False,
) -> None:
    """Check that a lake is as it was written: its manifest's chain, and every segment's bytes.

    Segments that this machine has verified before, and that the folder or bucket has not been given anew since, are
    passed over. `fullbench ledger verify LAKE` checks the rows themselves, each in the chain of its writer.
    Exit code 0 when it is sound, 1 with one line for each problem when it is not.
    Example: fullbench lake verify lake --head 3-9a41...
    """
    from fullbench.ledger.integrity.row_chain import Head
    from fullbench.ledger.integrity.signatures import public_key
    from fullbench.ledger.lake.storage import store_at
    from fullbench.ledger.lake.verify_lake import examined

    if "://" not in place and not Path(place).is_dir():
        raise InputError("there is no such folder; name a lake", path=place)
    found = examined(
        store_at(place),
        everything=everything,
        noted=None if head is None else Head.read(head),
        key=None if key is None else public_key(key),
    )
    if as_json:
        facts = {
            "path": place, "sound": not found.problems, "problems": found.problems, "entries": len(found.entries),
            "read": found.read, "passed_over": found.passed_over, "unnamed": found.unnamed, "head": str(found.head),
        }  # fmt: skip
        typer.echo(json.dumps(facts, ensure_ascii=False, indent=2))
    elif found.problems:
        for problem in found.problems:
            typer.echo(problem)
        typer.echo(f"{place}: {len(found.problems):,} problems were found", err=True)
    else:
        looked = f"{found.read:,} segments read, {found.passed_over:,} read before and not touched since"
        typer.echo(f"{place}: sound; {len(found.entries):,} entries, {looked}")
        if found.unnamed:
            typer.echo(
                f"{len(found.unnamed):,} files are named by no entry: a writer was stopped; they count for nothing"
            )
        typer.echo(f"head {found.head}")
    if found.problems:
        raise typer.Exit(1)
