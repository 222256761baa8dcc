"""English and Chinese names of the thirteen tasks and three categories."""

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
"""In the paper's order, with their Chinese names."""


@dataclass(frozen=True)
class Task:
    """A task: its English name, Chinese name and category."""

    name: str
    zh: str
    category: Category


_PERCEPTION, _REASONING, _DIALOGUE = CATEGORIES
TASKS: tuple[Task, ...] = (
    Task("Description", "描述", _PERCEPTION),
    Task("Recognition", "识别", _PERCEPTION),
    Task("Counting", "计数", _PERCEPTION),
    Task("OCR", "文字识别", _PERCEPTION),
    Task("Meme", "梗图", _PERCEPTION),
    Task("Knowledge", "知识", _PERCEPTION),
    Task("Reasoning", "推理", _REASONING),
    Task("Chart", "图表", _REASONING),
    Task("Problem", "解题", _REASONING),
    Task("Comparison", "对比", _REASONING),
    Task("Writing", "写作", _REASONING),
    Task("Coherence", "连贯", _DIALOGUE),
    Task("Incoherence", "纠错", _DIALOGUE),
)
MISSPELT: Mapping[str, str] = {"Descrpition": "Description"}
"""Spelling of the released evaluator, and the name in the released questions."""
_BY_NAME = {name: task for task in TASKS for name in (task.name, task.name.lower(), task.zh)}


def task_of(name: str) -> Task:
    """Return the task by its English or Chinese name, or by the released evaluator's misspelling.

    >>> task_of("Descrpition").zh, task_of("计数").category
    ('描述', 'Perception & Understanding')
    """
    task = _BY_NAME.get(MISSPELT.get(name, name))
    if task is None:
        raise InputError(f"unknown task {name!r}; known: {', '.join(task.name for task in TASKS)}")
    return task
