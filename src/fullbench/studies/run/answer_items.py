"""Answering: contestants answer items, and the ledger keeps what they said."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fullbench.core.call import Call, Usage
from fullbench.core.item import Item
from fullbench.core.model import Model, Prompt, Reply
from fullbench.core.response import Response
from fullbench.core.verdict import Failure
from fullbench.ledger.ledger import Ledger
from fullbench.picture_decoding import is_black
from fullbench.studies import judge_and_model_specs as named
from fullbench.studies.engines import (
    HERE,
    USUAL,
    Ask,
    Budget,
    Engine,
    Insistence,
    Job,
    Key,
    Stop,
    Tally,
    Watch,
    remade,
    wants_gpu,
    work,
)
from fullbench.studies.run.declare_in_ledger import introduce

Asked = Callable[[Model], Sequence[Item]]
"""Gives the items that a contestant is to answer."""


@dataclass(frozen=True)
class Question:
    """An item put to a contestant: what the tag of its prompt is."""

    item: Item
    sample: int


@dataclass(frozen=True)
class _Answer:
    item: str
    response: Response
    usage: Usage
    exchange: Call

    @property
    def fault(self) -> str:
        """How it ended, where not by itself: counted and shown like a judge's faults."""
        return self.response.tags.get("stop", "")


def answer(
    contestants: Sequence[Model],
    items: Sequence[Item] | Asked,
    ledger: Ledger,
    *,
    samples: int = 1,
    engine: Engine = HERE,
    specs: Mapping[str, str] | None = None,
    budget: Budget | None = None,
    stop: Stop | None = None,
    watch: Watch | None = None,
    insist: Insistence = USUAL,
) -> list[Tally]:
    """Let every contestant answer every item, or the items that are for it. What the ledger holds is not asked again,
    nor what failed for good.

    A refusal is a response too: it is what the contestant said. An answer that did not end by itself says how it ended
    by its tag `stop` (`length`, `refused`, `filter`, `tool`, ...); one that thought and said nothing is `thought`, and
    one without words or thoughts is `empty`. What it thought is kept with the call, apart from the answer. `specs`
    gives the spec of contestants by their name, as for `hear`.
    """
    asked = items if callable(items) else lambda _: items
    with ledger.sole_soon([model.name for model in contestants]):
        jobs = [_job(model, asked(model), samples, ledger, (specs or {}).get(model.name)) for model in contestants]
        return work(jobs, engine=engine, budget=budget, stop=stop, watch=watch, insist=insist)


@dataclass(frozen=True)
class _Recipe:
    """A contestant for a worker elsewhere: its spec, or the model itself where it has none."""

    name: str
    gpu: bool
    made: str | Model

    def __call__(self) -> Ask:
        return partial(_ask, remade(self.name, named.contestant, self.made))


def _ask(model: Model, questions: Iterable[Question]) -> Iterator[_Answer | Failure]:
    for reply in model.answer(map(_prompt, questions)):
        yield _outcome(model.name, reply)


def _settles(outcome: _Answer | Failure) -> Key:
    if isinstance(outcome, Failure):
        return outcome.case, outcome.trial
    return outcome.item, outcome.response.sample


def _known(ledger: Ledger, contestant: str, by_key: Mapping[str, Item], keys: Sequence[Key]) -> set[Key]:
    """The items that were answered, in whatever study: this one shares them from now on."""
    answered = ledger.answered(contestant, keys)
    ledger.join(items=[by_key[key] for key in dict.fromkeys(key for key, _ in answered)])
    return answered


def _job(model: Model, items: Sequence[Item], samples: int, ledger: Ledger, spec: str | None) -> Job[Question]:
    by_key = {item.key: item for item in items}

    def keep(outcome: _Answer | Failure) -> None:
        if isinstance(outcome, Failure):
            ledger.add_response(by_key[outcome.case], outcome)
            return
        item = by_key[outcome.item]
        call = outcome.exchange
        ledger.add_response(
            item, outcome.response, usage=outcome.usage, prompt=call.prompt, at=call.at, exchanges=(call,)
        )

    notices = introduce(ledger, "contestant", model)
    return Job(
        name=model.name,
        tasks=lambda: (Question(item, sample) for item in items for sample in range(samples)),
        key=lambda question: (question.item.key, question.sample),
        known=partial(_known, ledger, model.name, by_key),
        enter=lambda questions: ledger.add(*(question.item for question in questions)),
        ask=partial(_ask, model),
        recipe=_Recipe(model.name, wants_gpu(model), spec or model),
        settles=_settles,
        keep=keep,
        sole=lambda: ledger.sole(model.name),
        flush=ledger.flush,
        notices=notices,
        failed_for_good=lambda: ledger.failed_for_good(model.name),
    )


def _prompt(question: Question) -> Prompt:
    return Prompt(question.item.turns, seed=question.sample or None, tag=question)


def _outcome(contestant: str, reply: Reply) -> _Answer | Failure:
    question: Question = reply.prompt.tag
    item, sample = question.item, question.sample
    if reply.error is not None:
        return Failure(item.key, contestant, sample, reply.error, reply.usage, reply.failure)
    stop = _ending(reply)
    tags = {**reply.tags, **({} if stop in {"", "stop"} else {"stop": stop})}
    parts = reply.pictures or (reply.text,)  # what a generator says beside its picture stays with the call
    response = Response(item.id, contestant, parts, tags, sample, stop)
    return _Answer(item.key, response, reply.usage, reply.exchange(time.time()))


def _ending(reply: Reply) -> str:
    """How an answer ended; one that ended by itself and says nothing is called what it is.

    A picture that is black all over is what some filters leave: it is an answer, and marked.
    """
    if reply.pictures and reply.stop in {"", "stop"}:
        return "black" if any(map(is_black, reply.pictures)) else reply.stop
    if reply.stop not in {"", "stop"} or reply.text.strip():
        return reply.stop
    return "thought" if reply.reasoning.strip() else "empty"


@dataclass(frozen=True)
class _OfLedger:
    """A model with its own name, settings and price, whose replies are read from a ledger."""

    model: Model
    ledger: Ledger

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.model.settings

    @property
    def price(self) -> tuple[float, float] | None:
        return self.model.price


@dataclass(frozen=True)
class Kept(_OfLedger):
    """A model whose replies a ledger keeps: what it holds is not asked for again, what fails may be asked later."""

    spec: str | None = None
    engine: Engine = HERE
    budget: Budget | None = None
    stop: Stop | None = None
    tallies: list[Tally] = field(default_factory=list, compare=False)
    """What came of each round of asking."""

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        # Two answers may be the same words: one prompt is asked once, and answers for both.
        asked = _by_digest(prompts)
        items = [Item(name, each[0].turns) for name, each in asked.items()]
        specs = {self.name: self.spec} if self.spec else None
        (tally,) = answer(
            [self.model], items, self.ledger, engine=self.engine, specs=specs, budget=self.budget, stop=self.stop
        )
        self.tallies.append(tally)
        failed = tally.stopped or next(iter(tally.failures), "the call failed")
        yield from _replies(self.name, asked, self.ledger, failed)


def _by_digest(prompts: Iterable[Prompt]) -> dict[str, list[Prompt]]:
    asked: dict[str, list[Prompt]] = {}
    for prompt in prompts:
        asked.setdefault(prompt.digest, []).append(prompt)
    return asked


def _replies(model: str, asked: Mapping[str, Sequence[Prompt]], ledger: Ledger, missing: str) -> Iterator[Reply]:
    """What a ledger holds of a model's replies to some prompts."""
    keys = [Item(name, each[0].turns).key for name, each in asked.items()]
    responses = {response.item: response for response in ledger.responses(model, item_keys=keys)}
    for name, each in asked.items():
        response = responses.get(name)
        for prompt in each:
            if response is None:
                yield Reply(prompt, error=missing)
            else:
                yield Reply(prompt, response.text, stop=response.stop or response.tags.get("stop", ""))


@dataclass(frozen=True)
class _Remembered(_OfLedger):
    """A model of which only what a ledger holds can be heard: nobody is asked."""

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        return _replies(self.name, _by_digest(prompts), self.ledger, "the ledger does not hold it")


def remembered(model: Model, ledger: Ledger) -> Model:
    """The model as far as a ledger remembers it."""
    return _Remembered(model, ledger)
