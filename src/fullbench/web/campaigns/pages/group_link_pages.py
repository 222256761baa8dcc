"""The pages of a study's group link: for the lead who makes it, and for whoever opens it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import FileResponse, HTMLResponse, Response
from sqlalchemy import Connection
from starlette.background import BackgroundTask

from fullbench.core.note import sentence
from fullbench.errors import InputError
from fullbench.files.item_files import write_rows
from fullbench.web import page_access
from fullbench.web.accounts import audit_log
from fullbench.web.accounts.sign_in_pages import enter
from fullbench.web.accounts.users import User
from fullbench.web.campaigns import campaigns, group_links
from fullbench.web.campaigns.campaigns import Study
from fullbench.web.campaigns.pages.annotation_page import Form, study_of
from fullbench.web.database import reading, writing
from fullbench.web.page_access import Database, Organiser, address_of, engine_of
from fullbench.web.page_rendering import YEAR, redirect, render, set_cookie
from fullbench.web.words import key

router = APIRouter(include_in_schema=False)


def whole(form: dict[str, str], name: str, default: int = 0) -> int:
    """A field that is a whole number; -1, which nothing allows, where it is something else."""
    text = form.get(name, "").strip()
    if not text:
        return default
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1


@router.post("/organise/{study_id}/group")
def make(request: Request, user: Organiser, study_id: str, form: Form) -> Response:
    """Make a link for many people; it is shown on this page alone."""
    with writing(engine_of(request)) as connection:
        study = study_of(connection, study_id)
        secret = group_links.make(
            connection, study, places=whole(form, "places", 100), days=whole(form, "days", 30),
            each=whole(form, "each"), code=form.get("code", "").strip(), any_browser=bool(form.get("any_browser")),
        )  # fmt: skip
        audit_log.write(connection, user, "group link made", study.name, address=address_of(request))
    link = page_access.base_of(request) + group_links.path(study, secret)
    return render(request, "campaigns/group_link.html", study=study, link=link)


@router.post("/organise/{study_id}/group/end")
def end(request: Request, user: Organiser, study_id: str) -> Response:
    """Let nobody new in."""
    with writing(engine_of(request)) as connection:
        study = study_of(connection, study_id)
        group_links.end(connection, study)
        audit_log.write(connection, user, "group link ended", study.name, address=address_of(request))
    return redirect(request, f"/organise/{study_id}", flash=key("The link has ended; who came by it works on."))


@router.post("/organise/{study_id}/group/release")
def release(request: Request, user: Organiser, study_id: str, form: Form) -> Response:
    """Let an id go on in another browser than the one that it was begun in."""
    external_id = form.get("external_id", "")
    with writing(engine_of(request)) as connection:
        study = study_of(connection, study_id)
        group_links.release(connection, study, external_id)
        audit_log.write(connection, user, "id released", study.name, address=address_of(request), id=external_id[:100])
    message = key("Whoever comes next by the link with the id {id} goes on with its work.")
    return redirect(request, f"/organise/{study_id}", flash=message, id=external_id[: group_links.LONGEST_ID])


@router.get("/organise/{study_id}/arrivals.csv")
def arrivals(request: Request, user: Organiser, study_id: str) -> Response:
    """Who came by the link and how many tasks each did, by the ids of the other site."""
    folder = tempfile.TemporaryDirectory(prefix="fullbench-")
    path = Path(folder.name) / "arrivals.csv"
    with reading(engine_of(request)) as connection:
        write_rows(path, group_links.rows(connection, study_of(connection, study_id)), group_links.COLUMNS)
    with writing(engine_of(request)) as connection:
        audit_log.write(connection, user, "ids exported", study_id, address=address_of(request))
    return FileResponse(path, media_type="text/csv", filename=path.name, background=BackgroundTask(folder.cleanup))


@router.get("/take/{study_id}/{secret}")
def take_page(request: Request, study_id: str, secret: str) -> HTMLResponse:
    """What awaits whoever opens the link, and the id they come with."""
    brought = next((request.query_params[name] for name in group_links.ID_NAMES if name in request.query_params), "")
    return _page(request, study_id, secret, brought[: group_links.LONGEST_ID])


def _page(request: Request, study_id: str, secret: str, external_id: str, *, problem: str = "") -> HTMLResponse:
    with reading(engine_of(request)) as connection:
        study = campaigns.find(connection, study_id)
    link = group_links.opened_by(study, secret)
    if study is None or link is None:
        raise HTTPException(404, group_links.ENDED)
    return render(
        request, "campaigns/take.html", status=422 if problem else 200, study=study, external_id=external_id,
        problem=problem, each=int(study.rules.options.get("each") or 0), any_browser=link.any_browser,
    )  # fmt: skip


@router.post("/take/{study_id}/{secret}")
def take(request: Request, study_id: str, secret: str, form: Form) -> Response:
    """Begin, or go on with, the work of the id given."""
    external_id = form.get("external_id", "")
    try:
        with writing(engine_of(request)) as connection:
            study = campaigns.find(connection, study_id)
            link = group_links.opened_by(study, secret)
            if study is None or link is None:
                raise HTTPException(404, group_links.ENDED)
            user = group_links.arrive(
                connection, study, link, external_id, is_theirs=lambda person: _is_theirs(request, connection, person)
            )
            return _entered(request, connection, study.id, user, group_links.way_back(connection, user.id))
    except InputError as error:
        return _page(request, study_id, secret, external_id[: group_links.LONGEST_ID], problem=sentence(error))


def _is_theirs(request: Request, connection: Connection, person: str) -> bool:
    """Whether this browser is the one in which somebody began, or is signed in as them."""
    current = page_access.current_user(request)
    kept = request.cookies.get(group_links.COOKIE + person, "")
    return (current is not None and current.id == person) or group_links.opens(connection, person, kept)


def _entered(request: Request, connection: Connection, study_id: str, user: User, secret: str | None) -> Response:
    response = enter(request, user, f"/work/{study_id}", connection)
    if secret is not None:
        set_cookie(request, response, group_links.COOKIE + user.id, secret, seconds=YEAR)
    return response


@router.get("/back/{secret}")
def back_page(request: Request, secret: str, connection: Database) -> HTMLResponse:
    """Somebody's own link, opened in whatever browser."""
    study, _ = _returning(connection, secret)
    return render(request, "campaigns/back.html", study=study)


@router.post("/back/{secret}")
def back(request: Request, secret: str, connection: Database) -> Response:
    """Go on with the work that the link belongs to, here too from now on."""
    study, user = _returning(connection, secret)
    return _entered(request, connection, study.id, user, secret)


def _returning(connection: Connection, secret: str) -> tuple[Study, User]:
    found = group_links.returning(connection, secret)
    if found is None:
        raise HTTPException(404, key("This link leads nowhere any more; write to whoever sent you here."))
    return campaigns.study(connection, found[0]), found[1]
