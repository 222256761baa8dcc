"""Risks of running a foreign study file: it may run code, send secrets or send local files."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator

from fullbench.core.plugin_entry_points import plugin_names
from fullbench.errors import InputError
from fullbench.plugin_specs import CODE, Spec, judge_names
from fullbench.studies.study_file import Study

FILES = ("key_file", "template", "asking", "examples")
"""Options of a spec that name a file whose content is sent to the server."""


def study_risks(study: Study) -> list[str]:
    """Return one sentence for each risk that the user should know before the first run."""
    # Specs also occur in other tables of a study, where they are easy to overlook.
    compositions = [*study.panels.values(), *study.cascades.values()]
    nested_specs = [
        text for settings in compositions for value in settings.values() for text in _texts_in_setting(value)
    ]
    nested_specs += [str(rubric["judge"]) for rubric in study.rubrics.values()]
    nested_specs += [study.options[name] for name in ("reader", "correlation") if name in study.options]
    specs = dict.fromkeys((*study.contestants, *study.judges, *nested_specs))
    fetching = ["it fetches pictures from addresses on the web that its data files name"] if study.fetch_urls else []
    return [*fetching, *(sentence for spec in specs for sentence in _risks_of(spec))]


def _texts_in_setting(value: object) -> list[str]:
    """Specs of members, and words that are harmless as specs."""
    entries = value if isinstance(value, list | tuple) else [value]
    return [entry for entry in entries if isinstance(entry, str)]


def _risks_of(spec: str) -> Iterator[str]:
    parsed_spec = Spec.parse(spec)
    _, at, address = parsed_spec.name.partition("@")
    server = address if at else f"the provider {parsed_spec.kind!r}"
    if parsed_spec.kind in CODE:
        yield f"{spec!r} runs code on this machine: the {CODE[parsed_spec.kind]} {parsed_spec.name!r}"
    if name := parsed_spec.options.get("key_env"):
        yield f"{spec!r} sends what the variable {name!r} holds to {server}"
    for option in FILES:
        path = parsed_spec.options.get(option)
        # `asking` may name a benchmark instead of a file.
        if path and not (option == "asking" and path in plugin_names("benchmarks")):
            yield f"{spec!r} sends what the file {path!r} holds to {server}"
    if reader := parsed_spec.options.get("reader"):
        yield from _risks_of(reader)
    # A judge or model may be made of another one, as in critic:openai:gpt-4o.
    inner_kind, colon, _ = parsed_spec.name.partition(":")
    if colon and inner_kind in {*judge_names(), *plugin_names("models")}:
        yield from _risks_of(parsed_spec.name)


def refuse_code(spec: str, allowed_specs: Collection[str]) -> None:
    """Refuse a judge that runs code on a server, unless the server was started with it."""
    if spec not in allowed_specs and any(" runs code " in sentence for sentence in _risks_of(spec)):
        raise InputError(
            f"{spec!r} runs code on this server, which was not started with it: fullbench serve --program {spec!r}"
        )


def refuse_risks(study: Study, *, safe: bool = False) -> list[str]:
    """Return the risks; raise if there are any and `safe` or the variable `FULLBENCH_SAFE` is set."""
    sentences = study_risks(study)
    if sentences and (safe or os.environ.get("FULLBENCH_SAFE")):
        raise InputError(
            f"{'; '.join(sentences)}. This is refused (--safe or FULLBENCH_SAFE); leave that out if you trust the "
            f"study",
            path=study.path,
        )
    return sentences
