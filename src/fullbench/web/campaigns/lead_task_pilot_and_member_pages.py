"""Pages and actions of leads for an existing campaign.

They list tasks with votes, adjudicate splits, preview, start pilots, assign and invite people, and remove campaigns.
"""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import HTMLResponse, Response
from sqlalchemy import Connection

from fullbench.core.translatable_note import error_sentence
from fullbench.errors import UserError
from fullbench.web import route_access_connection_and_csrf_checks
from fullbench.web.accounts import audit_log
from fullbench.web.campaigns import campaign_members, removal_of_campaigns_without_votes
from fullbench.web.campaigns.campaigns import Campaign
from fullbench.web.campaigns.create import creation_worker, pilot_campaign, resumable_task_creation
from fullbench.web.campaigns.pages import annotator_home_task_and_vote_pages
from fullbench.web.campaigns.pages.annotator_home_task_and_vote_pages import Form, Page, change_campaign, read_campaign
from fullbench.web.campaigns.pages.lead_and_visitor_group_link_pages import parse_whole_number
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.campaigns.tasks.task_view import TaskView, build_task_view
from fullbench.web.campaigns.votes import adjudication, leaderboard_and_task_list
from fullbench.web.campaigns.votes.adjudication import STANDINGS, Task
from fullbench.web.campaigns.votes.counted_vote_loader import Vote, account_names
from fullbench.web.campaigns.votes.task_queue import Lease
from fullbench.web.database import read_transaction
from fullbench.web.page_rendering import language_of, redirect_to_page, render_template
from fullbench.web.rich_text import render_guideline
from fullbench.web.route_access_connection_and_csrf_checks import Organiser, engine_of, settings_of
from fullbench.web.words import key

router = APIRouter(include_in_schema=False)


@router.get("/organise/{study_id}/tasks")
def task_list_page(
    request: Request,
    _user: Organiser,
    study_id: str,
    page: Page = 1,
    show: Annotated[str, Query(max_length=20)] = "",
    person: Annotated[str, Query(max_length=40)] = "",
) -> HTMLResponse:
    """Show the votes on each task: all tasks, those in one state, or those that one person voted on."""
    with read_campaign(request, study_id) as (connection, campaign):
        rows, more, counts = leaderboard_and_task_list.list_task_rows(connection, campaign, page, show, person)
        whose = account_names(connection).get(person, "") if person else ""
    return render_template(
        request, "campaigns/task_list.html", study=campaign, rows=rows, page=page, more=more, show=show, counts=counts,
        standings=STANDINGS, total=sum(counts.values()), person=person, whose=whose,
    )  # fmt: skip


def require_task(connection: Connection, campaign: Campaign, task: int) -> Task:
    """Return a task of a campaign, or raise a 404."""
    there = adjudication.task_of(connection, campaign, task)
    if there is None:
        raise HTTPException(404, key("There is no such task."))
    return there


def _build_view(request: Request, campaign: Campaign, task: Task) -> TaskView:
    content = Content.from_json(task.content)
    answer = task.adjudications[-1].answer if task.adjudications else None
    lease = Lease("", campaign.id, task.id, "work", content, tuple(range(len(content.responses))), 0, answer)
    return build_task_view(campaign, lease, language_of(request))


@router.get("/organise/{study_id}/tasks/{task}")
def task_page(request: Request, _user: Organiser, study_id: str, task: int) -> HTMLResponse:
    """Show one task with every vote, its reason, and the decisions of leads."""
    return _task_page(request, study_id, task)


def _task_page(request: Request, study_id: str, task: int, problem: str = "", status: int = 200) -> HTMLResponse:
    with read_campaign(request, study_id) as (connection, campaign):
        there = require_task(connection, campaign, task)
        following = _next_split(connection, campaign, task)
        people = account_names(connection)
    content = Content.from_json(there.content)

    def answer_text(vote: Vote) -> str:
        # Letters, not contestants' names: a lead judges the content. Names are one click away.
        return (
            ""
            if vote.label is None
            else leaderboard_and_task_list.label_text(campaign, content, vote.label, letters=True)
        )

    return render_template(
        request,
        "campaigns/lead_task.html",
        status=status,
        study=campaign,
        task=there,
        shown=_build_view(request, campaign, there),
        people=people,
        guidelines=render_guideline(campaign.guideline_text(language_of(request))),
        said=answer_text,
        standings=STANDINGS,
        problem=problem,
        lead=True,
        following=following,
        key="",
        started=0.0,
        trial=False,
    )


def _next_split(connection: Connection, campaign: Campaign, task: int) -> int | None:
    """The next after this task, else the first."""
    waiting = [split.id for split in adjudication.list_tasks(connection, campaign) if split.standing == "split"]
    other_splits = [number for number in waiting if number != task]
    return next((number for number in other_splits if number > task), other_splits[0] if other_splits else None)


@router.post("/organise/{study_id}/tasks/{task}/adjudication")
def adjudicate_task(request: Request, user: Organiser, study_id: str, task: int, form: Form) -> Response:
    """Rule on a task; every vote stays."""
    try:
        with change_campaign(request, study_id) as (connection, campaign):
            fields = {
                name: value
                for name, value in form.items()
                if name not in annotator_home_task_and_vote_pages.CONTROL_FIELDS
            }
            adjudication.store_adjudication(
                connection, campaign, require_task(connection, campaign, task), user, fields
            )
            audit_log.record_action(request, connection, user, "disagreement decided", campaign.name, task=task)
    except UserError as error:
        return _task_page(request, study_id, task, error_sentence(error), 422)
    with read_transaction(engine_of(request)) as connection:
        following = _next_split(connection, campaign, task) or task
    return redirect_to_page(
        request, f"/organise/{study_id}/tasks/{following}", flash=key("The decision is stored. All votes stay.")
    )


@router.get("/organise/{study_id}/preview")
def preview_task(
    request: Request, _user: Organiser, study_id: str, at: Annotated[int, Query(ge=0, le=10**6)] = 0
) -> Response:
    """A study's tasks as people will see them; nothing is kept."""
    with read_campaign(request, study_id) as (connection, campaign):
        every = adjudication.list_tasks(connection, campaign)
    if not every:
        raise HTTPException(404, key("There is no such task."))
    task = every[at % len(every)]
    content = Content.from_json(task.content)
    lease = Lease("preview", campaign.id, task.id, "work", content, tuple(range(len(content.responses))))
    place = at % len(every)
    following = f"/organise/{campaign.id}/preview?at={(place + 1) % len(every)}"
    return annotator_home_task_and_vote_pages.preview_page(
        request, campaign, lease, following, place=place, count=len(every)
    )


@router.post("/organise/{study_id}/pilot")
def start_pilot(request: Request, user: Organiser, study_id: str, form: Form) -> Response:
    """Open a pilot of a few tasks."""
    with change_campaign(request, study_id) as (connection, campaign):
        new_pilot = pilot_campaign.create_pilot(
            connection, campaign, parse_whole_number(form, "tasks", 10), settings_of(request).task_limit
        )
        audit_log.record_action(request, connection, user, "pilot made", new_pilot.name)
    creation_worker.wake_worker(engine_of(request), new_pilot.id)
    return redirect_to_page(
        request, f"/organise/{new_pilot.id}", flash=key("The pilot is open; its votes do not count.")
    )


@router.post("/organise/{study_id}/throw-away")
def remove_campaign(request: Request, user: Organiser, study_id: str) -> Response:
    """Remove a study that nobody voted in, or cancel its creation."""
    with change_campaign(request, study_id) as (connection, campaign):
        is_creating = campaign.stage == "creating" and resumable_task_creation.cancel_creation(connection, campaign.id)
        closed_accounts = 0 if is_creating else removal_of_campaigns_without_votes.remove_campaign(connection, campaign)
        audit_log.record_action(
            request, connection, user, "campaign thrown away", campaign.name, closed=closed_accounts
        )
    if is_creating:
        creation_worker.wake_worker(engine_of(request), study_id)
        return redirect_to_page(
            request, "/organise", flash=key("The creation is cancelled; the campaign is being removed.")
        )
    message = key(
        "The campaign was deleted, with the accounts and invitations of {count} people who were invited only to it."
    )
    return redirect_to_page(
        request, "/organise", flash=message if closed_accounts else key("The campaign is gone."), count=closed_accounts
    )


@router.post("/organise/{study_id}/assign")
def assign_people(request: Request, user: Organiser, study_id: str, form: Form) -> Response:
    """Let people into a study, by name; it is from then on for those alone."""
    people = [line.strip() for line in form.get("people", "").replace(",", "\n").splitlines() if line.strip()]
    with change_campaign(request, study_id) as (connection, campaign):
        new = campaign_members.assign_people(connection, campaign, people)
        audit_log.record_action(request, connection, user, "people assigned", campaign.name, new=new)
    return redirect_to_page(request, f"/organise/{study_id}", flash=key("{new} people were assigned."), new=new)


@router.post("/organise/{study_id}/invite")
def invite_people(request: Request, user: Organiser, study_id: str, form: Form) -> Response:
    """Make a link for each line, for people who are assigned to this study; the links are shown on this page alone."""
    notes = [line.strip() for line in form.get("notes", "").splitlines() if line.strip()]
    with change_campaign(request, study_id) as (connection, campaign):
        links = campaign_members.invite_people(connection, campaign, user, notes)
        audit_log.record_action(request, connection, user, "invited", campaign.name, links=len(links))
    base = route_access_connection_and_csrf_checks.base_of(request)
    invitation_links = [(note, f"{base}/join/{secret}") for note, secret in links]
    return render_template(
        request, "campaigns/invitations.html", study=campaign, links=invitation_links, at=time.time()
    )
