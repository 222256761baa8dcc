"""Commands and groups with their modules and help panels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from importlib import import_module
from inspect import cleandoc
from itertools import groupby
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from fullbench.core import plugin_entry_points
from fullbench.errors import InputError

RUN = "Run"
HELP_PANELS = {
    "Start": ("demo", "init", "check"),
    RUN: ("run", "judge", "answer", "audit", "plan", "rerank", "tune", "batch", "rubric", "critic"),
    "Results": ("report", "card", "leaderboard", "show", "gate", "replay", "reproduce"),
    "Data": ("import", "export", "ledger", "fetch-pictures", "compose", "lake"),
    "People": ("people", "serve", "power"),
    "Servers and plugins": ("serve-judge", "serve-scores", "list", "new", "help"),
}
"""All own commands and groups, in the order of `fullbench help --all`."""

FIRST_SCREEN = {
    "demo", "init", "check", "run", "judge", "answer", "audit", "report", "card", "leaderboard", "show", "import",
    "export", "ledger", "people", "serve",
}  # fmt: skip
"""Commands of `fullbench --help`, which fits a terminal of 80 columns and 40 lines. The others are only named there."""

MOVED_COMMANDS = {"canary": "audit watch", "equate": "audit replace"}
"""Commands that people may still type, and what replaced them."""

RENAMED_COMMANDS = {
    "check": ("check_of_model_server", "check"),
    "help": ("help_on_commands", "print_help"),
    "init": ("init_study_file_by_interactive_questions", "init"),
    "import": ("import_of_other_tools_files", "import_files"),
    "list": ("list_of_plugins", "listing"),
    "power": ("power_of_human_votes", "power"),
    "replay": ("replay_tables_and_page_from_ledger", "replay"),
    "replace": ("audit_watch_and_replace", "replace_judge"),
    "serve-scores": ("serve_judge", "serve_judge"),
    "show": ("show_cases_with_prompts_and_replies", "show"),
    "watch": ("audit_watch_and_replace", "watch_judge"),
}
"""Module and function of commands whose module or function has another name."""

SUBCOMMANDS = {"audit": ("watch", "replace")}
"""Sub-commands of commands that take arguments of their own: `audit JUDGE` next to `audit watch JUDGE`."""

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
    kind = CommandWithSubcommands if name in SUBCOMMANDS else None
    app.command(name, cls=kind, rich_help_panel=panel)(getattr(import_module(f"fullbench.cli.{module}"), function))


class CommandWithSubcommands(TyperCommand):
    """Command that runs a sub-command if its first word is the name of one."""

    @cached_property
    def commands(self) -> dict[str, Any]:
        app = typer.Typer(rich_markup_mode="markdown")
        for name in SUBCOMMANDS[self.name or ""]:
            add_command(app, name)
        group: Any = get_command(app)
        inner_commands: dict[str, Any] = group.commands
        return inner_commands

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        inner_command = self.commands.get(args[0]) if args else None
        if inner_command is None:
            return super().make_context(info_name, args, parent, **extra)
        return inner_command.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)


class AllCommands(TyperGroup):
    """Group of all commands. Its help shows those of `FIRST_SCREEN` and names the others."""

    shows_all = False

    def format_help(self, ctx: Any, formatter: Any) -> None:
        parameters: list[Any] = [*self.get_params(ctx)]
        for parameter in parameters:
            # Four options would take seven lines of the first screen.
            parameter.hidden = not self.shows_all
        other_names = [name for name in self.list_commands(ctx) if name not in FIRST_SCREEN]
        for name in other_names:
            self.commands[name].hidden = not self.shows_all
        if not self.shows_all:
            self.epilog = (
                f"More commands: {', '.join(other_names)}.\n\n"
                "All commands: fullbench help --all. One command: fullbench COMMAND --help."
            )
        super().format_help(ctx, formatter)

    def list_commands(self, ctx: Any) -> list[str]:
        order = {name: place for place, name in enumerate(name for names in HELP_PANELS.values() for name in names)}
        last_place = order[HELP_PANELS[RUN][-1]]  # commands of plugins come after our own in their panel
        return sorted(self.commands, key=lambda name: order.get(name, last_place))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] in MOVED_COMMANDS and args[0] not in self.commands:
            raise InputError(f"`fullbench {args[0]}` is now `fullbench {MOVED_COMMANDS[args[0]]}`.")
        return super().resolve_command(ctx, args)


def exit_with_code(code: object, **_: object) -> None:
    """Exit with the code that a command returned."""
    if isinstance(code, int) and code:
        raise typer.Exit(code)


def show_version_or_help(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Judge multimodal models, and evaluate the judges."""
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


TYPE_LABELS = {"str": "text", "int": "integer", "int range": "integer", "float": "number", "float range": "number"}
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
        help="Judge multimodal models, and evaluate the judges.",
        cls=AllCommands,
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
        if panel == RUN:
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
            app.add_typer(command, name=name, rich_help_panel=RUN)
        else:
            app.command(name, rich_help_panel=RUN)(command)


def _failing_command(error: InputError) -> Callable[[], NoReturn]:
    def raise_error() -> NoReturn:
        """Plugin command that does not load. Call it to see why."""
        raise error

    return raise_error
