"""Reference answers by models: written where there is none, for people to review, and put into other words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from fullbench.core.ballot import Language
from fullbench.core.item import Item, Turn
from fullbench.core.model import DECLINED, Model
from fullbench.core.response import Response
from fullbench.core.text import language_of
from fullbench.errors import InputError
from fullbench.judges.prompt_templates import Template
from fullbench.ledger.ledger import Ledger
from fullbench.studies.engines import HERE, Budget, Engine, Stop, Tally
from fullbench.studies.run.answer_items import answer
from fullbench.studies.run.progress_display import watching


@cache
def _wording(what: str, language: Language) -> Template:
    file = resources.files("fullbench.studies") / "prompts" / f"{what}_{language}.txt"
    return Template.parse(file.read_text(encoding="utf-8"), {"question", "reference"}, path=file.name)


@dataclass(frozen=True)
class Going:
    """Where replies are kept, who asks, for how much at most, and until when."""

    ledger: Ledger
    engine: Engine = HERE
    specs: Mapping[str, str] | None = None
    budget: Budget | None = None
    stop: Stop | None = None
    quiet: bool = False


@dataclass
class ByModel:
    """What a model wrote, as rows of a queue and as responses, and what is amiss with others."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    tallies: list[Tally] = field(default_factory=list)


def written(model: Model, items: Sequence[Item], going: Going) -> ByModel:
    """A reference for every item that has none, in the queue of those that people review."""
    bare = {f"{item.id}/reference": item for item in items if not item.reference}
    asked = []
    for name, item in bare.items():
        said = _wording("reference", language_of(item.question)).turns[0][1]
        asked.append(Item(name, (Turn("system", (said,)), *item.turns), tags={"seed": item.id}))
    done = _answered(model, asked, going)
    done.rows = [
        {"item": bare[reply.item].id, "question": bare[reply.item].question, "reference": reply.text.strip(),
         "accept": None, "reason": None, "note": f"written by {reply.contestant}"}
        for reply in done.responses
    ]  # fmt: skip
    return done


def rephrased(model: Model, items: Sequence[Item], going: Going, *, contestant: str) -> ByModel:
    """Every reference in other words, as the response of `contestant`: as right as it was, and not the same words."""
    known = {f"{item.id}/rephrased": item for item in items if item.reference}
    if not known:
        raise InputError("no item has a reference that could be put into other words")
    asked = []
    for name, item in known.items():
        wording = _wording("rephrase", language_of(item.question))
        turns = wording.fill({"question": (item.question,), "reference": (item.reference or "",)})
        asked.append(Item(name, turns, tags={"seed": item.id}))
    done = _answered(model, asked, going)
    same = [reply for reply in done.responses if _bare(reply.text) == _bare(known[reply.item].reference or "")]
    done.failed += [f"{known[reply.item].id}: the very words of the reference" for reply in same]
    done.responses = [
        Response.say(known[reply.item].id, contestant, reply.text.strip(), tags={"writer": reply.contestant})
        for reply in done.responses if reply not in same
    ]  # fmt: skip
    return done


def _answered(model: Model, asked: Sequence[Item], going: Going) -> ByModel:
    """What a model replies to each request; refusals and empty replies are named and left out."""
    done = ByModel()
    if not asked:
        return done
    with watching("references", [model.name], len(asked), quiet=going.quiet) as watch:
        done.tallies = answer(
            [model], list(asked), going.ledger, engine=going.engine, specs=going.specs, budget=going.budget,
            stop=going.stop, watch=watch,
        )  # fmt: skip
    for reply in going.ledger.responses([model.name], item_keys=[item.key for item in asked]):
        if reply.tags.get("stop") in DECLINED or not reply.text.strip():
            done.failed.append(f"{reply.item}, by {reply.contestant}: refused or empty")
        else:
            done.responses.append(reply)
    return done


def _bare(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())
