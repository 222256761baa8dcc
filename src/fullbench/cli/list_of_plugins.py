"""`fullbench list`: installed benchmarks, judges, models and other plugins."""

from __future__ import annotations

import typer

from fullbench.cli.console import print_line
from fullbench.cli.shared_options_and_run_output import JsonOption


def listing(as_json: JsonOption = False) -> None:
    """List installed benchmarks, judges, models and other plugins, by plugin type.

    Examples:

        fullbench list --json
    """
    from fullbench.core.plugin_entry_points import PLUGIN_TYPES, plugin_names

    names_by_type = {door.kind: plugin_names(door.kind) for door in PLUGIN_TYPES}
    if as_json:
        import json

        typer.echo(json.dumps(names_by_type, indent=2))
        return
    for kind, entries in names_by_type.items():
        print_line(f"{kind}: {', '.join(entries) or 'none'}")
