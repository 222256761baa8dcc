"""Reference answers by a model: new ones for people to review, and paraphrases of existing ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from fullbench.core.ballot import Language
from fullbench.core.item import Item, Turn
from fullbench.core.model import DECLINED_STOPS, Model
from fullbench.core.response import Response
from fullbench.core.text import language_of
from fullbench.errors import InputError
from fullbench.judges.prompt_templates import Template
from fullbench.studies.engines import JobCounts
from fullbench.studies.run.call_context import CallContext


@cache
def _load_template(what: str, language: Language) -> Template:
    file = resources.files("fullbench.studies") / "prompts" / f"{what}_{language}.txt"
    return Template.parse(file.read_text(encoding="utf-8"), {"question", "reference"}, path=file.name)


@dataclass
class ModelTexts:
    """Texts by a model, as queue rows and as responses, and the failures."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    job_counts: list[JobCounts] = field(default_factory=list)


def write_references(model: Model, items: Sequence[Item], calls: CallContext) -> ModelTexts:
    """Let a model write a reference for every item without one, as a queue for people to review."""
    bare = {f"{item.id}/reference": item for item in items if not item.reference}
    requests = []
    for name, item in bare.items():
        instruction = _load_template("reference", language_of(item.question)).turns[0][1]
        requests.append(Item(name, (Turn("system", (instruction,)), *item.turns), tags={"seed": item.id}))
    model_texts = _collect_replies(model, requests, calls)
    model_texts.rows = [
        {"item": bare[reply.item].id, "question": bare[reply.item].question, "reference": reply.text.strip(),
         "accept": None, "reason": None, "note": f"written by {reply.contestant}"}
        for reply in model_texts.responses
    ]  # fmt: skip
    return model_texts


def rephrase_references(model: Model, items: Sequence[Item], calls: CallContext, *, contestant: str) -> ModelTexts:
    """Let a model paraphrase every reference, as a response of `contestant`: equally right, in other words."""
    items_by_request = {f"{item.id}/rephrased": item for item in items if item.reference}
    if not items_by_request:
        raise InputError("no item has a reference that could be put into other words")
    requests = []
    for name, item in items_by_request.items():
        wording = _load_template("rephrase", language_of(item.question))
        turns = wording.fill({"question": (item.question,), "reference": (item.reference or "",)})
        requests.append(Item(name, turns, tags={"seed": item.id}))
    model_texts = _collect_replies(model, requests, calls)
    same = [
        reply
        for reply in model_texts.responses
        if _alphanumeric_only(reply.text) == _alphanumeric_only(items_by_request[reply.item].reference or "")
    ]
    model_texts.failures += [f"{items_by_request[reply.item].id}: the very words of the reference" for reply in same]
    model_texts.responses = [
        Response.say(items_by_request[reply.item].id, contestant, reply.text.strip(), tags={"writer": reply.contestant})
        for reply in model_texts.responses if reply not in same
    ]  # fmt: skip
    return model_texts


def _collect_replies(model: Model, requests: Sequence[Item], calls: CallContext) -> ModelTexts:
    """Return the model's reply to each request; refusals and empty replies become failures."""
    model_texts = ModelTexts()
    if not requests:
        return model_texts
    model_texts.job_counts = calls.collect_answers([model], requests, what="references")
    for reply in calls.ledger.responses([model.name], item_keys=[item.key for item in requests]):
        if reply.tags.get("stop") in DECLINED_STOPS or not reply.text.strip():
            model_texts.failures.append(f"{reply.item}, by {reply.contestant}: refused or empty")
        else:
            model_texts.responses.append(reply)
    return model_texts


def _alphanumeric_only(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())
