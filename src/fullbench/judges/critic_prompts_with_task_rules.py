"""Prompts of the critic, our own in Chinese and English: a general part and rules for each task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fullbench.core.ballot import Language
from fullbench.core.language_and_words import parse_language
from fullbench.core.model import Model
from fullbench.errors import InputError
from fullbench.judges.prompt_templates import Template, load_template
from fullbench.judges.prompted_judge import SLOTS, PromptedJudge, read_template
from fullbench.plugin_specs import inner_model

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
"""AlignMMBench's thirteen tasks, and the template block with the rules of each."""
_NO_TASK_RULES = {
    "en": "No particular rules hold for this kind of question.",
    "zh": "这类问题没有专门的规则。",
}


def load_critic_template(language: Language) -> Template:
    """Return the critic's prompt template, which requests the rating before the reason, as the paper does."""
    return load_template("fullbench.judges", f"critic_{language}", SLOTS)


def task_criteria(template: Template, language: Language) -> Mapping[str, str]:
    """Return the rules of each task, by the task's name; they are the criterion of the task's cases."""
    rules = {task: template.block(block) for task, block in RULES.items()}
    return {**rules, "overall": _NO_TASK_RULES[language]}


TASK = "task"
"""Tag of items that selects the critic's rules."""


def critic_options(language: Language = "zh", template: Template | None = None) -> Mapping[str, Any]:
    """Return the critic's options of `PromptedJudge`: text only, with the reference, with rules by task."""
    prompt_template = template or load_critic_template(language)
    return {
        "language": language,
        "template": prompt_template,
        "criteria": task_criteria(prompt_template, language),
        "picture_mode": "none",
        "reference": True,
        "form": "json",
        "rules_tag": TASK,
        "check_code": False,
    }


def build_critic(model: Model, language: Language = "zh", **judge_options: Any) -> PromptedJudge:
    """Build a critic from a model: it rates text only, compared with the reference, by the task's rules.

    It replies with a JSON object of `Rating` and `Reason`, in either order; a rating outside 1 to 10 is unusable.
    `judge_options` are further options of `PromptedJudge`: `mode` (`analyze` or `direct`), `resample`, `template`,
    `label`.
    """
    return PromptedJudge(model, **{**critic_options(language, judge_options.pop("template", None)), **judge_options})


_OPTIONS = {"language", "mode", "resample", "template", "label"}


def build_critic_from_spec(name: str, options: Mapping[str, str]) -> PromptedJudge:
    """Build the judge for `critic:KIND:NAME?language=zh`; options that are not the critic's go to the model."""
    judge_options: dict[str, Any] = {key: value for key, value in options.items() if key in _OPTIONS}
    model = inner_model("critic", name, {key: value for key, value in options.items() if key not in _OPTIONS})
    if "resample" in judge_options:
        if not judge_options["resample"].isdecimal():
            raise InputError(f"the option resample is a whole number; found {judge_options['resample']!r}")
        judge_options["resample"] = int(judge_options["resample"])
    if "template" in judge_options:
        judge_options["template"] = read_template(judge_options["template"])
    return build_critic(model, parse_language(judge_options.pop("language", "zh")), **judge_options)
