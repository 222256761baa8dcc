"""Commands and groups with their modules and help panels."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.main import get_command

from fullbench.cli.help_examples import format_examples

JUDGE = "Judge"
HELP_PANELS = {
    "Start here": ("demo", "init", "check"),
    JUDGE: ("judge", "answer", "run", "plan", "rerank", "tune", "batch", "rubric", "critic"),
    "Results": (
        "report", "card", "audit", "gate", "canary", "equate", "leaderboard", "show", "replay", "reproduce",
    ),
    "Data": ("import", "export", "fetch-pictures", "compose", "ledger", "lake"),
    "People": ("people", "power"),
    "Admin": ("serve", "serve-scores", "list", "new"),
}  # fmt: skip
"""All own commands and groups, in the order of the help."""

RENAMED_COMMANDS = {
    "canary": ("canary_and_equate", "canary"),
    "equate": ("canary_and_equate", "equate"),
    "import": ("import_", "import_files"),
    "list": ("list_", "listing"),
}
"""Module and function of commands whose module has another name."""

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
"""Modules of each group of commands; the first one creates the group."""


def add_command(app: typer.Typer, name: str, panel: str | None = None) -> None:
    """Add one of our commands or groups to an app."""
    if name in GROUPS:
        first, *_ = [import_module(f"fullbench.cli.{module}") for module in GROUPS[name]]
        app.add_typer(getattr(first, f"{name}_app"), name=name, rich_help_panel=panel)
        return
    module_name = name.replace("-", "_")
    module, function = RENAMED_COMMANDS.get(name, (module_name, module_name))
    app.command(name, rich_help_panel=panel)(getattr(import_module(f"fullbench.cli.{module}"), function))


def exit_with_code(code: object, **_: object) -> None:
    """Exit with the code that a command returned."""
    if isinstance(code, int) and code:
        raise typer.Exit(code)


def show_version_or_help(
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


TYPE_LABELS = {
    "str": "text", "int": "whole number", "int range": "whole number", "float": "number", "float range": "number",
}  # fmt: skip
"""Type names in the help."""


def build_command(app: typer.Typer) -> Any:
    """Return the Click command of an app, with plain type names and examples that can be pasted."""
    command = get_command(app)
    _simplify_help(command)
    return command


def _simplify_help(command: Any) -> None:
    command.help = format_examples(command.help or "")
    for parameter in command.params:
        if parameter.type.name in TYPE_LABELS:
            parameter.type.name = TYPE_LABELS[parameter.type.name]
    for inner in getattr(command, "commands", {}).values():
        _simplify_help(inner)


def create_application() -> typer.Typer:
    """Return the application without commands."""
    app = typer.Typer(
        name="fullbench",
        help="Judge multimodal models, and judge the judges.",
        epilog="Start with: fullbench demo. Then: fullbench init, fullbench check, fullbench run.",
        no_args_is_help=True,
        result_callback=exit_with_code,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(show_version_or_help)
    return app
