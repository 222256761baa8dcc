"""How the critic is asked: our own wording in Chinese and English, a general part and rules for each task."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from fullbench.core.ballot import Language
from fullbench.core.model import Model
from fullbench.core.text import language_named
from fullbench.errors import InputError
from fullbench.judges.prompt_templates import Template
from fullbench.judges.prompted import SLOTS, PromptedJudge, read_template
from fullbench.plugin_registry import inner_model

RULES: Mapping[str, str] = {
    "Description": "rules_description",
    "Recognition": "rules_recognition",
    "Counting": "rules_counting",
    "OCR": "rules_ocr",
    "Meme": "rules_meme",
    "Knowledge": "rules_knowledge",
    "Reasoning": "rules_reasoning",
    "Chart": "rules_chart",
    "Problem": "rules_problem",
    "Comparison": "rules_comparison",
    "Writing": "rules_writing",
    "Coherence": "rules_dialogue",
    "Incoherence": "rules_dialogue",
}
"""The kinds of questions that have rules of their own, AlignMMBench's thirteen tasks, and the block of the wording
with the rules of each."""
_OTHER = {
    "en": "No particular rules hold for this kind of question.",
    "zh": "这类问题没有专门的规则。",
}


@cache
def wording(language: Language) -> Template:
    """Return the critic's prompt template in one language.

    It asks for the rating before the reason, as the paper does.
    """
    file = resources.files("fullbench.judges") / "prompts" / f"critic_{language}.txt"
    return Template.parse(file.read_text(encoding="utf-8"), SLOTS, path=file.name)


def criteria(template: Template, language: Language) -> Mapping[str, str]:
    """What holds for each task, by the task's name; it is the criterion of the task's cases."""
    rules = {task: template.block(block) for task, block in RULES.items()}
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
    `manner` holds further options of `PromptedJudge`: `mode` (`analyze` or `direct`), `resample`, `template`, `label`.
    """
    return PromptedJudge(model, **{**words(language, manner.pop("template", None)), **manner})


_OPTIONS = {"language", "mode", "resample", "template", "label"}


def critic_named(name: str, options: Mapping[str, str]) -> PromptedJudge:
    """The judge that `critic:KIND:NAME?language=zh` names; options that are not the critic's are the model's."""
    manner: dict[str, Any] = {key: value for key, value in options.items() if key in _OPTIONS}
    model = inner_model("critic", name, {key: value for key, value in options.items() if key not in _OPTIONS})
    if "resample" in manner:
        if not manner["resample"].isdecimal():
            raise InputError(f"the option resample is a whole number; found {manner['resample']!r}")
        manner["resample"] = int(manner["resample"])
    if "template" in manner:
        manner["template"] = read_template(manner["template"])
    return critic(model, language_named(manner.pop("language", "zh")), **manner)
