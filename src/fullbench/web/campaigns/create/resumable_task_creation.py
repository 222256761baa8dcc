"""Creation of a campaign's tasks in short transactions that can be interrupted, resumed and cancelled.

A small campaign is created in the transaction of the request. The plan of a large one is stored first. Then one batch
after another becomes tasks, each in its own transaction, so that votes and sign-ins get their turn. Any process may
resume the work of another one: a batch leaves the plan in the transaction that inserts its tasks, so none is created
twice or lost. Until the last step only leads see the campaign.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, Engine, delete, insert, select, update

from fullbench.core.translatable_note import Note
from fullbench.web.campaigns import campaigns, removal_of_campaigns_without_votes
from fullbench.web.campaigns.campaign_tables import conflicts, creation_parts, creations, slots, task_authors, tasks
from fullbench.web.campaigns.campaigns import Campaign
from fullbench.web.campaigns.create.storable_task_plan import BATCH_BYTES, BATCH_ROWS, Batch, TaskPlan
from fullbench.web.campaigns.create.task_rows import Lots
from fullbench.web.campaigns.tasks import mutually_exclusive_tasks
from fullbench.web.campaigns.tasks.mutually_exclusive_tasks import SeparatedTasks
from fullbench.web.database import acquire_lock, read_transaction, write_transaction

AT_ONCE = 10_000
"""Rows of tasks and slots up to which a campaign is created in the request itself, in less than a second."""


@dataclass(frozen=True)
class Finishing:
    """Steps that remain when all tasks of a campaign exist."""

    opens: bool
    """Open the campaign; otherwise it stays a draft."""
    pairs: Sequence[Sequence[str]] = ()
    """Pairs of items that one person must not both get."""
    others: Sequence[str] = ()
    """Ids of campaigns that must not share a person with this one on the same picture."""
    every: bool = False
    """Whether these are all other campaigns."""


@dataclass(frozen=True)
class CreationProgress:
    """Number of tasks that exist and that are planned. `state` is planning, creating or removing."""

    campaign_id: str
    state: str
    created_count: int
    total: int
    moves: int

    @property
    def note(self) -> Note:
        """Progress as a sentence for leads."""
        if self.state == "removing":
            return Note("web.people.creation.removing", n=self.created_count)
        return Note("web.people.creation.created", n=self.created_count, total=self.total)


def create_tasks(connection: Connection, campaign: Campaign, plan: TaskPlan, finishing: Finishing) -> int | None:
    """Create the tasks of a small campaign now, or prepare the creation of a large one.

    Call it in the transaction that created the campaign as a draft. Returns the number of conflicting pairs of tasks,
    or None if the campaign is large. Then its plan must be stored (`store_plan`, `store_large_plan`).
    """
    if is_small(campaign.votes, plan):
        lots = campaigns.lots_of(campaign)
        for batch in plan.batches:
            campaigns.add_task_rows(connection, campaign, batch.role, batch.rows(plan.nouns), lots, first=batch.first)
        separated_tasks = _find_separated_tasks(connection, campaign, finishing)
        mutually_exclusive_tasks.insert_conflicts(connection, separated_tasks.pairs)
        _finish_creation(connection, campaign, finishing, separated_tasks)
        return len(separated_tasks.pairs)
    campaigns.set_options(connection, campaign, {"creating": True})
    row = {"study": campaign.id, "state": "planning", "total": plan.count, "finishing": asdict(finishing)}
    connection.execute(insert(creations).values(row))
    return None


def is_small(votes: int, plan: TaskPlan) -> bool:
    """Return True if a campaign with that many votes per task is created at once."""
    return plan.count * (1 + votes) <= AT_ONCE


def store_plan(connection: Connection, campaign_id: str, plan: TaskPlan) -> None:
    """Store a small plan in one transaction."""
    for chunk in _plan_chunks(campaign_id, plan):
        connection.execute(insert(creation_parts), chunk)
    _record_move(connection, campaign_id, state="creating")


def store_large_plan(engine: Engine, campaign_id: str, plan: TaskPlan) -> None:
    """Store a plan in short transactions; then any process can create its tasks."""
    try:
        for chunk in _plan_chunks(campaign_id, plan):
            with write_transaction(engine) as connection:
                connection.execute(insert(creation_parts), chunk)
                _record_move(connection, campaign_id)
        with write_transaction(engine) as connection:
            _record_move(connection, campaign_id, state="creating")
    except BaseException:
        with write_transaction(engine) as connection:
            cancel_creation(connection, campaign_id)
        run_creation(engine, campaign_id)
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


def _plan_chunks(campaign_id: str, plan: TaskPlan) -> Iterator[list[dict[str, Any]]]:
    parts = [*(("nouns", part) for part in _noun_parts(plan)), *(("tasks", batch.json()) for batch in plan.batches)]
    chunk: list[dict[str, Any]] = []
    size = 0
    for at, (kind, part) in enumerate(parts):
        chunk.append({"study": campaign_id, "part": at, "kind": kind, "content": part})
        size += len(json.dumps(part))
        if size > BATCH_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _record_move(connection: Connection, campaign_id: str, **values: Any) -> bool:
    query = update(creations).where(creations.c.study == campaign_id)
    return connection.execute(query.values(moves=creations.c.moves + 1, **values)).rowcount > 0


def progress_of(connection: Connection, campaign_id: str) -> CreationProgress | None:
    """Return the progress of a campaign's creation, or None if it is finished."""
    return next(iter(unfinished_creations(connection, campaign_id)), None)


def unfinished_creations(connection: Connection, campaign_id: str = "") -> list[CreationProgress]:
    """Return the unfinished creations: all, or that of one campaign."""
    query = select(creations).order_by(creations.c.study)
    rows = connection.execute(query.where(creations.c.study == campaign_id) if campaign_id else query)
    return [CreationProgress(row.study, row.state, row.created, row.total, row.moves) for row in rows]


def cancel_creation(connection: Connection, campaign_id: str) -> bool:
    """Cancel a creation; existing tasks are removed batch by batch.

    Returns False if there was nothing to cancel: the last task may have been created just now.
    """
    acquire_lock(connection, f"creation {campaign_id}")
    return _record_move(connection, campaign_id, state="removing")


class CreationRun:
    """Work of one process on one creation, in steps of one short transaction each."""

    def __init__(self, engine: Engine, campaign_id: str) -> None:
        self._engine, self._campaign_id = engine, campaign_id
        self._nouns: list[dict[str, Any]] = []
        self._lots: Lots | None = None
        self._separated_tasks: SeparatedTasks | None = None
        self._conflicts: Iterator[list[tuple[int, int]]] = iter(())
        self._moves: int | None = None

    @property
    def pairs_apart(self) -> int:
        """Number of conflicting pairs of tasks, once all tasks exist."""
        return 0 if self._separated_tasks is None else len(self._separated_tasks.pairs)

    def step(self) -> bool:
        """Create or remove one batch; return True if there is more to do for this process.

        If another process took a step in the meantime, the rest is left to it.
        """
        self._prepare()
        with write_transaction(self._engine) as connection:
            acquire_lock(connection, f"creation {self._campaign_id}")
            creation_progress = progress_of(connection, self._campaign_id)
            if creation_progress is None or creation_progress.state == "planning":
                return False
            # If a lead cancels between two steps, `moves` changes too, but no other process is at work.
            if creation_progress.state == "creating" and self._moves not in {None, creation_progress.moves}:
                return False
            # The plan may have been completed after `_prepare`: then this step creates nothing yet.
            is_ready = creation_progress.state == "removing" or self._lots is not None
            self._moves = creation_progress.moves + is_ready
            if not is_ready:
                return True
            if creation_progress.state == "removing":
                return self._remove_batch(connection, creation_progress)
            return self._create_batch(connection, creation_progress)

    def _prepare(self) -> None:
        """Load data outside of the write transaction that others wait for."""
        with read_transaction(self._engine) as connection:
            creation_progress = progress_of(connection, self._campaign_id)
            if creation_progress is None or creation_progress.state != "creating":
                return
            if self._lots is None:
                self._lots = campaigns.lots_of(campaigns.get_campaign(connection, self._campaign_id))
                query = select(creation_parts.c.content).order_by(creation_parts.c.part)
                parts = connection.execute(query.where(self._parts("nouns"))).scalars()
                self._nouns = [noun for part in parts for noun in part]
            if creation_progress.created_count == creation_progress.total and self._separated_tasks is None:
                campaign = campaigns.get_campaign(connection, self._campaign_id)
                self._separated_tasks = _find_separated_tasks(connection, campaign, self._finishing(connection))
                self._conflicts = mutually_exclusive_tasks.chunk_pairs(self._separated_tasks.pairs)

    def _parts(self, kind: str) -> Any:
        return (creation_parts.c.study == self._campaign_id) & (creation_parts.c.kind == kind)

    def _finishing(self, connection: Connection) -> Finishing:
        query = select(creations.c.finishing).where(creations.c.study == self._campaign_id)
        return Finishing(**connection.execute(query).scalar_one())

    def _create_batch(self, connection: Connection, creation_progress: CreationProgress) -> bool:
        campaign = campaigns.get_campaign(connection, self._campaign_id)
        query = select(creation_parts.c.part, creation_parts.c.content).where(self._parts("tasks"))
        row = connection.execute(query.order_by(creation_parts.c.part).limit(1)).first()
        if row is None:
            return self._finish_batch(connection, campaign)
        batch = Batch.from_json(row.content)
        campaigns.add_task_rows(
            connection, campaign, batch.role, batch.rows(self._nouns), self._lots, first=batch.first
        )
        connection.execute(delete(creation_parts).where(self._parts("tasks"), creation_parts.c.part == row.part))
        _record_move(connection, self._campaign_id, created=creation_progress.created_count + len(batch.entries))
        campaigns.publish_change(connection, self._campaign_id)
        return True

    def _finish_batch(self, connection: Connection, campaign: Campaign) -> bool:
        if self._separated_tasks is None:  # another process created the last batch after `_prepare`
            self._moves = None
            return True
        chunk = next(self._conflicts, None)
        if chunk is not None:
            mutually_exclusive_tasks.insert_conflicts(connection, chunk)
            _record_move(connection, self._campaign_id)
            return True
        finishing = self._finishing(connection)
        self._forget(connection)
        campaigns.set_options(connection, campaign, {"creating": False})
        _finish_creation(connection, campaign, finishing, self._separated_tasks)
        campaigns.publish_change(connection, self._campaign_id)
        return False

    def _remove_batch(self, connection: Connection, creation_progress: CreationProgress) -> bool:
        campaign = campaigns.get_campaign(connection, self._campaign_id)
        task_query = select(tasks.c.id).where(tasks.c.study == campaign.id).order_by(tasks.c.place.desc())
        count = max(1, BATCH_ROWS // (1 + campaign.votes))
        some = list(connection.execute(task_query.limit(count)).scalars())
        if some:
            connection.execute(delete(conflicts).where(conflicts.c.task.in_(some)))
            connection.execute(delete(conflicts).where(conflicts.c.other.in_(some)))
            connection.execute(delete(task_authors).where(task_authors.c.task.in_(some)))
            connection.execute(delete(slots).where(slots.c.task.in_(some)))
            connection.execute(delete(tasks).where(tasks.c.id.in_(some)))
            _record_move(connection, self._campaign_id, created=max(0, creation_progress.created_count - len(some)))
            campaigns.publish_change(connection, self._campaign_id)
            return True
        parts = select(creation_parts.c.part).where(creation_parts.c.study == campaign.id).limit(20)
        some_parts = list(connection.execute(parts).scalars())
        if some_parts:
            in_campaign = creation_parts.c.study == campaign.id
            connection.execute(delete(creation_parts).where(in_campaign, creation_parts.c.part.in_(some_parts)))
            _record_move(connection, self._campaign_id)
            return True
        self._forget(connection)
        campaigns.set_options(connection, campaign, {"creating": False})
        removal_of_campaigns_without_votes.remove_campaign(connection, campaign)
        return False

    def _forget(self, connection: Connection) -> None:
        connection.execute(delete(creation_parts).where(creation_parts.c.study == self._campaign_id))
        connection.execute(delete(creations).where(creations.c.study == self._campaign_id))


def run_creation(engine: Engine, campaign_id: str, pause: Callable[[float], object] = time.sleep) -> CreationRun:
    """Take steps until nothing is left for this process, with a pause after each as long as the step itself.

    SQLite has one writer at a time and no queue: without the pause, votes would hardly ever get their turn. `pause`
    waits for that many seconds; a true result ends the run.
    """
    work = CreationRun(engine, campaign_id)
    while True:
        began = time.monotonic()
        if not work.step() or pause(max(0.01, time.monotonic() - began)):
            return work


def _find_separated_tasks(connection: Connection, campaign: Campaign, finishing: Finishing) -> SeparatedTasks:
    named_campaigns = [
        counterpart
        for name in finishing.others
        if (counterpart := campaigns.find_campaign(connection, name)) is not None
    ]
    conflict_campaigns = mutually_exclusive_tasks.conflicting_campaigns(
        connection, campaign, named_campaigns, every=finishing.every
    )
    pairs = mutually_exclusive_tasks.named_pairs(
        connection, campaign, [(entry, counterpart) for entry, counterpart in finishing.pairs]
    )
    shared_pairs = (
        mutually_exclusive_tasks.shared_pairs(connection, campaign, conflict_campaigns) if conflict_campaigns else set()
    )
    return SeparatedTasks(
        pairs | shared_pairs,
        [campaign.id] * bool(pairs) + [campaign.id, *(entry.id for entry in conflict_campaigns)] * bool(shared_pairs),
    )


def _finish_creation(
    connection: Connection, campaign: Campaign, finishing: Finishing, separated_tasks: SeparatedTasks
) -> None:
    mutually_exclusive_tasks.mark_conflicted(connection, separated_tasks.campaign_ids)
    if finishing.opens and not campaign.is_open:
        campaigns.set_state(connection, campaign.id, "open")
