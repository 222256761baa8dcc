"""What a prompted judge is called, now and in earlier releases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fullbench.nouns.digests import digest
from fullbench.nouns.judge import former_names_of

if TYPE_CHECKING:
    from fullbench.judges.prompted import PromptedJudge

Identity = tuple[str, Mapping[str, Any]]
_LATER = frozenset({"rules_tag", "ends"})
"""Settings that the first release did not have."""


def named(judge: PromptedJudge, model: str, settings: Mapping[str, Any]) -> str:
    """Model and manner in words, and a digest of all that can change a ruling."""
    manner: list[str] = [judge.mode]
    manner += [] if judge.sight == "image" else [{"none": "unseeing", "described": "described"}[judge.sight]]
    manner += ["reference"] if judge.reference else []
    manner += [] if judge.language == "en" else [judge.language]
    manner += ["constrained"] if judge.constrained else []
    return f"{judge.label or model}+{'+'.join(manner)}#{digest(settings)[:8]}"


def former_identities(judge: PromptedJudge) -> Iterator[Identity]:
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
