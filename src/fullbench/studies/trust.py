"""What a study file makes this machine do beyond asking models: run code, send secrets, read files."""

from __future__ import annotations

import os
from collections.abc import Iterator

from fullbench.errors import InputError
from fullbench.registry import Spec
from fullbench.studies.study import Study

CODE = frozenset({"scorer"})
"""Kinds of judges whose name is a function that is imported and called."""
FILES = ("key_file", "template")


def risks(study: Study) -> list[str]:
    """One sentence for each thing in a study that its reader should know of before the first run."""
    together = [*study.panels.values(), *study.cascades.values()]
    within = [text for named in together for value in named.values() for text in _texts(value)]
    within += [str(rubric["judge"]) for rubric in study.rubrics.values()]
    within += [study.options[name] for name in ("reader", "correlation") if name in study.options]
    named = dict.fromkeys((*study.contestants, *study.judges, *within))
    fetching = ["it fetches pictures from addresses on the web that its data files name"] if study.fetch_urls else []
    return [*fetching, *(sentence for spec in named for sentence in _of(spec))]


def _texts(value: object) -> list[str]:
    """The specs among what a panel or cascade is made of."""
    listed = value if isinstance(value, list | tuple) else [value]
    return [text for text in listed if isinstance(text, str)]


def _of(spec: str) -> Iterator[str]:
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
        yield from _of(reader)


def refuse_risks(study: Study, *, safe: bool = False) -> list[str]:
    """The sentences; with `safe`, or `FULLBENCH_SAFE` in the environment, a study that has any is refused."""
    found = risks(study)
    if found and (safe or os.environ.get("FULLBENCH_SAFE")):
        raise InputError(
            f"{'; '.join(found)}. This is refused (--safe or FULLBENCH_SAFE); leave that out where you trust the study",
            path=study.path,
        )
    return found
