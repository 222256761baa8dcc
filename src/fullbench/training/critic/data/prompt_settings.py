"""Prompt settings of a critic. Training and judging both use them, so that the prompts are the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from fullbench.analysis.agreement.critic_with_people import SCALE, scale_of
from fullbench.core.ballot import Score, ballot
from fullbench.core.language_and_words import parse_language
from fullbench.core.model import Model
from fullbench.errors import InputError
from fullbench.judges.critic_prompts_with_task_rules import build_critic
from fullbench.judges.prompt_templates import Template
from fullbench.judges.prompted_judge import SLOTS, PromptedJudge

PromptStyle = Literal["critic", "plain"]
Mode = Literal["direct", "analyze"]


@dataclass(frozen=True)
class PromptSettings:
    """Prompt style, language and scale, and the mode (with or without reasons before the mark).

    `prompt_style` is `critic` (AlignMMBench's critic: 1 to 10, compared with a reference, by the rules of the task) or
    `plain` (the template of any judge, on any scale; the reference is shown if `reference` is set). No picture is
    shown. `template` is the user's own prompt template, as text.
    """

    prompt_style: PromptStyle = "critic"
    ballot: str = SCALE.spec
    language: str = "zh"
    mode: Mode = "direct"
    reference: bool = True
    template: str = ""

    def __post_init__(self) -> None:
        for name, value, choices in (("prompt_style", self.prompt_style, PromptStyle), ("mode", self.mode, Mode)):
            if value not in get_args(choices):
                raise InputError(f"unknown {name} {value!r}; known: {', '.join(get_args(choices))}")
        parse_language(self.language)
        scale_of(self.ballot)
        if self.prompt_style == "critic" and self.ballot != SCALE.spec:
            raise InputError(
                f"the prompt style 'critic' scores on {SCALE.spec}; found {self.ballot}; use the prompt style 'plain'"
            )
        if self.prompt_style == "critic" and not self.reference:
            raise InputError("the prompt style 'critic' shows the reference; use the prompt style 'plain' without it")

    @property
    def scale(self) -> Score:
        """Ballot of the critic."""
        scale = ballot(self.ballot)
        if not isinstance(scale, Score):
            raise InputError(f"a critic gives scores; found the ballot {self.ballot}")
        return scale

    def judge(self, model: Model, label: str | None = None, resample: int = 0) -> PromptedJudge:
        """Return a judge that sends these prompts to the model."""
        language = parse_language(self.language)
        options: dict[str, Any] = {"mode": self.mode, "resample": resample, "label": label}
        if self.template:
            options["template"] = Template.parse(self.template, SLOTS)
        if self.prompt_style == "critic":
            return build_critic(model, language, **options)
        # A trained critic learns from its targets which end of the scale is good, so the prompt does not say it.
        return PromptedJudge(
            model, picture_mode="none", reference=self.reference, language=language, ends=False, check_code=False,
            **options,
        )  # fmt: skip

    def target(self, mark: float, reason: str = "") -> str:
        """Return the reply of a perfect critic, which is read back as exactly this mark."""
        if self.prompt_style == "plain":
            verdict_text = self.scale.write((mark,))
            return verdict_text if self.mode == "direct" else f"{reason}\n{verdict_text}"
        rating = {"Rating": int(mark)}
        if self.mode == "analyze":
            return json.dumps(rating | {"Reason": reason}, ensure_ascii=False)
        return json.dumps(rating, ensure_ascii=False)

    @property
    def values(self) -> Mapping[str, Any]:
        """Return all fields as a JSON object."""
        return asdict(self)
