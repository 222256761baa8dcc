"""Plugins: benchmarks, judges and models found by entry points. Ours enter by the same door.

A package offers them in its `pyproject.toml`:

    [project.entry-points."fullbench.benchmarks"]
    my_paper = "my_package:benchmark"        # a Benchmark

    [project.entry-points."fullbench.judges"]
    my_judge = "my_package:make_judge"       # (name, options) -> Judge

    [project.entry-points."fullbench.models"]
    my_server = "my_package:make_model"      # (name, options) -> Model

On the command line and in a study, a judge or a model is named by a spec: `KIND[:NAME][?OPTION=VALUE&...]`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl

from fullbench.errors import InputError

if TYPE_CHECKING:
    from fullbench.nouns.model import Model

Kind = Literal["benchmarks", "judges", "models"]


@dataclass(frozen=True)
class Spec:
    """`KIND[:NAME][?OPTION=VALUE&...]`, taken apart.

    >>> Spec.parse("openai:gpt-4o?temperature=0&mode=direct")
    Spec(kind='openai', name='gpt-4o', options={'temperature': '0', 'mode': 'direct'})
    >>> Spec.parse("length").kind
    'length'

    A plus stays one, since files have it in their names; a space is written as it is, or %20.

    >>> Spec.parse("aesthetics?head=sac+logos.pth").options["head"]
    'sac+logos.pth'
    """

    kind: str
    name: str
    options: Mapping[str, str]

    @classmethod
    def parse(cls, text: str) -> Spec:
        head, _, query = text.partition("?")
        kind, _, name = head.partition(":")
        if not kind:
            raise InputError(f"{text!r} names no kind; write KIND:NAME, such as openai:gpt-4o or length")
        try:
            pairs = parse_qsl(query.replace("+", "%2B"), strict_parsing=bool(query), keep_blank_values=True)
        except ValueError as error:
            raise InputError(f"the options of {text!r} cannot be read; write ?option=value&option=value") from error
        options: dict[str, str] = {}
        for key, value in pairs:
            if key in options:
                raise InputError(f"the option {key!r} stands twice in {text!r}; keep one")
            options[key] = value
        return cls(kind.strip(), name.strip(), options)


@cache
def _found(kind: Kind) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=f"fullbench.{kind}")}


def names(kind: Kind) -> list[str]:
    """What is installed of a kind, sorted."""
    return sorted(_found(kind))


def load(kind: Kind, name: str) -> Any:
    """The plugin of that name. A plugin that does not load is an error that says so, never a silent gap."""
    found = _found(kind)
    if name not in found:
        near = get_close_matches(name, found, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InputError(f"there is no {kind[:-1]} {name!r}{hint} Installed: {', '.join(names(kind)) or 'none'}")
    entry = found[name]
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        package = entry.dist.name if entry.dist else "an unknown package"
        raise InputError(f"the {kind[:-1]} {name!r} of {package} does not load: {error}") from error


def model(spec: Spec, named: str) -> Model:
    """The model that a spec stands for; `named` is what the user wrote, for the sentence where it is none."""
    from fullbench.nouns.model import Model

    found = load("models", spec.kind)(spec.name, spec.options)
    if not isinstance(found, Model):
        raise InputError(f"the plugin of {named!r} made no model: it lacks one of name, settings, price, answer")
    return found


def function(named: str, *, form: str = "MODULE:FUNCTION") -> Callable[..., Any]:
    """A function of the user's own, by module and name. The module may lie in the folder where the command is typed,
    in which an installed command does not look by itself. `form` is how it is written, for the error."""
    module, _, name = named.partition(":")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        found: Callable[..., Any] = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"the function {named!r} cannot be found ({error}); write {form}") from error
    finally:
        sys.path.remove(here)
    if not callable(found):
        raise InputError(f"{named!r} is no function; write {form}")
    return found
