"""`fullbench new`: write the skeleton of a plugin."""

from __future__ import annotations

import keyword
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.console import print_message
from fullbench.cli.options import argument, option
from fullbench.errors import InputError

new_app = typer.Typer(help="Write the skeleton of a plugin.", no_args_is_help=True)


@new_app.callback()
def new() -> None:
    """Write the skeleton of a plugin."""


@new_app.command("benchmark")
def new_benchmark(
    name: Annotated[str, argument("A Python name, such as my_paper.")],
    to: Annotated[Path, option("The folder to make it in.")] = Path(),
) -> None:
    """Write a package with a benchmark of your own that runs at once and passes fullbench's checks.

    Examples:

        fullbench new benchmark my_paper && pip install -e my_paper && pytest my_paper
    """
    if not name.isidentifier() or keyword.iskeyword(name) or not name.islower():
        raise InputError(f"{name!r} is no name for a package: use small letters, digits and _, such as my_paper")
    folder = to / name
    if folder.exists():
        raise InputError("it is there already; choose another name, or move it away", path=folder)
    text = (resources.files("fullbench.cli") / "skeleton" / "benchmark.txt").read_text(encoding="utf-8")
    for part in text.split("=== ")[1:]:
        head, _, body = part.replace("@NAME@", name).partition("\n")
        target = folder / head
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(body, encoding="utf-8")
    print_message(f"Made {folder}. Next: pip install -e {folder} && pytest {folder}")
