"""The pages at which people work."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from fullbench.core.note import sentence
from fullbench.errors import InputError, UserError
from fullbench.web import picture_serving
from fullbench.web.accounts.users import User
from fullbench.web.campaigns import campaigns, group_links, live_updates
from fullbench.web.campaigns.campaigns import Study
from fullbench.web.campaigns.create import effort_estimate
from fullbench.web.campaigns.create.effort_estimate import Forecast
from fullbench.web.campaigns.pages import my_work
from fullbench.web.campaigns.tasks.picture_uploads import Files
from fullbench.web.campaigns.tasks.task_kinds import Write
from fullbench.web.campaigns.tasks.task_view import show
from fullbench.web.campaigns.votes import task_queue, vote_storage
from fullbench.web.campaigns.votes.task_queue import Desk, Gone, Lease, Nothing
from fullbench.web.campaigns.votes.vote_form_fields import LONGEST
from fullbench.web.campaigns.votes.vote_storage import Clash
from fullbench.web.database import reading, writing
from fullbench.web.page_access import Annotator, base_of, engine_of, settings_of
from fullbench.web.page_rendering import language_of, redirect, render
from fullbench.web.rich_text import guideline
from fullbench.web.words import key

router = APIRouter(include_in_schema=False)
Page = Annotated[int, Query(ge=1, le=100_000)]
OWN = {"csrf", "lease", "key", "replaces", "started", "seconds", "guideline"}
LONGEST_WAIT = 3600.0


def study_of(connection: Any, study_id: str) -> Study:
    """The study with this id; 404 where there is none."""
    study = campaigns.find(connection, study_id)
    if study is None:
        raise HTTPException(404, key("There is no such study."))
    return study


@router.get("/work")
def home(request: Request, user: Annotator, page: Page = 1) -> HTMLResponse:
    """What there is to do."""
    with reading(engine_of(request)) as connection:
        open_studies, more = my_work.open_to(connection, user.id, page)
        left = {entry.study.id: my_work.left(connection, entry.study, user.id) for entry in open_studies}
        minutes = {name: effort_estimate.minutes(connection, name, count) for name, count in left.items()}
    unfinished_first = sorted(open_studies, key=lambda entry: not left[entry.study.id])
    return render(
        request, "campaigns/home.html", studies=unfinished_first, left=left, minutes=minutes, page=page, more=more
    )


@router.get("/work/{study_id}")
def task(request: Request, user: Annotator, study_id: str) -> HTMLResponse:
    """The next task."""
    with writing(engine_of(request)) as connection:
        study = study_of(connection, study_id)
        taken = task_queue.take(Desk(connection, study, user.id, time.time()))
    return _nothing(request, user, study, taken) if isinstance(taken, Nothing) else _page(request, user, study, taken)


@router.get("/work/{study_id}/next")
def ahead(
    request: Request, user: Annotator, study_id: str, holding: Annotated[tuple[str, ...], Query(max_length=20)] = ()
) -> Response:
    """The task after those that the page holds, as a piece of a page; 204 where there is none."""
    with writing(engine_of(request)) as connection:
        study = study_of(connection, study_id)
        taken = task_queue.take(Desk(connection, study, user.id, time.time()), holding)
    if isinstance(taken, Nothing):
        return Response(status_code=204)
    return render(request, "campaigns/_task.html", **_values(request, study, taken))


def _values(request: Request, study: Study, lease: Lease) -> dict[str, Any]:
    return {
        "study": study,
        "shown": show(study, lease, language_of(request)),
        "key": secrets.token_urlsafe(16),
        "started": time.time(),
        "trial": lease.role == "qualify",
        "lead": False,
    }


def preview(request: Request, study: Study, lease: Lease, following: str, *, place: int, count: int) -> HTMLResponse:
    """A task as people will see it, for who leads the study: sending it keeps nothing and shows the next one."""
    return render(
        request,
        "campaigns/task.html",
        **_values(request, study, lease),
        done=0,
        pace=0,
        left=0,
        change=False,
        problem="",
        guidelines=guideline(study.told(language_of(request))),
        pilot=study.is_pilot,
        quick=study.is_quick,
        next_preview=following,
        place=place,
        count=count,
    )


def sketch(request: Request, study: Study, lease: Lease, forecast: Forecast) -> HTMLResponse:
    """A task of a study that is not made yet, as a piece of the page that makes it, with what the study takes."""
    return render(
        request, "campaigns/_sketch.html", **_values(request, study, lease), forecast=forecast,
        guidelines=guideline(study.told(language_of(request))),
    )  # fmt: skip


def _page(
    request: Request, user: User, study: Study, lease: Lease, *, problem: str = "", status: int = 200
) -> HTMLResponse:
    with reading(engine_of(request)) as connection:
        _, done = my_work.standing(connection, study, user.id)
        pace, left = my_work.pace(connection, study, user.id), my_work.left(connection, study, user.id)
    return render(
        request,
        "campaigns/task.html",
        status=status,
        **_values(request, study, lease),
        done=done,
        pace=pace,
        left=left,
        guidelines=guideline(study.told(language_of(request))),
        change=lease.revision > 0,
        problem=problem,
        pilot=study.is_pilot,
        quick=study.is_quick,
        next_preview="",
    )


def _nothing(request: Request, user: User, study: Study, nothing: Nothing) -> HTMLResponse:
    with reading(engine_of(request)) as connection:
        earned = group_links.completion(connection, study, user.id)
    return render(request, "campaigns/nothing.html", study=study, why=nothing.why, earned=earned)


async def form_of(request: Request) -> dict[str, str]:
    """The texts of a form; files in it are passed over."""
    form = await request.form(max_fields=100)
    return {name: value for name, value in form.items() if isinstance(value, str)}


Form = Annotated[dict[str, str], Depends(form_of)]


@router.post("/work/{study_id}/vote")
def vote(request: Request, user: Annotator, study_id: str, form: Form, files: Files) -> Response:
    """Keep a vote. The page's script gets an acknowledgement, a plain form the next task."""
    scripted = request.headers.get("x-work") == "1"
    try:
        form |= _brought(request, user, study_id, files)
        with writing(engine_of(request)) as connection:
            seat = Desk(connection, study_of(connection, study_id), user.id, time.time())
            receipt = cast(seat, form)
    except UserError as error:
        if scripted:
            return JSONResponse({"detail": sentence(error)}, _status(error))
        return _refused(request, user, study_id, form, error)
    if scripted:
        return JSONResponse({"revision": receipt.revision, "again": receipt.again})
    return redirect(request, f"/work/{study_id}")


@router.post("/work/{study_id}/picture")
def bring(request: Request, user: Annotator, study_id: str, files: Files) -> Response:
    """Take in a picture that somebody brings to a task; the page's script sends its digest with the vote."""
    try:
        return JSONResponse(_brought(request, user, study_id, files))
    except InputError as error:
        return JSONResponse({"detail": sentence(error)}, 400)


def _brought(request: Request, user: User, study_id: str, files: Mapping[str, bytes]) -> dict[str, str]:
    """The digests of pictures that came as files, which stay even where the vote that they came with is refused."""
    if not files:
        return {}
    with writing(engine_of(request)) as connection:
        if Write.brings not in study_of(connection, study_id).rules.options.get("asks", ()):
            raise InputError(key("this study takes no pictures"))
        settings = settings_of(request)
        return {
            name: picture_serving.keep(connection, settings, user, data).picture.digest for name, data in files.items()
        }


def cast(seat: Desk, form: Mapping[str, str]) -> vote_storage.Receipt:
    """Keep the vote that a form brings, and tell the organisers' pages."""
    fields = {name: value for name, value in form.items() if name not in OWN}
    receipt = vote_storage.vote(
        seat,
        form.get("lease", ""),
        key=_key(form.get("key", "")),
        fields=fields,
        replaces=_whole(form.get("replaces", "0")),
        seconds=_seconds(form, seat.now),
        guideline=form.get("guideline", "")[:300] or seat.study.guideline,
    )
    live_updates.tell(seat.connection, seat.study.id)
    return receipt


def _key(vote_key: str) -> str:
    if not 8 <= len(vote_key) <= 100:
        raise InputError("a vote has a key of 8 to 100 letters that names it; send the same key when you send it again")
    return vote_key


def _whole(revision: str) -> int:
    if not (revision.isascii() and revision.isdigit() and len(revision) < 7):
        raise InputError(f"'replaces' is the revision that you change, 0 for a new vote; found {revision[:20]!r}")
    return int(revision)


def _seconds(form: Mapping[str, str], now: float) -> float:
    """How long the person took: as the page's script counted, else since the page was made; within reason."""
    try:
        seconds = float(form["seconds"]) if "seconds" in form else now - float(form.get("started", now))
    except ValueError:
        return 0.0
    return min(max(seconds, 0.0), LONGEST_WAIT) if math.isfinite(seconds) else 0.0


def _status(error: UserError) -> int:
    return 404 if isinstance(error, Gone) else 409 if isinstance(error, Clash) else 400


def _refused(request: Request, user: User, study_id: str, form: Mapping[str, str], error: UserError) -> Response:
    """The same page with what is missing; the next task where this one is gone."""
    if not isinstance(error, InputError):
        return redirect(request, f"/work/{study_id}", flash=str(error).replace("{", "").replace("}", ""))
    with reading(engine_of(request)) as connection:
        study = study_of(connection, study_id)
        lease = task_queue.held(Desk(connection, study, user.id, time.time()), form.get("lease", ""))
    fields = {name: value for name, value in form.items() if name not in OWN}
    return _page(request, user, study, replace(lease, draft=fields), problem=sentence(error), status=422)


@router.post("/work/{study_id}/draft")
def draft(request: Request, user: Annotator, study_id: str, form: Form) -> Response:
    """Keep what is filled in so far."""
    fields = {name: value[:LONGEST] for name, value in form.items() if name not in OWN}
    try:
        with writing(engine_of(request)) as connection:
            seat = Desk(connection, study_of(connection, study_id), user.id, time.time())
            vote_storage.draft(seat, form.get("lease", ""), fields)
    except Gone as error:
        return JSONResponse({"detail": sentence(error)}, 404)
    return Response(status_code=204)


@router.get("/work/{study_id}/votes")
def given(request: Request, user: Annotator, study_id: str, page: Page = 1) -> HTMLResponse:
    """What this person said so far."""
    with reading(engine_of(request)) as connection:
        study = study_of(connection, study_id)
        rows, more = my_work.given(connection, study, user.id, page)
        secret = request.cookies.get(group_links.COOKIE + user.id, "")
        is_own = group_links.opens(connection, user.id, secret)
    return render(
        request, "campaigns/votes.html", study=study, rows=rows, page=page, more=more, written=my_work.WRITTEN,
        own_link=f"{base_of(request)}/back/{secret}" if is_own else "",
    )  # fmt: skip  # fmt: skip


@router.get("/work/{study_id}/votes/{lease}")
def change(request: Request, user: Annotator, study_id: str, lease: str) -> HTMLResponse:
    """A vote given before, to be changed."""
    with reading(engine_of(request)) as connection:
        study = study_of(connection, study_id)
        try:
            held = task_queue.held(Desk(connection, study, user.id, time.time()), lease)
        except Gone as error:
            raise HTTPException(404, sentence(error)) from error
    return _page(request, user, study, held)


@router.get("/work/{study_id}/back")
def back(
    request: Request, user: Annotator, study_id: str, from_: Annotated[str | None, Query(alias="from")] = None
) -> Response:
    """The vote before this one."""
    with reading(engine_of(request)) as connection:
        earlier = my_work.before(connection, study_of(connection, study_id), user.id, from_)
    return redirect(request, f"/work/{study_id}" if earlier is None else f"/work/{study_id}/votes/{earlier}")
