"""Pages for annotators: home, next task, vote, draft, own votes; and previews for leads."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from sqlalchemy import Connection, and_, select

from fullbench.core.ballot import LETTERS
from fullbench.core.translatable_note import error_sentence
from fullbench.errors import InputError, UserError
from fullbench.web import picture_checks_storage_and_serving
from fullbench.web.accounts.users import User
from fullbench.web.campaigns import campaigns, group_links
from fullbench.web.campaigns.campaign_members import sees_only_assigned
from fullbench.web.campaigns.campaign_tables import members, slots, tasks, votes
from fullbench.web.campaigns.campaigns import Campaign, list_campaigns
from fullbench.web.campaigns.create import effort_estimate
from fullbench.web.campaigns.create.effort_estimate import EffortEstimate
from fullbench.web.campaigns.tasks.pictures_uploaded_by_annotators import Files
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.campaigns.tasks.task_kinds import Write
from fullbench.web.campaigns.tasks.task_view import build_task_view
from fullbench.web.campaigns.votes import task_queue, vote_storage
from fullbench.web.campaigns.votes.task_queue import AnnotatorContext, Lease, LeaseGone, NoTask, count_waiting_tasks
from fullbench.web.campaigns.votes.vote_form_fields import LONGEST
from fullbench.web.campaigns.votes.vote_storage import VoteConflict
from fullbench.web.database import read_transaction, write_transaction
from fullbench.web.page_rendering import language_of, redirect_to_page, render_template
from fullbench.web.rich_text import render_guideline
from fullbench.web.route_access_connection_and_csrf_checks import Annotator, base_of, engine_of, settings_of
from fullbench.web.words import key

router = APIRouter(include_in_schema=False)
Page = Annotated[int, Query(ge=1, le=100_000)]
CONTROL_FIELDS = {"csrf", "lease", "key", "replaces", "started", "seconds", "guideline"}
# The browser reports the seconds; a page left open over lunch must not count as work.
LONGEST_WAIT = 3600.0


def require_campaign(connection: Any, study_id: str) -> Campaign:
    """Return the campaign with this id, or raise a 404."""
    campaign = campaigns.find_campaign(connection, study_id)
    if campaign is None:
        raise HTTPException(404, key("There is no such campaign."))
    return campaign


@contextmanager
def read_campaign(request: Request, study_id: str) -> Iterator[tuple[Connection, Campaign]]:
    """Open a transaction that reads, with the campaign of this id; raise a 404 if there is none."""
    with read_transaction(engine_of(request)) as connection:
        yield connection, require_campaign(connection, study_id)


@contextmanager
def change_campaign(request: Request, study_id: str) -> Iterator[tuple[Connection, Campaign]]:
    """Open a transaction that writes, with the campaign of this id; raise a 404 if there is none."""
    with write_transaction(engine_of(request)) as connection:
        yield connection, require_campaign(connection, study_id)


@router.get("/work")
def home_page(request: Request, user: Annotator, page: Page = 1) -> HTMLResponse:
    """Show the campaigns with open tasks."""
    with read_transaction(engine_of(request)) as connection:
        open_studies, more = list_open_campaigns(connection, user.id, page)
        left = {entry.campaign.id: count_tasks_left(connection, entry.campaign, user.id) for entry in open_studies}
        minutes = {name: effort_estimate.estimate_minutes(connection, name, count) for name, count in left.items()}
    unfinished_first = sorted(
        open_studies,
        key=lambda entry: (not left[entry.campaign.id], entry.campaign.rules.options.get("deadline") or "9999"),
    )
    today = time.strftime("%Y-%m-%d", time.gmtime())
    return render_template(
        request, "campaigns/home.html", studies=unfinished_first, left=left, minutes=minutes, page=page, more=more,
        today=today,
    )  # fmt: skip


@router.get("/work/{study_id}")
def task_page(request: Request, user: Annotator, study_id: str) -> HTMLResponse:
    """The next task."""
    with change_campaign(request, study_id) as (connection, campaign):
        next_lease = task_queue.take_next_task(AnnotatorContext(connection, campaign, user.id, time.time()))
    return (
        _render_nothing(request, user, campaign, next_lease)
        if isinstance(next_lease, NoTask)
        else _render_task(request, user, campaign, next_lease)
    )


@router.get("/work/{study_id}/next")
def next_task_fragment(
    request: Request, user: Annotator, study_id: str, holding: Annotated[tuple[str, ...], Query(max_length=20)] = ()
) -> Response:
    """The task after those that the page holds, as a piece of a page; 204 where there is none."""
    with change_campaign(request, study_id) as (connection, campaign):
        next_lease = task_queue.take_next_task(AnnotatorContext(connection, campaign, user.id, time.time()), holding)
    if isinstance(next_lease, NoTask):
        return Response(status_code=204)
    return render_template(request, "campaigns/_task.html", **_task_values(request, campaign, next_lease))


def _task_values(request: Request, campaign: Campaign, lease: Lease) -> dict[str, Any]:
    return {
        "study": campaign,
        "shown": build_task_view(campaign, lease, language_of(request)),
        "key": secrets.token_urlsafe(16),
        "started": time.time(),
        "trial": lease.role == "qualify",
        "lead": False,
    }


def preview_page(
    request: Request, campaign: Campaign, lease: Lease, following: str, *, place: int, count: int
) -> HTMLResponse:
    """Show leads a task as annotators will see it; sending it stores nothing and shows the next one."""
    return render_template(
        request,
        "campaigns/task.html",
        **_task_values(request, campaign, lease),
        done=0,
        pace=0,
        left=0,
        change=False,
        problem="",
        guidelines=render_guideline(campaign.guideline_text(language_of(request))),
        pilot=campaign.is_pilot,
        quick=campaign.is_quick,
        next_preview=following,
        place=place,
        count=count,
    )


def preview_fragment(
    request: Request, campaign: Campaign, lease: Lease, forecast: EffortEstimate, withholds: int
) -> HTMLResponse:
    """Render a task of a campaign that is not created yet, as a page fragment.

    Args:
        request: Request of the form.
        campaign: Campaign that the form describes.
        lease: Its first task.
        forecast: Estimated effort.
        withholds: Number of verdicts that results will not show while the campaign is open.
    """
    return render_template(
        request, "campaigns/_task_preview.html", **_task_values(request, campaign, lease), forecast=forecast,
        withholds=withholds, task_limit=settings_of(request).task_limit,
        guidelines=render_guideline(campaign.guideline_text(language_of(request))),
    )  # fmt: skip


def _render_task(
    request: Request, user: User, campaign: Campaign, lease: Lease, *, problem: str = "", status: int = 200
) -> HTMLResponse:
    with read_transaction(engine_of(request)) as connection:
        _, vote_count = member_standing(connection, campaign, user.id)
        pace, left = (
            votes_per_hour(connection, campaign, user.id),
            count_tasks_left(connection, campaign, user.id),
        )
    return render_template(
        request,
        "campaigns/task.html",
        status=status,
        **_task_values(request, campaign, lease),
        done=vote_count,
        pace=pace,
        left=left,
        guidelines=render_guideline(campaign.guideline_text(language_of(request))),
        change=lease.revision > 0,
        problem=problem,
        pilot=campaign.is_pilot,
        quick=campaign.is_quick,
        next_preview="",
    )


def _render_nothing(request: Request, user: User, campaign: Campaign, nothing: NoTask) -> HTMLResponse:
    with read_transaction(engine_of(request)) as connection:
        completion_link = group_links.earned_completion_link(connection, campaign, user.id)
    return render_template(
        request, "campaigns/no_task_left.html", study=campaign, why=nothing.why, earned=completion_link
    )


async def read_form_fields(request: Request) -> dict[str, str]:
    """Return the text fields of a form; files are ignored."""
    form = await request.form(max_fields=100)
    return {name: value for name, value in form.items() if isinstance(value, str)}


Form = Annotated[dict[str, str], Depends(read_form_fields)]


@router.post("/work/{study_id}/vote")
def submit_vote(request: Request, user: Annotator, study_id: str, form: Form, files: Files) -> Response:
    """Keep a vote. The page's script gets an acknowledgement, a plain form the next task."""
    is_scripted = request.headers.get("x-work") == "1"
    try:
        form |= _store_pictures(request, user, study_id, files)
        with write_transaction(engine_of(request)) as connection:
            context = AnnotatorContext(connection, require_campaign(connection, study_id), user.id, time.time())
            receipt = cast_vote(context, form)
    except UserError as error:
        if is_scripted:
            return JSONResponse({"detail": error_sentence(error)}, _error_status(error))
        return _render_refusal(request, user, study_id, form, error)
    if is_scripted:
        return JSONResponse({"revision": receipt.revision, "again": receipt.again})
    changed = key("You changed your earlier vote on this task. Both are kept; the new one counts.")
    return redirect_to_page(request, f"/work/{study_id}", flash=changed if receipt.revision > 1 else "")


@router.post("/work/{study_id}/picture")
def upload_picture(request: Request, user: Annotator, study_id: str, files: Files) -> Response:
    """Take in a picture that somebody brings to a task; the page's script sends its digest with the vote."""
    try:
        return JSONResponse(_store_pictures(request, user, study_id, files))
    except InputError as error:
        return JSONResponse({"detail": error_sentence(error)}, 400)


def _store_pictures(request: Request, user: User, study_id: str, files: Mapping[str, bytes]) -> dict[str, str]:
    """The pictures stay even if the vote is refused."""
    if not files:
        return {}
    with write_transaction(engine_of(request)) as connection:
        if Write.brings not in require_campaign(connection, study_id).rules.options.get("texts", ()):
            raise InputError(key("this campaign takes no pictures"))
        settings = settings_of(request)
        return {
            name: picture_checks_storage_and_serving.store_upload(connection, settings, user, data).picture.digest
            for name, data in files.items()
        }


def cast_vote(context: AnnotatorContext, form: Mapping[str, str]) -> vote_storage.Receipt:
    """Store the vote of a form and notify leads' open pages."""
    fields = {name: value for name, value in form.items() if name not in CONTROL_FIELDS}
    receipt = vote_storage.store_vote(
        context,
        form.get("lease", ""),
        key=_check_vote_key(form.get("key", "")),
        fields=fields,
        replaces=_parse_revision(form.get("replaces", "0")),
        seconds=_vote_seconds(form, context.now),
        guideline=form.get("guideline", "")[:300] or context.campaign.guideline,
    )
    campaigns.publish_change(context.connection, context.campaign.id)
    return receipt


def _check_vote_key(vote_key: str) -> str:
    if not 8 <= len(vote_key) <= 100:
        raise InputError("a vote needs a key of 8 to 100 letters; send the same key if you send the vote again")
    return vote_key


def _parse_revision(revision: str) -> int:
    if not (revision.isascii() and revision.isdigit() and len(revision) < 7):
        raise InputError(f"'replaces' is the revision that you change, or 0 for a new vote; found {revision[:20]!r}")
    return int(revision)


def _vote_seconds(form: Mapping[str, str], now: float) -> float:
    """Seconds counted by the page's script, else since the page was built; bounded."""
    try:
        seconds = float(form["seconds"]) if "seconds" in form else now - float(form.get("started", now))
    except ValueError:
        return 0.0
    return min(max(seconds, 0.0), LONGEST_WAIT) if math.isfinite(seconds) else 0.0


def _error_status(error: UserError) -> int:
    return 404 if isinstance(error, LeaseGone) else 409 if isinstance(error, VoteConflict) else 400


def _render_refusal(request: Request, user: User, study_id: str, form: Mapping[str, str], error: UserError) -> Response:
    if not isinstance(error, InputError):
        return redirect_to_page(request, f"/work/{study_id}", flash=str(error).replace("{", "").replace("}", ""))
    with read_campaign(request, study_id) as (connection, campaign):
        lease = task_queue.find_held_lease(
            AnnotatorContext(connection, campaign, user.id, time.time()), form.get("lease", "")
        )
    fields = {name: value for name, value in form.items() if name not in CONTROL_FIELDS}
    return _render_task(
        request, user, campaign, replace(lease, draft=fields), problem=error_sentence(error), status=422
    )


@router.post("/work/{study_id}/draft")
def save_draft(request: Request, user: Annotator, study_id: str, form: Form) -> Response:
    """Keep what is filled in so far."""
    fields = {name: value[:LONGEST] for name, value in form.items() if name not in CONTROL_FIELDS}
    try:
        with write_transaction(engine_of(request)) as connection:
            context = AnnotatorContext(connection, require_campaign(connection, study_id), user.id, time.time())
            vote_storage.store_draft(context, form.get("lease", ""), fields)
    except LeaseGone as error:
        return JSONResponse({"detail": error_sentence(error)}, 404)
    return Response(status_code=204)


@router.get("/work/{study_id}/votes")
def own_votes_page(request: Request, user: Annotator, study_id: str, page: Page = 1) -> HTMLResponse:
    """Show the votes of this person."""
    with read_campaign(request, study_id) as (connection, campaign):
        rows, more = list_own_votes(connection, campaign, user.id, page)
        secret = request.cookies.get(group_links.COOKIE + user.id, "")
        is_own = group_links.is_return_secret(connection, user.id, secret)
    return render_template(
        request,
        "campaigns/own_votes.html",
        study=campaign,
        rows=rows,
        page=page,
        more=more,
        written=WRITTEN_FIELDS,
        own_link=f"{base_of(request)}/back/{secret}" if is_own else "",
    )


@router.get("/work/{study_id}/votes/{lease}")
def change_vote_page(request: Request, user: Annotator, study_id: str, lease: str) -> HTMLResponse:
    """A vote given before, to be changed."""
    with read_campaign(request, study_id) as (connection, campaign):
        try:
            held_lease = task_queue.find_held_lease(AnnotatorContext(connection, campaign, user.id, time.time()), lease)
        except LeaseGone as error:
            raise HTTPException(404, error_sentence(error)) from error
    return _render_task(request, user, campaign, held_lease)


@router.get("/work/{study_id}/back")
def previous_vote(
    request: Request, user: Annotator, study_id: str, from_: Annotated[str | None, Query(alias="from")] = None
) -> Response:
    """The vote before this one."""
    with read_transaction(engine_of(request)) as connection:
        earlier = previous_vote_lease(connection, require_campaign(connection, study_id), user.id, from_)
    return redirect_to_page(request, f"/work/{study_id}" if earlier is None else f"/work/{study_id}/votes/{earlier}")


WRITTEN_FIELDS = {"reason", "text", "instruction", "caption", "picture"}
PAGE = 50
MOST = 10_000
"""Maximum number of open campaigns that are searched."""
# Enough for a median that follows a person who becomes quicker.
RECENT = 20
_left_counts: dict[tuple[str, str], tuple[float, int]] = {}


@dataclass(frozen=True)
class OpenCampaign:
    """Campaign open to a person, with the person's progress."""

    campaign: Campaign
    standing: str
    vote_count: int


@dataclass(frozen=True)
class OwnVote:
    """Vote that counts, as shown to the person who gave it."""

    lease: str
    at: float
    seconds: float
    question: str
    answer_fields: list[tuple[str, str]]


def list_open_campaigns(connection: Connection, person: str, page: int) -> tuple[list[OpenCampaign], bool]:
    """Return a page of the open campaigns that this person may work in, and True if there are more."""
    query = select(members).where(members.c.person == person)
    memberships = {row.study: row for row in connection.execute(query)}
    others_too = not sees_only_assigned(connection, person)
    allowed_campaigns = [
        campaign
        for campaign in list_campaigns(connection, only_open=True, count=MOST)
        if campaign.id in memberships or (others_too and not campaign.rules.options.get("assigned"))
    ]
    page_studies = allowed_campaigns[(page - 1) * PAGE : page * PAGE + 1]
    entries = [
        OpenCampaign(campaign, memberships[campaign.id].standing, memberships[campaign.id].done)
        if campaign.id in memberships
        else OpenCampaign(campaign, "new", 0)
        for campaign in page_studies[:PAGE]
    ]
    return entries, len(page_studies) > PAGE


def member_standing(connection: Connection, campaign: Campaign, person: str) -> tuple[str, int]:
    """Return a member's standing and number of votes."""
    query = select(members.c.standing, members.c.done).where(members.c.study == campaign.id, members.c.person == person)
    row = connection.execute(query).first()
    return ("new", 0) if row is None else (row.standing, row.done)


def votes_per_hour(connection: Connection, campaign: Campaign, person: str) -> int:
    """Return votes per hour from the latest votes; 0 if there are too few."""
    query = select(votes.c.at).where(votes.c.study == campaign.id, votes.c.person == person, votes.c.revision == 1)
    times = connection.execute(query.order_by(votes.c.id.desc()).limit(RECENT)).scalars().all()
    if len(times) < 3 or times[0] <= times[-1]:
        return 0
    return int((len(times) - 1) / (times[0] - times[-1]) * 3600)


def count_tasks_left(connection: Connection, campaign: Campaign, person: str) -> int:
    """Return the number of tasks this person can still vote on, cached for five seconds."""
    now = time.monotonic()
    cache_entry = _left_counts.get((campaign.id, person))
    if cache_entry is None or now - cache_entry[0] > 5:
        if len(_left_counts) > MOST:
            _left_counts.clear()
        cache_entry = _left_counts[campaign.id, person] = (now, count_waiting_tasks(connection, campaign, person))
    each = int(campaign.rules.options.get("each") or 0)
    return (
        min(cache_entry[1], max(0, each - member_standing(connection, campaign, person)[1])) if each else cache_entry[1]
    )


def list_own_votes(connection: Connection, campaign: Campaign, person: str, page: int) -> tuple[list[OwnVote], bool]:
    """Return a page of this person's votes that count, latest first, and True if there are more."""
    query = (
        select(slots.c.lease, votes.c.at, votes.c.seconds, votes.c.answer, votes.c.shown, tasks.c.content)
        .join(slots, and_(slots.c.id == votes.c.slot, slots.c.revision == votes.c.revision))
        .join(tasks, tasks.c.id == votes.c.task)
        .where(votes.c.study == campaign.id, votes.c.person == person)
        .order_by(votes.c.at.desc(), votes.c.id.desc())
        .offset((page - 1) * PAGE)
        .limit(PAGE + 1)
    )
    rows = connection.execute(query).all()
    return [_own_vote_from_row(campaign, row) for row in rows[:PAGE]], len(rows) > PAGE


def _own_vote_from_row(campaign: Campaign, row: Any) -> OwnVote:
    fields = campaign.kind.fields(row.answer, row.shown)
    question = Content.from_json(row.content).item.question
    answers = [(_field_label(name), _field_text(name, value)) for name, value in fields.items()]
    return OwnVote(row.lease, row.at, row.seconds, question[:200], answers)


def _field_label(name: str) -> str:
    """Return the response's letter for the mark of one response."""
    number = name.removeprefix("mark")
    return LETTERS[int(number)] if number.isdigit() else name


def _field_text(name: str, value: str) -> str:
    if name == "best" and value.isdigit():
        return LETTERS[int(value)]
    if name == "order":
        return " > ".join(LETTERS[int(place)] for place in value.split(","))
    return value if len(value) <= 200 else value[:200] + "…"


def previous_vote_lease(connection: Connection, campaign: Campaign, person: str, lease: str | None) -> str | None:
    """Return the lease of the vote before the given one; the latest if that one is not a vote yet."""
    own_votes = (votes.c.study == campaign.id, votes.c.person == person, votes.c.revision == 1)
    query = select(slots.c.lease).join(slots, slots.c.id == votes.c.slot).where(*own_votes)
    at = None
    if lease is not None:
        at = connection.execute(
            select(votes.c.id).join(slots, slots.c.id == votes.c.slot).where(*own_votes, slots.c.lease == lease)
        ).scalar()
    if at is not None:
        query = query.where(votes.c.id < at)
    return connection.execute(query.order_by(votes.c.id.desc()).limit(1)).scalar()
