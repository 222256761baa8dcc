"""API routes of campaigns under `/api/v1`: campaigns, the next task, votes; for leads also tasks, pilots and links."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query, Request
from pydantic import Field
from sqlalchemy import Connection

from fullbench.core.item import Item
from fullbench.core.media import Media
from fullbench.core.response import Response
from fullbench.core.translatable_note import Note, error_sentence
from fullbench.errors import InputError
from fullbench.web import media_serving, picture_checks_storage_and_serving
from fullbench.web.accounts import audit_log
from fullbench.web.accounts.users import User
from fullbench.web.api.schemas import RESPONSES, Id, Limit, Page, Shape
from fullbench.web.api.token_authentication import Annotator, Organiser
from fullbench.web.campaigns import campaign_members, campaigns, group_links
from fullbench.web.campaigns.campaigns import Campaign, CampaignPlan
from fullbench.web.campaigns.create import (
    creation_worker,
    omitted_data_counts,
    pilot_campaign,
    resumable_task_creation,
    task_inputs,
)
from fullbench.web.campaigns.create.lazy_lists_of_possible_tasks import build_tasks, refuse_too_many
from fullbench.web.campaigns.create.new_campaign_form import texts_option
from fullbench.web.campaigns.create.resumable_task_creation import Finishing
from fullbench.web.campaigns.create.storable_task_plan import TaskPlan
from fullbench.web.campaigns.pages import annotator_home_task_and_vote_pages
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.campaigns.tasks.task_kinds import kind_of
from fullbench.web.campaigns.tasks.task_view import build_task_view
from fullbench.web.campaigns.votes import adjudication, leaderboard_and_task_list, task_queue, vote_export
from fullbench.web.campaigns.votes.adjudication import STANDINGS, Task
from fullbench.web.campaigns.votes.counted_vote_loader import Vote, rater_ids
from fullbench.web.campaigns.votes.progress_annotator_agreement_and_joined_votes import campaign_progress
from fullbench.web.campaigns.votes.task_queue import AnnotatorContext, LeaseGone, NoTask
from fullbench.web.campaigns.votes.vote_storage import VoteConflict
from fullbench.web.database import read_transaction, write_transaction
from fullbench.web.route_access_connection_and_csrf_checks import Database, base_of, engine_of, settings_of

router = APIRouter(prefix="/api/v1", responses=RESPONSES, tags=["campaigns"])
Text = Annotated[str, Field(max_length=20_000)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
KindName = Literal["pair", "score", "rank", "agree", "rate", "verify", "write", "rewrite"]


class CampaignShown(Shape):
    """A campaign and its progress."""

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
    """Data that the campaign leaves out, and the progress of its creation."""


class ItemWish(Shape):
    """An item; files by the digest that `POST /pictures` or `POST /media` gave."""

    id: Name
    question: Text
    pictures: Annotated[tuple[Digest, ...], Field(max_length=50)] = ()
    media: Annotated[tuple[Digest, ...], Field(max_length=50)] = ()
    reference: Text | None = None
    tags: Annotated[dict[str, str], Field(max_length=50, default_factory=dict)]


class ResponseWish(Shape):
    """The response of a contestant."""

    item: Name
    contestant: Name
    text: Text = ""
    pictures: Annotated[tuple[Digest, ...], Field(max_length=50)] = ()
    media: Annotated[tuple[Digest, ...], Field(max_length=50)] = ()


class CampaignWish(Shape):
    """A new campaign from items and responses: of the kinds pair, score, rank, rate, verify and write."""

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
    texts: Annotated[tuple[Literal["instruction", "caption", "reference"], ...], Field(max_length=3)] = ()
    items: Annotated[list[ItemWish], Field(min_length=1, max_length=10_000)]
    responses: Annotated[tuple[ResponseWish, ...], Field(max_length=50_000)] = ()


class StateWish(Shape):
    """Open or closed."""

    state: Literal["open", "closed"]


class NextWish(Shape):
    """Leases of tasks that you hold and have not voted on yet."""

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
    """A task, or why there is none: done, failed, closed, wait or assigned (to others).

    `form` lists the fields of a vote: `name`, `question`, `options` (empty: free text), `meanings` of options,
    `required`, and `only_if`, the field and value that it depends on. `scale` has the marks of the ballot. For agree
    tasks `judged` has the judged answers and `verdict` what the judge decided.
    """

    task: dict[str, Any] | None = None
    why: str | None = None


class VoteKept(Shape):
    """A vote that is kept; `again` where it was kept before."""

    revision: int
    again: bool
    next: TaskGiven | None = None


def require_campaign(connection: Connection, study_id: str) -> Campaign:
    """Return the campaign with this id, or raise a 404."""
    campaign = campaigns.find_campaign(connection, study_id)
    if campaign is None:
        raise HTTPException(404, "there is no such campaign")
    return campaign


def describe_campaign(connection: Connection, campaign: Campaign) -> CampaignShown:
    """Return a campaign in the form that the API shows."""
    vote_progress = campaign_progress(connection, campaign, time.time())
    creation_progress = resumable_task_creation.progress_of(connection, campaign.id)
    notes = [
        *([] if creation_progress is None else [creation_progress.note]),
        *omitted_data_counts.omitted_counts_of(campaign).notes(),
    ]
    return CampaignShown(
        id=campaign.id,
        name=campaign.name,
        kind=campaign.kind_name,
        ballot=campaign.rules.ballot,
        state=campaign.state,
        stage=campaign.stage,
        tasks=vote_progress.tasks,
        settled=vote_progress.settled_tasks,
        voted=vote_progress.votes_given,
        wanted=vote_progress.votes_wanted,
        notes=[str(note) for note in notes],
    )


@router.get("/studies")
def list_campaigns(
    _caller: Annotator, connection: Database, start: Annotated[int, Query(ge=0, le=1_000_000)] = 0, limit: Limit = 50
) -> Page[CampaignShown]:
    """Campaigns, the newest first."""
    page_campaigns = campaigns.list_campaigns(connection, start=start, count=limit)
    rows = [describe_campaign(connection, campaign) for campaign in page_campaigns]
    return Page(rows=rows, next=str(start + limit) if len(page_campaigns) == limit else None)


@router.post("/studies", status_code=201)
def create_campaign(request: Request, caller: Organiser, wish: CampaignWish) -> CampaignShown:
    """Create a campaign. It opens at once unless it is a draft; a large one opens when its tasks exist."""
    engine, limit = engine_of(request), settings_of(request).task_limit
    option_fields = wish.model_dump(include={"paper", "reference", "reason", "confirm"})
    plan = CampaignPlan(
        **wish.model_dump(
            exclude={
                "items",
                "responses",
                "draft",
                "unverified",
                "with_reference",
                "own_pictures",
                "texts",
                *option_fields,
            }
        ),
        options={name: value for name, value in option_fields.items() if value}
        | texts_option(wish.kind, wish.texts, own_pictures=wish.own_pictures),
    )
    campaign = Campaign.from_plan(plan)
    with read_transaction(engine) as connection:
        campaigns.refuse_taken_name(connection, campaign.name)
        items = [_item_from_wish(request, connection, caller, sent_item) for sent_item in wish.items]
        answers = [_response_from_wish(request, connection, caller, sent_response) for sent_response in wish.responses]
    if len({item.id for item in items}) < len(items):
        raise InputError("two items have the same id; ids must differ")
    items, answers, left_out = omitted_data_counts.select_items_to_judge(
        wish.kind, items, answers, include_unverified=wish.unverified
    )
    if wish.with_reference:
        answers = task_inputs.with_references(wish.kind, campaign.rules, items, answers)
    tasks = build_tasks(kind_of(wish.kind), campaign.rules.ballot, items, answers)
    refuse_too_many(len(tasks), limit)
    if not len(tasks):
        raise InputError(Note("web.wrong.nothing-to-do-sent", kind=wish.kind))
    task_plan = TaskPlan.from_contents(campaign, (), tasks)
    with write_transaction(engine) as connection:
        campaign = campaigns.create_campaign(
            connection, plan, draft=wish.draft or not resumable_task_creation.is_small(plan.votes, task_plan)
        )
        campaigns.set_options(connection, campaign, left_out.option)
        is_large = (
            resumable_task_creation.create_tasks(connection, campaign, task_plan, Finishing(not wish.draft)) is None
        )
        audit_log.record_action(request, connection, caller, "campaign made", campaign.name, tasks=task_plan.count)
    if is_large:
        resumable_task_creation.store_large_plan(engine, campaign.id, task_plan)
        creation_worker.wake_worker(engine, campaign.id)
    with read_transaction(engine) as connection:
        return describe_campaign(connection, require_campaign(connection, campaign.id))


def _item_from_wish(request: Request, connection: Connection, caller: User, wish: ItemWish) -> Item:
    media = _find_media(request, connection, caller, wish)
    return Item.ask(wish.id, wish.question, *media, reference=wish.reference, tags=wish.tags)


def _response_from_wish(request: Request, connection: Connection, caller: User, wish: ResponseWish) -> Response:
    media = _find_media(request, connection, caller, wish)
    words = (wish.text,) if wish.text or not media else ()
    return Response(wish.item, wish.contestant, (*media, *words))


def _find_media(
    request: Request, connection: Connection, caller: User, wish: ItemWish | ResponseWish
) -> tuple[Media, ...]:
    return (
        *(picture_checks_storage_and_serving.find_picture(request, connection, caller, one) for one in wish.pictures),
        *(media_serving.find_playable(request, connection, caller, one) for one in wish.media),
    )


@router.get("/studies/{study_id}")
def show_campaign(_caller: Annotator, connection: Database, study_id: Id) -> CampaignShown:
    """One campaign."""
    return describe_campaign(connection, require_campaign(connection, study_id))


@router.patch("/studies/{study_id}")
def change_campaign(
    request: Request, caller: Organiser, connection: Database, study_id: Id, wish: StateWish
) -> CampaignShown:
    """Close a campaign, or open it again."""
    campaign = require_campaign(connection, study_id)
    campaigns.set_state(connection, campaign.id, wish.state)
    audit_log.record_action(request, connection, caller, f"campaign {wish.state}", campaign.name)
    campaigns.publish_change(connection, campaign.id)
    return describe_campaign(connection, require_campaign(connection, study_id))


@router.post("/studies/{study_id}/next")
def next_task(request: Request, caller: Annotator, study_id: Id, wish: NextWish) -> TaskGiven:
    """Your next task: one that you hold and did not list in `holding`, or a new one."""
    with write_transaction(engine_of(request)) as connection:
        campaign = require_campaign(connection, study_id)
        next_lease = task_queue.take_next_task(
            AnnotatorContext(connection, campaign, caller.id, time.time()), wish.holding
        )
    return _describe_task(campaign, next_lease)


def _describe_task(campaign: Campaign, next_lease: task_queue.Lease | NoTask) -> TaskGiven:
    return (
        TaskGiven(why=next_lease.why)
        if isinstance(next_lease, NoTask)
        else TaskGiven(task=build_task_view(campaign, next_lease).json())
    )


@router.post("/studies/{study_id}/votes", status_code=201)
def vote(request: Request, caller: Annotator, study_id: Id, wish: VoteWish) -> VoteKept:
    """Keep a vote: the same `key` again is the same vote. With `next` the answer brings your next task."""
    form = {
        **wish.fields, "lease": wish.lease, "key": wish.key, "replaces": str(wish.replaces),
        "seconds": str(wish.seconds), "guideline": wish.guideline,
    }  # fmt: skip
    try:
        with write_transaction(engine_of(request)) as connection:
            context = AnnotatorContext(connection, require_campaign(connection, study_id), caller.id, time.time())
            receipt = annotator_home_task_and_vote_pages.cast_vote(context, form)
            next_lease = task_queue.take_next_task(context) if wish.next else None
    except (LeaseGone, VoteConflict) as error:
        raise HTTPException(404 if isinstance(error, LeaseGone) else 409, error_sentence(error)) from error
    following = None if next_lease is None else _describe_task(context.campaign, next_lease)
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
    campaign = require_campaign(connection, study_id)
    vote_rows = list(vote_export.vote_rows(connection, campaign, after=after, limit=limit))
    return Page(rows=vote_rows, next=str(vote_rows[-1]["id"]) if len(vote_rows) == limit else None)


TaskId = Annotated[int, Field(ge=0, le=2**62)]


class AdjudicationWish(Shape):
    """A decision on a split: the fields of the form of that kind, places of responses being those of the task."""

    fields: Annotated[dict[str, Text], Field(max_length=50)]


class AdjudicationKept(Shape):
    """A decision that is kept; the latest revision counts, all stay."""

    task: int
    revision: int


class PilotWish(Shape):
    """Number of tasks of a pilot."""

    tasks: Annotated[int, Field(ge=1, le=1000)] = 10


class AssignWish(Shape):
    """Names of accounts."""

    people: Annotated[tuple[Name, ...], Field(min_length=1, max_length=1000)]


class Assigned(Shape):
    """Number of people who were not assigned before."""

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
    """A campaign's link, without its secret, and how many of its places are taken."""

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
    """Somebody who came by a campaign's link: the id of the other site, the random id of their votes, what they did."""

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
    """Tasks with their votes and decisions: all, or those in one state, such as `split`."""
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
        words = None if vote.label is None else leaderboard_and_task_list.label_text(campaign, content, vote.label)
        return {
            "rater": people.get(vote.person, vote.person), "answer": vote.answer, "label": vote.label, "words": words,
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
    """Decide a task on which people disagree. All votes are stored; the rule `adjudicated` uses this decision."""
    campaign = require_campaign(connection, study_id)
    there = adjudication.task_of(connection, campaign, task)
    if there is None:
        raise HTTPException(404, "there is no such task")
    revision = adjudication.store_adjudication(connection, campaign, there, caller, wish.fields)
    audit_log.record_action(request, connection, caller, "disagreement decided", campaign.name, task=task)
    return AdjudicationKept(task=task, revision=revision)


@router.post("/studies/{study_id}/pilots", status_code=201)
def make_pilot(
    request: Request, caller: Organiser, connection: Database, study_id: Id, wish: PilotWish
) -> CampaignShown:
    """Open a pilot of a few tasks; its votes are marked, and excluded unless you include them."""
    new_pilot = pilot_campaign.create_pilot(
        connection, require_campaign(connection, study_id), wish.tasks, settings_of(request).task_limit
    )
    audit_log.record_action(request, connection, caller, "pilot made", new_pilot.name)
    return describe_campaign(connection, new_pilot)


@router.post("/studies/{study_id}/members", status_code=201)
def assign(request: Request, caller: Organiser, connection: Database, study_id: Id, wish: AssignWish) -> Assigned:
    """Assign people to a campaign. From then on only assigned people can work on it."""
    campaign = require_campaign(connection, study_id)
    new = campaign_members.assign_people(connection, campaign, wish.people)
    audit_log.record_action(request, connection, caller, "people assigned", campaign.name, new=new)
    return Assigned(new=new)


@router.get("/studies/{study_id}/link")
def show_link(_caller: Organiser, connection: Database, study_id: Id) -> LinkShown:
    """The campaign's link for many people, without its secret."""
    return LinkShown(**_link_fields(connection, require_campaign(connection, study_id)))


def _link_fields(connection: Connection, campaign: Campaign) -> dict[str, Any]:
    link = group_links.GroupLink.from_campaign(campaign)
    if link is None:
        raise HTTPException(404, "this campaign has no link for many people")
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
    """Make a link for many people in place of an earlier one, which ends; anyone who uses it joins the campaign."""
    campaign = require_campaign(connection, study_id)
    secret = group_links.create_group_link(connection, campaign, **wish.model_dump())
    audit_log.record_action(request, connection, caller, "group link made", campaign.name)
    link_fields = _link_fields(connection, require_campaign(connection, study_id))
    return LinkMade(link=base_of(request) + group_links.link_path(campaign, secret), **link_fields)


@router.delete("/studies/{study_id}/link")
def end_link(request: Request, caller: Organiser, connection: Database, study_id: Id) -> LinkShown:
    """End the link: no new people can join; those who have joined continue."""
    campaign = require_campaign(connection, study_id)
    _link_fields(connection, campaign)
    group_links.end_group_link(connection, campaign)
    audit_log.record_action(request, connection, caller, "group link ended", campaign.name)
    return LinkShown(**_link_fields(connection, require_campaign(connection, study_id)))


@router.get("/studies/{study_id}/arrivals")
def list_arrivals(
    _caller: Organiser,
    connection: Database,
    study_id: Id,
    start: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    limit: Limit = 50,
) -> Page[Arrival]:
    """List people who used the campaign's links, in order of arrival, with their number of tasks."""
    came = list(group_links.arrival_rows(connection, require_campaign(connection, study_id)))
    rows = [Arrival(**row) for row in came[start : start + limit]]
    return Page(rows=rows, next=str(start + limit) if len(came) > start + limit else None)


@router.post("/studies/{study_id}/arrivals/release")
def release(request: Request, caller: Organiser, connection: Database, study_id: Id, wish: ReleaseWish) -> ReleaseWish:
    """Let the next person with an id continue its work; anyone signed in with it is signed out."""
    campaign = require_campaign(connection, study_id)
    group_links.release_id(connection, campaign, wish.external_id)
    audit_log.record_action(request, connection, caller, "id released", campaign.name, id=wish.external_id)
    return wish
