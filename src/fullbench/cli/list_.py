"""`fullbench list`: what is installed."""

from __future__ import annotations

import typer

from fullbench.cli.options import JsonOption


def listing(as_json: JsonOption = False) -> None:
    """List what is installed behind each door: benchmarks, judges, models and the rest, plugins included.

    Examples:

        fullbench list --json
    """
    from fullbench.core.plugin_entry_points import DOORS, names

    installed = {door.kind: names(door.kind) for door in DOORS}
    if as_json:
        import json

        typer.echo(json.dumps(installed, indent=2))
        return
    for kind, entries in installed.items():
        typer.echo(f"{kind}: {', '.join(entries) or 'none'}")
