"""What a cluster costs: the Ray engine with two workers beside this machine's engine, and a machine that is killed."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.support.fake_chat_server import FakeServer
from tests.support.ray_cluster import RayCluster, installed

from scripts.bench import Row

CALLS = 6_000
LATENCY = 0.05
WIDTH = 128


def case_source(count: int) -> Callable[[object], Iterator[Any]]:
    from fullbench import Case, Item, Response, Score

    def cases(_: object) -> Iterator[Case]:
        for number in range(count):
            item = Item.ask(f"i{number}", f"What is #{number}?")
            yield Case(item, (Response.say(item.id, "a", "x" * 300),), Score(1, 5))

    return cases


def time_run(server: FakeServer, count: int, engine: Any, watch: Any = None) -> tuple[float, float]:
    """Wall and the CPU of this process for a run: its seconds after the first verdict, when all workers are there."""
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies import judge_contestant_and_benchmark_specs
    from fullbench.studies.run.judge_cases import judge_cases

    spec = f"vllm:m@{server.url}?concurrency={WIDTH}"
    judge = judge_contestant_and_benchmark_specs.judge_from_spec(spec)
    started: list[float] = []

    class First:
        def step(self, counts: Any) -> None:
            if not started:
                started.extend((time.monotonic(), time.process_time()))
            if watch is not None:
                watch.step(counts)

    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "l.ledger") as ledger:
        (counts,) = judge_cases(
            [judge], case_source(count), ledger, engine=engine, specs={judge.name: spec}, watch=First()
        )
    assert counts.finished_count == count
    return time.monotonic() - started[0], time.process_time() - started[1]


def overhead(ray: Any, here: Any) -> list[Row]:
    """Wall at 50 ms latency, 128 in flight in all, and the CPU of the process that keeps the ledger."""
    with FakeServer(says="[[4]]", latency=LATENCY) as server:
        ours, theirs = time_run(server, CALLS, ray), time_run(server, CALLS, here)
    return [
        Row.of("verdicts by 2 workers, 128 in flight, wall", ours[0], theirs[0], "this machine's engine", "s"),
        Row.of("the run's own CPU for a verdict", ours[1] / CALLS * 1e3, theirs[1] / CALLS * 1e3,
               "this machine's engine", "ms"),
    ]  # fmt: skip


def killed(ray: Any, cluster: RayCluster) -> list[Row]:
    """One of two machines is killed: calls repeated, beside what was in flight on both."""
    flying: list[int] = []

    with FakeServer(says="[[4]]", latency=LATENCY) as server:

        class Kill:
            def step(self, counts: Any) -> None:
                if counts.finished_count >= CALLS // 4 and not flying and cluster.nodes[1].workers():
                    flying.append(server.books()["in_flight"])
                    cluster.nodes[1].kill()

        time_run(server, CALLS, ray, Kill())
        again = sum(times - 1 for times in server.books()["arrived"].values())
    return [Row.of("calls repeated when one of two machines is killed", again, flying[0], "in flight on both", "calls")]


def main() -> list[Row]:
    """All rows; none where Ray is not installed."""
    if not installed():
        sys.stderr.write("the cluster is left out: Ray is not installed (scripts/localray.sh)\n")
        return []
    from fullbench.studies.engines import HERE, engine_from_spec

    with RayCluster(2) as cluster, engine_from_spec(f"ray:{cluster.address}") as ray:
        return [*overhead(ray, HERE), *killed(ray, cluster)]
