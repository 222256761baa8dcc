"""The judge's own answers to items, given before it sees any response (`mode="commit"`)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

from fullbench.core.case import Case
from fullbench.core.item import REQUEST, SENSITIVE, WITHHELD, Item, Turn
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.judge import Judge, answer_request_of
from fullbench.core.model import DECLINED_STOPS, Model, Prompt
from fullbench.core.model_call import NOTHING, Call, Usage
from fullbench.core.verdict import Failure, Fault, Verdict

FAILED = "failed"
"""Stop reason of an own answer whose call failed; its text is the error."""
_OWN_ANSWER = "own answer"
# Waiting for a few makes one concurrent batch of calls.
_AT_ONCE = 64


def request_own_answer(item: Item, turns: Sequence[Turn]) -> Item:
    """Return the item that requests a judge's own answer to `item`. It is hidden wherever that one is."""
    kept_tags = {tag: item.tags[tag] for tag in (WITHHELD, SENSITIVE) if tag in item.tags}
    name = f"{_OWN_ANSWER}/{item.id}/{digest([item.key, [[turn.role, turn.text] for turn in turns]])[:8]}"
    return Item(name, tuple(turns), tags={**kept_tags, REQUEST: _OWN_ANSWER})


def failed_answer(error: str) -> Call:
    """Return the placeholder for an own answer whose call failed."""
    return Call("", error, stop=FAILED)


def outcome_without_answer(case: Case, judge: str, usage: Usage) -> Verdict | Failure | None:
    """Return the outcome of a case whose own answer failed, was refused or is empty; None if the judge can go on."""
    answer = case.own_answer
    if answer is None:
        return None
    if answer.stop == FAILED:
        return Failure(case.key, judge, case.trial, f"its own answer to the item failed: {answer.text}", usage)
    fault: Fault | None = "refused" if answer.stop in DECLINED_STOPS else None if answer.text.strip() else "unreadable"
    if fault is None:
        return None
    return Verdict.from_case(
        case, judge, fault, text=answer.text, usage=usage, prompt=answer.prompt, at=time.time(), exchanges=(answer,)
    )


def add_own_answers(judge: Judge, model: Model, cases: Iterable[Case]) -> Iterator[tuple[Case, Usage]]:
    """Yield cases with the judge's own answers; ask the model for those that no ledger brought, once per item.

    The usage of an answer comes with the first case that needed it.
    """
    answers: dict[str, Call] = {}
    waiting: list[tuple[Case, Item]] = []

    def add_answers() -> Iterator[tuple[Case, Usage]]:
        requests = {request.key: request for _, request in waiting if request.key not in answers}
        unbilled: dict[str, Usage] = {}
        for reply in model.answer(Prompt(request.turns, tag=key) for key, request in requests.items()):
            key = reply.prompt.tag
            unbilled[key] = reply.usage
            answers[key] = reply.exchange(time.time()) if reply.error is None else failed_answer(reply.error)
        for case, request in waiting:
            answer = answers.setdefault(request.key, failed_answer("no reply came"))
            yield case.with_own_answer(answer), unbilled.pop(request.key, NOTHING)
        waiting.clear()

    for case in cases:
        request = answer_request_of(judge, case) if case.own_answer is None else None
        if request is None:
            yield case, NOTHING
            continue
        waiting.append((case, request))
        if len(waiting) >= _AT_ONCE:
            yield from add_answers()
    if waiting:
        yield from add_answers()
