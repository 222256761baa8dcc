"""The command line as far as a call needs it: one command or group, made without the others, or all of them."""

from __future__ import annotations

from importlib import import_module

import typer

from fullbench.cli.root import application

JUDGE = "Judge"
PANELS = {
    "Start here": ("demo", "init", "check"),
    JUDGE: ("judge", "answer", "run", "plan", "scale", "rerank", "tune", "batch", "rubric", "critic"),
    "Results": (
        "report", "card", "audit", "gate", "canary", "equate", "leaderboard", "show", "replay", "reproduce",
    ),
    "Data": ("import", "export", "fetch-pictures", "compose", "ledger", "lake"),
    "People": ("people", "power"),
    "Admin": ("serve", "serve-scores", "list", "new"),
}  # fmt: skip
"""All commands and groups of our own, in the order of the help."""

ELSEWHERE = {
    "canary": ("succession", "canary"),
    "equate": ("succession", "equate"),
    "import": ("importing", "import_files"),
    "list": ("listing", "listing"),
}
"""Commands whose module has another name: the module, and the function in it."""

GROUPS = {
    "batch": ("batch",),
    "compose": ("compose", "building"),
    "critic": ("critic",),
    "lake": ("lake",),
    "leaderboard": ("leaderboard",),
    "ledger": ("ledger", "ledger_votes", "ledger_safety"),
    "new": ("new",),
    "people": ("people", "campaigns", "group_link", "leads"),
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


def application_for(first: str) -> typer.Typer:
    """The command line as far as a call needs it whose first word is this.

    The modules and parameters of all other commands would take a third of the time of a short one.
    """
    if not any(first in names for names in PANELS.values()):
        from fullbench.cli.app import app

        return app
    single = application()
    add(single, first)
    return single
