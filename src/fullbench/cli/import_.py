"""`fullbench import`: other people's files as files of ours, with a study that runs them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.options import PicturesFromOption, say, show


def import_files(
    kind: Annotated[str, typer.Argument(help="The kind of file, as `fullbench list` shows it under importers.")],
    path: Annotated[Path, typer.Argument(help="The file, a folder of such files, or a data set's name.")],
    out: Annotated[Path, typer.Option(help="A folder to write to.")],
    options: Annotated[
        list[str] | None, typer.Option("--option", help="NAME=VALUE, such as model=gpt-4o. Again for more.")
    ] = None,
    pictures_from: PicturesFromOption = None,
) -> None:
    """Read what another tool left on disk, and write items, responses, labels and verdicts with a study that runs them.

    Examples:

        fullbench import vlmevalkit MMBench.tsv --out mmbench

        fullbench import arena battles.json --out battles && fullbench run battles/study.toml

        fullbench import huggingface data.parquet --out mine --option question=prompt --option response.gpt-4o=answer

        fullbench import huggingface ORG/NAME --out mine --option question=prompt
    """
    from fullbench.core.plugin_entry_points import load
    from fullbench.errors import InputError
    from fullbench.files.exchange.huggingface import NAME, fetched
    from fullbench.files.picture_access_policy import allowing
    from fullbench.files.picture_folders import check_new
    from fullbench.studies.exchange.export_record import export

    wrong = [option for option in options or () if "=" not in option]
    if wrong:
        raise InputError(f"an option is NAME=VALUE; found {wrong[0]!r}")
    kind = kind.replace("-", "_")
    importer = load("importers", kind)
    named = kind == "huggingface" and not path.exists() and NAME.fullmatch(path.as_posix())
    if not path.exists() and not named:
        raise InputError("there is no such file or folder", path=path)
    check_new(out)
    path = fetched(path.as_posix()) if named else path
    with allowing(*pictures_from or ()):
        brought = importer(path, dict(option.split("=", 1) for option in options or ()))
    counts = export(brought.record, out, benchmark=None)
    show(brought.tables, as_json=False)
    say(f"Written to {out}: {', '.join(f'{count:,} {what}' for what, count in counts.items())}.")
    if counts.get("responses"):
        say(f"Next: fullbench run {out / 'study.toml'}")
    else:
        say(f"Next: fullbench answer --items {out / 'items.jsonl'} --contestant openai:NAME --out answers.jsonl")
