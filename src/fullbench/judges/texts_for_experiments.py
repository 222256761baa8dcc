"""What a model writes for an experiment: longer answers, descriptions of pictures, references from captions.

Each is a list of prompts and a way to take the replies in, so that a study can count the prompts before it asks, keep
the replies in its ledger, and ask again for those alone that failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Protocol

from fullbench.core.item import Item
from fullbench.core.model import Model, Prompt, Reply
from fullbench.core.response import LENGTHENS, Response
from fullbench.judges.prompt_templates import Template

_SLOTS = frozenset({"question", "answer", "pictures", "described"})


@cache
def wording(name: str) -> Template:
    """One of the wordings: `lengthen`, `describe`, `compose`."""
    file = resources.files("fullbench.judges") / "prompts" / f"{name}.txt"
    return Template.parse(file.read_text(encoding="utf-8"), _SLOTS, path=f"{name}.txt")


@dataclass
class Written:
    """Items and responses with what was written, and why some have none."""

    items: list[Item] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


class Writing(Protocol):
    """Prompts for a model, and what its replies make."""

    def prompts(self) -> list[Prompt]:
        """What the model is asked."""

    def taken(self, replies: Iterable[Reply]) -> Written:
        """What the replies make of the items and responses."""


@dataclass(frozen=True)
class Lengthening:
    """Every answer said again at greater length, as a contestant of its own.

    The new contestant is named after the old one, and its responses carry the tag `lengthens`, by which the length
    probe knows them. An answer that did not become longer is set aside, with the reason.
    """

    items: Sequence[Item]
    responses: Sequence[Response]

    def prompts(self) -> list[Prompt]:
        asked = {item.id: item for item in self.items}
        template = wording("lengthen")
        return [
            Prompt(template.fill({"question": (asked[old.item].question,), "answer": (old.text,)}), tag=old)
            for old in self.responses
        ]

    def taken(self, replies: Iterable[Reply]) -> Written:
        done = Written(list(self.items))
        for reply in replies:
            old: Response = reply.prompt.tag
            where = f"{old.contestant} on {old.item}"
            if reply.error is not None:
                done.failed.append(f"{where}: {reply.error}")
            elif len(reply.text.split()) <= len(old.text.split()):
                done.failed.append(f"{where}: the new answer is no longer than the old one")
            else:
                tags = {**old.tags, LENGTHENS: old.contestant}
                name = f"{old.contestant}+longer"
                done.responses.append(Response(old.item, name, (reply.text,), tags, old.sample))
        return done


@dataclass(frozen=True)
class Describing:
    """Every picture described once, for judges with `sight="described"`: a vision expert.

    Each picture is shown alone and described once, however many items it belongs to. An item of which a description
    failed keeps the captions it had.
    """

    items: Sequence[Item]

    def prompts(self) -> list[Prompt]:
        pictures = {picture.digest: picture for item in self.items for picture in item.pictures}
        return [
            Prompt(wording("describe").fill({"pictures": (picture,)}), tag=digest)
            for digest, picture in pictures.items()
        ]

    def taken(self, replies: Iterable[Reply]) -> Written:
        done = Written()
        words: dict[str, str] = {}
        for reply in replies:
            if reply.error is not None or not reply.text.strip():
                done.failed.append(f"picture {reply.prompt.tag[:8]}: {reply.error or 'the description is empty'}")
            else:
                words[reply.prompt.tag] = reply.text.strip()
        for item in self.items:
            known = bool(item.pictures) and all(picture.digest in words for picture in item.pictures)
            captions = tuple(words[picture.digest] for picture in item.pictures) if known else item.captions
            done.items.append(replace(item, captions=captions))
        return done


@dataclass(frozen=True)
class Composing:
    """The reference of each item, written from its captions and its instruction alone.

    This is the third of four steps: a person writes the instruction, a person captions the images with it in mind,
    a model answers, a person verifies. New items carry the tag `verified` = `no` until then, and no older label.
    """

    items: Sequence[Item]
    writer: str = ""

    def prompts(self) -> list[Prompt]:
        return [
            Prompt(wording("compose").fill({"described": (_numbered(item),), "question": (item.question,)}), tag=item)
            for item in self.items
            if item.captions
        ]

    def taken(self, replies: Iterable[Reply]) -> Written:
        done = Written()
        for item in self.items:
            if not item.captions:
                done.failed.append(f"{item.id}: no caption, so there is nothing to write the reference from")
        for reply in replies:
            asked: Item = reply.prompt.tag
            if reply.error is not None or not reply.text.strip():
                done.failed.append(f"{asked.id}: {reply.error or 'the reply is empty'}")
            else:
                kept = {name: value for name, value in asked.tags.items() if name != "label"}
                tags = {**kept, "verified": "no", "reference by": self.writer}
                done.items.append(replace(asked, reference=reply.text.strip(), tags=tags))
        return done


def _numbered(item: Item) -> str:
    return "\n".join(f"[{place}] {caption}" for place, caption in enumerate(item.captions, 1))


def lengthen(model: Model, items: Iterable[Item], responses: Sequence[Response]) -> Written:
    """Every answer said again at greater length by a model; see `Lengthening`."""
    writing = Lengthening(list(items), responses)
    return writing.taken(model.answer(writing.prompts()))


def describe(model: Model, items: Sequence[Item]) -> Written:
    """Every picture described once by a model; see `Describing`."""
    writing = Describing(items)
    return writing.taken(model.answer(writing.prompts()))


def compose(model: Model, items: Sequence[Item]) -> Written:
    """The reference of each item written by a model from captions; see `Composing`."""
    writing = Composing(items, model.name)
    return writing.taken(model.answer(writing.prompts()))
