"""From the words of a command line or a study to an engine."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from urllib.parse import parse_qsl

from fullbench.core import plugin_entry_points
from fullbench.errors import InputError
from fullbench.studies.engines.run_jobs import HERE, Engine

_OPTIONS = {"min": 1, "max": 1_000}


def engine(spec: str) -> AbstractContextManager[Engine]:
    """The engine that a spec names, to be entered for as long as a run takes.

    `here` is this machine. `ray` starts Ray on this machine; `ray:auto`, `ray:HOST:PORT` and `ray://HOST:PORT` join a
    cluster. `?min=2&max=8` says how many workers each judge or contestant gets. Others enter by the door `engines`.
    """
    head, _, query = spec.partition("?")
    kind, _, address = head.partition(":")
    if kind not in plugin_entry_points.installed("engines"):
        others = [name for name in plugin_entry_points.names("engines") if name not in {"here", "ray"}]
        known = ", ".join(["here", "ray", "ray:auto", "ray:HOST:PORT", "ray://HOST:PORT", *others])
        raise InputError(f"there is no engine {spec!r}; known: {known}")
    opened: AbstractContextManager[Engine] = plugin_entry_points.load("engines", kind)(address, query)
    return opened


def here(address: str, query: str) -> AbstractContextManager[Engine]:
    """This machine."""
    if address or query:
        named = f"here:{address}" if address else f"here?{query}"
        raise InputError(f"there is no engine {named!r}; the engine 'here' takes no address and no options")
    return nullcontext(HERE)


def ray(address: str, query: str) -> AbstractContextManager[Engine]:
    """Ray, on this machine or a cluster."""
    from fullbench.studies.engines.ray_cluster import Cluster

    named = f"ray:{address}" if address else "ray"
    least, most = _size(query, f"{named}?{query}")
    return Cluster(named if address.startswith("//") else address, least, most).opened()


def _size(query: str, spec: str) -> tuple[int, int]:
    """The fewest and the most workers."""
    size = dict(_OPTIONS)
    for name, word in parse_qsl(query, keep_blank_values=True):
        if name not in _OPTIONS:
            raise InputError(f"the engine {spec!r} has no option {name!r}; known: {', '.join(_OPTIONS)}")
        if not word.isdecimal() or int(word) < 1:
            raise InputError(f"the option {name!r} of the engine {spec!r} is a whole number from 1; found {word!r}")
        size[name] = int(word)
    if size["min"] > size["max"]:
        raise InputError(f"the engine {spec!r} asks for at least {size['min']} workers and {size['max']} at most")
    return size["min"], size["max"]
