"""Commands and groups with their modules and help panels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from inspect import cleandoc
from itertools import groupby
from typing import Annotated, Any, NoReturn

import typer
from typer.main import get_command

from fullbench.core import plugin_entry_points
from fullbench.errors import InputError

JUDGE = "Judge"
HELP_PANELS = {
    "Start here": ("demo", "init", "check"),
    JUDGE: ("judge", "answer", "run", "plan", "rerank", "tune", "batch", "rubric", "critic"),
    "Results": (
        "report", "card", "audit", "gate", "canary", "equate", "leaderboard", "show", "replay", "reproduce",
    ),
    "Data": ("import", "export", "fetch-pictures", "compose", "ledger", "lake"),
    "People": ("people", "power"),
    "Admin": ("serve", "serve-judge", "serve-scores", "list", "new"),
}  # fmt: skip
"""All own commands and groups, in the order of the help."""

RENAMED_COMMANDS = {
    "canary": ("canary_and_equate", "canary"),
    "equate": ("canary_and_equate", "equate"),
    "import": ("import_to_fullbench_files", "import_files"),
    "list": ("list_of_plugins", "listing"),
    "serve-scores": ("serve_judge", "serve_judge"),
}
"""Module and function of commands whose module has another name."""

GROUPS = {
    "batch": ("batch",),
    "compose": ("compose", "compose_picture_and_prompt_variants"),
    "critic": ("critic",),
    "lake": ("lake",),
    "leaderboard": ("leaderboard",),
    "ledger": ("ledger", "ledger_import_backup_upgrade_sign"),
    "new": ("new_plugin",),
    "people": ("people", "people_campaign_control"),
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
        from fullbench.version_and_code_digest import __version__

        typer.echo(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


INDENT = " " * 4
WIDTH = 76
"""Columns of an 80-column terminal within the margins of a block."""

_WORDS = re.compile(r"""(?:[^\s"']+|"[^"]*"|'[^']*')+""")


def format_examples(text: str) -> str:
    """Return a help text with its indented lines as code blocks; long lines continue after a backslash.

    >>> print(format_examples("Judge.\\n\\nExamples:\\n\\n    fullbench run 1.toml\\n\\n    fullbench run 2.toml\\n"))
    Judge.
    <BLANKLINE>
    Examples:
    <BLANKLINE>
    ```console
    fullbench run 1.toml
    fullbench run 2.toml
    ```
    """
    paragraphs = cleandoc(text).split("\n\n")
    return "\n\n".join(
        _console_block(group) if is_example else "\n\n".join(group)
        for is_example, group in groupby(paragraphs, key=lambda paragraph: paragraph.startswith(INDENT))
    )


def _console_block(paragraphs: Iterator[str]) -> str:
    lines = (line for paragraph in paragraphs for line in _example_lines(paragraph))
    return "\n".join(["```console", *lines, "```"])


def _example_lines(paragraph: str) -> Iterator[str]:
    """Yield the lines of one example, at most `WIDTH` long unless a single word is longer."""
    for line in re.sub(r"\\\n\s*", "", cleandoc(paragraph)).splitlines():
        pieces = [line] if line.startswith((" ", "#")) else list(_split_words(line))
        current_line = pieces[0]
        for piece in pieces[1:]:
            if len(current_line) + len(piece) + 3 > WIDTH:
                yield f"{current_line} \\"
                current_line = INDENT + piece
            else:
                current_line += f" {piece}"
        yield current_line


def _split_words(line: str) -> Iterator[str]:
    """Yield the words of a line; an option and its value stay together."""
    option = ""
    for word in _WORDS.findall(line):
        if option and not word.startswith("-"):
            yield f"{option} {word}"
            option = ""
            continue
        if option:
            yield option
        option = word if word.startswith("--") else ""
        if not option:
            yield word
    if option:
        yield option


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


@cache
def full_application() -> typer.Typer:
    """Return the application with all commands."""
    app = create_application()
    for panel, names in HELP_PANELS.items():
        for name in names:
            add_command(app, name, panel)
        if panel == JUDGE:
            _add_plugin_commands(app)
    return app


def application_for(first: str) -> typer.Typer:
    """Return the application for a call with this first word: one command or group, or all of them.

    Loading all other commands would take a third of the time of a short command.
    """
    if not any(first in names for names in HELP_PANELS.values()):
        return full_application()
    single = create_application()
    add_command(single, first)
    return single


def _add_plugin_commands(app: typer.Typer) -> None:
    """Add the commands of plugins to an app. One that fails to load raises its error when it is called."""
    for name in plugin_entry_points.plugin_names("commands"):
        try:
            command = plugin_entry_points.load_plugin("commands", name)
        except InputError as error:
            command = _failing_command(error)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, rich_help_panel=JUDGE)
        else:
            app.command(name, rich_help_panel=JUDGE)(command)


def _failing_command(error: InputError) -> Callable[[], NoReturn]:
    def raise_error() -> NoReturn:
        """This command of a plugin does not load; call it to see why."""
        raise error

    return raise_error
