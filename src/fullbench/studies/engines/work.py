"""The work of a run: ask what is due, keep what comes back, stop when told.

Answering and hearing are the same work: tasks stream in, those that the ledger knows are passed over, the rest are
asked, each outcome is kept before the next is waited for. Memory does not grow with the number of tasks. An engine
decides only where the asking is done: looking up, counting money and keeping stay in the process that was started.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar

from fullbench.nouns.call import NOTHING, Usage
from fullbench.nouns.verdict import Failure, Reader

LOOKUP = 256
Key = tuple[str, int]
Task = TypeVar("Task")


class Outcome(Protocol):
    """What comes back for a task."""

    @property
    def usage(self) -> Usage: ...


@dataclass
class Tally:
    """What came of one judge's or contestant's work. `workers` are those of a cluster that ask right now."""

    name: str
    known: int = 0
    asked: int = 0
    done: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    replies: Counter[str] = field(default_factory=Counter)
    """How replies were read: `marked`, `unmarked` (see `Reader`), and `cut off`, which left no ruling."""
    failures: Counter[str] = field(default_factory=Counter)
    usage: Usage = NOTHING
    stopped: str = ""
    seconds: float = 0.0
    workers: int = 0
    notices: tuple[str, ...] = ()
    """What the ledger says of the names: settings it took on, verdicts found under a former name."""

    @property
    def failed(self) -> int:
        return sum(self.failures.values())

    @property
    def in_flight(self) -> int:
        return self.asked - self.done - self.failed


class Watch(Protocol):
    """Whoever wants to see how it goes. Called from the thread that works."""

    def step(self, tally: Tally) -> None: ...


@dataclass
class Budget:
    """Money set aside, shared by all that work at once.

    Nothing is asked once what was spent, and what is in flight will cost at the mean so far, would pass the limit.
    `guess` is the expected price of a task before the first one is paid.
    """

    limit: float
    guess: float = 0.0
    spent: float = 0.0
    paid: int = 0
    in_flight: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def reserve(self) -> bool:
        """Whether one more task may be asked; it then counts as in flight."""
        with self._lock:
            mean = self.spent / self.paid if self.paid else self.guess
            if self.spent + (self.in_flight + 1) * mean > self.limit:
                return False
            self.in_flight += 1
            return True

    def pay(self, usage: Usage) -> None:
        with self._lock:
            self.spent += usage.dollars or 0.0
            self.paid += 1
            self.in_flight -= 1


@dataclass
class Stop:
    """A flag that says: ask nothing more, but wait for what is in flight."""

    reason: str = ""

    def pull(self, reason: str) -> None:
        self.reason = self.reason or reason


Ask = Callable[[Iterable[Any]], Iterator[Any]]
"""Takes tasks lazily and gives one outcome for each, in any order."""


class Recipe(Protocol):
    """How a worker elsewhere comes to ask: it is sent there, and called there. `gpu` says whether one would help."""

    @property
    def gpu(self) -> bool: ...

    def __call__(self) -> Ask: ...


def _itself(task: Any) -> Any:
    return task


@dataclass(frozen=True)
class Job(Generic[Task]):
    """One judge's or contestant's work: where tasks come from, which are known, how to ask, where outcomes go."""

    name: str
    tasks: Callable[[], Iterable[Task]]
    key: Callable[[Task], Key]
    known: Callable[[Sequence[Key]], set[Key]]
    enter: Callable[[Sequence[Task]], None]
    ask: Ask
    recipe: Recipe
    settles: Callable[[Any], Key]
    keep: Callable[[Any], None]
    sole: Callable[[], AbstractContextManager[Any]]
    flush: Callable[[], None]
    notices: tuple[str, ...] = ()
    asked: Callable[[Task], Task] = _itself
    """What is handed on in the place of a task that is due."""


class Engine(Protocol):
    """Where the asking is done."""

    def ask(self, job: Job[Any], tasks: Iterable[Any], tally: Tally, stop: Stop) -> Iterator[Any]:
        """One outcome for each task, as they come. Tasks are pulled only when there is room for them."""


class Here:
    """This machine, this process."""

    def ask(self, job: Job[Any], tasks: Iterable[Any], tally: Tally, stop: Stop) -> Iterator[Any]:
        return job.ask(tasks)


HERE = Here()


def work(
    jobs: Sequence[Job[Any]],
    *,
    engine: Engine = HERE,
    budget: Budget | None = None,
    stop: Stop | None = None,
    watch: Watch | None = None,
) -> list[Tally]:
    """Do all jobs, side by side when there are several, each in a thread of its own.

    A call that fails is counted and its task stays due. What makes every call fail stops all jobs and is raised, after
    what came back has been kept.
    """
    stop = stop or Stop()
    tallies = [Tally(job.name, notices=job.notices) for job in jobs]

    def one(job: Job[Any], tally: Tally) -> None:
        started = time.monotonic()
        try:
            with job.sole():
                _work(job, tally, engine, stop, budget=budget, watch=watch)
        except BaseException:
            stop.pull("another one failed")
            raise
        finally:
            tally.seconds = time.monotonic() - started

    if len(jobs) == 1:
        one(jobs[0], tallies[0])
    elif jobs:
        with ThreadPoolExecutor(max_workers=len(jobs), thread_name_prefix="fullbench") as pool:
            futures = [pool.submit(one, job, tally) for job, tally in zip(jobs, tallies, strict=True)]
        for future in futures:
            future.result()
    return tallies


def _work(
    job: Job[Task], tally: Tally, engine: Engine, stop: Stop, *, budget: Budget | None, watch: Watch | None
) -> None:
    open_: set[Key] = set()

    def due() -> Iterator[Task]:
        for task in _due(job, tally, open_):
            if stop.reason:
                tally.stopped = stop.reason
                return
            if budget is not None and not budget.reserve():
                tally.stopped = f"the budget of ${budget.limit:g} is spent"
                return
            tally.asked += 1
            yield task

    try:
        for outcome in engine.ask(job, due(), tally, stop):
            job.keep(outcome)
            open_.discard(job.settles(outcome))
            tally.usage += outcome.usage
            if isinstance(outcome, Failure):
                tally.failures[outcome.error] += 1
            else:
                tally.done += 1
                fault = getattr(outcome, "fault", None)
                if fault:
                    tally.faults[fault] += 1
                tally.replies.update(_read_as(outcome))
            if budget is not None:
                budget.pay(outcome.usage)
            if watch is not None:
                watch.step(tally)
    finally:
        job.flush()


def _read_as(outcome: Any) -> Iterator[str]:
    reader = Reader(getattr(outcome, "reader", 0))
    if reader.marked or reader.unmarked:
        yield "marked" if reader.marked else "unmarked"
    if reader.cut and getattr(outcome, "fault", None) == "unreadable":
        yield "cut off"


def _due(job: Job[Task], tally: Tally, open_: set[Key]) -> Iterator[Task]:
    """The tasks that are neither known nor in flight, looked up and entered some hundreds at a time."""
    source = iter(job.tasks())
    while chunk := list(islice(source, LOOKUP)):
        job.flush()
        keys = [job.key(task) for task in chunk]
        known = job.known(keys) | open_.intersection(keys)
        due = {key: task for key, task in zip(keys, chunk, strict=True) if key not in known}
        tally.known += len(chunk) - len(due)
        job.enter(list(due.values()))
        for key, task in due.items():
            open_.add(key)
            yield job.asked(task)
