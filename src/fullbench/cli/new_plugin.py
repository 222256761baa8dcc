"""`fullbench new`: write the skeleton of a plugin."""

from __future__ import annotations

import keyword
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.console import print_message
from fullbench.cli.shared_options_and_run_output import argument, option
from fullbench.errors import InputError

new_app = typer.Typer(help="Create the skeleton of a plugin.", no_args_is_help=True)


@new_app.callback()
def new() -> None:
    """Create the skeleton of a plugin."""


@new_app.command("benchmark")
def new_benchmark(
    name: Annotated[str, argument("Python name, for example my_paper.")],
    to: Annotated[Path, option("Parent folder of the new package.", "--to", "--out")] = Path(),
) -> None:
    """Create a package with your own benchmark. It runs at once and passes fullbench's checks.

    Examples:

        fullbench new benchmark my_paper && pip install -e my_paper && pytest my_paper
    """
    if not name.isidentifier() or keyword.iskeyword(name) or not name.islower():
        raise InputError(f"{name!r} is not a package name. Use small letters, digits and _, for example my_paper.")
    folder = to / name
    if folder.exists():
        raise InputError("This folder exists already. Choose another name, or move it away.", path=folder)
    text = (resources.files("fullbench.cli") / "skeleton" / "benchmark.txt").read_text(encoding="utf-8")
    for part in text.split("=== ")[1:]:
        head, _, body = part.replace("@NAME@", name).partition("\n")
        target = folder / head
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(body, encoding="utf-8")
    print_message(f"Written: {folder}. Next: pip install -e {folder} && pytest {folder}")
