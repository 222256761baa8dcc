"""What a prompted judge is called, now and in earlier releases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from fullbench.judges.templates import Template
from fullbench.nouns.digests import digest
from fullbench.nouns.judge import former_names_of
from fullbench.nouns.model import Model

Identity = tuple[str, Mapping[str, Any]]
_LATER = frozenset({"rules_tag", "ends"})
"""Settings that the first release did not have."""


class Named(Protocol):
    """What of a prompted judge its names are made from."""

    @property
    def model(self) -> Model: ...
    @property
    def label(self) -> str | None: ...
    @property
    def mode(self) -> str: ...
    @property
    def sight(self) -> str: ...
    @property
    def reference(self) -> bool: ...
    @property
    def language(self) -> str: ...
    @property
    def constrained(self) -> bool: ...
    @property
    def rules_tag(self) -> str: ...
    @property
    def former_template(self) -> Template | None: ...
    @property
    def settings(self) -> Mapping[str, Any]: ...

    def wording_digest(self, template: Template) -> str: ...


def named(judge: Named, model: str, settings: Mapping[str, Any]) -> str:
    """Model and manner in words, and a digest of all that can change a ruling."""
    manner: list[str] = [judge.mode]
    manner += [] if judge.sight == "image" else [{"none": "unseeing", "described": "described"}[judge.sight]]
    manner += ["reference"] if judge.reference else []
    manner += [] if judge.language == "en" else [judge.language]
    manner += ["constrained"] if judge.constrained else []
    return f"{judge.label or model}+{'+'.join(manner)}#{digest(settings)[:8]}"


def former_identities(judge: Named) -> Iterator[Identity]:
    """Names of earlier releases, where model, wording or rules went by another name, with the settings behind each."""
    now = judge.model.name
    settings = dict(judge.settings)
    if judge.former_template is not None:
        settings["wording"] = judge.wording_digest(judge.former_template)
        yield named(judge, now, settings), settings
    before = {name: value for name, value in settings.items() if name not in _LATER}
    said_ends = "ends" in settings
    models: tuple[str, ...] = (now,) if said_ends else ()
    models += former_names_of(judge.model) or ((now,) if judge.rules_tag and not said_ends else ())
    for model in models:
        former = {**before, "model": model}
        yield named(judge, model, former), former
