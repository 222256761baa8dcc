"""Prompts of a peer review: requests for a question and an answer, and the criteria of comparison.

A template is a file like a judge's. Its turns request a question. Its blocks are `answer` (how to answer a question),
`choose` (the same with options), `correctness` and `visual` (the criterion of each verdict).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fullbench.core.ballot import Language
from fullbench.core.rubric import CORRECTNESS, VISUAL
from fullbench.judges.prompt_templates import Template, load_template

_BLOCKS = ("answer", "choose", CORRECTNESS, VISUAL)


@dataclass(frozen=True)
class ReviewTemplate:
    """The prompts and their language. `mark` distinguishes questions of this template from the default's."""

    template: Template
    language: Language
    mark: str = ""

    def __post_init__(self) -> None:
        for name in _BLOCKS:
            self.template.block(name)

    @property
    def write(self) -> str:
        """Return the request to write a question."""
        return self.template.turns[-1][1]

    @property
    def answer(self) -> str:
        """Return the instruction for answering a question."""
        return self.template.block("answer")

    @property
    def choose(self) -> str:
        """Return the instruction for answering a question with options."""
        return self.template.block("choose")

    @property
    def criteria(self) -> Mapping[str, str]:
        """Return the criteria of the two verdicts."""
        return {name: self.template.block(name) for name in (CORRECTNESS, VISUAL)}


@cache
def default_review_template(language: Language = "en") -> ReviewTemplate:
    """Return the template that ships with the package."""
    template = load_template("fullbench.judges.peer_review", language, frozenset())
    return ReviewTemplate(template, language, "" if language == "en" else language)


def read_review_template(path: str | Path, language: Language = "en") -> ReviewTemplate:
    """Read a user's template."""
    template = Template.read(path, ())
    return ReviewTemplate(template, language, template.digest[:6])
