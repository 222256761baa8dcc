"""How a judge is asked in this benchmark: our own wording, the five criteria, the five levels of a score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any

from fullbench.figures.probes import LENGTHENS
from fullbench.judges.prompted import SLOTS, PromptedJudge
from fullbench.judges.templates import Template
from fullbench.nouns.item import Item
from fullbench.nouns.model import Model, Prompt
from fullbench.nouns.response import Response

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


@cache
def wording(name: str = "judge") -> Template:
    """One of the wordings that ship with the benchmark."""
    file = resources.files("fullbench.benchmarks.mllm_judge") / "prompts" / f"{name}.txt"
    slots = SLOTS if name == "judge" else {"question", "answer", "pictures"}
    return Template.parse(file.read_text(encoding="utf-8"), slots, path=f"{name}.txt")


def words() -> Mapping[str, Any]:
    """The wording and what scores mean, as `PromptedJudge` takes them."""
    return {"template": wording(), "criteria": CRITERIA}


def judge(model: Model, **manner: Any) -> PromptedJudge:
    """A model that judges in this benchmark's wording.

    `manner` is what `PromptedJudge` takes: `mode` (`direct`, `analyze`, `steps`), `steps` (`both`, `picture`,
    `question`), `sight` (`image`, `none`, `described`), `examples`, `resample`, `form`.
    """
    return PromptedJudge(model, **{**words(), **manner})


@dataclass
class Lengthened:
    """Answers made longer, and why some were not."""

    responses: list[Response] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def lengthen(model: Model, items: Iterable[Item], responses: Sequence[Response]) -> Lengthened:
    """Every answer said again at greater length by a model, as a contestant of its own.

    The new contestant is named after the old one, and its responses carry the tag `lengthens`, by which the length
    probe knows them. An answer that did not become longer is set aside, with the reason.
    """
    asked = {item.id: item for item in items}
    lengthened = Lengthened()

    def prompts() -> Iterator[Prompt]:
        for response in responses:
            values = {"question": (asked[response.item].question,), "answer": (response.text,)}
            yield Prompt(wording("lengthen").fill(values), tag=response)

    for reply in model.answer(prompts()):
        old: Response = reply.prompt.tag
        where = f"{old.contestant} on {old.item}"
        if reply.error is not None:
            lengthened.failed.append(f"{where}: {reply.error}")
        elif len(reply.text.split()) <= len(old.text.split()):
            lengthened.failed.append(f"{where}: the new answer is no longer than the old one")
        else:
            tags = {**old.tags, LENGTHENS: old.contestant}
            lengthened.responses.append(Response(old.item, f"{old.contestant}+longer", (reply.text,), tags, old.sample))
    return lengthened


@dataclass
class Described:
    """Items with a description of every picture, and why some have none."""

    items: list[Item] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def describe(model: Model, items: Sequence[Item]) -> Described:
    """Every picture described once by a model, for judges with `sight="described"`.

    Each picture is shown alone and described once, however many items it belongs to. An item of which a description
    failed keeps the captions it had. Write the items to a file, and the descriptions are kept.
    """
    pictures = {picture.digest: picture for item in items for picture in item.pictures}
    words: dict[str, str] = {}
    described = Described()
    asked = (
        Prompt(wording("describe").fill({"pictures": (picture,)}), tag=digest) for digest, picture in pictures.items()
    )
    for reply in model.answer(asked):
        if reply.error is not None or not reply.text.strip():
            described.failed.append(f"picture {reply.prompt.tag[:8]}: {reply.error or 'the description is empty'}")
        else:
            words[reply.prompt.tag] = reply.text.strip()
    for item in items:
        known = all(picture.digest in words for picture in item.pictures)
        captions = tuple(words[picture.digest] for picture in item.pictures) if known else item.captions
        described.items.append(replace(item, captions=captions))
    return described
