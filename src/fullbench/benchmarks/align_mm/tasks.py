"""Thirteen tasks in three categories, under their English and Chinese names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from fullbench.errors import InputError

Category = Literal["Perception & Understanding", "Reasoning & Analysis", "Dialogue Context"]
CATEGORIES: Mapping[Category, str] = {
    "Perception & Understanding": "感知与理解",
    "Reasoning & Analysis": "推理与分析",
    "Dialogue Context": "对话情境",
}
"""The categories in the order of the paper, with their Chinese names."""


@dataclass(frozen=True)
class Task:
    """What kind of question is asked; `rules` names the block of the wording with what holds for this kind."""

    name: str
    zh: str
    category: Category
    rules: str


_PERCEPTION, _REASONING, _DIALOGUE = CATEGORIES
TASKS: tuple[Task, ...] = (
    Task("Description", "描述", _PERCEPTION, "rules_description"),
    Task("Recognition", "识别", _PERCEPTION, "rules_recognition"),
    Task("Counting", "计数", _PERCEPTION, "rules_counting"),
    Task("OCR", "文字识别", _PERCEPTION, "rules_ocr"),
    Task("Meme", "梗图", _PERCEPTION, "rules_meme"),
    Task("Knowledge", "知识", _PERCEPTION, "rules_knowledge"),
    Task("Reasoning", "推理", _REASONING, "rules_reasoning"),
    Task("Chart", "图表", _REASONING, "rules_chart"),
    Task("Problem", "解题", _REASONING, "rules_problem"),
    Task("Comparison", "对比", _REASONING, "rules_comparison"),
    Task("Writing", "写作", _REASONING, "rules_writing"),
    Task("Coherence", "连贯", _DIALOGUE, "rules_dialogue"),
    Task("Incoherence", "纠错", _DIALOGUE, "rules_dialogue"),
)
MISSPELT: Mapping[str, str] = {"Descrpition": "Description"}
"""How the released evaluator spells a task, and what the released questions call it."""
_BY_NAME = {name: task for task in TASKS for name in (task.name, task.name.lower(), task.zh)}


def task_of(name: str) -> Task:
    """The task of that name, English or Chinese, or as the released evaluator misspells it.

    >>> task_of("Descrpition").zh, task_of("计数").category
    ('描述', 'Perception & Understanding')
    """
    task = _BY_NAME.get(MISSPELT.get(name, name))
    if task is None:
        raise InputError(f"unknown task {name!r}; known: {', '.join(task.name for task in TASKS)}")
    return task
