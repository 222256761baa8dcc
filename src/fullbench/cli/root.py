"""What stands above all commands."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.main import get_command

from fullbench.cli.examples import pasteable


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


PLAIN = {
    "str": "text", "int": "whole number", "int range": "whole number", "float": "number", "float range": "number",
}  # fmt: skip
"""What options and arguments take, as people call it."""


def command_of(app: typer.Typer) -> Any:
    """The commands of an app, whose help has no words of Python beside options, and examples that can be pasted."""
    command = get_command(app)
    _in_words(command)
    return command


def _in_words(command: Any) -> None:
    command.help = pasteable(command.help or "")
    for parameter in command.params:
        if parameter.type.name in PLAIN:
            parameter.type.name = PLAIN[parameter.type.name]
    for inner in getattr(command, "commands", {}).values():
        _in_words(inner)


def application() -> typer.Typer:
    """The command line, without commands yet."""
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
