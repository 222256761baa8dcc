"""A worker without a cluster: the same object, in this process."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import fullbench
from fullbench import Case, Item, Response, Score
from fullbench.errors import EngineError, ModelError
from fullbench.judges.baselines import build_length_judge
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.engines import ray_worker as worker_module
from fullbench.studies.engines import rebuild_from_spec, wants_gpu
from fullbench.studies.engines.cluster_rate_limits import RateLimitCoordinator, WorkerRateLimits
from fullbench.studies.engines.ray_worker import AHEAD, MOST_AHEAD, Worker, WorkerTurn
from fullbench.version_and_code_digest import build_label
from tests.studies.engines.test_cluster_rate_limits import direct
from tests.support.fake_chat_server import FakeServer
from tests.support.wait_until import until


@dataclass
class Recipe:
    made: Any
    gpu: bool = False

    def __call__(self) -> Any:
        return self.made() if isinstance(self.made, type) else self.made


def started(ask: Any) -> Worker:
    worker = Worker(Recipe(ask), WorkerRateLimits("w", direct(RateLimitCoordinator())))
    assert worker.begin() == WorkerTurn(room=AHEAD)
    return worker


def cases(count: int, start: int = 0) -> list[Case]:
    found = []
    for number in range(start, start + count):
        item = Item.ask(f"i{number}", f"What is #{number}?")
        found.append(Case(item, (Response.say(item.id, "a", "red"),), Score(1, 5)))
    return found


def test_every_task_comes_back_once_and_room_follows_the_work():
    with FakeServer(says="[[4]]", latency=0.01) as server:
        worker = started(judge_contestant_and_benchmark_specs.judge_from_spec(f"vllm:m@{server.url}").judge)
        due, back, most, turn = cases(600), [], 0, WorkerTurn(room=AHEAD)
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
        worker = started(
            judge_contestant_and_benchmark_specs.judge_from_spec(f"vllm:m@{server.url}?concurrency=4").judge
        )
        given, back = cases(20), []
        back += worker.turn(given, more=False, halt=False).outcomes
        while not back:
            back += worker.turn([], more=False, halt=False).outcomes
        turn = worker.turn([], more=False, halt=True)
        server.more()
        back += turn.outcomes
        left = 20 - turn.dropped_count
        while len(back) < left:
            back += worker.turn([], more=False, halt=True).outcomes
        sent = {f"i{number}" for number in server.books()["arrived"]}
    assert 0 < turn.dropped_count < 20
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
    assert first.dropped_count == 6
    assert worker.turn([11, 12], more=True, halt=False).dropped_count == 2


def test_what_nobody_foresaw_is_raised_with_its_cause():
    def ask(tasks: Iterable[Any]) -> Iterator[Any]:
        yield next(iter(tasks)) / 0

    with pytest.raises(ZeroDivisionError):
        started(ask).turn([1], more=True, halt=False)


def test_a_judge_that_cannot_be_made_is_told():
    class Fails:
        def __init__(self) -> None:
            raise ModelError("no key on this machine")

    turn = Worker(Recipe(Fails), WorkerRateLimits("w", direct(RateLimitCoordinator()))).begin()
    assert str(turn.error) == "no key on this machine"


def test_whoever_computes_by_itself_wants_a_gpu():
    assert not wants_gpu(judge_contestant_and_benchmark_specs.judge_from_spec("length"))
    assert not wants_gpu(judge_contestant_and_benchmark_specs.judge_from_spec("vllm:m@http://localhost:1/v1"))
    assert not wants_gpu(judge_contestant_and_benchmark_specs.judge_from_spec("clip:some/model?device=cpu"))
    assert wants_gpu(judge_contestant_and_benchmark_specs.judge_from_spec("clip:some/model"))
    assert wants_gpu(judge_contestant_and_benchmark_specs.judge_from_spec("clip:some/model?device=cuda:1"))
    assert wants_gpu(judge_contestant_and_benchmark_specs.judge_from_spec("local:some/model"))


def test_a_spec_that_means_something_else_there_is_found_out():
    assert rebuild_from_spec("length", judge_contestant_and_benchmark_specs.judge_from_spec, "length").name == "length"
    judge = build_length_judge("", {})
    assert rebuild_from_spec("whatever", judge_contestant_and_benchmark_specs.judge_from_spec, judge) is judge
    host = re.escape(socket.gethostname())
    # Both name the machine, for only one of many may lack something.
    with pytest.raises(EngineError, match=rf"means 'length' on the worker {host} and 'other'"):
        rebuild_from_spec("other", judge_contestant_and_benchmark_specs.judge_from_spec, "length")
    with pytest.raises(EngineError, match=rf"worker on {host} cannot make 'digits'.*install"):
        rebuild_from_spec("digits", judge_contestant_and_benchmark_specs.judge_from_spec, "digits")


def test_what_retries_cost_is_told_with_every_turn_and_no_money_means_no_retries():
    """A server whose every reply is paid for and empty: the worker says what it spends before any outcome is there."""
    with FakeServer({"empty": 1.0}, says="[[4]]", latency=0.01) as server:
        spec = f"vllm:m@{server.url}?price_in=10000&price_out=0&attempts=1000&backoff=0.001&mode=direct&breaks=100000"
        worker = started(judge_contestant_and_benchmark_specs.judge_from_spec(spec).judge)
        turns = [worker.turn(cases(2), more=False, halt=False)]
        while sum(turn.spent_dollars for turn in turns) < 20:
            turns.append(worker.turn([], more=False, halt=False))
        assert not any(turn.outcomes for turn in turns)
        outcomes: list[Any] = []
        while len(outcomes) < 2:
            turn = worker.turn([], more=False, halt=False, spent_up="the budget of $20 is spent")
            outcomes += turn.outcomes
            turns.append(turn)
        answered = sum(server.books()["answered"].values())
    assert all(outcome.error.startswith("the budget of $20 is spent") for outcome in outcomes)
    assert sum(outcome.usage.calls for outcome in outcomes) == answered
    assert sum(turn.spent_dollars for turn in turns) == pytest.approx(
        sum(outcome.usage.dollars or 0 for outcome in outcomes)
    )


DIGEST = "from fullbench.version_and_code_digest import build_label; print(build_label())"


def test_the_build_tells_two_commits_of_one_version_apart(tmp_path):
    """A changed reader of replies, or prompt, is another build; a changed page of the site is not."""
    root = Path(fullbench.__file__).parent
    for folder in ("first", "second"):
        shutil.copytree(root, tmp_path / folder / "fullbench", ignore=shutil.ignore_patterns("__pycache__"))

    def digest(folder: str) -> str:
        env = {**os.environ, "PYTHONPATH": str(tmp_path / folder), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-c", DIGEST]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout

    assert digest("first") == digest("second") == f"{build_label()}\n"
    changed = tmp_path / "second" / "fullbench"
    (changed / "web" / "app.py").write_text("# another page", encoding="utf-8")
    assert digest("first") == digest("second")
    (changed / "parsing" / "reader.py").write_text("# another reader", encoding="utf-8")
    assert digest("first").split()[0] == digest("second").split()[0]
    assert digest("first") != digest("second")


def test_a_worker_whose_run_is_gone_begins_nothing_new_and_goes_on_when_it_is_heard_again(monkeypatch):
    """A run that was killed, or a head: what waits in the queue is not asked, and so not paid for in vain."""
    monkeypatch.setattr(worker_module, "MAX_SILENCE_SECONDS", 0.3)
    with FakeServer(says="[[4]]", latency=0.05) as server:
        worker = started(
            judge_contestant_and_benchmark_specs.judge_from_spec(f"vllm:m@{server.url}?concurrency=1&mode=direct").judge
        )
        back = worker.turn(cases(60), more=False, halt=False).outcomes

        def has_stopped() -> bool:
            """Return whether a call was sent, none is in flight, and the run has been silent for long enough."""
            books = server.books()
            sent = sum(books["arrived"].values()) > len(back) and not books["in_flight"]
            return sent and time.monotonic() - worker._last_contact > 1.0

        until(has_stopped)
        asked = sum(server.books()["arrived"].values())
        assert len(back) < asked < 40
        silent = time.monotonic() - worker._last_contact
        until(lambda: time.monotonic() - worker._last_contact > silent + 0.5)
        assert sum(server.books()["arrived"].values()) == asked
        while len(back) < 60:
            back += worker.turn([], more=False, halt=False).outcomes
        assert set(server.books()["arrived"].values()) == {1}
