"""`fullbench list`: installed benchmarks, judges, models and other plugins."""

from __future__ import annotations

import typer

from fullbench.cli.console import print_line, print_message
from fullbench.cli.shared_options_and_run_output import JsonOption
from fullbench.errors import InputError


def listing(as_json: JsonOption = False) -> None:
    """List installed benchmarks, judges, models and other plugins, by plugin type.

    Examples:

        fullbench list --json
    """
    from fullbench.core.plugin_entry_points import PLUGIN_TYPES, plugin_names
    from fullbench.judges.scorers.scorer_factories import NEEDS
    from fullbench.plugin_specs import load_benchmark

    names_by_type = {door.kind: plugin_names(door.kind) for door in PLUGIN_TYPES}
    benchmarks = []
    for name in names_by_type["benchmarks"]:
        try:
            benchmarks.append(load_benchmark(name))
        except InputError as error:  # a broken plugin must not hide the others
            if not as_json:
                print_message(str(error))
    sources = {benchmark.name: benchmark.reproduce_from for benchmark in benchmarks if benchmark.reproduce is not None}
    unseen_layouts = [benchmark.name for benchmark in benchmarks if not benchmark.is_layout_seen]
    if as_json:
        import json

        more = {"score models": NEEDS, "reproduce": sources, "layout not seen": unseen_layouts}
        typer.echo(json.dumps({**names_by_type, **more}, indent=2))
        return
    for kind, entries in names_by_type.items():
        print_line(f"{kind}: {', '.join(entries) or 'none'}")
    print_line("")
    print_line("Score models and what they need. Weights come from the hub; a file or folder of yours works too:")
    for name, needs in NEEDS.items():
        print_line(f"- {name}: {needs}")
    print_line("")
    print_line("`fullbench reproduce NAME --data FOLDER` computes published numbers again. It reads:")
    names_by_source: dict[str, list[str]] = {}
    for name, source in sources.items():
        names_by_source.setdefault(source or "data as its documentation says", []).append(name)
    for source, names in names_by_source.items():
        print_line(f"- {source}: {', '.join(names)}")
    if unseen_layouts:
        print_line("")
        print_line(
            f"Layout not seen: {', '.join(unseen_layouts)}. No published row was at hand; --data reads what the "
            "authors' scripts and cards describe."
        )
