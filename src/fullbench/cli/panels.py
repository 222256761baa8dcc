"""Our commands and groups: where each is, and in which panel of the help."""

from __future__ import annotations

from importlib import import_module

import typer

JUDGE = "Judge"
PANELS = {
    "Start here": ("demo", "init", "check"),
    JUDGE: ("judge", "answer", "run", "plan", "rerank", "tune", "batch", "rubric", "critic"),
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
