"""The words of a peer review: what is asked for a question, for an answer, and by what answers are compared.

A wording is a template file like a judge's: its turns ask for a question, and its blocks are `answer` (how a question
is to be answered), `choose` (the same where there are options), `correctness` and `visual` (what each ruling goes by).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from fullbench.core.ballot import Language
from fullbench.core.rubric import CORRECTNESS, VISUAL
from fullbench.judges.prompt_templates import Template

_BLOCKS = ("answer", "choose", CORRECTNESS, VISUAL)


@dataclass(frozen=True)
class Wording:
    """What is said, and in which language. `mark` tells questions of this wording from those of the usual one."""

    template: Template
    language: Language
    mark: str = ""

    def __post_init__(self) -> None:
        for name in _BLOCKS:
            self.template.block(name)

    @property
    def write(self) -> str:
        """The request to write a question."""
        return self.template.turns[-1][1]

    @property
    def answer(self) -> str:
        """How a question is to be answered."""
        return self.template.block("answer")

    @property
    def choose(self) -> str:
        """How a question with options is to be answered."""
        return self.template.block("choose")

    @property
    def criteria(self) -> Mapping[str, str]:
        """What each of the two rulings goes by."""
        return {name: self.template.block(name) for name in (CORRECTNESS, VISUAL)}


@cache
def shipped(language: Language = "en") -> Wording:
    """The wording that comes with the package."""
    file = resources.files("fullbench.judges.peer_review") / "prompts" / f"{language}.txt"
    template = Template.parse(file.read_text(encoding="utf-8"), (), path=f"{language}.txt")
    return Wording(template, language, "" if language == "en" else language)


def read_wording(path: str | Path, language: Language = "en") -> Wording:
    """A wording of one's own."""
    template = Template.read(path, ())
    return Wording(template, language, template.digest[:6])
