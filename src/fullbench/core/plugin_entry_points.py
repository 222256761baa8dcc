"""The doors by which everything enters, ours and yours: groups of entry points, loaded in one way.

A package offers what it has in its `pyproject.toml`, under the door's name:

    [project.entry-points."fullbench.benchmarks"]
    my_paper = "my_package:benchmark"

`DOORS` says what each door takes; `docs/doors.md` has an example of each.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, get_args

from fullbench.errors import InputError

Kind = Literal[
    "benchmarks", "judges", "models", "ballots", "metrics", "importers", "exporters", "tasks", "commands", "engines"
]


@dataclass(frozen=True)
class Door:
    """A group of entry points: what one of them is called, and the shape of what it names."""

    kind: Kind
    what: str
    shape: str


DOORS: tuple[Door, ...] = (
    Door("benchmarks", "benchmark", "a fullbench.Benchmark"),
    Door("judges", "judge", "(name, options) -> Judge; written NAME:REST?OPTION=VALUE"),
    Door("models", "model", "(name, options) -> Model; written NAME:REST?OPTION=VALUE"),
    Door("ballots", "ballot", "(rest) -> Ballot; written NAME:REST, its form registered with reading.form_of"),
    Door("metrics", "metric", "(texts, reference) -> a figure from 0 to 1 for each text; a judge of that name"),
    Door("importers", "importer", "(path, options) -> Brought: items, responses and verdicts of a foreign file"),
    Door("exporters", "exporter", "(record, path, options) -> what was written, as counts by name"),
    Door("tasks", "kind of task", "a web.people.kind.Kind, by which people judge on the site"),
    Door("commands", "command", "a function for typer, or a typer.Typer; `fullbench NAME` runs it"),
    Door("engines", "engine", "(address, query) -> a context manager that gives an Engine; written NAME:ADDRESS?QUERY"),
)
_WHAT = {door.kind: door.what for door in DOORS}
assert set(_WHAT) == set(get_args(Kind))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question about the known name that is nearest, to follow what was said; nothing where none is near.

    >>> did_you_mean("opneai", ["openai", "ollama"]), did_you_mean("xyz", ["openai"])
    ("; did you mean 'openai'?", '')
    """
    near = get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


_PROVIDERS = {
    "gpt-": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "claude": "anthropic",
    "gemini-": "gemini",
}
"""How names of models begin that people type without their provider."""


def spec_meant(name: str, known: Iterable[str]) -> str:
    """The same as `did_you_mean` for judges and models, which need a provider, and each a word of its own.

    >>> spec_meant("gpt-4o", []), spec_meant("length,chance", ["length"])[:24]
    ("; did you mean 'openai:gpt-4o'?", '; name each by itself, n')
    """
    if name[:1] in set("\"'“”‘’`"):
        return "; leave out the quotes, which are part of the word here."
    if "," in name:
        return "; name each by itself, not with commas between."
    provider = next((kind for begin, kind in _PROVIDERS.items() if name.startswith(begin)), "")
    return f"; did you mean '{provider}:{name}'?" if provider else did_you_mean(name, known)


_every = cache(entry_points)  # looking through all that is installed takes milliseconds, so it is done once


@cache
def installed(kind: Kind) -> dict[str, EntryPoint]:
    """The entry points behind a door, by name."""
    return {entry.name: entry for entry in _every().select(group=f"fullbench.{kind}")}


def names(kind: Kind) -> list[str]:
    """What is installed of a kind, sorted."""
    return sorted(installed(kind))


def load(kind: Kind, name: str) -> Any:
    """The plugin of that name. A plugin that does not load is an error that says so, never a silent gap."""
    known = installed(kind)
    if name not in known:
        hint = (spec_meant if kind == "models" else did_you_mean)(name, known) or "."
        raise InputError(f"there is no {_WHAT[kind]} {name!r}{hint} Installed: {', '.join(names(kind)) or 'none'}")
    entry = known[name]
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        package = entry.dist.name if entry.dist else "an unknown package"
        raise InputError(f"the {_WHAT[kind]} {name!r} of {package} does not load: {error}") from error
