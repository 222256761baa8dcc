"""Our commands and groups: where each is, and in which panel of the help."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.main import get_command

from fullbench.cli.help_examples import pasteable

JUDGE = "Judge"
PANELS = {
    "Start here": ("demo", "init", "check"),
    JUDGE: ("judge", "answer", "run", "plan", "rerank", "tune", "batch", "rubric", "critic"),
    "Results": (
        "report", "card", "audit", "gate", "canary", "equate", "leaderboard", "show", "replay", "reproduce",
    ),
    "Data": ("import", "export", "fetch-pictures", "compose", "ledger", "lake"),
    "People": ("people", "power"),
    "Admin": ("serve", "serve-scores", "list", "new"),
}  # fmt: skip
"""All commands and groups of our own, in the order of the help."""

ELSEWHERE = {
    "canary": ("canary_and_equate", "canary"),
    "equate": ("canary_and_equate", "equate"),
    "import": ("import_", "import_files"),
    "list": ("list_", "listing"),
}
"""Commands whose module has another name: the module, and the function in it."""

GROUPS = {
    "batch": ("batch",),
    "compose": ("compose", "compose_pairs"),
    "critic": ("critic",),
    "lake": ("lake",),
    "leaderboard": ("leaderboard",),
    "ledger": ("ledger", "ledger_admin"),
    "new": ("new_plugin",),
    "people": ("people", "people_admin"),
    "rubric": ("rubric",),
}
"""Groups of commands: the modules that have them, the one that makes the group first."""


def add(app: typer.Typer, name: str, panel: str | None = None) -> None:
    """Give an app one of our commands, or one of our groups with all that it has."""
    if name in GROUPS:
        first, *_ = [import_module(f"fullbench.cli.{module}") for module in GROUPS[name]]
        app.add_typer(getattr(first, f"{name}_app"), name=name, rich_help_panel=panel)
        return
    same = name.replace("-", "_")
    module, function = ELSEWHERE.get(name, (same, same))
    app.command(name, rich_help_panel=panel)(getattr(import_module(f"fullbench.cli.{module}"), function))


# What stands above all commands.


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
