"""The creation of a study's tasks, in short transactions that can be interrupted, resumed and cancelled.

A small study is created in the transaction of the request. The plan of a large one is stored first; then batch after
batch is taken from the plan and becomes tasks, each in a transaction of its own, so that votes and sign-ins get their
turn between them. Every process may resume what another one left: a batch leaves the plan in the transaction in which
its tasks come, so none is created twice and none is lost. Until the last step nobody but leads sees the study.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, Engine, delete, insert, select, update

from fullbench.core.note import Note
from fullbench.web.campaigns import campaigns, live_updates
from fullbench.web.campaigns.campaign_tables import conflicts, creation_parts, creations, slots, task_authors, tasks
from fullbench.web.campaigns.campaigns import Study
from fullbench.web.campaigns.create import campaign_removal
from fullbench.web.campaigns.create.task_plans import BATCH_BYTES, BATCH_ROWS, Batch, TaskPlan
from fullbench.web.campaigns.create.task_rows import Lots
from fullbench.web.campaigns.tasks import task_conflicts
from fullbench.web.campaigns.tasks.task_conflicts import Separated
from fullbench.web.database import alone, reading, writing

AT_ONCE = 10_000
"""Rows of tasks and slots up to which a study is created in the request itself, in less than a second."""


@dataclass(frozen=True)
class Finishing:
    """What remains to be done when all tasks of a study are there."""

    opens: bool
    """Whether the study opens then; else it is a draft."""
    pairs: Sequence[Sequence[str]] = ()
    """Pairs of items that nobody meets both of."""
    others: Sequence[str] = ()
    """Ids of studies that share nobody with this one on the same picture."""
    every: bool = False
    """Whether these are all other studies."""


@dataclass(frozen=True)
class Progress:
    """The number of tasks that are there, and that there will be. `state` is planning, creating or removing."""

    study: str
    state: str
    created: int
    total: int
    moves: int

    @property
    def note(self) -> Note:
        """A sentence for leads."""
        if self.state == "removing":
            return Note(
                "web.people.creation.removing",
                "The creation is cancelled. {n:,} tasks are still to be removed.",
                n=self.created,
            )
        return Note(
            "web.people.creation.created", "{n:,} of {total:,} tasks created.", n=self.created, total=self.total
        )


def create_tasks(connection: Connection, into: Study, plan: TaskPlan, finishing: Finishing) -> int | None:
    """Create the tasks of a small study now, or prepare the creation of a large one.

    Args:
        connection: The transaction in which the study was made, as a draft.
        into: The study.
        plan: Its tasks.
        finishing: What to do when all are there.

    Returns:
        The number of pairs of tasks that nobody meets both of; None if the study is large. Then its plan must be
        stored (`store_plan`, `store_large_plan`).
    """
    if is_small(into.votes, plan):
        lots = campaigns.lots_of(into)
        for batch in plan.batches:
            campaigns.add_rows(connection, into, batch.role, batch.rows(plan.nouns), lots, first=batch.first)
        separated = _separated_tasks(connection, into, finishing)
        task_conflicts.insert_conflicts(connection, separated.pairs)
        _finish(connection, into, finishing, separated)
        return len(separated.pairs)
    campaigns.set_options(connection, into, {"creating": True})
    row = {"study": into.id, "state": "planning", "total": plan.count, "finishing": asdict(finishing)}
    connection.execute(insert(creations).values(row))
    return None


def is_small(votes: int, plan: TaskPlan) -> bool:
    """Return whether a study with that many votes for each task is created at once."""
    return plan.count * (1 + votes) <= AT_ONCE


def store_plan(connection: Connection, study: str, plan: TaskPlan) -> None:
    """Store a plan in one transaction, for one of few bytes."""
    for chunk in _chunks(study, plan):
        connection.execute(insert(creation_parts), chunk)
    _move(connection, study, state="creating")


def store_large_plan(engine: Engine, study: str, plan: TaskPlan) -> None:
    """Store a plan in short transactions; then any process can create its tasks.

    Args:
        engine: The database.
        study: The id of a study whose creation was prepared.
        plan: Its tasks.
    """
    try:
        for chunk in _chunks(study, plan):
            with writing(engine) as connection:
                connection.execute(insert(creation_parts), chunk)
                _move(connection, study)
        with writing(engine) as connection:
            _move(connection, study, state="creating")
    except BaseException:
        with writing(engine) as connection:
            cancel(connection, study)
        run(engine, study)
        raise


def _noun_parts(plan: TaskPlan) -> Iterator[list[dict[str, Any]]]:
    part: list[dict[str, Any]] = []
    size = 0
    for noun, bytes_ in zip(plan.nouns, plan.sizes, strict=True):
        if part and (size + bytes_ > BATCH_BYTES or len(part) >= BATCH_ROWS):
            yield part
            part, size = [], 0
        part.append(noun)
        size += bytes_
    if part:
        yield part


def _chunks(study: str, plan: TaskPlan) -> Iterator[list[dict[str, Any]]]:
    """Return the rows of a plan in lists that one short transaction can insert."""
    parts = [*(("nouns", part) for part in _noun_parts(plan)), *(("tasks", batch.json()) for batch in plan.batches)]
    chunk: list[dict[str, Any]] = []
    size = 0
    for at, (kind, part) in enumerate(parts):
        chunk.append({"study": study, "part": at, "kind": kind, "content": part})
        size += len(json.dumps(part))
        if size > BATCH_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _move(connection: Connection, study: str, **values: Any) -> bool:
    query = update(creations).where(creations.c.study == study)
    return connection.execute(query.values(moves=creations.c.moves + 1, **values)).rowcount > 0


def progress_of(connection: Connection, study: str) -> Progress | None:
    """Return how far the creation of a study is; None if all of it is there."""
    return next(iter(unfinished(connection, study)), None)


def unfinished(connection: Connection, study: str = "") -> list[Progress]:
    """Return the creations that are not finished: all, or that of one study."""
    query = select(creations).order_by(creations.c.study)
    rows = connection.execute(query.where(creations.c.study == study) if study else query)
    return [Progress(row.study, row.state, row.created, row.total, row.moves) for row in rows]


def cancel(connection: Connection, study: str) -> bool:
    """Cancel a creation: what there is of the study is removed, batch by batch.

    Return whether there was something to cancel: the last task may have been created just now.
    """
    alone(connection, f"creation {study}")
    return _move(connection, study, state="removing")


class Run:
    """One process at work on one creation, in steps that are one short transaction each."""

    def __init__(self, engine: Engine, study: str) -> None:
        self._engine, self._study = engine, study
        self._nouns: list[dict[str, Any]] = []
        self._lots: Lots | None = None
        self._separated: Separated | None = None
        self._conflicts: Iterator[list[tuple[int, int]]] = iter(())
        self._moves: int | None = None

    @property
    def pairs_apart(self) -> int:
        """The number of pairs of tasks that nobody meets both of, once all tasks are there."""
        return 0 if self._separated is None else len(self._separated.pairs)

    def step(self) -> bool:
        """Create or remove one batch; return whether there is more to do for this process.

        If another process has taken a step meanwhile, the rest is left to it.
        """
        self._prepare()
        with writing(self._engine) as connection:
            alone(connection, f"creation {self._study}")
            far = progress_of(connection, self._study)
            if far is None or far.state == "planning":
                return False
            # A lead may cancel between two steps, which is no other process at work.
            if far.state == "creating" and self._moves not in {None, far.moves}:
                return False
            # The plan may have been completed after `_prepare`: then this step only looks.
            is_ready = far.state == "removing" or self._lots is not None
            self._moves = far.moves + is_ready
            if not is_ready:
                return True
            if far.state == "removing":
                return self._remove_batch(connection, far)
            return self._create_batch(connection, far)

    def _prepare(self) -> None:
        """Load what the next step needs, outside of the transaction that others wait for."""
        with reading(self._engine) as connection:
            far = progress_of(connection, self._study)
            if far is None or far.state != "creating":
                return
            if self._lots is None:
                self._lots = campaigns.lots_of(campaigns.study(connection, self._study))
                query = select(creation_parts.c.content).order_by(creation_parts.c.part)
                parts = connection.execute(query.where(self._parts("nouns"))).scalars()
                self._nouns = [noun for part in parts for noun in part]
            if far.created == far.total and self._separated is None:
                into = campaigns.study(connection, self._study)
                self._separated = _separated_tasks(connection, into, self._finishing(connection))
                self._conflicts = task_conflicts.chunks(self._separated.pairs)

    def _parts(self, kind: str) -> Any:
        return (creation_parts.c.study == self._study) & (creation_parts.c.kind == kind)

    def _finishing(self, connection: Connection) -> Finishing:
        query = select(creations.c.finishing).where(creations.c.study == self._study)
        return Finishing(**connection.execute(query).scalar_one())

    def _create_batch(self, connection: Connection, far: Progress) -> bool:
        into = campaigns.study(connection, self._study)
        query = select(creation_parts.c.part, creation_parts.c.content).where(self._parts("tasks"))
        row = connection.execute(query.order_by(creation_parts.c.part).limit(1)).first()
        if row is None:
            return self._finish_batch(connection, into)
        batch = Batch.from_json(row.content)
        campaigns.add_rows(connection, into, batch.role, batch.rows(self._nouns), self._lots, first=batch.first)
        connection.execute(delete(creation_parts).where(self._parts("tasks"), creation_parts.c.part == row.part))
        _move(connection, self._study, created=far.created + len(batch.entries))
        live_updates.tell(connection, self._study)
        return True

    def _finish_batch(self, connection: Connection, into: Study) -> bool:
        if self._separated is None:  # another process created the last batch after `_prepare`
            self._moves = None
            return True
        chunk = next(self._conflicts, None)
        if chunk is not None:
            task_conflicts.insert_conflicts(connection, chunk)
            _move(connection, self._study)
            return True
        finishing = self._finishing(connection)
        self._forget(connection)
        campaigns.set_options(connection, into, {"creating": False})
        _finish(connection, into, finishing, self._separated)
        live_updates.tell(connection, self._study)
        return False

    def _remove_batch(self, connection: Connection, far: Progress) -> bool:
        into = campaigns.study(connection, self._study)
        own = select(tasks.c.id).where(tasks.c.study == into.id).order_by(tasks.c.place.desc())
        count = max(1, BATCH_ROWS // (1 + into.votes))
        some = list(connection.execute(own.limit(count)).scalars())
        if some:
            connection.execute(delete(conflicts).where(conflicts.c.task.in_(some)))
            connection.execute(delete(conflicts).where(conflicts.c.other.in_(some)))
            connection.execute(delete(task_authors).where(task_authors.c.task.in_(some)))
            connection.execute(delete(slots).where(slots.c.task.in_(some)))
            connection.execute(delete(tasks).where(tasks.c.id.in_(some)))
            _move(connection, self._study, created=max(0, far.created - len(some)))
            live_updates.tell(connection, self._study)
            return True
        parts = select(creation_parts.c.part).where(creation_parts.c.study == into.id).limit(20)
        some_parts = list(connection.execute(parts).scalars())
        if some_parts:
            mine = creation_parts.c.study == into.id
            connection.execute(delete(creation_parts).where(mine, creation_parts.c.part.in_(some_parts)))
            _move(connection, self._study)
            return True
        self._forget(connection)
        campaigns.set_options(connection, into, {"creating": False})
        campaign_removal.throw_away(connection, into)
        return False

    def _forget(self, connection: Connection) -> None:
        connection.execute(delete(creation_parts).where(creation_parts.c.study == self._study))
        connection.execute(delete(creations).where(creations.c.study == self._study))


def run(engine: Engine, study: str, pause: Callable[[float], object] = time.sleep) -> Run:
    """Take steps until nothing is left for this process, with a pause after each as long as the step itself.

    SQLite has one writer at a time and no queue: without the pause, votes would hardly ever get their turn.

    Args:
        engine: The database.
        study: The id of the study.
        pause: Waits for that many seconds; a true result ends the run.
    """
    work = Run(engine, study)
    while True:
        began = time.monotonic()
        if not work.step() or pause(max(0.01, time.monotonic() - began)):
            return work


def _separated_tasks(connection: Connection, into: Study, finishing: Finishing) -> Separated:
    """Return the pairs of tasks that nobody meets both of."""
    named = [other for name in finishing.others if (other := campaigns.find(connection, name)) is not None]
    others = task_conflicts.others_of(connection, into, named, every=finishing.every)
    pairs = task_conflicts.named_pairs(connection, into, [(one, other) for one, other in finishing.pairs])
    shared = task_conflicts.shared_pairs(connection, into, others) if others else set()
    return Separated(pairs | shared, [into.id] * bool(pairs) + [into.id, *(one.id for one in others)] * bool(shared))


def _finish(connection: Connection, into: Study, finishing: Finishing, separated: Separated) -> None:
    """Open the study, or leave it as a draft."""
    task_conflicts.mark_conflicted(connection, separated.studies)
    if finishing.opens and not into.is_open:
        campaigns.set_state(connection, into.id, "open")
