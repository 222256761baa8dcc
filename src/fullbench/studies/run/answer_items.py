"""Collect contestants' answers to items and store them in the ledger."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fullbench.core.dialogue_turn_answers_and_criteria import (
    dialogue_response,
    is_dialogue,
    open_turns,
    turns_to_answer,
)
from fullbench.core.item import Item, Part, Turn, separate_texts
from fullbench.core.model import Model, Prompt, Reply, media_kinds, prepare_prompt
from fullbench.core.model_call import NOTHING, Call, FailureKind, Usage
from fullbench.core.response import Response
from fullbench.core.verdict import Failure
from fullbench.errors import InputError, ModelError
from fullbench.ledger.ledger import Ledger
from fullbench.picture_flattening_and_orientation import is_black
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.engines import (
    DEFAULT_RETRY_POLICY,
    HERE,
    Budget,
    Engine,
    Job,
    JobCounts,
    Key,
    RetryPolicy,
    Stop,
    Watch,
    run_all_jobs,
)

ItemsForContestant = Callable[[Model], Sequence[Item]]
"""Returns the items of a contestant."""


@dataclass(frozen=True)
class Question:
    """An item for a contestant, with its replies to earlier turns; the tag of its prompt."""

    item: Item
    sample: int
    earlier: tuple[Reply, ...] = ()


@dataclass(frozen=True)
class _Answer:
    case: str
    """Key of the item, as in a `Failure`."""
    response: Response
    usage: Usage
    exchanges: tuple[Call, ...]

    @property
    def trial(self) -> int:
        return self.response.sample

    @property
    def fault(self) -> str:
        """The stop reason if it is not a normal end; counted and shown like the fault of a verdict."""
        return self.response.tags.get("stop", "")


def collect_answers(
    contestants: Sequence[Model],
    items: Sequence[Item] | ItemsForContestant,
    ledger: Ledger,
    *,
    samples: int = 1,
    engine: Engine = HERE,
    specs: Mapping[str, str] | None = None,
    budget: Budget | None = None,
    stop: Stop | None = None,
    watch: Watch | None = None,
    retry_policy: RetryPolicy = DEFAULT_RETRY_POLICY,
) -> list[JobCounts]:
    """Let every contestant answer its items, except stored answers and permanent failures.

    A refusal is a response too. An answer that did not end normally has the tag `stop` (`length`, `refused`, `filter`,
    `tool`, ...). With reasoning but no text the tag is `thought`, with neither it is `empty`. Reasoning is stored with
    the call, not in the answer.

    Args:
        contestants: The models.
        items: Items for all, or a function that returns those of a model.
        ledger: Ledger for answers and failed calls.
        samples: Answers of each contestant to each item.
        engine: Where calls are made: on this machine or on a cluster.
        specs: Specs of contestants by name, so that remote workers can build them.
        budget: Dollars that the run may spend; None for no limit.
        stop: Asks the run to stop; calls in flight end first.
        watch: Gets the counts of each contestant whenever they change.
        retry_policy: Calls to make although they seem useless.
    """
    items_for_contestant = items if callable(items) else lambda _: items
    with ledger.request_locks([model.name for model in contestants]):
        jobs = [
            _AnswerJob(model, items_for_contestant(model), samples, ledger, (specs or {}).get(model.name))
            for model in contestants
        ]
        return run_all_jobs(jobs, engine=engine, budget=budget, stop=stop, watch=watch, retry_policy=retry_policy)


class _AnswerJob(Job):
    """Work of a contestant on its items."""

    role = "contestant"
    from_spec = staticmethod(judge_contestant_and_benchmark_specs.contestant_from_spec)

    def __init__(self, model: Model, items: Sequence[Item], samples: int, ledger: Ledger, spec: str | None) -> None:
        super().__init__(model, ledger, spec)
        self._items, self._samples = items, samples
        self._items_by_key = {item.key: item for item in items}

    @staticmethod
    def call(model: Model, questions: Iterable[Question]) -> Iterator[_Answer | Failure]:
        remaining_questions = iter(questions)
        next_turns: deque[Question] = deque()
        unsendable: deque[Failure] = deque()
        more = True

        def prompts() -> Iterator[Prompt]:
            nonlocal more
            while next_turns or more:
                question = next_turns.popleft() if next_turns else next(remaining_questions, None)
                if question is None:
                    more = False
                else:
                    try:
                        prompt = prepare_prompt(model, _build_prompt(question))
                    except InputError as error:  # a video or a document that cannot be decoded
                        unsendable.append(_failure(model.name, question, str(error), "permanent"))
                        continue
                    yield prompt

        # A reply to a turn leads to the prompt of the next one, after the iterator of prompts may have ended.
        while more or next_turns:
            try:
                for reply in model.answer(prompts()):
                    while unsendable:
                        yield unsendable.popleft()
                    outcome = _outcome_from_reply(model.name, reply)
                    if isinstance(outcome, Question):
                        next_turns.append(outcome)
                    else:
                        yield outcome
            except ModelError as error:  # earlier replies were paid for, so their usage is reported
                for question in next_turns:
                    yield _failure(model.name, question, f"it was not asked further: {error}")
                raise
            while unsendable:
                yield unsendable.popleft()

    def tasks(self) -> Iterator[Question]:
        return (Question(item, sample) for item in self._items for sample in range(self._samples))

    def key(self, question: Question) -> Key:
        return question.item.key, question.sample

    def stored_keys(self, keys: Sequence[Key]) -> set[Key]:
        answered_keys = self.ledger.answered_keys(self.name, keys)
        self.ledger.join(items=[self._items_by_key[key] for key in dict.fromkeys(key for key, _ in answered_keys)])
        return answered_keys

    def enter(self, questions: Sequence[Question]) -> None:
        self.ledger.add(*(question.item for question in questions))

    def keep(self, outcome: _Answer | Failure) -> None:
        item = self._items_by_key[outcome.case]
        if isinstance(outcome, Failure):
            self.ledger.add_response(item, outcome)
            return
        last = outcome.exchanges[-1]
        self.ledger.add_response(
            item, outcome.response, usage=outcome.usage, prompt=last.prompt, at=last.at, exchanges=outcome.exchanges
        )


def _build_prompt(question: Question) -> Prompt:
    turns = question.item.turns
    if is_dialogue(question.item):
        turns = turns_to_answer(question.item, [_answer_parts(reply) for reply in question.earlier])
    # Some servers join neighbouring texts.
    turns = tuple(Turn(turn.role, separate_texts(turn.parts)) for turn in turns)
    return Prompt(turns, seed=question.sample or None, tag=question)


def dialogue_prompts(item: Item) -> tuple[Prompt, ...]:
    """Return the prompts of an item before there is any answer; earlier answers are empty."""
    no_answer = Reply(Prompt(item.turns), "")
    return tuple(
        _build_prompt(Question(item, 0, (no_answer,) * number)) for number in range(max(1, len(open_turns(item))))
    )


def _failure(contestant: str, question: Question, error: str, kind: FailureKind = "passing") -> Failure:
    usage = sum((reply.usage for reply in question.earlier), NOTHING)
    exchanges = tuple(reply.exchange(time.time()) for reply in question.earlier)
    return Failure(question.item.key, contestant, question.sample, error, usage, kind, exchanges)


def _outcome_from_reply(contestant: str, reply: Reply) -> _Answer | Failure | Question:
    """Return the answer, the failure, or the question with this reply if another turn follows."""
    question: Question = reply.prompt.tag
    item, sample = question.item, question.sample
    if reply.error is not None:
        failure = _failure(contestant, question, reply.error, reply.failure)
        return replace(failure, usage=failure.usage + reply.usage)
    question = replace(question, earlier=(*question.earlier, reply))
    if len(question.earlier) < len(open_turns(item)):
        return question
    replies = question.earlier
    stops = [_stop_reason(earlier_reply) for earlier_reply in replies]
    # Of several turns, the first that did not end normally is the answer's stop reason.
    stop = next((reason for reason in stops if reason not in {"", "stop"}), stops[-1])
    tags = {**reply.tags, **({} if stop in {"", "stop"} else {"stop": stop})}
    response = Response(item.id, contestant, (), tags, sample, stop)
    response = dialogue_response(response, [_answer_parts(earlier_reply) for earlier_reply in replies])
    if len(replies) == 1:
        response = replace(response, parts=_answer_parts(reply), tags=tags)
    usage = sum((earlier_reply.usage for earlier_reply in replies), NOTHING)
    exchanges = tuple(earlier_reply.exchange(time.time()) for earlier_reply in replies)
    return _Answer(item.key, response, usage, exchanges)


def _answer_parts(reply: Reply) -> tuple[Part, ...]:
    return reply.pictures or (reply.text,)  # text that comes with a picture is only kept in the call


def _stop_reason(reply: Reply) -> str:
    """Return how an answer ended; an empty answer is `thought` or `empty`.

    An all-black picture, which some filters return, is an answer with the stop reason `black`.
    """
    if reply.pictures and reply.stop in {"", "stop"}:
        return "black" if any(map(is_black, reply.pictures)) else reply.stop
    if reply.stop not in {"", "stop"} or reply.text.strip():
        return reply.stop
    return "thought" if reply.reasoning.strip() else "empty"


@dataclass(frozen=True)
class _LedgerModel:
    """A model with its own name, settings and price, and replies from a ledger."""

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

    @property
    def media_kinds(self) -> frozenset[str]:
        return media_kinds(self.model)


@dataclass(frozen=True)
class RecordingModel(_LedgerModel):
    """A model whose replies are stored in a ledger: stored ones are used again, failed ones can be retried later."""

    spec: str | None = None
    engine: Engine = HERE
    budget: Budget | None = None
    stop: Stop | None = None
    job_counts: list[JobCounts] = field(default_factory=list, compare=False)
    """Counts of each round of calls."""

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        # Two tasks may have the same prompt. It is sent once, and its reply serves both.
        prompts_by_digest = _group_by_digest(prompts)
        items = [Item(name, each[0].turns) for name, each in prompts_by_digest.items()]
        specs = {self.name: self.spec} if self.spec else None
        (counts,) = collect_answers(
            [self.model], items, self.ledger, engine=self.engine, specs=specs, budget=self.budget, stop=self.stop
        )
        self.job_counts.append(counts)
        failure_reason = counts.stop_reason or next(iter(counts.failures), "the call failed")
        yield from _replies_from_ledger(self.name, prompts_by_digest, self.ledger, failure_reason)


def _group_by_digest(prompts: Iterable[Prompt]) -> dict[str, list[Prompt]]:
    prompts_by_digest: dict[str, list[Prompt]] = {}
    for prompt in prompts:
        prompts_by_digest.setdefault(prompt.digest, []).append(prompt)
    return prompts_by_digest


def _replies_from_ledger(
    model: str, prompts_by_digest: Mapping[str, Sequence[Prompt]], ledger: Ledger, missing: str
) -> Iterator[Reply]:
    """Yield the stored replies of a model; `missing` is the error of the others."""
    keys = [Item(name, each[0].turns).key for name, each in prompts_by_digest.items()]
    responses = {response.item: response for response in ledger.responses(model, item_keys=keys)}
    for name, each in prompts_by_digest.items():
        response = responses.get(name)
        for prompt in each:
            if response is None:
                yield Reply(prompt, error=missing)
            else:
                yield Reply(prompt, response.text, stop=response.stop or response.tags.get("stop", ""))


@dataclass(frozen=True)
class _ReplayModel(_LedgerModel):
    """A model that only returns replies from a ledger, without calls."""

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        return _replies_from_ledger(self.name, _group_by_digest(prompts), self.ledger, "the ledger does not hold it")


def model_from_ledger(model: Model, ledger: Ledger) -> Model:
    """Return a model that only returns replies from this ledger."""
    return _ReplayModel(model, ledger)
