"""`fullbench list`: what is installed."""

from __future__ import annotations

import typer

from fullbench.cli.common import JsonOption


def listing(as_json: JsonOption = False) -> None:
    """List the benchmarks, judges and models that are installed, plugins included.

    Examples:

        fullbench list --json
    """
    from fullbench import registry

    kinds: tuple[registry.Kind, ...] = ("benchmarks", "judges", "models")
    found = {kind: registry.names(kind) for kind in kinds}
    if as_json:
        import json

        typer.echo(json.dumps(found, indent=2))
        return
    for kind, names in found.items():
        typer.echo(f"{kind}: {', '.join(names) or 'none'}")
