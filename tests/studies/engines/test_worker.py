"""A worker without a cluster: the same object, in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from fullbench import Case, Item, Response, Score
from fullbench.errors import EngineError, ModelError
from fullbench.judges.rules import length
from fullbench.studies import specs
from fullbench.studies.engines import remade, wants_gpu
from fullbench.studies.engines.office import Branch, Office
from fullbench.studies.engines.worker import AHEAD, MOST_AHEAD, Turn, Worker
from tests.fake_server import FakeServer
from tests.studies.engines.test_office import direct


@dataclass
class Recipe:
    made: Any
    gpu: bool = False

    def __call__(self) -> Any:
        return self.made() if isinstance(self.made, type) else self.made


def started(ask: Any) -> Worker:
    worker = Worker(Recipe(ask), Branch("w", direct(Office())))
    assert worker.begin() == Turn(room=AHEAD)
    return worker


def cases(count: int, start: int = 0) -> list[Case]:
    found = []
    for number in range(start, start + count):
        item = Item.ask(f"i{number}", f"What is #{number}?")
        found.append(Case(item, (Response.say(item.id, "a", "red"),), Score(1, 5)))
    return found


def test_every_task_comes_back_once_and_room_follows_the_work():
    with FakeServer(says="[[4]]", latency=0.01) as server:
        worker = started(specs.judge(f"vllm:m@{server.url}").hear)
        due, back, most, turn = cases(600), [], 0, Turn(room=AHEAD)
        while len(back) < 600:
            given, due = due[: turn.room], due[turn.room :]
            turn = worker.turn(given, more=bool(due), halt=False)
            most = max(most, turn.room)
            back += turn.outcomes
    assert {outcome.case for outcome in back} == {case.key for case in cases(600)}
    assert len(back) == 600
    assert AHEAD < most <= MOST_AHEAD


def test_a_halted_worker_drops_what_it_has_not_begun_and_waits_for_the_rest():
    with FakeServer(says="[[4]]", answers=4) as server:
        worker = started(specs.judge(f"vllm:m@{server.url}?concurrency=4").hear)
        given, back = cases(20), []
        back += worker.turn(given, more=False, halt=False).outcomes
        while not back:
            back += worker.turn([], more=False, halt=False).outcomes
        turn = worker.turn([], more=False, halt=True)
        server.more()
        back += turn.outcomes
        left = 20 - turn.dropped
        while len(back) < left:
            back += worker.turn([], more=False, halt=True).outcomes
        sent = {f"i{number}" for number in server.books()["arrived"]}
    assert 0 < turn.dropped < 20
    assert {outcome.item for outcome in back} == sent == {case.item.id for case in given[:left]}


def test_what_makes_every_call_fail_comes_with_what_was_ruled_before():
    def ask(tasks: Iterable[Any]) -> Iterator[Any]:
        for number, task in enumerate(tasks):
            if number == 3:
                raise ModelError("the key was refused")
            yield task

    worker = started(ask)
    first = worker.turn(list(range(10)), more=True, halt=False)
    assert (first.outcomes, str(first.error)) == ([0, 1, 2], "the key was refused")
    assert first.dropped == 6
    assert worker.turn([11, 12], more=True, halt=False).dropped == 2


def test_what_nobody_foresaw_is_raised_with_its_cause():
    def ask(tasks: Iterable[Any]) -> Iterator[Any]:
        yield next(iter(tasks)) / 0

    with pytest.raises(ZeroDivisionError):
        started(ask).turn([1], more=True, halt=False)


def test_a_judge_that_cannot_be_made_is_told():
    class Fails:
        def __init__(self) -> None:
            raise ModelError("no key on this machine")

    turn = Worker(Recipe(Fails), Branch("w", direct(Office()))).begin()
    assert str(turn.error) == "no key on this machine"


def test_whoever_computes_by_itself_wants_a_gpu():
    assert not wants_gpu(specs.judge("length"))
    assert not wants_gpu(specs.judge("vllm:m@http://localhost:1/v1"))
    assert not wants_gpu(specs.judge("clip:some/model?device=cpu"))
    assert wants_gpu(specs.judge("clip:some/model"))
    assert wants_gpu(specs.judge("clip:some/model?device=cuda:1"))
    assert wants_gpu(specs.judge("local:some/model"))


def test_a_spec_that_means_something_else_there_is_found_out():
    assert remade("length", specs.judge, "length").name == "length"
    judge = length("", {})
    assert remade("whatever", specs.judge, judge) is judge
    with pytest.raises(EngineError, match="means 'length' on a worker and 'other'"):
        remade("other", specs.judge, "length")
