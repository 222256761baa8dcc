"""Texts that a model writes for experiments: longer answers, descriptions of pictures, references from captions.

Each task has a list of prompts and a function for the replies. So a study can count the prompts before it sends them,
store the replies in its ledger, and repeat only those that failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from fullbench.core.item import Item
from fullbench.core.model import Prompt, Reply
from fullbench.core.response import LENGTHENS, Response
from fullbench.judges.item_layout_in_prompt import question_slots
from fullbench.judges.prompt_templates import Template, load_template

_SLOTS = frozenset({"question", "answer", "pictures", "described"})


def load_experiment_template(name: str) -> Template:
    """Load one of the templates `lengthen`, `describe`, `compose`."""
    return load_template("fullbench.judges", name, _SLOTS)


@dataclass
class WritingResult:
    """Items and responses with the new texts, and why some have none."""

    items: list[Item] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


class WritingTask(Protocol):
    """Prompts for a model, and what is made of its replies."""

    def prompts(self) -> list[Prompt]:
        """Return the prompts."""

    def apply_replies(self, replies: Iterable[Reply]) -> WritingResult:
        """Return the items and responses made from the replies."""


@dataclass(frozen=True)
class Lengthening:
    """Every answer rewritten at greater length, as a new contestant.

    The new contestant is named after the old one. Its responses carry the tag `lengthens`, which the length probe
    uses. An answer that did not become longer is excluded, with the reason.
    """

    items: Sequence[Item]
    responses: Sequence[Response]

    def prompts(self) -> list[Prompt]:
        items_by_id = {item.id: item for item in self.items}
        template = load_experiment_template("lengthen")
        return [
            Prompt(template.fill({"question": (items_by_id[old.item].question,), "answer": (old.text,)}), tag=old)
            for old in self.responses
        ]

    def apply_replies(self, replies: Iterable[Reply]) -> WritingResult:
        writing_result = WritingResult(list(self.items))
        for reply in replies:
            old: Response = reply.prompt.tag
            where = f"{old.contestant} on {old.item}"
            if reply.error is not None:
                writing_result.failures.append(f"{where}: {reply.error}")
            elif len(reply.text.split()) <= len(old.text.split()):
                writing_result.failures.append(f"{where}: the new answer is no longer than the old one")
            else:
                tags = {**old.tags, LENGTHENS: old.contestant}
                name = f"{old.contestant}+longer"
                writing_result.responses.append(Response(old.item, name, (reply.text,), tags, old.sample))
        return writing_result


@dataclass(frozen=True)
class Describing:
    """Every picture described once, for judges with `picture_mode="described"`: a vision expert.

    Each picture is shown alone and described once, however many items it belongs to. If a description fails, its
    items keep their captions.
    """

    items: Sequence[Item]

    def prompts(self) -> list[Prompt]:
        pictures = {picture.digest: picture for item in self.items for picture in item.pictures}
        return [
            Prompt(load_experiment_template("describe").fill({"pictures": (picture,)}), tag=digest)
            for digest, picture in pictures.items()
        ]

    def apply_replies(self, replies: Iterable[Reply]) -> WritingResult:
        writing_result = WritingResult()
        words: dict[str, str] = {}
        for reply in replies:
            if reply.error is not None or not reply.text.strip():
                writing_result.failures.append(
                    f"picture {reply.prompt.tag[:8]}: {reply.error or 'the description is empty'}"
                )
            else:
                words[reply.prompt.tag] = reply.text.strip()
        for item in self.items:
            is_described = bool(item.pictures) and all(picture.digest in words for picture in item.pictures)
            captions = tuple(words[picture.digest] for picture in item.pictures) if is_described else item.captions
            writing_result.items.append(replace(item, captions=captions))
        return writing_result


@dataclass(frozen=True)
class Composing:
    """The reference of each item, written only from its captions and its instruction.

    This is the third of four steps: a person writes the instruction, a person captions the images with it in mind, a
    model answers, a person verifies. New items carry the tag `verified` = `no` until then, and no older label.
    """

    items: Sequence[Item]
    writer: str = ""

    def prompts(self) -> list[Prompt]:
        template = load_experiment_template("compose")
        return [
            Prompt(template.fill(question_slots(item, template, "described", "en")), tag=item)
            for item in self.items
            if item.captions
        ]

    def apply_replies(self, replies: Iterable[Reply]) -> WritingResult:
        writing_result = WritingResult()
        for item in self.items:
            if not item.captions:
                writing_result.failures.append(
                    f"{item.id}: no caption, so there is nothing to write the reference from"
                )
        for reply in replies:
            source_item: Item = reply.prompt.tag
            if reply.error is not None or not reply.text.strip():
                writing_result.failures.append(f"{source_item.id}: {reply.error or 'the reply is empty'}")
            else:
                other_tags = {name: value for name, value in source_item.tags.items() if name != "label"}
                tags = {**other_tags, "verified": "no", "reference by": self.writer}
                writing_result.items.append(replace(source_item, reference=reply.text.strip(), tags=tags))
        return writing_result
