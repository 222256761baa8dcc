"""What stands above all commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer
from typer.core import TyperArgument, TyperOption


def leave(code: object, **_: object) -> None:
    """What a command returns is its exit code."""
    if isinstance(code, int) and code:
        raise typer.Exit(code)


def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    """Judge multimodal models, and judge the judges."""
    if version:
        from fullbench.version import __version__

        typer.echo(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def in_words(parameter: Any, ctx: object) -> str:  # noqa: ARG001 (typer gives it)
    """What an option or argument takes, in words of the command line; nothing where it is a switch."""
    described = parameter.type_descriptor
    if described.is_choice:
        return "|".join(map(str, described.choices))
    kind = described.annotation
    if get_origin(kind) is list:
        (kind,) = get_args(kind)
    return {bool: "", int: "NUMBER", float: "NUMBER", Path: "PATH"}.get(kind, "TEXT")


def application() -> typer.Typer:
    """The command line, without commands yet."""
    for kind in (TyperOption, TyperArgument):  # typer would show Python's own words: <list[str]>, <bool>
        kind.display_type = in_words  # type: ignore[method-assign, assignment]
    app = typer.Typer(
        name="fullbench",
        help="Judge multimodal models, and judge the judges.",
        epilog="Start with: fullbench demo. Then: fullbench init, fullbench check, fullbench run.",
        no_args_is_help=True,
        result_callback=leave,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(root)
    return app
