"""Job runner: find the tasks that are due, make the calls, store each outcome, stop on request.

Answering and judging are the same work. Tasks stream in, those in the ledger are skipped, and the rest are called. Each
outcome is stored before the next one is awaited. Memory does not grow with the number of tasks. An engine only decides
where calls are made: lookup, budget and storage stay in the process that was started.
"""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice, takewhile
from typing import Any, Protocol, runtime_checkable

from fullbench.core.model_call import NOTHING, Usage
from fullbench.core.verdict import NOT_READ, Failure, ReplyReading, Verdict
from fullbench.errors import FullbenchError, LedgerError
from fullbench.models.net.budget_reservations import charge_calls_to
from fullbench.models.net.cancellation import stop_calls_when
from fullbench.models.net.rate_limits import limit_calls_in_flight
from fullbench.models.wire.video_frames_and_document_pages import use_stored_stills
from fullbench.studies.engines.frames_and_pages_in_ledger import StoredStills
from fullbench.studies.engines.interrupt_handling import Stop
from fullbench.studies.engines.judge_or_contestant_job_and_recipe import Job, Key
from fullbench.studies.engines.run_budget import Budget

LARGEST = 1 << 63
"""Smaller whole numbers fit into every database."""


def storable_outcome(outcome: Any, who: str, key: tuple[str, int]) -> Any:
    """Return the outcome, or a failure if its numbers or texts cannot be stored."""
    if (reason := usage_problem(outcome.usage)) or (reason := _text_problem(outcome)):
        return Failure(key[0], who, key[1], f"what came cannot be kept: {reason}", sanitise_usage(outcome.usage))
    if isinstance(outcome, Verdict) and "\0" in outcome.text:
        return replace(outcome, text=outcome.text.replace("\0", "\ufffd"))
    return outcome


def usage_problem(usage: Usage) -> str:
    """Return a description of the first invalid number of a usage, or ""."""
    if _is_plain_usage(usage):
        return ""
    for name in ("calls", "retries", "tokens_in", "tokens_out", "cached", "stored", "dollars", "seconds"):
        value = getattr(usage, name)
        if name in {"dollars", "seconds"}:
            is_valid = value is None or (isinstance(value, int | float) and math.isfinite(value) and value >= 0)
        else:
            is_valid = isinstance(value, int) and 0 <= value < LARGEST
            is_valid = is_valid or (value is None and name in {"cached", "stored"})
        if not is_valid:
            return f"{name} is {str(value)[:40]}"
    return ""


def _is_plain_usage(usage: Usage) -> bool:
    """Fast check for the normal case, because it runs for every outcome."""
    whole_numbers = (
        usage.calls,
        usage.retries,
        usage.tokens_in,
        usage.tokens_out,
        usage.cached or 0,
        usage.stored or 0,
    )
    if {*map(type, whole_numbers)} != {int} or min(whole_numbers) < 0 or max(whole_numbers) >= LARGEST:
        return False
    seconds, dollars = usage.seconds, usage.dollars or 0.0
    return type(seconds) is type(dollars) is float and 0 <= seconds < math.inf and 0 <= dollars < math.inf


def sanitise_usage(usage: Usage) -> Usage:
    """Return a usage with invalid numbers set to 0 and the price unknown."""
    if not usage_problem(usage):
        return usage
    calls, retries, tokens_in, tokens_out = (
        value if isinstance(value, int) and 0 <= value < LARGEST else 0
        for value in (usage.calls, usage.retries, usage.tokens_in, usage.tokens_out)
    )
    seconds = usage.seconds if isinstance(usage.seconds, int | float) and math.isfinite(usage.seconds) else 0.0
    return Usage(calls, retries, tokens_in, tokens_out, None, max(0.0, seconds))


def _text_problem(outcome: Any) -> str:
    for name in ("text", "error"):
        value = getattr(outcome, name, "")
        if not isinstance(value, str):
            return f"its {name} is no text but {type(value).__name__}"
    return ""


# One query for this many tasks: a far database costs one round trip each.
LOOKUP = 512
SLOW_LOOKUP, MOST_LOOKED_UP = 0.05, 4_096
"""A slower lookup (in seconds), as in a remote ledger, is done ahead from then on. The chunk grows up to the maximum
each time the run had to wait for it."""
HOPELESS = 20
"""After this many unusable verdicts and failures without any usable verdict, a job is stopped. Until then, no more
calls are in flight than are left of this number."""
SAMPLE = 200
"""Maximum number of characters shown of a reply or error."""


@dataclass
class JobCounts:
    """Progress and result of one job (a judge or contestant). `workers` counts active workers on a cluster.

    `permanent_failures` counts failures that no later call can fix, `skipped_count` those of earlier runs, which were
    not called again. `stop_reason` says why tasks are left; `over_budget_count` counts those left for lack of money.
    """

    name: str
    stored_count: int = 0
    started_count: int = 0
    finished_count: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    replies: Counter[str] = field(default_factory=Counter)
    """Kinds of replies: `signed`, `unsigned` (see `ReplyReading`); `cut off`, `thoughts alone`, `wordless`,
    `copied` (all unreadable); `estimated` (the server did not count tokens)."""
    served_models: Counter[str] = field(default_factory=Counter)
    """Models that servers report to have answered."""
    model: str = ""
    """The model that a judge calls; the judge's own name may be a label."""
    failures: Counter[str] = field(default_factory=Counter)
    usage: Usage = NOTHING
    stop_reason: str = ""
    seconds: float = 0.0
    workers: int = 0
    notices: tuple[str, ...] = ()
    """Notices of the ledger about names, such as added settings."""
    permanent_failures: int = 0
    skipped_count: int = 0
    over_budget_count: int = 0
    sample: str = ""
    """Start of the last unusable reply or error."""
    has_no_usable_verdict: bool = False
    """True if a judge has verdicts in the ledger and none of them is usable."""

    @property
    def failure_count(self) -> int:
        return sum(self.failures.values())

    @property
    def in_flight(self) -> int:
        return self.started_count - self.finished_count - self.failure_count

    @property
    def tries_left(self) -> int | None:
        """Unusable verdicts and failures until a job without a usable verdict is stopped; None if it has one."""
        if self.finished_count > self.faults.total():
            return None
        return max(0, HOPELESS - self.wrong_count)

    @property
    def wrong_count(self) -> int:
        return self.faults["unreadable"] + self.faults["refused"] + self.failure_count


class Watch(Protocol):
    """Observer of progress, called from the working thread."""

    def step(self, counts: JobCounts) -> None: ...


@runtime_checkable
class StagedWatch(Watch, Protocol):
    """Observer that can show other work for a while: `what` it is, and its number of tasks by name."""

    def stage(self, what: str, totals: Mapping[str, int]) -> AbstractContextManager[None]: ...


class Engine(Protocol):
    """Place where calls are made."""

    def ask(self, job: Job, tasks: Iterable[Any], counts: JobCounts, stop: Stop) -> Iterator[Any]:
        """Yield one outcome per task, in any order. Tasks are pulled only when there is room for them."""


class Here:
    """Engine that makes calls in this process."""

    def ask(self, job: Job, tasks: Iterable[Any], counts: JobCounts, stop: Stop) -> Iterator[Any]:
        return job.ask(tasks)


HERE = Here()


@dataclass(frozen=True)
class RetryPolicy:
    """Calls that are made although they seem useless.

    `anyway`: continue with a judge that has produced only unusable verdicts. `again`: retry permanent failures.
    """

    anyway: bool = False
    again: bool = False


DEFAULT_RETRY_POLICY = RetryPolicy()


def run_all_jobs(
    jobs: Sequence[Job],
    *,
    engine: Engine = HERE,
    budget: Budget | None = None,
    stop: Stop | None = None,
    watch: Watch | None = None,
    retry_policy: RetryPolicy = DEFAULT_RETRY_POLICY,
) -> list[JobCounts]:
    """Run all jobs in parallel, each in its own thread.

    A failed call is counted and its task stays due. An error that makes every call fail stops all jobs. It is raised
    after the outcomes have been stored.

    Args:
        jobs: One job for each judge or contestant.
        engine: Where calls are made: on this machine or on a cluster.
        budget: Dollars that all jobs may spend together; None for no limit.
        stop: Asks the jobs to stop; calls in flight end first.
        watch: Gets the counts of each job whenever they change.
        retry_policy: Calls to make although they seem useless.
    """
    stop = stop or Stop()
    job_counts = [JobCounts(job.name, notices=job.notices) for job in jobs]
    stop.job_counts += job_counts

    def run_job(job: Job, counts: JobCounts) -> None:
        start_time = time.monotonic()
        try:
            worker = _JobRun(job, counts, stop, budget, retry_policy)
            with job.hold_lock(), stop.run_before_leaving(worker.leave):
                worker.run(engine, watch)
        except BaseException:
            stop.pull("another one failed")
            raise
        finally:
            counts.seconds = time.monotonic() - start_time

    if len(jobs) == 1:
        run_job(jobs[0], job_counts[0])
    elif jobs:
        with ThreadPoolExecutor(max_workers=len(jobs), thread_name_prefix="fullbench") as pool:
            futures = [pool.submit(run_job, job, counts) for job, counts in zip(jobs, job_counts, strict=True)]
        for future in futures:
            future.result()
    return job_counts


class _JobRun:
    """A running job. `_open` has the keys that were looked up and are not finished.

    After a stop, `_left` is 1 if there was a task that was not started. After the money is spent, `_handed_back` counts
    tasks that were started but not called.
    """

    def __init__(
        self, job: Job, counts: JobCounts, stop: Stop, budget: Budget | None, retry_policy: RetryPolicy
    ) -> None:
        self._job, self._counts, self._stop, self._retry_policy = job, counts, stop, retry_policy
        self._share = None if budget is None else budget.share()
        self._open: set[Key] = set()
        self._in_flight: dict[Key, None] = {}
        self._spent_up = self._is_given_up = False
        self._ledger_error: LedgerError | None = None
        self._handed_back = self._left = 0
        # Read before `judge_or_contestant_job_and_recipe.hold_lock()` locks the name. Failures that another run adds in
        # between are called once more.
        self._failed_keys = frozenset() if retry_policy.again else frozenset(job.failed_keys())

    def run(self, engine: Engine, watch: Watch | None) -> None:
        """Make the calls that are due and store the outcomes."""
        job = self._job
        try:
            with (
                charge_calls_to(self._share),
                stop_calls_when(lambda: bool(self._stop.reason) or self._is_given_up),
                limit_calls_in_flight(self._most_calls_in_flight),
                use_stored_stills(StoredStills(job.ledger)),
            ):
                due = self._due()
                for outcome in engine.ask(job, self._tasks_to_start(due), self._counts, self._stop):
                    if self._ledger_error is not None:
                        self._counts.usage += outcome.usage  # paid, though it cannot be stored
                    elif _was_not_started(outcome):
                        self._hand_back(outcome)
                    else:
                        self._store(outcome)
                    if watch is not None:
                        watch.step(self._counts)
            if self._ledger_error is not None:
                raise self._ledger_error
            if self._spent_up:
                self._counts.started_count -= self._handed_back
                remaining_count = sum(1 for _ in takewhile(lambda _: not self._stop.reason, due))
                self._counts.over_budget_count = self._handed_back + self._left + remaining_count
            if self._is_given_up and not self._left:
                self._counts.stop_reason = ""  # all tasks were in flight by then, so none was left out
        finally:
            job.ledger.flush()

    def _most_calls_in_flight(self) -> int:
        """Return the calls that a judge may have in flight: without a usable verdict, what is left of its tries."""
        tries_left = self._counts.tries_left
        return sys.maxsize if tries_left is None or not self._may_be_given_up else max(1, tries_left)

    @cached_property
    def _may_be_given_up(self) -> bool:
        return not self._retry_policy.anyway and not self._job.has_succeeded

    def _tasks_to_start(self, due: Iterator[tuple[Key, Any]]) -> Iterator[Any]:
        counts, share = self._counts, self._share
        for key, task in self._until_ledger_error(due):
            if self._stop.reason or counts.stop_reason:
                counts.stop_reason, self._left = counts.stop_reason or self._stop.reason, 1
                return
            if share is not None and not share.reserve():
                counts.stop_reason, self._left, self._spent_up = share.spent_up, 1, True
                return
            counts.started_count += 1
            self._in_flight[key] = None
            yield task

    def _until_ledger_error(self, due: Iterator[tuple[Key, Any]]) -> Iterator[tuple[Key, Any]]:
        try:
            for key_and_task in due:  # noqa: UP028  `yield from` would close `due`, whose rest is counted
                yield key_and_task
        except LedgerError as error:
            self._stop_after(error)

    def _stop_after(self, error: LedgerError) -> None:
        """Start no more calls, but wait for those in flight: they are paid, and the summary has their cost."""
        self._ledger_error = self._ledger_error or error
        self._stop.pull("the ledger cannot be written")

    def _store(self, outcome: Any) -> None:
        try:
            stored_outcome = self._keep(outcome)
        except LedgerError as error:
            self._counts.usage += outcome.usage
            self._stop_after(error)
        else:
            self._count(stored_outcome)

    def _due(self) -> Iterator[tuple[Key, Any]]:
        """Yield tasks that are neither stored nor in flight, in chunks of at least 512.

        If the lookup is slow, the next chunk is looked up while the calls of the last one run.
        """
        job, counts, failed_keys, source = self._job, self._counts, self._failed_keys, iter(self._job.tasks())
        size, ahead = LOOKUP, False
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="fullbench-lookup") as lookup_pool:
            chunk = list(islice(source, size))
            look: Callable[[], tuple[dict[Key, Any], int]] = partial(self._look_up_due, chunk, failed_keys, frozenset())
            while chunk:
                start_time, busy = time.monotonic(), time.thread_time()
                due, over = look()
                # CPU time does not count: a second thread would need as much, and both would wait for the GIL.
                if time.monotonic() - start_time - (time.thread_time() - busy) > SLOW_LOOKUP:
                    size, ahead = min(4 * size, MOST_LOOKED_UP), True
                counts.stored_count += len(chunk) - len(due) - over
                counts.skipped_count += over
                # Must happen before the next lookup: an open key is not called again, a closed one is in the ledger.
                self._open.update(due)
                if ahead and (chunk := list(islice(source, size))):
                    look = lookup_pool.submit(self._look_up_due, chunk, failed_keys, self._still_open(chunk)).result
                for key, task in due.items():
                    yield key, job.prepare_task(task)
                if not ahead:
                    chunk = list(islice(source, size))
                    look = partial(self._look_up_due, chunk, failed_keys, self._still_open(chunk))

    def _still_open(self, chunk: Sequence[Any]) -> frozenset[Key]:
        """Return the keys in this chunk that were handed out before and are not finished."""
        return frozenset(self._open.intersection(map(self._job.key, chunk)))

    def _look_up_due(
        self, chunk: Sequence[Any], failed_keys: frozenset[Key], still_open: frozenset[Key]
    ) -> tuple[dict[Key, Any], int]:
        """Return the due tasks of a chunk and the number of permanent failures; enter the due tasks in the ledger."""
        job = self._job
        job.ledger.flush()
        keys = [job.key(task) for task in chunk]
        stored_keys = job.stored_keys(keys) | still_open
        skipped_keys = failed_keys.intersection(keys) - stored_keys
        due = {
            key: task
            for key, task in zip(keys, chunk, strict=True)
            if key not in stored_keys and key not in skipped_keys
        }
        if not self._spent_up:
            job.enter(list(due.values()))
        return due, len(skipped_keys)

    def _hand_back(self, outcome: Failure) -> None:
        """Return a task that no money was left for: no call was made, and it stays due."""
        counts, key = self._counts, outcome_key(outcome)
        self._open.discard(key)
        self._in_flight.pop(key, None)
        self._handed_back += 1
        counts.stop_reason, self._spent_up = counts.stop_reason or outcome.error, True
        if self._share is not None:
            self._share.give_back()

    def _keep(self, outcome: Any) -> Any:
        """Store an outcome; if that fails, store a failure of its case with the known cost."""
        job = self._job
        key = outcome_key(outcome)
        sound = storable_outcome(outcome, job.name, key)
        if isinstance(sound, Failure) and sound.kind == "unasked":  # some of its calls were made and paid
            sound = replace(sound, kind="passing")
        try:
            job.keep(sound)
        except FullbenchError:
            raise
        except Exception as error:  # noqa: BLE001 (whatever it is, it is this outcome's and no other's)
            sound = Failure(
                key[0], job.name, key[1], f"it could not be kept ({_error_text(error)})", sanitise_usage(outcome.usage)
            )
            job.keep(sound)
        self._open.discard(key)
        self._in_flight.pop(key, None)
        return sound

    def _count(self, outcome: Any) -> None:
        counts = self._counts
        counts.usage += outcome.usage
        if isinstance(outcome, Failure):
            counts.failures[outcome.error] += 1
            counts.permanent_failures += outcome.kind == "permanent"
            counts.sample = _first_words(outcome.error)
        else:
            counts.finished_count += 1
            fault = getattr(outcome, "fault", None)
            if fault:
                counts.faults[fault] += 1
                counts.sample = _first_words(getattr(outcome, "text", "")) or counts.sample
            counts.replies.update(_reply_kinds(outcome))
            # The first reply is the judge's own; a later one can be that of a second model that reads it.
            if (replies := getattr(outcome, "exchanges", ())) and replies[0].served:
                counts.served_models[replies[0].served] += 1
        if self._share is not None:
            self._share.pay(outcome.usage)
        if counts.tries_left == 0 and not counts.stop_reason and self._may_be_given_up:
            self._is_given_up = True
            counts.stop_reason = (
                f"no usable verdict in the first {counts.wrong_count} replies; the last: {counts.sample!r}. Check the "
                "server and the prompt, or continue with --anyway"
            )

    def leave(self) -> None:
        """Record calls in flight as failures with the mean cost so far, because their real cost is unknown."""
        counts = self._counts
        ended_count = counts.finished_count + counts.failure_count
        used = counts.usage.over(ended_count) if ended_count else Usage(retries=1)
        for case, trial in list(self._in_flight):
            error = (
                "it was in flight when the run was left; that it was answered is assumed, and the mean so far billed"
            )
            self._job.keep(Failure(case, self._job.name, trial, error, used))
        self._job.ledger.flush()


def outcome_key(outcome: Any) -> Key:
    """Return the key of the task that an outcome belongs to."""
    return outcome.case, outcome.trial


def _was_not_started(outcome: Any) -> bool:
    """Return True if no call was made for a task, so nothing was paid."""
    used: Usage = outcome.usage
    return isinstance(outcome, Failure) and outcome.kind == "unasked" and not (used.calls or used.retries)


def _error_text(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:SAMPLE]


def _reply_kinds(outcome: Any) -> Iterator[str]:
    reading: ReplyReading = getattr(outcome, "reading", NOT_READ)
    if reading.has_check_code is not None:
        yield "signed" if reading.has_check_code else "unsigned"
    if reading.is_cut_off and getattr(outcome, "fault", None) == "unreadable":
        yield "cut off"
    elif getattr(outcome, "fault", None) == "unreadable" and not outcome.text.strip() and outcome.exchanges:
        yield "thoughts alone" if outcome.exchanges[-1].reasoning else "wordless"
    elif _looks_like_a_copied_verdict(outcome, reading):
        yield "copied"
    if reading.has_estimated_tokens:
        yield "estimated"


def _looks_like_a_copied_verdict(outcome: Any, reading: ReplyReading) -> bool:
    """Return True if an unreadable reply would be a verdict, had the judge not been shown the same words."""
    if getattr(outcome, "fault", None) != "unreadable" or reading.has_check_code is not False:
        return False
    from fullbench.core.ballot import ballot
    from fullbench.parsing import read  # the parser is loaded by then, if a reply was read

    return not isinstance(read(ballot(outcome.ballot), outcome.text, len(outcome.contestants)), str)


def _first_words(text: str) -> str:
    return " ".join(text[: 4 * SAMPLE].split())[:SAMPLE]
