"""The API of leads, under `/api/v1`: tasks with their votes, rulings on splits, pilots, assignment."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request
from pydantic import Field

from fullbench.web.accounts import audit
from fullbench.web.api.guard import Organiser
from fullbench.web.api.shapes import RESPONSES, Id, Limit, Page, Shape
from fullbench.web.guard import Database, address_of
from fullbench.web.people import adjudicating, members, piloting, results
from fullbench.web.people.adjudicating import STANDINGS, Task
from fullbench.web.people.api import Name, StudyShown, Text, shown_study, study_at
from fullbench.web.people.content import Content
from fullbench.web.people.studies import Study
from fullbench.web.people.tally import Vote, raters

router = APIRouter(prefix="/api/v1", responses=RESPONSES, tags=["studies"])
TaskId = Annotated[int, Field(ge=0, le=2**62)]


class RulingWish(Shape):
    """A ruling on a split: the fields of the form of that kind, places of responses being those of the task."""

    fields: Annotated[dict[str, Text], Field(max_length=50)]


class RulingKept(Shape):
    """A ruling that is kept; the latest revision counts, all stay."""

    task: int
    revision: int


class PilotWish(Shape):
    """How many tasks a pilot has."""

    tasks: Annotated[int, Field(ge=1, le=1000)] = 10


class AssignWish(Shape):
    """Names of accounts."""

    people: Annotated[tuple[Name, ...], Field(min_length=1, max_length=1000)]


class Assigned(Shape):
    """How many were not assigned before."""

    new: int


@router.get("/studies/{study_id}/tasks")
def list_tasks(
    _caller: Organiser,
    connection: Database,
    study_id: Id,
    standing: Annotated[str, Query(max_length=20)] = "",
    start: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    limit: Limit = 50,
) -> Page[dict[str, Any]]:
    """Tasks with their votes and what leads ruled: all, or those where people stand in one way, such as `split`."""
    study = study_at(connection, study_id)
    if standing and standing not in STANDINGS:
        raise HTTPException(422, f"'standing' is one of {', '.join(STANDINGS)}; found {standing!r}")
    people = raters(connection)
    every = [task for task in adjudicating.listed(connection, study) if not standing or task.standing == standing]
    rows = [_task(study, task, people) for task in every[start : start + limit]]
    return Page(rows=rows, next=str(start + limit) if len(every) > start + limit else None)


def _task(study: Study, task: Task, people: dict[str, str]) -> dict[str, Any]:
    content = Content.of(task.content)

    def said(vote: Vote) -> dict[str, Any]:
        return {
            "rater": people.get(vote.person, vote.person), "answer": vote.answer, "label": vote.label,
            "words": None if vote.label is None else results.spoken(study, content, vote.label),
            "reason": vote.answer.get("reason"), "revision": vote.revision, "at": vote.at,
        }  # fmt: skip

    return {
        "task": task.id, "item": content.item.id, "standing": task.standing,
        "contestants": [response.contestant for response in content.responses],
        "votes": [said(vote) for vote in task.votes], "rulings": [said(vote) for vote in task.rulings],
    }  # fmt: skip


@router.post("/studies/{study_id}/tasks/{task}/rulings", status_code=201)
def rule(
    request: Request, caller: Organiser, connection: Database, study_id: Id, task: TaskId, *, wish: RulingWish
) -> RulingKept:
    """Rule on a task where people are split; every vote stays, and the rule `adjudicated` of a figure counts this."""
    study = study_at(connection, study_id)
    there = adjudicating.task_of(connection, study, task)
    if there is None:
        raise HTTPException(404, "there is no such task")
    revision = adjudicating.rule(connection, study, there, caller, wish.fields)
    audit.write(connection, caller, "split ruled on", study.name, address=address_of(request), task=task)
    return RulingKept(task=task, revision=revision)


@router.post("/studies/{study_id}/pilots", status_code=201)
def make_pilot(request: Request, caller: Organiser, connection: Database, study_id: Id, wish: PilotWish) -> StudyShown:
    """Open a pilot of a few tasks; its votes are marked and left out unless asked for."""
    new_pilot = piloting.make(connection, study_at(connection, study_id), wish.tasks)
    audit.write(connection, caller, "pilot made", new_pilot.name, address=address_of(request))
    return shown_study(connection, new_pilot)


@router.post("/studies/{study_id}/members", status_code=201)
def assign(request: Request, caller: Organiser, connection: Database, study_id: Id, wish: AssignWish) -> Assigned:
    """Let people into a study, which is from then on for those alone who were."""
    study = study_at(connection, study_id)
    new = members.assign(connection, study, wish.people)
    audit.write(connection, caller, "people assigned", study.name, address=address_of(request), new=new)
    return Assigned(new=new)
