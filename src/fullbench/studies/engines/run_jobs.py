"""The work of a run: ask what is due, keep what comes back, stop when told.

Answering and hearing are the same work: tasks stream in, those that the ledger knows are passed over, the rest are
asked, each outcome is kept before the next is waited for. Memory does not grow with the number of tasks. An engine
decides only where the asking is done: looking up, counting money and keeping stay in the process that was started.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice, takewhile
from typing import Any, Generic, Protocol, TypeVar

from fullbench.core.call import NOTHING, Usage
from fullbench.core.verdict import Failure, Reader
from fullbench.errors import FullbenchError
from fullbench.models.net.budget_check import paid_by
from fullbench.models.net.cancellation import halted_by
from fullbench.studies.engines.budget import Budget
from fullbench.studies.engines.interrupt_handling import Stop
from fullbench.studies.engines.outcome_records import keepable, sane

LOOKUP = 512
SLOW_LOOKUP, MOST_LOOKED_UP = 0.05, 4_096
"""Where looking up takes longer, as in a ledger that is far away, it is done ahead from then on, for more at a time
whenever it was waited for, so many at the most."""
HOPELESS = 20
"""After so many faults and failures, and no ruling ever, nothing but more of them is to be expected."""
SAMPLE = 200
"""So many letters are shown of what somebody said."""
Key = tuple[str, int]
Task = TypeVar("Task")


@dataclass
class Tally:
    """What came of one judge's or contestant's work. `workers` are those of a cluster that ask right now.

    `lasting` counts the failures that no later call can mend, `passed_over` those of earlier runs, which were not asked
    again. `stopped` says why not everything was asked, `unasked` counts what was not since the money was spent.
    """

    name: str
    known: int = 0
    asked: int = 0
    done: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    replies: Counter[str] = field(default_factory=Counter)
    """How replies were read: `signed`, `unsigned` (see `Reader`), `cut off`, `thoughts alone` and `wordless`, which
    left no ruling, and `estimated`, whose tokens the server did not count."""
    served: Counter[str] = field(default_factory=Counter)
    """The models that servers say have answered, where they say so."""
    model: str = ""
    """The model that a judge asks: a label may stand in the judge's own name."""
    failures: Counter[str] = field(default_factory=Counter)
    usage: Usage = NOTHING
    stopped: str = ""
    seconds: float = 0.0
    workers: int = 0
    notices: tuple[str, ...] = ()
    """Notices of the ledger about names, such as settings that it added."""
    lasting: int = 0
    passed_over: int = 0
    unasked: int = 0
    sample: str = ""
    """The last reply that was not what was asked for, or the last error; the first words of it."""

    @property
    def failed(self) -> int:
        return sum(self.failures.values())

    @property
    def in_flight(self) -> int:
        return self.asked - self.done - self.failed

    @property
    def hopeless(self) -> bool:
        """Whether nothing but faults and failures came, so many times that nothing else is to be expected."""
        ruled = self.done - self.faults.total()
        return not ruled and self.faults["unreadable"] + self.faults["refused"] + self.failed >= HOPELESS


class Watch(Protocol):
    """Whoever wants to see how it goes. Called from the thread that works."""

    def step(self, tally: Tally) -> None: ...


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
    failed_for_good: Callable[[], Collection[Key]] = frozenset
    """The tasks of earlier runs that no call can do, asked for once."""
    proven: Callable[[], bool] = lambda: True
    """Whether it has ever brought what it was asked for; one that has not is given up after `HOPELESS` tries."""
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


@dataclass(frozen=True)
class Insistence:
    """What is asked although it seems to be no use: a judge that has ruled on nothing so far (`anyway`), and what
    failed for good before (`again`)."""

    anyway: bool = False
    again: bool = False


USUAL = Insistence()


def work(
    jobs: Sequence[Job[Any]],
    *,
    engine: Engine = HERE,
    budget: Budget | None = None,
    stop: Stop | None = None,
    watch: Watch | None = None,
    insist: Insistence = USUAL,
) -> list[Tally]:
    """Do all jobs, side by side when there are several, each in a thread of its own.

    A call that fails is counted and its task stays due. What makes every call fail stops all jobs and is raised, after
    what came back has been kept.
    """
    stop = stop or Stop()
    tallies = [Tally(job.name, notices=job.notices) for job in jobs]
    stop.tallies += tallies

    def one(job: Job[Any], tally: Tally) -> None:
        started = time.monotonic()
        try:
            worker = _Work(job, tally, stop, budget, insist)
            with job.sole(), stop.seen_off_by(worker.leave):
                worker.do(engine, watch)
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


class _Work:
    """One job while it is done. `_open` are the keys that were looked up and are not done, in flight or about to be.

    Once the money is spent, `_handed_back` are tasks that were given out and not asked, and `_left` the one that was
    not given out any more.
    """

    def __init__(self, job: Job[Any], tally: Tally, stop: Stop, budget: Budget | None, insist: Insistence) -> None:
        self._job, self._tally, self._stop, self._insist = job, tally, stop, insist
        self._share = None if budget is None else budget.share()
        self._open: set[Key] = set()
        self._in_flight: dict[Key, None] = {}
        self._spent_up = False
        self._handed_back = self._left = 0
        # Read before the name is held, which may be on its way: what another run finds hopeless until then is asked
        # once more.
        self._gone = frozenset() if insist.again else frozenset(job.failed_for_good())

    def do(self, engine: Engine, watch: Watch | None) -> None:
        """Ask what is due, and keep what comes back."""
        job = self._job
        try:
            with paid_by(self._share), halted_by(lambda: bool(self._stop.reason)):
                due = self._due()
                for outcome in engine.ask(job, self._asked(due), self._tally, self._stop):
                    if _not_asked(outcome):
                        self._hand_back(outcome)
                    else:
                        self._count(self._keep(outcome))
                    if watch is not None:
                        watch.step(self._tally)
            if self._spent_up:
                self._tally.asked -= self._handed_back
                rest = sum(1 for _ in takewhile(lambda _: not self._stop.reason, due))
                self._tally.unasked = self._handed_back + self._left + rest
        finally:
            job.flush()

    def _asked(self, due: Iterator[tuple[Key, Any]]) -> Iterator[Any]:
        tally, share = self._tally, self._share
        for key, task in due:
            if self._stop.reason or tally.stopped:
                tally.stopped, self._left = tally.stopped or self._stop.reason, 1
                return
            if share is not None and not share.reserve():
                tally.stopped, self._left, self._spent_up = share.spent_up, 1, True
                return
            tally.asked += 1
            self._in_flight[key] = None
            yield task

    def _due(self) -> Iterator[tuple[Key, Any]]:
        """The tasks that are neither known nor in flight, looked up and entered some hundreds at a time.

        Where that takes long, the next ones are looked up while those before are asked.
        """
        job, tally, gone, source = self._job, self._tally, self._gone, iter(self._job.tasks())
        size, ahead = LOOKUP, False
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="fullbench-lookup") as aside:
            chunk = list(islice(source, size))
            look: Callable[[], tuple[dict[Key, Any], int]] = partial(self._looked_up, chunk, gone, frozenset())
            while chunk:
                started, busy = time.monotonic(), time.thread_time()
                due, over = look()
                # What this thread was busy with takes as long in another, and both would wait for one interpreter.
                if time.monotonic() - started - (time.thread_time() - busy) > SLOW_LOOKUP:
                    size, ahead = min(4 * size, MOST_LOOKED_UP), True
                tally.known += len(chunk) - len(due) - over
                tally.passed_over += over
                # Before the next look: what is open then is not asked again, and what no longer is, it finds.
                self._open.update(due)
                if ahead and (chunk := list(islice(source, size))):
                    look = aside.submit(self._looked_up, chunk, gone, self._still_open(chunk)).result
                for key, task in due.items():
                    yield key, job.asked(task)
                if not ahead:
                    chunk = list(islice(source, size))
                    look = partial(self._looked_up, chunk, gone, self._still_open(chunk))

    def _still_open(self, chunk: Sequence[Any]) -> frozenset[Key]:
        """Those of some tasks that were handed out before and are not done."""
        return frozenset(self._open.intersection(map(self._job.key, chunk)))

    def _looked_up(
        self, chunk: Sequence[Any], gone: frozenset[Key], still_open: frozenset[Key]
    ) -> tuple[dict[Key, Any], int]:
        """The tasks of a chunk that are due, which are entered, and how many of it failed for good before."""
        job = self._job
        job.flush()
        keys = [job.key(task) for task in chunk]
        known = job.known(keys) | still_open
        over = gone.intersection(keys) - known
        due = {key: task for key, task in zip(keys, chunk, strict=True) if key not in known and key not in over}
        if not self._spent_up:
            job.enter(list(due.values()))
        return due, len(over)

    def _hand_back(self, outcome: Failure) -> None:
        """A task for whose call there was no money: nothing was asked, and it stays due."""
        tally, key = self._tally, self._job.settles(outcome)
        self._open.discard(key)
        self._in_flight.pop(key, None)
        self._handed_back += 1
        tally.stopped, self._spent_up = tally.stopped or outcome.error, True
        if self._share is not None:
            self._share.give_back()

    def _keep(self, outcome: Any) -> Any:
        """Keep an outcome; one that cannot be kept is a failure of its case, with what is known of its cost."""
        job = self._job
        key = job.settles(outcome)
        sound = keepable(outcome, job.name, key)
        if isinstance(sound, Failure) and sound.kind == "unasked":  # it was asked in part, which was paid for
            sound = replace(sound, kind="passing")
        try:
            job.keep(sound)
        except FullbenchError:
            raise
        except Exception as error:  # noqa: BLE001 (whatever it is, it is this outcome's and no other's)
            sound = Failure(key[0], job.name, key[1], f"it could not be kept ({_words(error)})", sane(outcome.usage))
            job.keep(sound)
        self._open.discard(key)
        self._in_flight.pop(key, None)
        return sound

    def _count(self, outcome: Any) -> None:
        tally = self._tally
        tally.usage += outcome.usage
        if isinstance(outcome, Failure):
            tally.failures[outcome.error] += 1
            tally.lasting += outcome.kind == "permanent"
            tally.sample = _first_words(outcome.error)
        else:
            tally.done += 1
            fault = getattr(outcome, "fault", None)
            if fault:
                tally.faults[fault] += 1
                tally.sample = _first_words(getattr(outcome, "text", "")) or tally.sample
            tally.replies.update(_read_as(outcome))
            if (replies := getattr(outcome, "exchanges", ())) and replies[-1].served:
                tally.served[replies[-1].served] += 1
        if self._share is not None:
            self._share.pay(outcome.usage)
        if not self._insist.anyway and not tally.stopped and tally.hopeless and not self._job.proven():
            wrong = tally.faults["unreadable"] + tally.faults["refused"] + tally.failed
            tally.stopped = (
                f"{wrong} replies and no ruling among them; the last: {tally.sample!r}. Look at its server and its "
                "prompt, or go on all the same with --anyway"
            )

    def leave(self) -> None:
        """Whoever leaves at once leaves calls in flight: what they cost is not known, so the mean so far is billed."""
        tally = self._tally
        ended = tally.done + tally.failed
        used = tally.usage.over(ended) if ended else Usage(retries=1)
        for case, trial in list(self._in_flight):
            error = (
                "it was in flight when the run was left; that it was answered is assumed, and the mean so far billed"
            )
            self._job.keep(Failure(case, self._job.name, trial, error, used))
        self._job.flush()


def _not_asked(outcome: Any) -> bool:
    """Whether nothing of a task was asked, and nothing paid for."""
    used: Usage = outcome.usage
    return isinstance(outcome, Failure) and outcome.kind == "unasked" and not (used.calls or used.retries)


def _words(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:SAMPLE]


def _read_as(outcome: Any) -> Iterator[str]:
    reader = Reader(getattr(outcome, "reader", 0))
    if reader.signed or reader.unsigned:
        yield "signed" if reader.signed else "unsigned"
    if reader.cut and getattr(outcome, "fault", None) == "unreadable":
        yield "cut off"
    elif getattr(outcome, "fault", None) == "unreadable" and not outcome.text.strip() and outcome.exchanges:
        yield "thoughts alone" if outcome.exchanges[-1].reasoning else "wordless"
    if reader.estimated:
        yield "estimated"


def _first_words(text: str) -> str:
    return " ".join(text[: 4 * SAMPLE].split())[:SAMPLE]
