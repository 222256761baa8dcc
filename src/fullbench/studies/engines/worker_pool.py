"""The workers of one judge or contestant: hired as machines come, given up as they go, kept busy in between."""

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
from fullbench.models.net.budget_check import purse
from fullbench.studies.engines.cluster_rate_limits import Branch
from fullbench.studies.engines.interrupt_handling import Stop
from fullbench.studies.engines.ray_worker import Turn, Worker
from fullbench.studies.engines.run_jobs import Job, Key, Recipe, Tally
from fullbench.studies.engines.task_transfer import Line, Memory, Shelf, packed, unpacked
from fullbench.version import build

CPUS = 0.1
LOOK_AROUND = 1.0
PATIENCE = 600.0
DEATHS = 3
LAST_WORDS = 10.0
"""So long workers that still answer are waited for when the head is gone."""
LOST = (
    "the head of the Ray cluster is gone; what was ruled until now is kept, nothing more is asked, and only what is in "
    "flight and does not come back will be asked again (a server that answered it charges for it, and no bill here has "
    "it): start the cluster again, and the same command goes on"
)
EARLY_DEATHS = 5
THREADS = "OMP_NUM_THREADS"
"""Read by torch and its like when they are first imported. Ray sets it to 1 for a worker of so small a part of a core;
whoever computes by itself has a machine's worker to itself, and is given all of its cores."""
_log = logging.getLogger("fullbench")


_MEMORY = Memory()
"""The pictures that this worker's process was sent."""


class Remote(Worker):
    """A worker as Ray runs it: its tasks come as parcels."""

    def hello(self, version: str) -> tuple[str, Turn]:
        """The machine it is on, and whether it can work: it has the same code, and can make what it is to ask."""
        import ray

        context = ray.get_runtime_context()
        node, where = context.get_node_id(), f"the worker on {socket.gethostname()} (node {context.get_node_id()[:8]})"
        if version != build():
            return node, Turn(
                error=EngineError(
                    f"{where} has fullbench {build()}, the run was started with {version}: other code or prompts may "
                    "rule differently; install the same on all machines"
                )
            )
        if self._recipe.gpu and os.environ.get(THREADS) == "1":
            os.environ[THREADS] = str(_cores(ray, node))
        turn = self.begin()
        if turn.error is None:
            return node, turn
        return node, replace(turn, error=EngineError(f"{where} cannot make what is to be asked: {turn.error}"))

    def receive(self, parcel: bytes, places: Mapping[str, Any], *, more: bool, halt: bool, spent_up: str = "") -> Turn:
        """One turn. New pictures are fetched from the object store of this machine, which has each once."""
        import ray

        pictures = dict(zip(places, ray.get(list(places.values())), strict=True))
        return self.turn(unpacked(parcel, _MEMORY, pictures), more=more, halt=halt, spent_up=spent_up)


def _cores(ray: ModuleType, node: str) -> int:
    """The cores that a machine has in the cluster."""
    return max(1, *(int(each["Resources"].get("CPU", 1)) for each in ray.nodes() if each["NodeID"] == node))


class Telephone:
    """Calls a method of the office, from wherever this was sent."""

    def __init__(self, office: Any) -> None:
        self._office = office

    def __call__(self, method: str, *rest: Any) -> Any:
        import ray

        return ray.get(getattr(self._office, method).remote(*rest))


@dataclass
class Desk:
    """The office that keeps the limits, the run that it knows us by, and when any worker of the run was last heard."""

    office: Any
    run: str
    shelf: Shelf
    heard: float = field(default_factory=time.monotonic)
    head_lost: float = 0.0
    """When the head was found to be gone; nothing while it is there."""
    nodes: tuple[Mapping[str, Any], ...] = ()
    """The machines of the cluster as they were last seen, by another thread: asking waits for a minute where the head
    is gone."""


@dataclass(frozen=True)
class Contract:
    """What every worker of a crew is sent."""

    recipe: Recipe
    desk: Desk


def contract(ray: ModuleType, desk: Desk, job: Job[Any]) -> Contract:
    """What the workers of a job are sent, refused where it cannot be."""
    for module in _own_modules(job.recipe):
        ray.cloudpickle.register_pickle_by_value(module)
    try:
        ray.cloudpickle.dumps(job.recipe)
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        raise EngineError(
            f"{job.name!r} cannot be sent to another machine ({error}); name it by a spec, or use the engine 'here'"
        ) from error
    return Contract(job.recipe, desk)


def _own_modules(recipe: Recipe) -> list[ModuleType]:
    """The modules of a judge or contestant that lie where this run was started and are installed nowhere: their code is
    sent along, since no worker has it."""
    made = getattr(recipe, "made", None)
    models = models_of(made) or () if isinstance(made, Judge) else ()
    names = {type(part).__module__ for part in (made, *models)} - {"__main__", "builtins"}
    installed = tuple({sysconfig.get_path(place) for place in ("purelib", "platlib", "stdlib")})
    found = (sys.modules[name] for name in sorted(names) if not name.startswith("fullbench.") and name in sys.modules)
    return [module for module in found if not str(getattr(module, "__file__", None) or "").startswith(installed)]


@dataclass(eq=False)
class _Hand:
    """One worker as the run sees it: what it was given and has not given back, and the call it is in."""

    name: str
    actor: Any
    place: str
    call: Any
    given: dict[Key, Any] = field(default_factory=dict)
    node: str = ""
    room: int = 0
    useful: bool = False
    memory: Memory = field(default_factory=Memory)


class Crew:
    """Hands out tasks and gathers outcomes. Leaving it lets all workers go."""

    def __init__(self, ray: ModuleType, contract: Contract, job: Job[Any], tally: Tally, size: tuple[int, int]) -> None:
        self._ray, self._contract, self._job, self._tally = ray, contract, job, tally
        self._least, self._most = size
        self._hands: list[_Hand] = []
        self._back: deque[tuple[Key, Any]] = deque()
        self._deaths: Counter[Key] = Counter()
        self._early = 0
        self._shunned: Counter[str] = Counter()
        self._looked = float("-inf")
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
        """One outcome for each task of the source. A task is pulled when a worker has room for it."""
        self._first(source)
        while True:
            self._mind_the_head()
            halt = bool(self._error or stop.reason)
            if halt:
                self._give_up(stop.reason)
            self._look_around()
            for hand in self._hands:
                if hand.call is None:
                    self._hand_out(hand, source, halt=halt)
            if self._dry and not self._back and not any(hand.given for hand in self._hands):
                break
            yield from self._gather()
        if self._error is not None:
            raise self._error

    def _mind_the_head(self) -> None:
        """Where the head is gone, ask nothing more; workers that still answer give back what was in flight."""
        lost = self._contract.desk.head_lost
        if lost and self._error is None:
            self._error = EngineError(LOST)
        if lost and time.monotonic() - lost > LAST_WORDS:
            raise self._error or EngineError(LOST)

    def _first(self, source: Iterator[Any]) -> None:
        """See whether there is anything to do before anybody is hired."""
        task = next(source, _END)
        self._dry = task is _END
        if not self._dry:
            self._back.append((self._job.key(task), task))

    def _hand_out(self, hand: _Hand, source: Iterator[Any], *, halt: bool) -> None:
        """Give a worker what it has room for, and ask it for what it has done."""
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
            hand.given[key] = task
            tasks.append(task)
        if hand.given:
            line = Line(hand.memory, self._contract.desk.shelf)
            parcel = packed(tasks, None if hand.node == self._here else line)
            share = purse()
            spent_up = share.empty if share is not None else ""
            hand.call = hand.actor.receive.remote(parcel, line.places, more=not self._dry, halt=halt, spent_up=spent_up)

    def _gather(self) -> Iterator[Any]:
        """The outcomes of the next worker that has some."""
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
            self._contract.desk.heard = time.monotonic()
            if not hand.node:
                hand.node, turn = turn
                self._tally.workers += 1
            yield from self._take(hand, turn)

    def _take(self, hand: _Hand, turn: Turn) -> Iterator[Any]:
        if turn.spent and (share := purse()) is not None:
            share.spend(turn.spent)
        for outcome in turn.outcomes:
            hand.given.pop(self._job.settles(outcome), None)
            yield outcome
        if turn.outcomes:
            hand.useful, self._early = True, 0
        hand.room = turn.room
        for _ in range(turn.dropped):
            hand.given.popitem()
        self._tally.asked -= turn.dropped
        if turn.error is not None:
            self._error = self._error or turn.error
            self._let_go(hand)

    def _give_up(self, reason: str) -> None:
        """Hand out nothing more."""
        if reason and (self._back or not self._dry):
            self._tally.stopped = reason
        self._tally.asked -= len(self._back)
        self._back.clear()
        self._dry = True

    def _bury(self, hand: _Hand, error: Exception) -> Iterator[Failure]:
        """A worker is dead: what it had not given back goes to the others, unless that has killed several."""
        self._let_go(hand)
        if not hand.useful:
            self._early += 1
            self._shunned[hand.place] += 1
        lines = str(error).strip().splitlines()
        reason = lines[-1] if "Error" in lines[-1] else lines[0]
        if self._early >= EARLY_DEATHS:
            raise EngineError(f"{self._early} workers in a row died before they ruled on anything ({reason})")
        _log.warning(
            "%s: a worker died, %d of its tasks go to others; what it had asked of them its server charges for, and no "
            "bill here has it (%s)", self._job.name, len(hand.given), reason,
        )  # fmt: skip
        for key, task in hand.given.items():
            self._deaths[key] += 1
            if self._deaths[key] < DEATHS:
                self._back.append((key, task))
            else:
                yield Failure(key[0], self._job.name, key[1], f"{DEATHS} workers died over it ({reason})")

    def _let_go(self, hand: _Hand) -> None:
        self._hands.remove(hand)
        self._tally.workers -= bool(hand.node)
        if self._contract.desk.head_lost:  # nobody is there who could let it go; it stops by itself
            return
        self._ray.kill(hand.actor)
        self._contract.desk.office.gone.remote(hand.name)

    def _look_around(self) -> None:
        """Now and then: hire on machines that have come."""
        now = time.monotonic()
        if now - self._looked < LOOK_AROUND or (self._dry and not self._back):
            return
        self._looked = now
        nodes = [node for node in self._contract.desk.nodes if node["Alive"]]
        gpus = int(sum(node["Resources"].get("GPU", 0) for node in nodes)) if self._contract.recipe.gpu else 0
        if gpus:
            while len(self._hands) < min(max(gpus, self._least), self._most):
                self._hire({"num_cpus": CPUS, "num_gpus": 1})
        else:
            self._hire_on([node["NodeID"] for node in nodes if node["Resources"].get("CPU", 0) >= CPUS])
        if now - self._contract.desk.heard > PATIENCE:
            raise EngineError(
                f"the cluster gave no room for a worker within {PATIENCE:g} s; it has {_words(self._ray)} free: end "
                "other work on it, or add machines"
            )

    def _hire_on(self, nodes: list[str]) -> None:
        """One worker on each machine, and more where that is too few. Where workers only die nobody is sent again."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        manned = {hand.place for hand in self._hands}
        for node in nodes:
            if node not in manned and self._shunned[node] < DEATHS and len(self._hands) < self._most:
                where = NodeAffinitySchedulingStrategy(node_id=node, soft=False)
                self._hire({"num_cpus": CPUS, "scheduling_strategy": where}, node)
        while len(self._hands) < self._least:
            self._hire({"num_cpus": CPUS, "scheduling_strategy": "SPREAD"})

    def _hire(self, options: Mapping[str, Any], place: str = "") -> None:
        desk = self._contract.desk
        name = f"{desk.run}/{uuid.uuid4().hex}"
        branch = Branch(name, Telephone(desk.office))
        actor = self._ray.remote(Remote).options(**options).remote(self._contract.recipe, branch)
        self._hands.append(_Hand(name, actor, place, actor.hello.remote(build())))


_END = object()


def _words(ray: ModuleType) -> str:
    free = ray.available_resources()
    return f"{free.get('CPU', 0):g} CPUs and {free.get('GPU', 0):g} GPUs"
