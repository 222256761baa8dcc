"""How a judge is asked in this benchmark: our own wording, the five criteria, the five levels of a score."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from fullbench.core.model import Model
from fullbench.judges.prompt_templates import Template
from fullbench.judges.prompted import SLOTS, PromptedJudge
from fullbench.judges.texts_for_experiments import describe, lengthen

__all__ = ["CRITERIA", "LEVELS", "TRIALS", "contestants_wording", "describe", "judge", "lengthen", "wording", "words"]
TRIALS = 6
"""How often the paper hears every case to see whether a judge is steady."""
LEVELS = (
    ("poor", "beside the request, wrong in what matters, or empty"),
    ("fair", "touches the request, but with grave mistakes or gaps"),
    ("average", "serves the request in part; some mistakes, or much left out"),
    ("good", "right and to the point, with small gaps"),
    ("excellent", "right, complete, precise, and shaped to what was asked"),
)
_WEIGH = (
    "relevance (does it answer what was asked), accuracy (does it hold against the pictures and the facts), "
    "comprehensiveness (does it cover what matters), creativity (where the request calls for it), and granularity (is "
    "it as detailed as the request needs)"
)
CRITERIA = {
    "overall": f"Weigh {_WEIGH}. Where a score is asked for: "
    + "; ".join(f"{mark} is {name} ({meaning})" for mark, (name, meaning) in enumerate(LEVELS, 1))
    + "."
}


def _prompt(name: str) -> str:
    file = resources.files("fullbench.benchmarks.mllm_judge") / "prompts" / f"{name}.txt"
    return file.read_text(encoding="utf-8")


@cache
def wording(name: str = "judge") -> Template:
    """One of the wordings that ship with the benchmark."""
    return Template.parse(_prompt(name), SLOTS, path=f"{name}.txt")


def contestants_wording() -> str:
    """The words in which contestants are asked, as the paper puts a prompt around each instruction."""
    return _prompt("answer")


def words() -> Mapping[str, Any]:
    """The wording and what scores mean, as `PromptedJudge` takes them."""
    return {"template": wording(), "criteria": CRITERIA}


def judge(model: Model, **manner: Any) -> PromptedJudge:
    """A model that judges in this benchmark's wording.

    `manner` is what `PromptedJudge` takes: `mode` (`direct`, `analyze`, `steps`), `steps` (`both`, `picture`,
    `question`), `sight` (`image`, `none`, `described`), `examples`, `resample`, `form`.
    """
    return PromptedJudge(model, **{**words(), **manner})
