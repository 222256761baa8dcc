"""Commands that enter by the door `commands`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import typer

from fullbench.core import plugin_entry_points
from fullbench.errors import InputError


def enter(app: typer.Typer, *, rich_help_panel: str) -> None:
    """Give an app the commands of the door. One that does not load says so when it is called, and harms no other."""
    for name in plugin_entry_points.names("commands"):
        try:
            command = plugin_entry_points.load("commands", name)
        except InputError as error:
            command = _broken(error)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, rich_help_panel=rich_help_panel)
        else:
            app.command(name, rich_help_panel=rich_help_panel)(command)


def _broken(error: InputError) -> Callable[[], NoReturn]:
    def broken() -> NoReturn:
        """This command of a plugin does not load; call it to see why."""
        raise error

    return broken
