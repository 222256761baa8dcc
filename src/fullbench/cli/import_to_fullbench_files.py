"""`fullbench import`: files of other tools as files of fullbench, with a study that runs them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fullbench.cli.console import print_message, print_tables
from fullbench.cli.options import InputOptions, argument, option, options
from fullbench.errors import InputError


@options("pictures_from")
def import_files(
    kind: Annotated[str, argument("The kind of file, as `fullbench list` shows it under importers.")],
    paths: Annotated[list[Path], argument("The file, a folder of such files, or a data set's name.", metavar="path")],
    out: Annotated[Path, option("A folder to write to.")],
    inputs: InputOptions,
    extra_options: Annotated[
        list[str] | None, option("NAME=VALUE, such as model=gpt-4o. Again for more.", "--option")
    ] = None,
) -> None:
    """Read what another tool left on disk, and write items, responses, labels and verdicts with a study that runs them.

    Examples:

        fullbench import vlmevalkit MMBench.tsv --out mmbench

        fullbench import arena battles.json --out battles && fullbench run battles/study.toml

        fullbench import huggingface data.parquet --out mine --option question=prompt --option response.gpt-4o=answer

        fullbench import huggingface ORG/NAME --out mine --option question=prompt
    """
    from fullbench.core.plugin_entry_points import load_plugin
    from fullbench.files.exchange.huggingface import NAME, download_dataset
    from fullbench.files.items_from_picture_folder import check_new
    from fullbench.studies.exchange.runnable_study_export import export_study

    malformed_options = [option for option in extra_options or () if "=" not in option]
    if malformed_options:
        raise InputError(f"an option is NAME=VALUE; found {malformed_options[0]!r}")
    if len(paths) > 1:
        raise InputError(f"one file or folder is read at a time; found {len(paths)}: put the files into one folder")
    (path,) = paths
    kind = kind.replace("-", "_")
    importer = load_plugin("importers", kind)
    is_dataset_name = kind == "huggingface" and not path.exists() and NAME.fullmatch(path.as_posix())
    if not path.exists() and not is_dataset_name:
        raise InputError("there is no such file or folder", path=path)
    check_new(out)
    path = download_dataset(path.as_posix()) if is_dataset_name else path
    with inputs.allow_pictures():
        imported_data = importer(path, dict(option.split("=", 1) for option in extra_options or ()))
    counts = export_study(imported_data.record, out, benchmark=None)
    print_tables(imported_data.tables, as_json=False)
    print_message(f"Written to {out}: {', '.join(f'{count:,} {what}' for what, count in counts.items())}.")
    if counts.get("responses"):
        print_message(f"Next: fullbench run {out / 'study.toml'}")
    else:
        print_message(
            f"Next: fullbench answer --items {out / 'items.jsonl'} --contestant openai:NAME --out answers.jsonl"
        )
