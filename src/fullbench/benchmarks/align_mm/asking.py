"""How the critic is asked: our own wording in Chinese and English, a general part and rules for each task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any, get_args

from fullbench import registry
from fullbench.benchmarks.align_mm.tasks import TASKS
from fullbench.errors import InputError
from fullbench.judges.prompted import SLOTS, PromptedJudge, read_template
from fullbench.judges.templates import Template
from fullbench.nouns.ballot import Language
from fullbench.nouns.item import Part, Turn
from fullbench.nouns.judge import former_names_of
from fullbench.nouns.model import Model, Prompt, Reply, as_judge
from fullbench.nouns.picture import Picture
from fullbench.registry import Spec

_OTHER = {
    "en": "No particular rules hold for this kind of question.",
    "zh": "这类问题没有专门的规则。",
}


def language_named(name: str) -> Language:
    """The language of that name: `zh` or `en`."""
    known: tuple[Language, ...] = get_args(Language)
    if name not in known:
        raise InputError(f"the critic is asked in {' or '.join(known)}; found {name!r}")
    return known[known.index(name)]


@cache
def wording(language: Language) -> Template:
    """The wording that ships with the benchmark."""
    file = resources.files("fullbench.benchmarks.align_mm") / "prompts" / f"{language}.txt"
    return Template.parse(file.read_text(encoding="utf-8"), SLOTS, path=f"{language}.txt")


def criteria(template: Template, language: Language) -> Mapping[str, str]:
    """What holds for each task, by the task's name; it is the criterion of the task's cases."""
    rules = {task.name: template.block(task.rules) for task in TASKS}
    return {**rules, "overall": _OTHER[language]}


TASK = "task"
"""The tag of items by which the critic knows whose rules hold."""


def words(language: Language = "zh", template: Template | None = None) -> Mapping[str, Any]:
    """How the critic is asked, as `PromptedJudge` takes it: by the text alone, beside the reference, by task."""
    chosen = template or wording(language)
    return {
        "language": language, "template": chosen, "criteria": criteria(chosen, language), "sight": "none",
        "reference": True, "form": "json", "rules_tag": TASK,
    }  # fmt: skip


def critic(model: Model, language: Language = "zh", **manner: Any) -> PromptedJudge:
    """A model that rates answers as the critic does: by the text alone, beside the reference, by the task's rules.

    It replies with a JSON object of `Rating` and `Reason`, read in either order; a rating outside 1 to 10 is a fault.
    `manner` is what `PromptedJudge` takes beside that: `mode` (`analyze` or `direct`), `resample`, `template`, `label`.
    """
    return PromptedJudge(model, **{**words(language, manner.pop("template", None)), **manner})


_OPTIONS = {"language", "mode", "resample", "template", "label"}


def critic_named(name: str, options: Mapping[str, str]) -> PromptedJudge:
    """The judge that `critic:KIND:NAME?language=zh` names; options that are not the critic's are the model's."""
    manner: dict[str, Any] = {key: value for key, value in options.items() if key in _OPTIONS}
    model = _model("critic", name, {key: value for key, value in options.items() if key not in _OPTIONS})
    if "resample" in manner:
        if not manner["resample"].isdecimal():
            raise InputError(f"the option resample is a whole number; found {manner['resample']!r}")
        manner["resample"] = int(manner["resample"])
    if "template" in manner:
        manner["template"] = read_template(manner["template"])
    return critic(model, language_named(manner.pop("language", "zh")), **manner)


def _model(what: str, name: str, options: Mapping[str, str]) -> Model:
    if not name:
        raise InputError(f"{what!r} is made of a model: write {what}:KIND:NAME, such as {what}:openai:gpt-4o")
    spec = Spec.parse(name)
    return registry.model(Spec(spec.kind, spec.name, options), name)


@dataclass(frozen=True)
class Blind:
    """A model that is asked without the pictures: the control that says what the words alone give away."""

    model: Model

    @property
    def name(self) -> str:
        return f"{self.model.name} without image"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {**self.model.settings, "pictures": "withheld"}

    @property
    def price(self) -> tuple[float, float] | None:
        return self.model.price

    @property
    def device(self) -> str:
        """Where it computes: where the model does."""
        return str(getattr(self.model, "device", "cpu"))

    def as_judge(self) -> Blind:
        return Blind(as_judge(self.model))

    @property
    def former_names(self) -> tuple[str, ...]:
        return tuple(f"{former} without image" for former in former_names_of(self.model))

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        """The model's replies to the prompts without their pictures."""
        return self.model.answer(map(_unseen, prompts))


def _unseen(prompt: Prompt) -> Prompt:
    turns = tuple(Turn(turn.role, _words(turn.parts)) for turn in prompt.turns)
    return replace(prompt, turns=turns)


def _words(parts: Iterable[Part]) -> tuple[Part, ...]:
    return tuple(part for part in parts if not isinstance(part, Picture)) or ("",)


def blind_named(name: str, options: Mapping[str, str]) -> Blind:
    """The contestant that `blind:KIND:NAME` names."""
    return Blind(_model("blind", name, options))
