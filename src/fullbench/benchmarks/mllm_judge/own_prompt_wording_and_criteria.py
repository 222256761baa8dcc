"""Prompt templates of MLLM-as-a-Judge: our own wording, five criteria, and five levels of a score."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any

from fullbench.core.model import Model
from fullbench.judges.prompt_templates import load_template
from fullbench.judges.prompted_judge import SLOTS, PromptedJudge

TRIALS = 6
"""Trials per case in the paper's consistency study."""
LEVELS = (
    ("poor", "beside the request, wrong in what matters, or empty"),
    ("fair", "touches the request, but with grave mistakes or gaps"),
    ("average", "serves the request in part; some mistakes, or much left out"),
    ("good", "right and to the point, with small gaps"),
    ("excellent", "right, complete, precise, and shaped to what was asked"),
)
_CRITERIA_TEXT = (
    "relevance (does it answer what was asked), accuracy (does it hold against the pictures and the facts), "
    "comprehensiveness (does it cover what matters), creativity (where the request calls for it), and granularity (is "
    "it as detailed as the request needs)"
)
CRITERIA = {
    "overall": f"Weigh {_CRITERIA_TEXT}. Where a score is asked for: "
    + "; ".join(f"{mark} is {name} ({meaning})" for mark, (name, meaning) in enumerate(LEVELS, 1))
    + "."
}


def contestants_wording() -> str:
    """Return the prompt for contestants; the paper puts such a prompt around each instruction."""
    file = resources.files("fullbench.benchmarks.mllm_judge") / "prompts" / "answer.txt"
    return file.read_text(encoding="utf-8")


def judge_options() -> Mapping[str, Any]:
    """Return the template and the meaning of scores as options of `PromptedJudge`."""
    return {
        "template": load_template("fullbench.benchmarks.mllm_judge", "judge", SLOTS),
        "criteria": CRITERIA,
        "check_code": False,
    }


def build_judge(model: Model, **overrides: Any) -> PromptedJudge:
    """Build a judge with this benchmark's template.

    `overrides` are options of `PromptedJudge`: `mode` (`direct`, `analyze`, `steps`, `commit`), `steps` (`both`,
    `picture`, `question`, `answer`), `picture_mode` (`image`, `none`, `described`), `examples`, `resample`, `form`.
    """
    return PromptedJudge(model, **{**judge_options(), **overrides})
