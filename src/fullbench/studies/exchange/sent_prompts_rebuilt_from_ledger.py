"""Prompts sent to a judge, rendered again from the settings in a ledger and verified by digest.

No model is called and no judge is built from a spec, so web pages can do this for anyone who views a case.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fullbench.core.case import Case
from fullbench.core.dialogue_turn_answers_and_criteria import case_as_shown
from fullbench.core.item import Part, Turn
from fullbench.core.media import KINDS, PART_NAMES, media_from_digest
from fullbench.core.model import Prompt, Reply
from fullbench.core.picture import extract_class
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.judges.prompt_templates import Example
from fullbench.judges.prompted_judge import PromptedJudge

_SAME = ("mode", "picture_mode", "reference", "language", "criteria", "resample", "form", "max_pictures", "rules_tag")
"""Settings that a judge takes under the same names in its constructor."""


@dataclass(frozen=True)
class _SilentModel:
    name: str
    takes_schemas: bool = True
    price: tuple[float, float] | None = None

    media_kinds = frozenset(KINDS)

    @property
    def settings(self) -> Mapping[str, Any]:
        return {}

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        raise InputError(f"{self.name!r} is only a placeholder for a model, and cannot be called")


def sent_prompts(settings: Mapping[str, Any], case: Case, verdict: Verdict) -> dict[str, tuple[Turn, ...]]:
    """Return the prompts of a verdict by digest; only those with exactly the stored digest.

    Empty if the judge is of another kind, or used its own prompt template, whose text is not in the ledger.
    """
    turns_with_frames = {
        call.prompt: turns_of_text(call.sent) for call in verdict.exchanges if call.sent.startswith('{"turns"')
    }
    if turns_with_frames:
        return turns_with_frames
    wanted_digests = {verdict.prompt, *(call.prompt for call in verdict.exchanges)} - {""}
    judge = _judge_from_settings(settings) if wanted_digests else None
    if judge is None:
        return {}
    nonce = next((call.nonce for call in verdict.exchanges if call.nonce), "")
    judged_case = case_as_shown(case.at(verdict.trial).with_nonce(nonce))
    turns_by_digest: dict[str, tuple[Turn, ...]] = {}
    replies = [call.text for call in verdict.exchanges]
    for prompt in judge.prompts(judged_case, replies):
        # An unreadable reply was requested again with the same prompt and another seed, which changes the digest.
        seeds = [(prompt.seed or 0) + 1_000_003 * attempt for attempt in range(1, judge.resample + 1)]
        for candidate in (prompt, *(replace(prompt, seed=seed) for seed in seeds)):
            if candidate.digest in wanted_digests:
                turns_by_digest[candidate.digest] = candidate.turns
    return turns_by_digest


def turns_of_text(text: str) -> tuple[Turn, ...]:
    """Return the turns that a call stored because frames were sent; the frames have digests and no bytes."""

    def part(value: Any) -> Part:
        if isinstance(value, str):
            return value
        name = next(name for name in PART_NAMES.values() if name in value)
        if "of" in value:
            return extract_class(value["type"])(
                value[name], value["type"], b"", value["of"], value["rule"], value["place"]
            )
        kind = next(kind for kind in KINDS if PART_NAMES[kind] == name)
        return media_from_digest(kind, value[name], value["type"], b"")

    return tuple(Turn(turn["role"], tuple(map(part, turn["parts"]))) for turn in json.loads(text)["turns"])


def _judge_from_settings(settings: Mapping[str, Any]) -> PromptedJudge | None:
    """None if the settings belong to another kind of judge."""
    if not {"model", "mode", "picture_mode", "prompt_template"} <= settings.keys():
        return None
    options: dict[str, Any] = {name: settings[name] for name in _SAME if name in settings}
    if settings.get("steps"):
        options["steps"] = tuple(settings["steps"])
    options["ends"] = "ends" in settings
    options["check_code"] = bool(settings.get("check_code", "constrained" not in settings))
    try:
        examples = tuple(Example(text, tuple(marks), *form) for text, marks, *form in settings.get("examples", ()))
        model = _SilentModel(str(settings["model"]))
        return PromptedJudge(model, examples=examples, constrained="constrained" in settings, **options)
    except (InputError, TypeError, ValueError):  # settings of another kind of judge
        return None
