"""Pages of a campaign's group link: for the lead who creates it, and for people who open it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import FileResponse, HTMLResponse, Response
from sqlalchemy import Connection
from starlette.background import BackgroundTask

from fullbench.core.translatable_note import error_sentence
from fullbench.errors import InputError
from fullbench.files.row_writers import write_rows
from fullbench.web import route_access_connection_and_csrf_checks
from fullbench.web.accounts import audit_log
from fullbench.web.accounts.sign_in_pages import sign_in_and_redirect
from fullbench.web.accounts.users import User
from fullbench.web.campaigns import campaigns, group_links
from fullbench.web.campaigns.campaigns import Campaign
from fullbench.web.campaigns.pages.annotator_home_task_and_vote_pages import Form, change_campaign, require_campaign
from fullbench.web.database import read_transaction, write_transaction
from fullbench.web.page_rendering import YEAR, redirect_to_page, render_template, set_cookie
from fullbench.web.route_access_connection_and_csrf_checks import Database, Organiser, engine_of
from fullbench.web.words import key

router = APIRouter(include_in_schema=False)


def parse_whole_number(form: dict[str, str], name: str, default: int = 0) -> int:
    """Parse a field as a whole number; return -1, which is never allowed, if it is something else."""
    text = form.get(name, "").strip()
    if not text:
        return default
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1


@router.post("/organise/{study_id}/group")
def create_link(request: Request, user: Organiser, study_id: str, form: Form) -> Response:
    """Make a link for many people; it is shown on this page alone."""
    with change_campaign(request, study_id) as (connection, campaign):
        secret = group_links.create_group_link(
            connection,
            campaign,
            max_people=parse_whole_number(form, "max_people", 100),
            days=parse_whole_number(form, "days", 30),
            each=parse_whole_number(form, "each"),
            code=form.get("code", "").strip(),
            any_browser=bool(form.get("any_browser")),
        )
        audit_log.record_action(request, connection, user, "group link made", campaign.name)
    link = route_access_connection_and_csrf_checks.base_of(request) + group_links.link_path(campaign, secret)
    return render_template(request, "campaigns/group_link.html", study=campaign, link=link)


@router.post("/organise/{study_id}/group/end")
def end_link(request: Request, user: Organiser, study_id: str) -> Response:
    """Let nobody new in."""
    with change_campaign(request, study_id) as (connection, campaign):
        group_links.end_group_link(connection, campaign)
        audit_log.record_action(request, connection, user, "group link ended", campaign.name)
    return redirect_to_page(request, f"/organise/{study_id}", flash=key("The link has ended; who came by it works on."))


@router.post("/organise/{study_id}/group/release")
def release_id(request: Request, user: Organiser, study_id: str, form: Form) -> Response:
    """Let an id go on in another browser than the one that it was begun in."""
    external_id = form.get("external_id", "")
    with change_campaign(request, study_id) as (connection, campaign):
        group_links.release_id(connection, campaign, external_id)
        audit_log.record_action(request, connection, user, "id released", campaign.name, id=external_id[:100])
    message = key("The next person who opens the link with the id {id} continues its work.")
    return redirect_to_page(request, f"/organise/{study_id}", flash=message, id=external_id[: group_links.LONGEST_ID])


@router.get("/organise/{study_id}/arrivals.csv")
def download_arrivals(request: Request, user: Organiser, study_id: str) -> Response:
    """Return people who used the link and their number of tasks, by the ids of the other site."""
    folder = tempfile.TemporaryDirectory(prefix="fullbench-")
    path = Path(folder.name) / "arrivals.csv"
    with read_transaction(engine_of(request)) as connection:
        write_rows(
            path, group_links.arrival_rows(connection, require_campaign(connection, study_id)), group_links.COLUMNS
        )
    with write_transaction(engine_of(request)) as connection:
        audit_log.record_action(request, connection, user, "ids exported", study_id)
    return FileResponse(path, media_type="text/csv", filename=path.name, background=BackgroundTask(folder.cleanup))


@router.get("/take/{study_id}/{secret}")
def take_page(request: Request, study_id: str, secret: str) -> HTMLResponse:
    """Show the campaign behind the link, and the id of the visitor."""
    external_id = next(
        (request.query_params[name] for name in group_links.ID_NAMES if name in request.query_params), ""
    )
    return _render_take_page(request, study_id, secret, external_id[: group_links.LONGEST_ID])


def _render_take_page(
    request: Request, study_id: str, secret: str, external_id: str, *, problem: str = ""
) -> HTMLResponse:
    with read_transaction(engine_of(request)) as connection:
        campaign = campaigns.find_campaign(connection, study_id)
    link = group_links.find_open_link(campaign, secret)
    if campaign is None or link is None:
        raise HTTPException(404, group_links.LINK_ENDED_MESSAGE)
    return render_template(
        request,
        "campaigns/join_by_group_link.html",
        status=422 if problem else 200,
        study=campaign,
        external_id=external_id,
        problem=problem,
        each=int(campaign.rules.options.get("each") or 0),
        any_browser=link.any_browser,
    )


@router.post("/take/{study_id}/{secret}")
def begin_work(request: Request, study_id: str, secret: str, form: Form) -> Response:
    """Begin, or go on with, the work of the id given."""
    external_id = form.get("external_id", "")
    try:
        with write_transaction(engine_of(request)) as connection:
            campaign = campaigns.find_campaign(connection, study_id)
            link = group_links.find_open_link(campaign, secret)
            if campaign is None or link is None:
                raise HTTPException(404, group_links.LINK_ENDED_MESSAGE)
            user = group_links.admit_person(
                connection,
                campaign,
                link,
                external_id,
                is_theirs=lambda person: _is_theirs(request, connection, person),
            )
            return _enter_work(
                request, connection, campaign.id, user, group_links.create_return_secret(connection, user.id)
            )
    except InputError as error:
        return _render_take_page(
            request, study_id, secret, external_id[: group_links.LONGEST_ID], problem=error_sentence(error)
        )


def _is_theirs(request: Request, connection: Connection, person: str) -> bool:
    current = route_access_connection_and_csrf_checks.current_user(request)
    return_secret = request.cookies.get(group_links.COOKIE + person, "")
    return (current is not None and current.id == person) or group_links.is_return_secret(
        connection, person, return_secret
    )


def _enter_work(request: Request, connection: Connection, study_id: str, user: User, secret: str | None) -> Response:
    response = sign_in_and_redirect(request, user, f"/work/{study_id}", connection)
    if secret is not None:
        set_cookie(request, response, group_links.COOKIE + user.id, secret, seconds=YEAR)
    return response


@router.get("/back/{secret}")
def back_page(request: Request, secret: str, connection: Database) -> HTMLResponse:
    """Somebody's own link, opened in whatever browser."""
    campaign, _ = _require_returning_user(connection, secret)
    return render_template(request, "campaigns/resume_group_link.html", study=campaign)


@router.post("/back/{secret}")
def resume_work(request: Request, secret: str, connection: Database) -> Response:
    """Go on with the work that the link belongs to, here too from now on."""
    campaign, user = _require_returning_user(connection, secret)
    return _enter_work(request, connection, campaign.id, user, secret)


def _require_returning_user(connection: Connection, secret: str) -> tuple[Campaign, User]:
    campaign_and_user = group_links.find_returning_user(connection, secret)
    if campaign_and_user is None:
        raise HTTPException(404, key("This link is no longer valid. Write to the person who invited you."))
    return campaigns.get_campaign(connection, campaign_and_user[0]), campaign_and_user[1]
