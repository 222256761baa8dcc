"""Workers of one judge or contestant: start them as machines appear, replace dead ones, distribute tasks."""

from __future__ import annotations

import logging
import os
import pickle
import socket
import sys
import sysconfig
import time
import uuid
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType, TracebackType
from typing import Any, Self

from fullbench.core.judge import Judge, models_of
from fullbench.core.verdict import Failure
from fullbench.errors import EngineError, FullbenchError
from fullbench.models.net.budget_reservations import current_budget
from fullbench.studies.engines.cluster_rate_limits import WorkerRateLimits
from fullbench.studies.engines.interrupt_handling import Stop
from fullbench.studies.engines.job_runner_with_ledger_storage import JobCounts, outcome_key
from fullbench.studies.engines.judge_or_contestant_job_and_recipe import Job, Key, Recipe
from fullbench.studies.engines.ray_worker import Worker, WorkerTurn
from fullbench.studies.engines.task_serialisation_for_ray import (
    PictureMemory,
    PictureStore,
    WorkerLink,
    pack_tasks,
    unpack_tasks,
)
from fullbench.version_and_code_digest import build_label

CPUS = 0.1  # workers mostly wait for servers
LOOK_AROUND = 1.0
PATIENCE = 600.0  # seconds without any contact to a worker before the run gives up
DEATHS = 3  # of workers, over one task or on one machine
LAST_WORDS = 10.0
"""Seconds to wait for workers that still respond after the head is lost."""
HEAD_LOST_MESSAGE = (
    "the head of the Ray cluster is gone; what was ruled until now is kept, nothing more is asked, and only what is in "
    "flight and does not come back will be asked again (a server that answered it charges for it, and no bill here has "
    "it): start the cluster again, and the same command goes on"
)
EARLY_DEATHS = 5  # workers in a row that died before their first outcome
THREADS = "OMP_NUM_THREADS"
"""Read by torch and others on first import. Ray sets it to 1 for workers with a small share of a core. A judge that
computes itself is the only worker on its machine and gets all cores."""
_log = logging.getLogger("fullbench")


_MEMORY = PictureMemory()
"""The pictures that this worker process has received."""


class RemoteWorker(Worker):
    """Ray actor around `Worker`; its tasks arrive pickled."""

    def hello(self, version: str) -> tuple[str, WorkerTurn]:
        """Return the machine's id and a first turn, with an error if the code differs or the judge cannot be built."""
        import ray

        context = ray.get_runtime_context()
        node, where = context.get_node_id(), f"the worker on {socket.gethostname()} (node {context.get_node_id()[:8]})"
        if version != build_label():
            return node, WorkerTurn(
                error=EngineError(
                    f"{where} has fullbench {build_label()}, the run was started with {version}: other code or "
                    f"prompts may give other verdicts; install the same version on all machines"
                )
            )
        if self._recipe.gpu and os.environ.get(THREADS) == "1":
            os.environ[THREADS] = str(_cpu_cores(ray, node))
        turn = self.begin()
        if turn.error is None:
            return node, turn
        return node, replace(turn, error=EngineError(f"{where} cannot create the model or judge: {turn.error}"))

    def receive(
        self, upload: bytes, places: Mapping[str, Any], *, more: bool, halt: bool, spent_up: str = ""
    ) -> WorkerTurn:
        """Run one turn. New pictures come from the object store of this machine, which has each once."""
        import ray

        pictures = dict(zip(places, ray.get(list(places.values())), strict=True))
        return self.turn(unpack_tasks(upload, _MEMORY, pictures), more=more, halt=halt, spent_up=spent_up)


def _cpu_cores(ray: ModuleType, node: str) -> int:
    return max(1, *(int(each["Resources"].get("CPU", 1)) for each in ray.nodes() if each["NodeID"] == node))


class CoordinatorCall:
    """Picklable function that calls a method of the coordinator."""

    def __init__(self, coordinator: Any) -> None:
        self._coordinator = coordinator

    def __call__(self, method: str, *arguments: Any) -> Any:
        import ray

        return ray.get(getattr(self._coordinator, method).remote(*arguments))


@dataclass
class ClusterRun:
    """State of a run on a cluster: coordinator, run id, picture store, time of the last contact with a worker."""

    coordinator: Any
    run: str
    shelf: PictureStore
    last_contact: float = field(default_factory=time.monotonic)
    head_lost: float = 0.0
    """Time when the head was found to be lost; 0 while it is there."""
    nodes: tuple[Mapping[str, Any], ...] = ()
    """The machines of the cluster. Another thread updates them: the call blocks for a minute if the head is lost."""


@dataclass(frozen=True)
class WorkerSetup:
    """Data that every worker of a pool receives."""

    recipe: Recipe
    cluster_run: ClusterRun


def build_worker_setup(ray: ModuleType, cluster_run: ClusterRun, job: Job) -> WorkerSetup:
    """Return the data for the workers of a job; raise `EngineError` if it cannot be pickled."""
    for module in _own_modules(job.recipe):
        ray.cloudpickle.register_pickle_by_value(module)
    try:
        ray.cloudpickle.dumps(job.recipe)
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        raise EngineError(
            f"{job.name!r} cannot be sent to another machine ({error}); give it as a spec, or use the engine 'here'"
        ) from error
    return WorkerSetup(job.recipe, cluster_run)


def _own_modules(recipe: Recipe) -> list[ModuleType]:
    """Return the modules of a judge or contestant that are not installed; their code must be sent to the workers."""
    judge_or_model = recipe.spec_or_instance
    models = models_of(judge_or_model) or () if isinstance(judge_or_model, Judge) else ()
    names = {type(part).__module__ for part in (judge_or_model, *models)} - {"__main__", "builtins"}
    installed_paths = tuple({sysconfig.get_path(place) for place in ("purelib", "platlib", "stdlib")})
    loaded_modules = (
        sys.modules[name] for name in sorted(names) if not name.startswith("fullbench.") and name in sys.modules
    )
    return [
        module
        for module in loaded_modules
        if not str(getattr(module, "__file__", None) or "").startswith(installed_paths)
    ]


@dataclass(eq=False)
class _WorkerHandle:
    """One worker as seen by the run: its unfinished tasks and the pending Ray call."""

    name: str
    actor: Any
    place: str
    call: Any
    tasks_by_key: dict[Key, Any] = field(default_factory=dict)
    node: str = ""
    room: int = 0
    useful: bool = False
    memory: PictureMemory = field(default_factory=PictureMemory)


class WorkerPool:
    """Distributes tasks to workers and collects outcomes. Leaving the context ends all workers."""

    def __init__(self, ray: ModuleType, setup: WorkerSetup, job: Job, counts: JobCounts, size: tuple[int, int]) -> None:
        self._ray, self._setup, self._job, self._counts = ray, setup, job, counts
        self._least, self._most = size
        self._hands: list[_WorkerHandle] = []
        self._back: deque[tuple[Key, Any]] = deque()
        self._deaths: Counter[Key] = Counter()
        self._early = 0
        self._shunned: Counter[str] = Counter()
        self._last_look = float("-inf")
        self._here = "" if ray.util.client.ray.is_connected() else ray.get_runtime_context().get_node_id()
        self._error: FullbenchError | None = None
        self._dry = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for hand in list(self._hands):
            self._let_go(hand)

    def ask(self, source: Iterator[Any], stop: Stop) -> Iterator[Any]:
        """Yield one outcome per task. A task is pulled when a worker has room for it."""
        self._first(source)
        while True:
            self._check_head()
            halt = bool(self._error or stop.reason)
            if halt:
                self._give_up(stop.reason)
            self._look_around()
            for hand in self._hands:
                if hand.call is None:
                    self._hand_out(hand, source, halt=halt)
            if self._dry and not self._back and not any(hand.tasks_by_key for hand in self._hands):
                break
            yield from self._gather()
        if self._error is not None:
            raise self._error

    def _check_head(self) -> None:
        """Stop if the cluster head is lost; workers that still respond return their outcomes."""
        lost_at = self._setup.cluster_run.head_lost
        if lost_at and self._error is None:
            self._error = EngineError(HEAD_LOST_MESSAGE)
        if lost_at and time.monotonic() - lost_at > LAST_WORDS:
            raise self._error or EngineError(HEAD_LOST_MESSAGE)

    def _first(self, source: Iterator[Any]) -> None:
        """Pull one task, so that no worker is started if there is nothing to do."""
        task = next(source, _END)
        self._dry = task is _END
        if not self._dry:
            self._back.append((self._job.key(task), task))

    def _hand_out(self, hand: _WorkerHandle, source: Iterator[Any], *, halt: bool) -> None:
        """Send a worker as many tasks as it has room for, and request its outcomes."""
        tasks: list[Any] = []
        while len(tasks) < hand.room and (self._back or not self._dry):
            if self._back:
                key, task = self._back.popleft()
            else:
                task = next(source, _END)
                if task is _END:
                    self._dry = True
                    break
                key = self._job.key(task)
            hand.tasks_by_key[key] = task
            tasks.append(task)
        if hand.tasks_by_key:
            line = WorkerLink(hand.memory, self._setup.cluster_run.shelf)
            upload = pack_tasks(tasks, None if hand.node == self._here else line)
            share = current_budget()
            spent_up = share.empty if share is not None else ""
            hand.call = hand.actor.receive.remote(upload, line.places, more=not self._dry, halt=halt, spent_up=spent_up)

    def _gather(self) -> Iterator[Any]:
        """Yield the outcomes of the next worker that responds."""
        calls = {hand.call: hand for hand in self._hands if hand.call is not None}
        if not calls:
            time.sleep(LOOK_AROUND / 10)
            return
        ready, _ = self._ray.wait(list(calls), num_returns=1, timeout=LOOK_AROUND / 2)
        for call in ready:
            hand = calls[call]
            hand.call = None
            try:
                turn = self._ray.get(call)
            except self._ray.exceptions.RayTaskError:
                raise
            except self._ray.exceptions.RayError as error:
                yield from self._bury(hand, error)
                continue
            self._setup.cluster_run.last_contact = time.monotonic()
            if not hand.node:
                hand.node, turn = turn
                self._counts.workers += 1
            yield from self._take(hand, turn)

    def _take(self, hand: _WorkerHandle, turn: WorkerTurn) -> Iterator[Any]:
        if turn.spent_dollars and (share := current_budget()) is not None:
            share.spend(turn.spent_dollars)
        for outcome in turn.outcomes:
            hand.tasks_by_key.pop(outcome_key(outcome), None)
            yield outcome
        if turn.outcomes:
            hand.useful, self._early = True, 0
        hand.room = turn.room
        for _ in range(turn.dropped_count):
            hand.tasks_by_key.popitem()
        self._counts.started_count -= turn.dropped_count
        if turn.error is not None:
            self._error = self._error or turn.error
            self._let_go(hand)

    def _give_up(self, reason: str) -> None:
        if reason and (self._back or not self._dry):
            self._counts.stop_reason = reason
        self._counts.started_count -= len(self._back)
        self._back.clear()
        self._dry = True

    def _bury(self, hand: _WorkerHandle, error: Exception) -> Iterator[Failure]:
        """Requeue the tasks of a dead worker; yield failures for tasks that killed several workers."""
        self._let_go(hand)
        if not hand.useful:
            self._early += 1
            self._shunned[hand.place] += 1
        lines = str(error).strip().splitlines()
        reason = lines[-1] if "Error" in lines[-1] else lines[0]
        if self._early >= EARLY_DEATHS:
            raise EngineError(f"{self._early} workers in a row died before any verdict ({reason})")
        _log.warning(
            "%s: a worker died, %d of its tasks go to others; what it had asked of them its server charges for, and no "
            "bill here has it (%s)",
            self._job.name,
            len(hand.tasks_by_key),
            reason,
        )
        for key, task in hand.tasks_by_key.items():
            self._deaths[key] += 1
            if self._deaths[key] < DEATHS:
                self._back.append((key, task))
            else:
                yield Failure(key[0], self._job.name, key[1], f"{DEATHS} workers died over it ({reason})")

    def _let_go(self, hand: _WorkerHandle) -> None:
        self._hands.remove(hand)
        self._counts.workers -= bool(hand.node)
        if self._setup.cluster_run.head_lost:  # no head can end the actor; the worker stops by itself
            return
        self._ray.kill(hand.actor)
        self._setup.cluster_run.coordinator.remove_worker.remote(hand.name)

    def _look_around(self) -> None:
        """Start workers on new machines, at most once a second."""
        now = time.monotonic()
        if now - self._last_look < LOOK_AROUND or (self._dry and not self._back):
            return
        self._last_look = now
        nodes = [node for node in self._setup.cluster_run.nodes if node["Alive"]]
        gpus = int(sum(node["Resources"].get("GPU", 0) for node in nodes)) if self._setup.recipe.gpu else 0
        if gpus:
            while len(self._hands) < min(max(gpus, self._least), self._most):
                self._hire({"num_cpus": CPUS, "num_gpus": 1})
        else:
            self._hire_on([node["NodeID"] for node in nodes if node["Resources"].get("CPU", 0) >= CPUS])
        if now - self._setup.cluster_run.last_contact > PATIENCE:
            raise EngineError(
                f"the cluster had no room for a worker within {PATIENCE:g} s; it has "
                f"{_free_resources(self._ray)} free: end "
                "other work on it, or add machines"
            )

    def _hire_on(self, nodes: list[str]) -> None:
        """Start one worker per machine, and more to reach the minimum. Skip machines where workers keep dying."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        occupied_nodes = {hand.place for hand in self._hands}
        for node in nodes:
            if node not in occupied_nodes and self._shunned[node] < DEATHS and len(self._hands) < self._most:
                where = NodeAffinitySchedulingStrategy(node_id=node, soft=False)
                self._hire({"num_cpus": CPUS, "scheduling_strategy": where}, node)
        while len(self._hands) < self._least:
            self._hire({"num_cpus": CPUS, "scheduling_strategy": "SPREAD"})

    def _hire(self, options: Mapping[str, Any], place: str = "") -> None:
        cluster_run = self._setup.cluster_run
        name = f"{cluster_run.run}/{uuid.uuid4().hex}"
        branch = WorkerRateLimits(name, CoordinatorCall(cluster_run.coordinator))
        actor = self._ray.remote(RemoteWorker).options(**options).remote(self._setup.recipe, branch)
        self._hands.append(_WorkerHandle(name, actor, place, actor.hello.remote(build_label())))


_END = object()


def _free_resources(ray: ModuleType) -> str:
    free = ray.available_resources()
    return f"{free.get('CPU', 0):g} CPUs and {free.get('GPU', 0):g} GPUs"
