"""Build an engine from its spec: `here`, `ray`, `ray:HOST:PORT`, or a plugin."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from urllib.parse import parse_qsl

from fullbench.core import plugin_entry_points
from fullbench.errors import InputError
from fullbench.studies.engines.job_runner_with_ledger_storage import HERE, Engine

_OPTIONS = {"min": 1, "max": 1_000}


def engine_from_spec(spec: str) -> AbstractContextManager[Engine]:
    """Return the engine of a spec as a context manager for one run.

    `here` is this machine. `ray` starts Ray on this machine; `ray:auto`, `ray:HOST:PORT` and `ray://HOST:PORT` join a
    cluster. `?min=2&max=8` sets the number of workers per judge or contestant. Plugins of the type `engines` add
    others.
    """
    head, _, query = spec.partition("?")
    kind, _, address = head.partition(":")
    if kind not in plugin_entry_points.installed_plugins("engines"):
        plugin_names = [name for name in plugin_entry_points.plugin_names("engines") if name not in {"here", "ray"}]
        known_specs = ", ".join(["here", "ray", "ray:auto", "ray:HOST:PORT", "ray://HOST:PORT", *plugin_names])
        raise InputError(f"there is no engine {spec!r}; known: {known_specs}")
    engine_context: AbstractContextManager[Engine] = plugin_entry_points.load_plugin("engines", kind)(address, query)
    return engine_context


def local_engine(address: str, query: str) -> AbstractContextManager[Engine]:
    """Return the engine that runs calls in this process."""
    if address or query:
        spec = f"here:{address}" if address else f"here?{query}"
        raise InputError(f"there is no engine {spec!r}; the engine 'here' takes no address and no options")
    return nullcontext(HERE)


def ray_engine(address: str, query: str) -> AbstractContextManager[Engine]:
    """Return the Ray engine, on this machine or a cluster."""
    from fullbench.studies.engines.ray_engine import Cluster

    spec = f"ray:{address}" if address else "ray"
    least, most = _parse_worker_range(query, f"{spec}?{query}")
    return Cluster(spec if address.startswith("//") else address, least, most).connect()


def _parse_worker_range(query: str, spec: str) -> tuple[int, int]:
    size = dict(_OPTIONS)
    for name, word in parse_qsl(query, keep_blank_values=True):
        if name not in _OPTIONS:
            raise InputError(f"the engine {spec!r} has no option {name!r}; known: {', '.join(_OPTIONS)}")
        if not word.isdecimal() or int(word) < 1:
            raise InputError(f"the option {name!r} of the engine {spec!r} is a whole number from 1; found {word!r}")
        size[name] = int(word)
    if size["min"] > size["max"]:
        raise InputError(f"the engine {spec!r} has a minimum of {size['min']} workers and a maximum of {size['max']}")
    return size["min"], size["max"]
