"""API routes of leads under `/api/v1`: tasks with votes, adjudication, pilots, assignment, group links."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request
from pydantic import Field
from sqlalchemy import Connection

from fullbench.web.accounts import audit_log
from fullbench.web.api.schemas import RESPONSES, Id, Limit, Page, Shape
from fullbench.web.api.token_authentication import Organiser
from fullbench.web.campaigns import campaign_members, group_links
from fullbench.web.campaigns.api_routes import Name, StudyShown, Text, describe_campaign, require_campaign
from fullbench.web.campaigns.campaigns import Campaign
from fullbench.web.campaigns.create import pilot_campaign
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.campaigns.votes import adjudication, campaign_results
from fullbench.web.campaigns.votes.adjudication import STANDINGS, Task
from fullbench.web.campaigns.votes.counted_votes import Vote, rater_ids
from fullbench.web.page_access import Database, address_of, base_of, settings_of

router = APIRouter(prefix="/api/v1", responses=RESPONSES, tags=["studies"])
TaskId = Annotated[int, Field(ge=0, le=2**62)]


class AdjudicationWish(Shape):
    """A decision on a split: the fields of the form of that kind, places of responses being those of the task."""

    fields: Annotated[dict[str, Text], Field(max_length=50)]


class AdjudicationKept(Shape):
    """A decision that is kept; the latest revision counts, all stay."""

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


class LinkWish(Shape):
    """One link for many people; `each` is how many tasks everybody is asked for, 0 for all.

    `any_browser` lets whoever gives an id go on with its work, so that to know somebody's id is to work in their place.
    """

    max_people: Annotated[int, Field(ge=1, le=group_links.MOST_PLACES)] = 100
    days: Annotated[int, Field(ge=1, le=group_links.MOST_DAYS)] = 30
    each: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    code: Annotated[str, Field(max_length=300)] = ""
    any_browser: bool = False


class LinkShown(Shape):
    """A study's link, without its secret, and how many of its places are taken."""

    until: float
    open: bool
    max_people: int
    taken: int
    each: int
    code: str
    any_browser: bool


class LinkMade(LinkShown):
    """A new link; `link` is shown once."""

    link: str


class Arrival(Shape):
    """Somebody who came by a study's link: the id of the other site, the random id of their votes, what they did."""

    external_id: str
    rater: str
    status: str
    done: int
    complete: bool
    at: float


class ReleaseWish(Shape):
    """The id that may go on in another browser than the one in which it was begun."""

    external_id: Annotated[str, Field(min_length=1, max_length=group_links.LONGEST_ID)]


@router.get("/studies/{study_id}/tasks")
def list_tasks(
    _caller: Organiser,
    connection: Database,
    study_id: Id,
    status: Annotated[str, Query(max_length=20)] = "",
    start: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    limit: Limit = 50,
) -> Page[dict[str, Any]]:
    """Tasks with their votes and what leads ruled: all, or those where people stand in one way, such as `split`."""
    campaign = require_campaign(connection, study_id)
    if status and status not in STANDINGS:
        raise HTTPException(422, f"'status' is one of {', '.join(STANDINGS)}; found {status!r}")
    people = rater_ids(connection)
    every = [task for task in adjudication.list_tasks(connection, campaign) if not status or task.standing == status]
    rows = [_task_fields(campaign, task, people) for task in every[start : start + limit]]
    return Page(rows=rows, next=str(start + limit) if len(every) > start + limit else None)


def _task_fields(campaign: Campaign, task: Task, people: dict[str, str]) -> dict[str, Any]:
    content = Content.from_json(task.content)

    def vote_fields(vote: Vote) -> dict[str, Any]:
        return {
            "rater": people.get(vote.person, vote.person), "answer": vote.answer, "label": vote.label,
            "words": None if vote.label is None else campaign_results.label_text(campaign, content, vote.label),
            "reason": vote.answer.get("reason"), "revision": vote.revision, "at": vote.at,
        }  # fmt: skip

    return {
        "task": task.id,
        "item": content.item.id,
        "status": task.standing,
        "contestants": [response.contestant for response in content.responses],
        "votes": [vote_fields(vote) for vote in task.votes],
        "adjudications": [vote_fields(vote) for vote in task.adjudications],
    }


@router.post("/studies/{study_id}/tasks/{task}/adjudications", status_code=201)
def adjudicate(
    request: Request, caller: Organiser, connection: Database, study_id: Id, task: TaskId, *, wish: AdjudicationWish
) -> AdjudicationKept:
    """Adjudicate a task where people are split; every vote stays, and the rule `adjudicated` counts this."""
    campaign = require_campaign(connection, study_id)
    there = adjudication.task_of(connection, campaign, task)
    if there is None:
        raise HTTPException(404, "there is no such task")
    revision = adjudication.store_adjudication(connection, campaign, there, caller, wish.fields)
    audit_log.write_entry(connection, caller, "split ruled on", campaign.name, address=address_of(request), task=task)
    return AdjudicationKept(task=task, revision=revision)


@router.post("/studies/{study_id}/pilots", status_code=201)
def make_pilot(request: Request, caller: Organiser, connection: Database, study_id: Id, wish: PilotWish) -> StudyShown:
    """Open a pilot of a few tasks; its votes are marked and left out unless asked for."""
    new_pilot = pilot_campaign.create_pilot(
        connection, require_campaign(connection, study_id), wish.tasks, settings_of(request).task_limit
    )
    audit_log.write_entry(connection, caller, "pilot made", new_pilot.name, address=address_of(request))
    return describe_campaign(connection, new_pilot)


@router.post("/studies/{study_id}/members", status_code=201)
def assign(request: Request, caller: Organiser, connection: Database, study_id: Id, wish: AssignWish) -> Assigned:
    """Let people into a study, which is from then on for those alone who were."""
    campaign = require_campaign(connection, study_id)
    new = campaign_members.assign_people(connection, campaign, wish.people)
    audit_log.write_entry(connection, caller, "people assigned", campaign.name, address=address_of(request), new=new)
    return Assigned(new=new)


@router.get("/studies/{study_id}/link")
def show_link(_caller: Organiser, connection: Database, study_id: Id) -> LinkShown:
    """The study's link for many people, without its secret."""
    return LinkShown(**_link_fields(connection, require_campaign(connection, study_id)))


def _link_fields(connection: Connection, campaign: Campaign) -> dict[str, Any]:
    link = group_links.GroupLink.from_campaign(campaign)
    if link is None:
        raise HTTPException(404, "this study has no link for many people")
    return {
        "until": link.until,
        "open": link.is_open,
        "max_people": link.max_people,
        "taken": group_links.count_arrivals(connection, campaign),
        "each": int(campaign.rules.options.get("each") or 0),
        "code": link.code,
        "any_browser": link.any_browser,
    }


@router.post("/studies/{study_id}/link", status_code=201)
def make_link(request: Request, caller: Organiser, connection: Database, study_id: Id, wish: LinkWish) -> LinkMade:
    """Make a link for many people in place of an earlier one, which ends; who comes by it is assigned to the study."""
    campaign = require_campaign(connection, study_id)
    secret = group_links.create_group_link(connection, campaign, **wish.model_dump())
    audit_log.write_entry(connection, caller, "group link made", campaign.name, address=address_of(request))
    link_fields = _link_fields(connection, require_campaign(connection, study_id))
    return LinkMade(link=base_of(request) + group_links.link_path(campaign, secret), **link_fields)


@router.delete("/studies/{study_id}/link")
def end_link(request: Request, caller: Organiser, connection: Database, study_id: Id) -> LinkShown:
    """End the link: nobody new comes by it, who is there works on."""
    campaign = require_campaign(connection, study_id)
    _link_fields(connection, campaign)
    group_links.end_group_link(connection, campaign)
    audit_log.write_entry(connection, caller, "group link ended", campaign.name, address=address_of(request))
    return LinkShown(**_link_fields(connection, require_campaign(connection, study_id)))


@router.get("/studies/{study_id}/arrivals")
def list_arrivals(
    _caller: Organiser,
    connection: Database,
    study_id: Id,
    start: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    limit: Limit = 50,
) -> Page[Arrival]:
    """Who came by the study's links, in the order they came, and how many tasks each did."""
    came = list(group_links.arrival_rows(connection, require_campaign(connection, study_id)))
    rows = [Arrival(**row) for row in came[start : start + limit]]
    return Page(rows=rows, next=str(start + limit) if len(came) > start + limit else None)


@router.post("/studies/{study_id}/arrivals/release")
def release(request: Request, caller: Organiser, connection: Database, study_id: Id, wish: ReleaseWish) -> ReleaseWish:
    """Let whoever comes next with an id go on with its work; who is there with it is signed out."""
    campaign = require_campaign(connection, study_id)
    group_links.release_id(connection, campaign, wish.external_id)
    audit_log.write_entry(
        connection, caller, "id released", campaign.name, address=address_of(request), id=wish.external_id
    )
    return wish
