"""Prompt styles of VisIT-Bench's judge, labels for references of own items, and the caption ablation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.item import Item
from fullbench.core.model import Model
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError
from fullbench.judges.prompt_templates import load_template
from fullbench.judges.prompted_judge import SLOTS, PromptedJudge
from fullbench.stats.intervals.share_intervals import wilson_interval

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


def with_reference_label(item: Item, label: str) -> Item:
    """Return the item with a person's label of its reference: correct, caption at fault, or reference at fault."""
    known_labels = ("correct", "caption at fault", "reference at fault")
    if label not in known_labels:
        raise InputError(f"unknown label {label!r} for item {item.id!r}; known: {', '.join(known_labels)}")
    return replace(item, tags={**item.tags, "label": label, "verified": "yes" if label == "correct" else "no"})


def caption_ablation_table(items_by_caption: Mapping[str, Sequence[Item]]) -> Table:
    """Return the share of references that people verified, for each kind of caption they were written from."""
    rows: list[list[Cell]] = []
    for kind, items in items_by_caption.items():
        labels = [item.tags["label"] for item in items if "label" in item.tags]
        if labels:
            rows.append([kind, wilson_interval(labels.count("correct"), len(labels)), len(items) - len(labels)])
    columns = table_columns("captions", "references that are right", "not verified yet")
    hint = {"kind": "bars", "label": "captions", "value": "references that are right"}
    return Table("captions", Note("visit-bench.asking.title.what-the-captions-do"), columns, rows, (), {}, hint)
