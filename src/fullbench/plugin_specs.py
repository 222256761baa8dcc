"""Specs of judges and models, and functions that build models and benchmarks from plugins.

On the command line and in study files, a spec names a judge or a model: `KIND[:NAME][?OPTION=VALUE&...]`. The plugin
types (groups of entry points) are in `core.plugin_entry_points`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from fullbench.core.benchmark import Benchmark, LazyFunction
from fullbench.core.model import Model
from fullbench.core.plugin_entry_points import load_plugin, plugin_names
from fullbench.errors import InputError

CODE = {"scorer": "function", "generator": "function", "command": "program"}
"""Kinds of judges and contestants that run a user's code, and what their name is."""


@dataclass(frozen=True)
class Spec:
    """Parsed spec of a judge or model: `KIND[:NAME][?OPTION=VALUE&...]`.

    >>> Spec.parse("openai:gpt-4o?temperature=0&mode=direct")
    Spec(kind='openai', name='gpt-4o', options={'temperature': '0', 'mode': 'direct'})
    >>> Spec.parse("length").kind
    'length'

    A plus sign stays a plus sign, because file names contain it. Write a space as it is, or as %20.

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
            raise InputError(f"{text!r} has no kind; write KIND:NAME, such as openai:gpt-4o or length")
        try:
            pairs = parse_qsl(query.replace("+", "%2B"), strict_parsing=bool(query), keep_blank_values=True)
        except ValueError as error:
            raise InputError(f"the options of {text!r} cannot be read; write ?option=value&option=value") from error
        options: dict[str, str] = {}
        for key, value in pairs:
            if key in options:
                raise InputError(f"the option {key!r} occurs twice in {text!r}; keep one")
            options[key] = value
            _refuse_misplaced(text, head, value)
        return cls(kind.strip(), name.strip(), options)


def _refuse_misplaced(text: str, head: str, value: str) -> None:
    """Refuse a server address or a second question mark in the value of an option.
    The address would be ignored, and pictures would go to the provider. A value may be a whole spec, with an address.
    """
    before, at, address = value.partition("@http")
    if at and ":" not in before:
        corrected_spec = f"{head}@http{address}?{text.partition('?')[2].replace(at + address, '', 1)}"
        raise InputError(f"the address in {text!r} comes after the options; write it before them: {corrected_spec}")
    if re.fullmatch(r"[^:\s?]*\?\w+=\S*", value):
        raise InputError(f"{text!r} has a second '?'; separate options with '&': ?option=value&option=value")


def judge_names() -> list[str]:
    """Return the names of all judge plugins, including metrics, which are judges too."""
    return sorted({*plugin_names("judges"), *plugin_names("metrics")})


def load_benchmark(name: str) -> Benchmark:
    """Return the benchmark with this name."""
    plugin = load_plugin("benchmarks", name)
    if not isinstance(plugin, Benchmark):
        raise InputError(
            f"the plugin {name!r} is not a benchmark (its type is {type(plugin).__name__}); "
            "register an instance of fullbench.Benchmark"
        )
    return plugin


def build_model(spec: Spec, spec_text: str) -> Model:
    """Build the model of a spec; `spec_text` is the text that the user wrote, for the error message."""
    plugin = load_plugin("models", spec.kind)(spec.name, spec.options)
    if not isinstance(plugin, Model):
        raise InputError(
            f"the plugin of {spec_text!r} returned no model: it lacks one of name, settings, price, answer"
        )
    return plugin


def inner_model(what: str, name: str, options: Mapping[str, str]) -> Model:
    """Build the model inside a judge or model; `name` is the spec after `what:`, such as openai:gpt-4o."""
    if not name:
        raise InputError(f"{what!r} needs a model: write {what}:KIND:NAME, such as {what}:openai:gpt-4o")
    spec = Spec.parse(name)
    return build_model(Spec(spec.kind, spec.name, options), name)


def refuse_code_in_safe_mode(what: str) -> None:
    """Refuse to run a user's code if the variable `FULLBENCH_SAFE` is set."""
    if os.environ.get("FULLBENCH_SAFE"):
        raise InputError(
            f"{what} runs code on this machine, which FULLBENCH_SAFE refuses; unset this variable if you trust the code"
        )


def load_function(function_path: str, *, form: str = "MODULE:FUNCTION") -> Callable[..., Any]:
    """Import a user's function. The module may be in the current folder, which an installed command does not search by
    itself. `form` is the expected notation, for the error message.
    """
    refuse_code_in_safe_mode(f"the function {function_path!r}")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        target = LazyFunction(function_path).function
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"the function {function_path!r} cannot be found ({error}); write {form}") from error
    finally:
        sys.path.remove(here)
    if not callable(target):
        raise InputError(f"{function_path!r} is not a function; write {form}")
    return target
