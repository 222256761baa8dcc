"""`fullbench help`: help on all commands, or on one."""

from __future__ import annotations

from typing import Annotated

from fullbench.cli.shared_options_and_run_output import argument, option
from fullbench.errors import InputError


def print_help(
    words: Annotated[
        list[str] | None, argument("A command, such as `run` or `ledger show`.", metavar="COMMAND")
    ] = None,
    all_commands: Annotated[bool, option("List all commands, not only the most common.", "--all")] = False,
) -> None:
    """Show help on all commands, or on one command.

    Examples:

        fullbench help --all

        fullbench help ledger show
    """
    from fullbench.cli.command_modules_and_help_panels import build_command, full_application

    root = build_command(full_application())
    root.shows_all = all_commands
    command = root
    for word in words or ():
        command = getattr(command, "commands", {}).get(word)
        if command is None:
            raise InputError(f"There is no command `fullbench {' '.join(words or ())}`. See `fullbench help --all`.")
    root.main([*(words or ()), "--help"], prog_name="fullbench", standalone_mode=False)
