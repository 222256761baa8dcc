"""How a critic is asked. It is trained on the prompts that it is judged by, for both come from here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from fullbench.analysis.agreement.critic_with_people import SCALE, scale_of
from fullbench.core.ballot import Score, ballot
from fullbench.core.model import Model
from fullbench.core.text import language_named
from fullbench.errors import InputError
from fullbench.judges.critic_prompts import critic
from fullbench.judges.prompt_templates import Template
from fullbench.judges.prompted import SLOTS, PromptedJudge

Manner = Literal["critic", "plain"]
Mode = Literal["direct", "analyze"]


@dataclass(frozen=True)
class Asking:
    """The wording, the language, the scale, and whether reasons are given before the mark.

    `manner` is `critic` (AlignMMBench's critic: 1 to 10, beside a reference, by the rules of the task) or `plain` (the
    wording of any judge, on any scale; the reference is shown where `reference` says so). No picture is shown.
    `template` is a prompt template of the user, as text.
    """

    manner: Manner = "critic"
    ballot: str = SCALE.spec
    language: str = "zh"
    mode: Mode = "direct"
    reference: bool = True
    template: str = ""

    def __post_init__(self) -> None:
        for name, value, known in (("manner", self.manner, Manner), ("mode", self.mode, Mode)):
            if value not in get_args(known):
                raise InputError(f"unknown {name} {value!r}; known: {', '.join(get_args(known))}")
        language_named(self.language)
        scale_of(self.ballot)
        if self.manner == "critic" and self.ballot != SCALE.spec:
            raise InputError(
                f"the manner 'critic' scores on {SCALE.spec}; found {self.ballot}; take the manner 'plain'"
            )
        if self.manner == "critic" and not self.reference:
            raise InputError("the manner 'critic' shows the reference; take the manner 'plain' to go without")

    @property
    def scale(self) -> Score:
        """The ballot that is filled in."""
        scale = ballot(self.ballot)
        if not isinstance(scale, Score):
            raise InputError(f"a critic gives scores; found the ballot {self.ballot}")
        return scale

    def judge(self, model: Model, label: str | None = None, resample: int = 0) -> PromptedJudge:
        """A model that is asked this way."""
        language = language_named(self.language)
        options: dict[str, Any] = {"mode": self.mode, "resample": resample, "label": label}
        if self.template:
            options["template"] = Template.parse(self.template, SLOTS)
        if self.manner == "critic":
            return critic(model, language, **options)
        # A trained critic learns from its targets which end of the scale is good, so the prompt does not say it.
        return PromptedJudge(model, sight="none", reference=self.reference, language=language, ends=False, **options)

    def target(self, mark: float, reason: str = "") -> str:
        """The reply that a perfect critic would give, read back as exactly this mark."""
        if self.manner == "plain":
            ruling = self.scale.write((mark,))
            return ruling if self.mode == "direct" else f"{reason}\n{ruling}"
        rating = {"Rating": int(mark)}
        if self.mode == "analyze":
            return json.dumps(rating | {"Reason": reason}, ensure_ascii=False)
        return json.dumps(rating, ensure_ascii=False)

    @property
    def values(self) -> Mapping[str, Any]:
        """Return all fields as a JSON object."""
        return asdict(self)
