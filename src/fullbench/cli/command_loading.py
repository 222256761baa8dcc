"""Lazy loading: a call imports one command or group only."""

from __future__ import annotations

import typer

from fullbench.cli.application import HELP_PANELS, add_command, create_application


def application_for(first: str) -> typer.Typer:
    """Return the application for a call with this first word: one command or group, or all of them.

    Loading all other commands would take a third of the time of a short command.
    """
    if not any(first in names for names in HELP_PANELS.values()):
        from fullbench.cli.all_commands import app

        return app
    single = create_application()
    add_command(single, first)
    return single
