"""Plugin types: groups of entry points, loaded in the same way for built-in and external plugins.

A package offers a plugin in its `pyproject.toml`, under the name of its type:

    [project.entry-points."fullbench.benchmarks"]
    my_paper = "my_package:benchmark"

`PLUGIN_TYPES` describes what each type expects; `docs/reference/plugin-types.md` has an example of each.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, get_args

from fullbench.errors import InputError

_log = logging.getLogger("fullbench")
Kind = Literal[
    "benchmarks",
    "judges",
    "models",
    "ballots",
    "metrics",
    "importers",
    "exporters",
    "tasks",
    "commands",
    "engines",
    "detectors",
    "inpainters",
]


@dataclass(frozen=True)
class PluginType:
    """A group of entry points: its noun, and the shape of its objects."""

    kind: Kind
    what: str
    shape: str


PLUGIN_TYPES: tuple[PluginType, ...] = (
    PluginType("benchmarks", "benchmark", "a fullbench.Benchmark"),
    PluginType("judges", "judge", "(name, options) -> Judge; written NAME:REST?OPTION=VALUE"),
    PluginType("models", "model", "(name, options) -> Model; written NAME:REST?OPTION=VALUE"),
    PluginType("ballots", "ballot", "(rest) -> Ballot; written NAME:REST, its form registered with reading.form_of"),
    PluginType("metrics", "metric", "(texts, reference) -> a figure from 0 to 1 for each text; a judge of that name"),
    PluginType(
        "importers", "importer", ("(path, options) -> LoadedData: items, responses and verdicts of a foreign file")
    ),
    PluginType("exporters", "exporter", "(record, path, options) -> what was written, as counts by name"),
    PluginType("tasks", "kind of task", "a web.people.kind.Kind, by which people judge on the site"),
    PluginType("commands", "command", "a function for typer, or a typer.Typer; `fullbench NAME` runs it"),
    PluginType(
        "engines", "engine", "(address, query) -> a context manager that gives an Engine; written NAME:ADDRESS?QUERY"
    ),
    PluginType("detectors", "detector", "(name, options) -> a function of a Pillow image that returns labelled boxes"),
    PluginType(
        "inpainters",
        "inpainter",
        "(name, options) -> a function of a picture, a mask and a text that repaints the mask",
    ),
)
_PLUGIN_NOUNS = {plugin_type.kind: plugin_type.what for plugin_type in PLUGIN_TYPES}
assert set(_PLUGIN_NOUNS) == set(get_args(Kind))


def did_you_mean(name: str, known_names: Iterable[str]) -> str:
    """Return a question with the closest known name, or one that begins alike, to append to a message, or "".

    >>> did_you_mean("opneai", ["openai", "ollama"]), did_you_mean("xyz", ["openai"])
    ("; did you mean 'openai'?", '')
    >>> did_you_mean("mllm", ["mjbench", "mllm-as-a-judge"])
    "; did you mean 'mllm-as-a-judge'?"
    """
    known_names = list(known_names)
    near = get_close_matches(name, known_names, n=1)
    if not near and len(name) > 2:
        near = [known_name for known_name in known_names if known_name.lower().startswith(name.lower())]
    return f"; did you mean {near[0]!r}?" if near else ""


_PROVIDERS = {
    "gpt-": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "claude": "anthropic",
    "gemini-": "gemini",
}
"""Beginnings of model names that people type without the provider."""


def suggest_spec(name: str, known_names: Iterable[str]) -> str:
    """Return the same for judges and models, with hints on missing providers, quotes and commas.

    >>> suggest_spec("gpt-4o", []), suggest_spec("length,chance", ["length"])[:24]
    ("; did you mean 'openai:gpt-4o'?", '; name each by itself, n')
    """
    if name[:1] in set("\"'“”‘’`"):
        return "; leave out the quotes, which are part of the word here."
    if "," in name:
        return "; name each by itself, not with commas between."
    provider = next((kind for begin, kind in _PROVIDERS.items() if name.startswith(begin)), "")
    return f"; did you mean '{provider}:{name}'?" if provider else did_you_mean(name, known_names)


_all_entry_points = cache(entry_points)  # scanning all installed packages takes milliseconds, so do it once


@cache
def installed_plugins(kind: Kind) -> dict[str, EntryPoint]:
    """Return the entry points of a plugin type, by name. The built-in one wins, then the first one found.

    Otherwise a package could replace a judge or a model, which gets keys and pictures, without a word.
    """
    plugins: dict[str, EntryPoint] = {}
    entries = list(_all_entry_points().select(group=f"fullbench.{kind}"))
    for entry in sorted(entries, key=lambda entry: not _is_built_in(entry)):
        used = plugins.setdefault(entry.name, entry)
        if used.value != entry.value:
            _log.warning(
                "the %s %r of %s is ignored, because %s has one of that name; it needs another name",
                _PLUGIN_NOUNS[kind], entry.name, _package_of(entry), _package_of(used),
            )  # fmt: skip
    return plugins


def _is_built_in(entry: EntryPoint) -> bool:
    return entry.value.startswith("fullbench.")


def _package_of(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else "an unknown package"


def plugin_names(kind: Kind) -> list[str]:
    """Return the sorted names of the installed plugins of a type."""
    return sorted(installed_plugins(kind))


def load_plugin(kind: Kind, name: str) -> Any:
    """Load the plugin of that name; raise `InputError` if it is missing or does not load."""
    plugins = installed_plugins(kind)
    if name not in plugins:
        hint = (suggest_spec if kind == "models" else did_you_mean)(name, plugins) or "."
        raise InputError(
            f"there is no {_PLUGIN_NOUNS[kind]} {name!r}{hint} Installed: {', '.join(plugin_names(kind)) or 'none'}"
        )
    entry = plugins[name]
    try:
        return entry.load()
    except (Exception, SystemExit) as error:
        reason = str(error) or type(error).__name__
        raise InputError(
            f"the {_PLUGIN_NOUNS[kind]} {name!r} of {_package_of(entry)} does not load: {reason}"
        ) from error
