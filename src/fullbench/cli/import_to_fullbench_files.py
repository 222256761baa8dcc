"""`fullbench import`: files of other tools as files of fullbench, with a study that runs them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fullbench.cli.console import command_text, print_message, print_tables
from fullbench.cli.shared_options_and_run_output import InputOptions, argument, option, options
from fullbench.errors import InputError


@options("pictures_from")
def import_files(
    kind: Annotated[str, argument("Kind of file, as `fullbench list` shows under importers.")],
    paths: Annotated[list[Path], argument("File, folder of such files, or name of a data set.", metavar="path")],
    out: Annotated[Path, option("Folder for the converted files.")],
    inputs: InputOptions,
    extra_options: Annotated[
        list[str] | None, option("NAME=VALUE, for example model=gpt-4o. Repeatable.", "--option")
    ] = None,
) -> None:
    """Convert files of other tools to items, responses and verdicts.

    It writes items, responses, labels and verdicts, and a study that uses them.

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
        raise InputError(f"--option {malformed_options[0]!r} is not NAME=VALUE.")
    if len(paths) > 1:
        raise InputError(f"One file or folder is read at a time; found {len(paths)}. Put the files into one folder.")
    (path,) = paths
    kind = kind.replace("-", "_")
    importer = load_plugin("importers", kind)
    is_dataset_name = kind == "huggingface" and not path.exists() and NAME.fullmatch(path.as_posix())
    if not path.exists() and not is_dataset_name:
        raise InputError("No such file or folder.", path=path)
    check_new(out)
    path = download_dataset(path.as_posix()) if is_dataset_name else path
    with inputs.allow_pictures():
        imported_data = importer(path, dict(option.split("=", 1) for option in extra_options or ()))
    counts = export_study(imported_data.record, out, benchmark=None)
    print_tables(imported_data.tables, as_json=False)
    print_message(f"Written to {out}: {', '.join(f'{count:,} {what}' for what, count in counts.items())}.")
    if counts.get("responses"):
        print_message(f"Next: {command_text('run', out / 'study.toml')}")
    else:
        words = ("--items", out / "items.jsonl", "--contestant", "openai:gpt-4o", "--out", "answers.jsonl")
        print_message(f"Next: {command_text('answer', *words)}")
