"""Commands of plugins of the type `commands`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import typer

from fullbench.core import plugin_entry_points
from fullbench.errors import InputError


def add_plugin_commands(app: typer.Typer, *, rich_help_panel: str) -> None:
    """Add the commands of plugins to an app. One that fails to load raises its error when it is called."""
    for name in plugin_entry_points.plugin_names("commands"):
        try:
            command = plugin_entry_points.load_plugin("commands", name)
        except InputError as error:
            command = _failing_command(error)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, rich_help_panel=rich_help_panel)
        else:
            app.command(name, rich_help_panel=rich_help_panel)(command)


def _failing_command(error: InputError) -> Callable[[], NoReturn]:
    def raise_error() -> NoReturn:
        """This command of a plugin does not load; call it to see why."""
        raise error

    return raise_error
