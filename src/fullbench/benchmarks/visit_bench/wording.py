"""How a judge is asked in this benchmark, and how a reference is composed for an item of one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

from fullbench.core.column_labels import headings
from fullbench.core.item import Item
from fullbench.core.model import Model
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table
from fullbench.errors import InputError
from fullbench.judges.prompt_templates import Template
from fullbench.judges.prompted import SLOTS, PromptedJudge
from fullbench.judges.texts_for_experiments import compose
from fullbench.stats.intervals.share_intervals import wilson

MANNERS = ("seeing", "ref-free", "ref-backed")
__all__ = ["MANNERS", "ablation", "compose", "judge", "verify", "wording", "words"]


@cache
def wording(name: str = "judge") -> Template:
    """One of the wordings that ship with the benchmark."""
    file = resources.files("fullbench.benchmarks.visit_bench") / "prompts" / f"{name}.txt"
    return Template.parse(file.read_text(encoding="utf-8"), SLOTS, path=f"{name}.txt")


def words(manner: str = "") -> Mapping[str, Any]:
    """How a judge is asked in this benchmark, as `PromptedJudge` takes it.

    `seeing` (where nothing is said) looks at the images, `ref-free` reads the captions in their place, as the paper's
    judge did, and `ref-backed` the verified reference as well; these two ask once, as the paper did.
    """
    if manner and manner not in MANNERS:
        raise InputError(f"unknown manner {manner!r}; known: {', '.join(MANNERS)}")
    if manner in {"", "seeing"}:
        return {"template": wording()}
    return {"template": wording(), "sight": "described", "reference": manner == "ref-backed", "resample": 0}


def judge(model: Model, manner: str = "", **more: Any) -> PromptedJudge:
    """A model that judges in this benchmark's wording; `more` is what `PromptedJudge` takes."""
    return PromptedJudge(model, **{**words(manner), **more})


def verify(item: Item, label: str) -> Item:
    """The item with what a person said of its reference: correct, caption at fault, or reference at fault."""
    known = ("correct", "caption at fault", "reference at fault")
    if label not in known:
        raise InputError(f"unknown label {label!r} for item {item.id!r}; known: {', '.join(known)}")
    return replace(item, tags={**item.tags, "label": label, "verified": "yes" if label == "correct" else "no"})


def ablation(verified: Mapping[str, Sequence[Item]]) -> Table:
    """Which captions let a model write a right reference: for each kind of caption, the share that people verified."""
    rows: list[list[Cell]] = []
    for kind, items in verified.items():
        labels = [item.tags["label"] for item in items if "label" in item.tags]
        if labels:
            rows.append([kind, wilson(labels.count("correct"), len(labels)), len(items) - len(labels)])
    columns = headings("captions", "references that are right", "not verified yet")
    hint = {"kind": "bars", "label": "captions", "value": "references that are right"}
    return Table(
        "captions",
        Note("visit-bench.asking.title.what-the-captions-do", "What the captions do"),
        columns,
        rows,
        (),
        {},
        hint,
    )
