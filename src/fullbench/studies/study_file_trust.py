"""What a study file makes this machine do beyond asking models: run code, send secrets, read files."""

from __future__ import annotations

import os
from collections.abc import Iterator

from fullbench.errors import InputError
from fullbench.plugin_registry import Spec
from fullbench.studies.study_file import Study

CODE = frozenset({"scorer"})
"""Kinds of judges whose name is a function that is imported and called."""
FILES = ("key_file", "template")
"""Options of a spec that name a file whose content goes to the server."""


def risks(study: Study) -> list[str]:
    """One sentence for each thing in a study that its reader should know of before the first run."""
    # Specs stand in other tables of a study too, where a reader of `judges` alone would not see them.
    compositions = [*study.panels.values(), *study.cascades.values()]
    nested = [text for settings in compositions for value in settings.values() for text in _texts(value)]
    nested += [str(rubric["judge"]) for rubric in study.rubrics.values()]
    nested += [study.options[name] for name in ("reader", "correlation") if name in study.options]
    specs = dict.fromkeys((*study.contestants, *study.judges, *nested))
    fetching = ["it fetches pictures from addresses on the web that its data files name"] if study.fetch_urls else []
    return [*fetching, *(sentence for spec in specs for sentence in _risks_of(spec))]


def _texts(value: object) -> list[str]:
    """The texts in one setting of a panel or cascade: its members' specs, and words that are harmless as specs."""
    entries = value if isinstance(value, list | tuple) else [value]
    return [entry for entry in entries if isinstance(entry, str)]


def _risks_of(spec: str) -> Iterator[str]:
    """What one spec does, that of its reader included."""
    parsed = Spec.parse(spec)
    _, at, address = parsed.name.partition("@")
    server = address if at else f"the provider {parsed.kind!r}"
    if parsed.kind in CODE:
        yield f"{spec!r} runs code on this machine: the function {parsed.name!r}"
    if name := parsed.options.get("key_env"):
        yield f"{spec!r} sends what the variable {name!r} holds to {server}"
    for option in FILES:
        if path := parsed.options.get(option):
            yield f"{spec!r} sends what the file {path!r} holds to {server}"
    if reader := parsed.options.get("reader"):
        yield from _risks_of(reader)


def refuse_risks(study: Study, *, safe: bool = False) -> list[str]:
    """The sentences; with `safe`, or `FULLBENCH_SAFE` in the environment, a study that has any is refused."""
    sentences = risks(study)
    if sentences and (safe or os.environ.get("FULLBENCH_SAFE")):
        raise InputError(
            f"{'; '.join(sentences)}. This is refused (--safe or FULLBENCH_SAFE); leave that out where you trust the "
            "study",
            path=study.path,
        )
    return sentences
