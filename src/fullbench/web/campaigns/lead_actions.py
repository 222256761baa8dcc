"""What leads do with a study that is there: look at every task with its votes, rule on splits, preview, pilot, assign
and invite people, throw a study away."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import HTMLResponse, Response
from sqlalchemy import Connection

from fullbench.core.note import sentence
from fullbench.errors import UserError
from fullbench.web import page_access
from fullbench.web.accounts import audit_log
from fullbench.web.campaigns import campaign_members
from fullbench.web.campaigns.campaigns import Study
from fullbench.web.campaigns.create import campaign_removal, creation_worker, pilot_campaign, task_creation
from fullbench.web.campaigns.pages import annotation_page
from fullbench.web.campaigns.pages.annotation_page import Form, Page, study_of
from fullbench.web.campaigns.pages.group_link_pages import whole
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.campaigns.tasks.task_view import Shown, show
from fullbench.web.campaigns.votes import adjudication, campaign_results
from fullbench.web.campaigns.votes.adjudication import STANDINGS, Task
from fullbench.web.campaigns.votes.counted_votes import Vote, names
from fullbench.web.campaigns.votes.task_queue import Lease
from fullbench.web.database import reading, writing
from fullbench.web.page_access import Organiser, address_of, engine_of, settings_of
from fullbench.web.page_rendering import language_of, redirect, render
from fullbench.web.words import key

router = APIRouter(include_in_schema=False)


@router.get("/organise/{study_id}/tasks")
def tasks(
    request: Request,
    _user: Organiser,
    study_id: str,
    page: Page = 1,
    show: Annotated[str, Query(max_length=20)] = "",
    person: Annotated[str, Query(max_length=40)] = "",
) -> HTMLResponse:
    """What people say of each task: all, or those that stand in one way, or that one person voted on."""
    with reading(engine_of(request)) as connection:
        study = study_of(connection, study_id)
        rows, more, counts = campaign_results.task_by_task(connection, study, page, show, person)
        whose = names(connection).get(person, "") if person else ""
    return render(
        request, "campaigns/tasks.html", study=study, rows=rows, page=page, more=more, show=show, counts=counts,
        standings=STANDINGS, total=sum(counts.values()), person=person, whose=whose,
    )  # fmt: skip


def task_at(connection: Connection, study: Study, task: int) -> Task:
    """A task of a study; 404 where there is none."""
    there = adjudication.task_of(connection, study, task)
    if there is None:
        raise HTTPException(404, key("There is no such task."))
    return there


def _seen(request: Request, study: Study, task: Task) -> Shown:
    """The task in its own order, with the ruling that counts filled in."""
    content = Content.of(task.content)
    answer = task.rulings[-1].answer if task.rulings else None
    lease = Lease("", study.id, task.id, "work", content, tuple(range(len(content.responses))), 0, answer)
    return show(study, lease, language_of(request))


@router.get("/organise/{study_id}/tasks/{task}")
def one_task(request: Request, _user: Organiser, study_id: str, task: int) -> HTMLResponse:
    """One task with every vote, its reason, and what a lead ruled."""
    return _task_page(request, study_id, task)


def _task_page(request: Request, study_id: str, task: int, problem: str = "", status: int = 200) -> HTMLResponse:
    with reading(engine_of(request)) as connection:
        study = study_of(connection, study_id)
        there = task_at(connection, study, task)
        following = _split_after(connection, study, task)
        people = names(connection)
    content = Content.of(there.content)

    def said(vote: Vote) -> str:
        # Names are a click away: a lead rules on what stands there.
        return "" if vote.label is None else campaign_results.spoken(study, content, vote.label, letters=True)

    return render(
        request, "campaigns/lead_task.html", status=status, study=study, task=there, shown=_seen(request, study, there),
        people=people, said=said, standings=STANDINGS, problem=problem, lead=True,
        following=following, key="", started=0.0, trial=False,
    )  # fmt: skip


def _split_after(connection: Connection, study: Study, task: int) -> int | None:
    """The next task that waits for a ruling: one after this, else the first."""
    waiting = [split.id for split in adjudication.listed(connection, study) if split.standing == "split"]
    others = [number for number in waiting if number != task]
    return next((number for number in others if number > task), others[0] if others else None)


@router.post("/organise/{study_id}/tasks/{task}/ruling")
def rule(request: Request, user: Organiser, study_id: str, task: int, form: Form) -> Response:
    """Rule on a task; every vote stays."""
    try:
        with writing(engine_of(request)) as connection:
            study = study_of(connection, study_id)
            fields = {name: value for name, value in form.items() if name not in annotation_page.OWN}
            adjudication.rule(connection, study, task_at(connection, study, task), user, fields)
            audit_log.write(connection, user, "split ruled on", study.name, address=address_of(request), task=task)
    except UserError as error:
        return _task_page(request, study_id, task, sentence(error), 422)
    with reading(engine_of(request)) as connection:
        following = _split_after(connection, study, task) or task
    return redirect(
        request, f"/organise/{study_id}/tasks/{following}", flash=key("The ruling is kept; all votes stay.")
    )


@router.get("/organise/{study_id}/preview")
def preview(
    request: Request, _user: Organiser, study_id: str, at: Annotated[int, Query(ge=0, le=10**6)] = 0
) -> Response:
    """A study's tasks as people will see them; nothing is kept."""
    with reading(engine_of(request)) as connection:
        study = study_of(connection, study_id)
        every = adjudication.listed(connection, study)
    if not every:
        raise HTTPException(404, key("There is no such task."))
    task = every[at % len(every)]
    content = Content.of(task.content)
    lease = Lease("preview", study.id, task.id, "work", content, tuple(range(len(content.responses))))
    place = at % len(every)
    following = f"/organise/{study.id}/preview?at={(place + 1) % len(every)}"
    return annotation_page.preview(request, study, lease, following, place=place, count=len(every))


@router.post("/organise/{study_id}/pilot")
def pilot(request: Request, user: Organiser, study_id: str, form: Form) -> Response:
    """Open a pilot of a few tasks."""
    with writing(engine_of(request)) as connection:
        study = study_of(connection, study_id)
        new_pilot = pilot_campaign.make(connection, study, whole(form, "tasks", 10), settings_of(request).task_limit)
        audit_log.write(connection, user, "pilot made", new_pilot.name, address=address_of(request))
    creation_worker.wake(engine_of(request), new_pilot.id)
    return redirect(request, f"/organise/{new_pilot.id}", flash=key("The pilot is open; its votes do not count."))


@router.post("/organise/{study_id}/throw-away")
def throw_away(request: Request, user: Organiser, study_id: str) -> Response:
    """Remove a study that nobody voted in, or cancel its creation."""
    with writing(engine_of(request)) as connection:
        study = study_of(connection, study_id)
        is_creating = study.stage == "creating" and task_creation.cancel(connection, study.id)
        closed = 0 if is_creating else campaign_removal.throw_away(connection, study)
        audit_log.write(connection, user, "study thrown away", study.name, address=address_of(request), closed=closed)
    if is_creating:
        creation_worker.wake(engine_of(request), study_id)
        return redirect(request, "/organise", flash=key("The creation is cancelled; the study is being removed."))
    message = key(
        "The study is gone, and with it the accounts and invitations of {count} people who came for it alone."
    )
    return redirect(request, "/organise", flash=message if closed else key("The study is gone."), count=closed)


@router.post("/organise/{study_id}/assign")
def assign(request: Request, user: Organiser, study_id: str, form: Form) -> Response:
    """Let people into a study, by name; it is from then on for those alone."""
    people = [line.strip() for line in form.get("people", "").replace(",", "\n").splitlines() if line.strip()]
    with writing(engine_of(request)) as connection:
        study = study_of(connection, study_id)
        new = campaign_members.assign(connection, study, people)
        audit_log.write(connection, user, "people assigned", study.name, address=address_of(request), new=new)
    return redirect(request, f"/organise/{study_id}", flash=key("{new} people were assigned."), new=new)


@router.post("/organise/{study_id}/invite")
def invite(request: Request, user: Organiser, study_id: str, form: Form) -> Response:
    """Make a link for each line, for people who are assigned to this study; the links are shown on this page alone."""
    notes = [line.strip() for line in form.get("notes", "").splitlines() if line.strip()]
    with writing(engine_of(request)) as connection:
        study = study_of(connection, study_id)
        links = campaign_members.invite(connection, study, user, notes)
        audit_log.write(connection, user, "invited", study.name, address=address_of(request), links=len(links))
    base = page_access.base_of(request)
    shown = [(note, f"{base}/join/{secret}") for note, secret in links]
    return render(request, "campaigns/invited.html", study=study, links=shown, at=time.time())
