"""Prompt styles of VisIT-Bench's judge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fullbench.core.model import Model
from fullbench.errors import InputError
from fullbench.judges.prompt_templates import load_template
from fullbench.judges.prompted_judge import SLOTS, PromptedJudge

PROMPT_STYLES = ("with-picture", "ref-free", "ref-backed")


def judge_options(prompt_style: str = "") -> Mapping[str, Any]:
    """Return the options of `PromptedJudge` for a prompt style.

    `with-picture` (the default) sends the images. `ref-free` sends the captions instead, as the paper's judge did, and
    `ref-backed` also the verified reference. These two do not resample, as in the paper.
    """
    if prompt_style and prompt_style not in PROMPT_STYLES:
        raise InputError(f"unknown prompt style {prompt_style!r}; known: {', '.join(PROMPT_STYLES)}")
    template = load_template("fullbench.benchmarks.visit_bench", "judge", SLOTS)
    if prompt_style in {"", "with-picture"}:
        return {"template": template, "check_code": False}
    return {
        "template": template, "picture_mode": "described", "reference": prompt_style == "ref-backed", "resample": 0,
        "check_code": False,
    }  # fmt: skip


def build_judge(model: Model, prompt_style: str = "", **overrides: Any) -> PromptedJudge:
    """Build a judge with this benchmark's template; `overrides` are options of `PromptedJudge`."""
    return PromptedJudge(model, **{**judge_options(prompt_style), **overrides})
