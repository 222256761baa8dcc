"""What enters by the doors, made into what it stands for: specs into models, plugins into benchmarks.

On the command line and in a study, a judge or a model is named by a spec: `KIND[:NAME][?OPTION=VALUE&...]`. The doors
themselves are in `core.plugin_entry_points`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from fullbench.core.benchmark import Benchmark, Late
from fullbench.core.model import Model
from fullbench.core.plugin_entry_points import DOORS, Kind, load, names
from fullbench.errors import InputError

__all__ = [
    "DOORS",
    "Kind",
    "Spec",
    "benchmark",
    "function",
    "inner_model",
    "judging",
    "load",
    "model",
    "names",
]


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
            _refuse_misplaced(text, head, value)
        return cls(kind.strip(), name.strip(), options)


def _refuse_misplaced(text: str, head: str, value: str) -> None:
    """Refuse an address, or a second question mark, in the value of an option: what was meant as a server's address
    would be none, and pictures would go to the provider. A spec may be a value (`reader=openai:small@http://...`)."""
    before, at, address = value.partition("@http")
    if at and ":" not in before:
        meant = f"{head}@http{address}?{text.partition('?')[2].replace(at + address, '', 1)}"
        raise InputError(f"the address in {text!r} stands behind the options; write it before them: {meant}")
    if re.fullmatch(r"[^:\s?]*\?\w+=\S*", value):
        raise InputError(f"{text!r} has a second '?'; options are parted by '&': ?option=value&option=value")


def judging() -> list[str]:
    """Every name that stands for a judge as it is: judges, and metrics, which are judges too."""
    return sorted({*names("judges"), *names("metrics")})


def benchmark(name: str) -> Benchmark:
    """Return the benchmark of that name."""
    plugin = load("benchmarks", name)
    if not isinstance(plugin, Benchmark):
        raise InputError(
            f"the plugin {name!r} is not a benchmark (its type is {type(plugin).__name__}); "
            "register an instance of fullbench.Benchmark"
        )
    return plugin


def model(spec: Spec, named: str) -> Model:
    """The model that a spec stands for; `named` is what the user wrote, for the sentence where it is none."""
    plugin = load("models", spec.kind)(spec.name, spec.options)
    if not isinstance(plugin, Model):
        raise InputError(f"the plugin of {named!r} made no model: it lacks one of name, settings, price, answer")
    return plugin


def inner_model(what: str, name: str, options: Mapping[str, str]) -> Model:
    """The model that a judge or a model is made of: `name` is what stands after `what:`, such as openai:gpt-4o."""
    if not name:
        raise InputError(f"{what!r} is made of a model: write {what}:KIND:NAME, such as {what}:openai:gpt-4o")
    spec = Spec.parse(name)
    return model(Spec(spec.kind, spec.name, options), name)


def function(named: str, *, form: str = "MODULE:FUNCTION") -> Callable[..., Any]:
    """A function of the user's own, by module and name. The module may lie in the folder where the command is typed,
    in which an installed command does not look by itself. `form` is how it is written, for the error."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        target = Late(named).function
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"the function {named!r} cannot be found ({error}); write {form}") from error
    finally:
        sys.path.remove(here)
    if not callable(target):
        raise InputError(f"{named!r} is no function; write {form}")
    return target
