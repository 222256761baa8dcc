"""The workers of one judge or contestant: hired as machines come, given up as they go, kept busy in between."""

from __future__ import annotations

import io
import logging
import pickle
import time
import uuid
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Self

from fullbench.errors import EngineError, FullbenchError, InputError
from fullbench.nouns.picture import Picture
from fullbench.nouns.verdict import Failure
from fullbench.studies.engines.office import Branch
from fullbench.studies.engines.stopping import Stop
from fullbench.studies.engines.work import Job, Key, Recipe, Tally
from fullbench.studies.engines.worker import Turn, Worker
from fullbench.version import __version__

CPUS = 0.1
LOOK_AROUND = 1.0
PATIENCE = 600.0
DEATHS = 3
EARLY_DEATHS = 5
_log = logging.getLogger("fullbench")


class Remote(Worker):
    """A worker as Ray runs it: its tasks come as parcels."""

    def hello(self, version: str) -> tuple[str, Turn]:
        """The machine it is on, and whether it can work."""
        import ray

        node = ray.get_runtime_context().get_node_id()
        if version != __version__:
            versions = f"fullbench {__version__}, the run was started with {version}"
            return node, Turn(error=EngineError(f"a worker has {versions}; install the same version on all machines"))
        return node, self.begin()

    def receive(self, parcel: bytes, *, more: bool, halt: bool) -> Turn:
        tasks: list[Any] = pickle.loads(parcel) if parcel else []  # noqa: S301 (from our own run)
        return self.turn(tasks, more=more, halt=halt)


class Telephone:
    """Calls a method of the office, from wherever this was sent."""

    def __init__(self, office: Any) -> None:
        self._office = office

    def __call__(self, method: str, *rest: Any) -> Any:
        import ray

        return ray.get(getattr(self._office, method).remote(*rest))


class _Parcel(pickle.Pickler):
    """Tasks for another machine: pictures travel as bytes there, and by their full path on this machine."""

    def __init__(self, file: io.BytesIO, *, far: bool) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._far = far

    def reducer_override(self, value: Any) -> Any:
        if type(value) is not Picture or not isinstance(value.source, Path):
            return NotImplemented
        source: Path | bytes = value.source.absolute()
        if self._far:
            with suppress(InputError):  # the worker will find the same, and say so
                source = value.data()
        return Picture, (value.digest, value.media, source)


@dataclass
class Desk:
    """The office that keeps the limits, the run that it knows us by, and when any worker of the run was last heard."""

    office: Any
    run: str
    heard: float = field(default_factory=time.monotonic)


@dataclass(frozen=True)
class Contract:
    """What every worker of a crew is sent."""

    recipe: Recipe
    desk: Desk


def contract(ray: ModuleType, desk: Desk, job: Job[Any]) -> Contract:
    """What the workers of a job are sent, refused where it cannot be."""
    try:
        ray.cloudpickle.dumps(job.recipe)
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        raise EngineError(
            f"{job.name!r} cannot be sent to another machine ({error}); name it by a spec, or use the engine 'here'"
        ) from error
    return Contract(job.recipe, desk)


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
            parcel = packed(tasks, far=hand.node != self._here)
            hand.call = hand.actor.receive.remote(parcel, more=not self._dry, halt=halt)

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
        _log.warning("%s: a worker died, %d of its tasks go to others (%s)", self._job.name, len(hand.given), reason)
        for key, task in hand.given.items():
            self._deaths[key] += 1
            if self._deaths[key] < DEATHS:
                self._back.append((key, task))
            else:
                yield Failure(key[0], self._job.name, key[1], f"{DEATHS} workers died over it ({reason})")

    def _let_go(self, hand: _Hand) -> None:
        self._hands.remove(hand)
        self._tally.workers -= bool(hand.node)
        self._ray.kill(hand.actor)
        self._contract.desk.office.gone.remote(hand.name)

    def _look_around(self) -> None:
        """Now and then: hire on machines that have come."""
        now = time.monotonic()
        if now - self._looked < LOOK_AROUND or (self._dry and not self._back):
            return
        self._looked = now
        nodes = [node for node in self._ray.nodes() if node["Alive"]]
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
        self._hands.append(_Hand(name, actor, place, actor.hello.remote(__version__)))


_END = object()


def packed(tasks: list[Any], *, far: bool) -> bytes:
    """Tasks as bytes, with the pictures where the other machine could not read them."""
    if not tasks:
        return b""
    file = io.BytesIO()
    _Parcel(file, far=far).dump(tasks)
    return file.getvalue()


def _words(ray: ModuleType) -> str:
    free = ray.available_resources()
    return f"{free.get('CPU', 0):g} CPUs and {free.get('GPU', 0):g} GPUs"
