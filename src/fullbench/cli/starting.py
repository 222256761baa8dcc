"""The command line as far as a call needs it: one command, made without the others, or all of them."""

from __future__ import annotations

from importlib import import_module

import typer

from fullbench.cli.root import application

SINGLE = {
    name: name
    for name in (
        "answer", "card", "demo", "export", "judge", "plan", "power", "replay", "report", "reproduce", "rerank", "run",
        "serve", "show",
    )
} | {"list": "listing"}  # fmt: skip
"""The commands that are no groups: where each is, as a module and its function of the same name."""


def application_for(first: str) -> typer.Typer:
    """The command line as far as a call needs it whose first word is this.

    The modules and parameters of sixty other commands would take a fifth of the time of a short one.
    """
    if first not in SINGLE:
        from fullbench.cli.app import app

        return app
    single = application()
    place = SINGLE[first]
    single.command(first)(getattr(import_module(f"fullbench.cli.{place}"), place))
    return single
