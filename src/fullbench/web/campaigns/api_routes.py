"""The API of people's work, under `/api/v1`: studies, the next task, votes, results."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query, Request
from pydantic import Field
from sqlalchemy import Connection

from fullbench.core.item import Item
from fullbench.core.note import Note, sentence
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.errors import InputError
from fullbench.web import picture_serving
from fullbench.web.accounts import audit_log
from fullbench.web.accounts.users import User
from fullbench.web.api.schemas import RESPONSES, Id, Limit, Page, Shape
from fullbench.web.api.token_authentication import Annotator, Organiser
from fullbench.web.campaigns import campaigns, live_updates
from fullbench.web.campaigns.campaigns import Plan, Study
from fullbench.web.campaigns.create import creation_worker, omitted_data, task_creation, task_inputs
from fullbench.web.campaigns.create.new_campaign_form import asking_of
from fullbench.web.campaigns.create.task_creation import Finishing
from fullbench.web.campaigns.create.task_lists import refuse_too_many, tasks_of
from fullbench.web.campaigns.create.task_plans import TaskPlan
from fullbench.web.campaigns.pages import annotation_page
from fullbench.web.campaigns.tasks.task_kinds import kind_of
from fullbench.web.campaigns.tasks.task_view import show
from fullbench.web.campaigns.votes import task_queue, vote_export
from fullbench.web.campaigns.votes.task_queue import Desk, Gone, Nothing
from fullbench.web.campaigns.votes.vote_quality import progress
from fullbench.web.campaigns.votes.vote_storage import Clash
from fullbench.web.database import reading, writing
from fullbench.web.page_access import Database, address_of, engine_of, settings_of

router = APIRouter(prefix="/api/v1", responses=RESPONSES, tags=["studies"])
Text = Annotated[str, Field(max_length=20_000)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
KindName = Literal["pair", "score", "rank", "agree", "rate", "verify", "write", "rewrite"]


class StudyShown(Shape):
    """A study and how far it is."""

    id: str
    name: str
    kind: str
    ballot: str
    state: str
    stage: str
    tasks: int
    settled: int
    voted: int
    wanted: int
    notes: list[str]
    """What the study leaves out of what it was made of, and how far its creation is."""


class ItemWish(Shape):
    """An item; pictures by the digest that `POST /pictures` gave."""

    id: Name
    question: Text
    pictures: Annotated[tuple[Digest, ...], Field(max_length=50)] = ()
    reference: Text | None = None
    tags: Annotated[dict[str, str], Field(max_length=50, default_factory=dict)]


class ResponseWish(Shape):
    """What a contestant answered."""

    item: Name
    contestant: Name
    text: Text = ""
    pictures: Annotated[tuple[Digest, ...], Field(max_length=50)] = ()


class StudyWish(Shape):
    """A study to be made of items and responses: of the kinds pair, score, rank, rate, verify and write."""

    name: Name
    kind: KindName
    ballot: Annotated[str, Field(max_length=200)] = ""
    criterion: Name = "overall"
    guidelines: Annotated[str, Field(max_length=100_000)] = ""
    votes: Annotated[int, Field(ge=1, le=100)] = 1
    most: Annotated[int, Field(ge=0, le=100)] = 0
    settled_by: Literal["majority", "all"] = "majority"
    lease_seconds: Annotated[int, Field(ge=10, le=604_800)] = 1800
    gold_every: Annotated[int, Field(ge=0, le=1000)] = 10
    draft: bool = False
    paper: Annotated[str, Field(max_length=40)] = ""
    reference: bool = False
    reason: bool = False
    confirm: bool = False
    unverified: bool = False
    with_reference: bool = False
    own_pictures: bool = False
    asks: Annotated[tuple[Literal["instruction", "caption", "reference"], ...], Field(max_length=3)] = ()
    items: Annotated[list[ItemWish], Field(min_length=1, max_length=10_000)]
    responses: Annotated[tuple[ResponseWish, ...], Field(max_length=50_000)] = ()


class StateWish(Shape):
    """Open or closed."""

    state: Literal["open", "closed"]


class NextWish(Shape):
    """What you hold already: the leases of tasks that you have not voted on yet."""

    holding: Annotated[tuple[Annotated[str, Field(max_length=100)], ...], Field(max_length=20)] = ()


class VoteWish(Shape):
    """A vote. `fields` are those of the form of that kind; places of responses are those shown to you."""

    lease: Annotated[str, Field(max_length=100)]
    key: Annotated[str, Field(min_length=8, max_length=100)]
    fields: Annotated[dict[str, Text], Field(max_length=50)]
    replaces: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    seconds: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] = 0.0
    next: bool = False
    guideline: Annotated[str, Field(max_length=300)] = ""


class TaskGiven(Shape):
    """A task, or why there is none: done, failed, closed, wait or assigned (to others)."""

    task: dict[str, Any] | None = None
    why: str | None = None


class VoteKept(Shape):
    """A vote that is kept; `again` where it was kept before."""

    revision: int
    again: bool
    next: TaskGiven | None = None


def study_at(connection: Connection, study_id: str) -> Study:
    """The study with this id; 404 where there is none."""
    study = campaigns.find(connection, study_id)
    if study is None:
        raise HTTPException(404, "there is no such study")
    return study


def shown_study(connection: Connection, study: Study) -> StudyShown:
    """A study as the API shows it."""
    far = progress(connection, study, time.time())
    created = task_creation.progress_of(connection, study.id)
    notes = [*([] if created is None else [created.note]), *omitted_data.of_study(study).notes()]
    return StudyShown(
        id=study.id, name=study.name, kind=study.kind_name, ballot=study.rules.ballot, state=study.state,
        stage=study.stage, tasks=far.tasks, settled=far.settled, voted=far.voted, wanted=far.wanted,
        notes=[str(note) for note in notes],
    )  # fmt: skip


@router.get("/studies")
def list_studies(
    _caller: Annotator, connection: Database, start: Annotated[int, Query(ge=0, le=1_000_000)] = 0, limit: Limit = 50
) -> Page[StudyShown]:
    """Studies, the newest first."""
    listed = campaigns.listed(connection, start=start, count=limit)
    rows = [shown_study(connection, study) for study in listed]
    return Page(rows=rows, next=str(start + limit) if len(listed) == limit else None)


@router.post("/studies", status_code=201)
def make_study(request: Request, caller: Organiser, wish: StudyWish) -> StudyShown:
    """Make a study; it is open at once, unless it is to be a draft. A large one opens when its tasks are created."""
    engine, limit = engine_of(request), settings_of(request).task_limit
    chosen = wish.model_dump(include={"paper", "reference", "reason", "confirm"})
    plan = Plan(
        **wish.model_dump(
            exclude={"items", "responses", "draft", "unverified", "with_reference", "own_pictures", "asks", *chosen}
        ),
        options={name: value for name, value in chosen.items() if value}
        | asking_of(wish.kind, wish.asks, own_pictures=wish.own_pictures),
    )
    study = Study.sketched(plan)
    with reading(engine) as connection:
        campaigns.refuse_taken_name(connection, study.name)
        items = [_item(request, connection, caller, sent_item) for sent_item in wish.items]
        answers = [_response(request, connection, caller, sent_response) for sent_response in wish.responses]
    if len({item.id for item in items}) < len(items):
        raise InputError("two items have the same id; ids must differ")
    items, answers, left_out = omitted_data.judged(wish.kind, items, answers, unverified=wish.unverified)
    if wish.with_reference:
        answers = task_inputs.with_references(wish.kind, study.rules, items, answers)
    tasks = tasks_of(kind_of(wish.kind), study.rules.ballot, items, answers)
    refuse_too_many(len(tasks), limit)
    if not len(tasks):
        raise InputError(
            Note(
                "web.wrong.nothing-to-do-sent",
                "there is nothing to do in this study: no {kind} task can be made of what was sent",
                kind=wish.kind,
            )
        )
    task_plan = TaskPlan.from_contents(study, (), tasks)
    with writing(engine) as connection:
        study = campaigns.create(
            connection, plan, draft=wish.draft or not task_creation.is_small(plan.votes, task_plan)
        )
        campaigns.set_options(connection, study, left_out.option)
        is_large = task_creation.create_tasks(connection, study, task_plan, Finishing(not wish.draft)) is None
        audit_log.write(
            connection, caller, "study made", study.name, address=address_of(request), tasks=task_plan.count
        )
    if is_large:
        task_creation.store_large_plan(engine, study.id, task_plan)
        creation_worker.wake(engine, study.id)
    with reading(engine) as connection:
        return shown_study(connection, study_at(connection, study.id))


def _item(request: Request, connection: Connection, caller: User, wish: ItemWish) -> Item:
    shown = _pictures(request, connection, caller, wish.pictures)
    return Item.ask(wish.id, wish.question, *shown, reference=wish.reference, tags=wish.tags)


def _response(request: Request, connection: Connection, caller: User, wish: ResponseWish) -> Response:
    shown = _pictures(request, connection, caller, wish.pictures)
    words = (wish.text,) if wish.text or not shown else ()
    return Response(wish.item, wish.contestant, (*shown, *words))


def _pictures(request: Request, connection: Connection, caller: User, digests: Sequence[str]) -> tuple[Picture, ...]:
    return tuple(picture_serving.find(request, connection, caller, digest) for digest in digests)


@router.get("/studies/{study_id}")
def show_study(_caller: Annotator, connection: Database, study_id: Id) -> StudyShown:
    """One study."""
    return shown_study(connection, study_at(connection, study_id))


@router.patch("/studies/{study_id}")
def change_study(
    request: Request, caller: Organiser, connection: Database, study_id: Id, wish: StateWish
) -> StudyShown:
    """Close a study, or open it again."""
    study = study_at(connection, study_id)
    campaigns.set_state(connection, study.id, wish.state)
    audit_log.write(connection, caller, f"study {wish.state}", study.name, address=address_of(request))
    live_updates.tell(connection, study.id)
    return shown_study(connection, study_at(connection, study_id))


@router.post("/studies/{study_id}/next")
def next_task(request: Request, caller: Annotator, study_id: Id, wish: NextWish) -> TaskGiven:
    """Your next task: one you hold and did not name in `holding`, else a new one."""
    with writing(engine_of(request)) as connection:
        study = study_at(connection, study_id)
        taken = task_queue.take(Desk(connection, study, caller.id, time.time()), wish.holding)
    return _given(study, taken)


def _given(study: Study, taken: task_queue.Lease | Nothing) -> TaskGiven:
    return TaskGiven(why=taken.why) if isinstance(taken, Nothing) else TaskGiven(task=show(study, taken).json())


@router.post("/studies/{study_id}/votes", status_code=201)
def vote(request: Request, caller: Annotator, study_id: Id, wish: VoteWish) -> VoteKept:
    """Keep a vote: the same `key` again is the same vote. With `next` the answer brings your next task."""
    sent = {
        **wish.fields, "lease": wish.lease, "key": wish.key, "replaces": str(wish.replaces),
        "seconds": str(wish.seconds), "guideline": wish.guideline,
    }  # fmt: skip
    try:
        with writing(engine_of(request)) as connection:
            desk = Desk(connection, study_at(connection, study_id), caller.id, time.time())
            receipt = annotation_page.cast(desk, sent)
            taken = task_queue.take(desk) if wish.next else None
    except (Gone, Clash) as error:
        raise HTTPException(404 if isinstance(error, Gone) else 409, sentence(error)) from error
    following = None if taken is None else _given(desk.study, taken)
    return VoteKept(revision=receipt.revision, again=receipt.again, next=following)


@router.get("/studies/{study_id}/votes")
def list_votes(
    _caller: Organiser,
    connection: Database,
    study_id: Id,
    after: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Limit = 50,
) -> Page[dict[str, Any]]:
    """Every vote with its revisions, in the order they came; `next` is the `after` of the next page."""
    study = study_at(connection, study_id)
    vote_rows = list(vote_export.rows(connection, study, after=after, limit=limit))
    return Page(rows=vote_rows, next=str(vote_rows[-1]["id"]) if len(vote_rows) == limit else None)
