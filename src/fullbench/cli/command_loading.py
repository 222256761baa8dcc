"""The command line as far as a call needs it: one command or group, made without the others, or all of them."""

from __future__ import annotations

import typer

from fullbench.cli.application import PANELS, add, application


def application_for(first: str) -> typer.Typer:
    """The command line as far as a call needs it whose first word is this.

    The modules and parameters of all other commands would take a third of the time of a short one.
    """
    if not any(first in names for names in PANELS.values()):
        from fullbench.cli.all_commands import app

        return app
    single = application()
    add(single, first)
    return single
